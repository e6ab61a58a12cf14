import { Hono } from 'hono'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { countFailure, throttledForSeconds } from '../../../platform/people/sign-in-failures.ts'
import type { Role } from '../../../platform/people/users.ts'
import { AppError } from '../../../shared/errors.ts'
import { clientAddress } from '../../gate/callers/client-address.ts'
import { cookieNames, cookieOptions } from '../../gate/callers/cookies.ts'
import { nextPage } from '../next-page.ts'
import { ATTEMPT_SECONDS, createAttempt, openAttempt, sealAttempt } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import type { IdentityProvider } from './provider.ts'
import { completeSignIn } from './sign-in.ts'
import type { OidcSignIn } from './sign-in.ts'
import { failureOf, signInError } from './sign-in-errors.ts'
import { bindSignInForm } from '../sign-in-form.ts'
import { addressThrottle, tooManyAttempts } from '../sign-in.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { signInPage } from '../sign-in-page.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

interface SignInContext {
  readonly deps: WebDeps
  readonly provider: IdentityProvider
}

/**
 * Mounts `GET /sign-in/start`, which leads to the identity provider, and `GET /sign-in/callback`,
 * which comes back.
 */
export function oidcSignInRoutes(deps: WebDeps, provider: IdentityProvider): Hono<WebApp> {
  const { SECRET_KEY_BASE: secret, PLATFORM_BASE_URL: baseUrl } = deps.config
  const { SECRET_KEY_BASE_PREVIOUS: previous = secret } = deps.config
  const names = cookieNames(baseUrl)
  const cookie = cookieOptions(baseUrl)
  const context = { deps, provider }
  const routes = new Hono<WebApp>()

  routes.get('/sign-in/start', declareRight('anybody'), async (c) => {
    requireGet(c)
    const attempt = createAttempt(nextPage(c.req.query('next')))
    try {
      const url = await provider.authorizationUrl(attempt)
      const maxAge = ATTEMPT_SECONDS
      setCookie(c, names.attempt, await sealAttempt(attempt, secret), { ...cookie, maxAge })
      return c.redirect(url, 303)
    } catch (thrown) {
      return answerFailure(c, context, { thrown, next: attempt.next })
    }
  })

  routes.get('/sign-in/callback', declareRight('anybody'), async (c) => {
    requireGet(c)
    const sealed = getCookie(c, names.attempt) ?? ''
    const attempt = (await openAttempt(sealed, secret)) ?? (await openAttempt(sealed, previous))
    deleteCookie(c, names.attempt, cookie)
    const next = attempt?.next ?? '/'
    try {
      const signedIn = await complete(c, context, attempt)
      writeAudit(c, context, signedIn)
      setCookie(c, names.session, signedIn.token, cookie)
      deleteCookie(c, names.signIn, cookie)
      return c.redirect(next, 303)
    } catch (thrown) {
      return answerFailure(c, context, { thrown, next })
    }
  })

  return routes
}

/** Failures count by address, as those with a password do. */
async function complete(
  c: Context<WebApp>,
  { deps, provider }: SignInContext,
  attempt: Attempt | undefined,
): Promise<OidcSignIn> {
  const { sql, config } = deps
  const address = clientAddress(c, config.TRUSTED_PROXIES)
  const throttle = addressThrottle(address)
  const seconds = await throttledForSeconds(sql, throttle)
  if (seconds > 0) throw tooMany(seconds)
  try {
    const { search } = new URL(c.req.url)
    const earlierToken = getCookie(c, cookieNames(config.PLATFORM_BASE_URL).session)
    const origin = { clientAddress: address, userAgent: c.req.header('user-agent') ?? '' }
    const request = { address, requestId: c.var.requestId }
    return await completeSignIn(deps, provider, { search, attempt, earlierToken, origin, request })
  } catch (thrown) {
    // An unavailable provider is nobody's guess at a sign-in.
    if (thrown instanceof AppError && thrown.status < 500) await countFailure(sql, throttle)
    throw thrown
  }
}

/** A sign-in that fails shows the sign-in page again, which says why. */
function answerFailure(
  c: Context<WebApp>,
  { deps, provider }: SignInContext,
  { thrown, next }: { thrown: unknown; next: string },
): Response | Promise<Response> {
  if (!(thrown instanceof AppError)) throw thrown
  const address = clientAddress(c, deps.config.TRUSTED_PROXIES)
  const reason = failureOf(thrown)
  Object.assign(c.var.wide, { audit: 'sign_in_failed', method: 'oidc', reason, address })
  if (thrown.status >= 500) c.var.wide['error'] = thrown.message
  const csrfToken = bindSignInForm(c, deps)
  const passwords = deps.config.AUTH_PASSWORDS === 'on'
  const page = { csrfToken, next, provider: provider.name, passwords, problem: thrown.message }
  return c.html(signInPage(page), thrown.status, thrown.headers)
}

function writeAudit(
  c: Context<WebApp>,
  { deps }: SignInContext,
  { userId, granted, withdrawn, memberships }: OidcSignIn,
): void {
  const address = clientAddress(c, deps.config.TRUSTED_PROXIES)
  Object.assign(c.var.wide, { audit: 'signed_in', method: 'oidc', user_id: userId, address })
  const tell = (audit: string, roles: readonly Role[]): void =>
    roles.forEach((role) =>
      deps.log.info({ audit, user_id: userId, role, source: 'claim' }, 'audit'),
    )
  tell('role_granted', granted)
  tell('role_withdrawn', withdrawn)
  for (const { organizationId, role } of memberships) {
    const audit = role === null ? 'member_removed' : 'member_set'
    const facts = { user_id: userId, organization_id: organizationId, role, source: 'claim' }
    deps.log.info({ audit, ...facts }, 'audit')
  }
}

/** Refuses a HEAD: a program that checks links begins no sign-in and uses up no answer. */
function requireGet(c: Context): void {
  if (c.req.method !== 'GET')
    throw new AppError('method_not_allowed', 'Open this link in a browser.')
}

function tooMany(seconds: number): AppError {
  return signInError(['rate_limited', 'throttled'], tooManyAttempts(seconds), {
    'retry-after': String(seconds),
  })
}
