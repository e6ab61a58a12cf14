import { Hono } from 'hono'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { deleteSession } from '../../platform/people/sessions.ts'
import type { Wide } from '../../shared/log.ts'
import { clientAddress } from '../gate/callers/client-address.ts'
import { cookieNames, cookieOptions } from '../gate/callers/cookies.ts'
import { formExpired, readForm, requireForm, requireSameOrigin } from '../gate/callers/forms.ts'
import { nextPage } from './next-page.ts'
import { openIdToken } from './oidc/attempt.ts'
import type { IdentityProvider } from './oidc/provider.ts'
import type { PasswordChecks } from './password-checks.ts'
import { readSession, requireSession } from '../gate/callers/session.ts'
import { bindSignInForm, isOwnSignInForm } from './sign-in-form.ts'
import { createSignIn, tooManyAttempts } from './sign-in.ts'
import type { SignInResult } from './sign-in.ts'
import type { SignedIn, WebApp, WebDeps } from '../context.ts'
import type { Html } from '../console/frame/parts.ts'
import { signInPage } from './sign-in-page.ts'
import type { SignInPage } from './sign-in-page.ts'
import { oidcSignInRoutes } from './oidc/routes.ts'
import { declareRight } from '../gate/callers/declared-right.ts'
import { html } from 'hono/html'
import { plainPage } from '../console/frame/layout.ts'

const EMAIL_LENGTH_MAX = 254
/** The ways to sign in. */
export interface SignInParts {
  readonly provider: IdentityProvider | undefined
  readonly passwords: PasswordChecks
}

type Shown = Omit<SignInPage, 'csrfToken' | 'provider' | 'passwords'>

/**
 * Mounts the ways to sign in, through the identity provider or with a password, and to sign out.
 */
export function signInRoutes(deps: WebDeps, { provider, passwords }: SignInParts): Hono<WebApp> {
  const routes = new Hono<WebApp>()
  const hasPasswords = deps.config.AUTH_PASSWORDS === 'on'
  const showForm = (c: Context, shown: Shown): Html => {
    const csrfToken = bindSignInForm(c, deps)
    return signInPage({ ...shown, csrfToken, provider: provider?.name, passwords: hasPasswords })
  }

  routes.get('/sign-in', declareRight('anybody'), async (c) => {
    const next = nextPage(c.req.query('next'))
    if (await readSession(c, deps)) return c.redirect(next, 303)
    return c.html(showForm(c, { next }))
  })

  if (hasPasswords) routes.route('/', passwordSignInRoutes(deps, { passwords, showForm }))
  if (provider) routes.route('/', oidcSignInRoutes(deps, provider))
  routes.route('/', signOutRoutes(deps, provider))
  return routes
}

interface PasswordDesk {
  readonly passwords: PasswordChecks
  readonly showForm: (c: Context, shown: Shown) => Html
}

/** Signing in with a password; where there is an identity provider, for emergencies. */
function passwordSignInRoutes(deps: WebDeps, { passwords, showForm }: PasswordDesk): Hono<WebApp> {
  const { sql, config } = deps
  const routes = new Hono<WebApp>()
  const baseUrl = config.PLATFORM_BASE_URL
  const sessionCookie = cookieNames(baseUrl).session
  const signIn = createSignIn(sql, passwords.verify)

  routes.post('/sign-in', declareRight('anybody'), async (c) => {
    requireSameOrigin(c, baseUrl)
    const form = await readForm(c.req.raw)
    const email = readEmail(form)
    const next = nextPage(form.get('next'))
    if (!isOwnSignInForm(c, form, deps)) {
      return c.html(showForm(c, { email, next, problem: formExpired().message }), 403)
    }
    const address = clientAddress(c, config.TRUSTED_PROXIES)
    const password = form.get('password') ?? ''
    const earlierToken = getCookie(c, sessionCookie)
    const userAgent = c.req.header('user-agent') ?? ''
    const result = await signIn({ email, password, address, userAgent, earlierToken })
    Object.assign(c.var.wide, auditOf(result), { address })
    if (result.outcome !== 'ok') {
      const page = showForm(c, { email, next, problem: explain(result) })
      return c.html(
        page,
        result.outcome === 'throttled' ? 429 : 401,
        result.outcome === 'throttled' ? { 'retry-after': String(result.retryAfterSeconds) } : {},
      )
    }
    setCookie(c, sessionCookie, result.token, cookieOptions(baseUrl))
    deleteCookie(c, cookieNames(baseUrl).signIn, cookieOptions(baseUrl))
    return c.redirect(next, 303)
  })

  return routes
}

function signOutRoutes(deps: WebDeps, provider?: IdentityProvider): Hono<SignedIn> {
  const { sql, config } = deps
  const baseUrl = config.PLATFORM_BASE_URL
  const routes = new Hono<SignedIn>()
  const person = [declareRight('person'), requireSession(deps)] as const
  routes.post('/sign-out', ...person, requireForm(baseUrl), async (c) => {
    const name = cookieNames(baseUrl).session
    const token = getCookie(c, name) ?? ''
    const sealedIdToken = await deleteSession(sql, token)
    deps.seenAdministrators.forget(token)
    deleteCookie(c, name, cookieOptions(baseUrl))
    c.var.wide['audit'] = 'signed_out'
    const url = sealedIdToken && (await providerSignOut(await openIdToken(sealedIdToken, token)))
    return provider && url ? c.html(signedOutPage(provider.name, url)) : c.redirect('/sign-in', 303)
  })

  /** A provider that is unavailable keeps nobody from signing out here. */
  async function providerSignOut(idToken: string): Promise<string | undefined> {
    return provider?.signOutUrl(idToken, `${baseUrl}/sign-in`).catch(() => undefined)
  }

  return routes
}

/** Reads the address from the form, without NUL, which PostgreSQL does not store. */
function readEmail(form: URLSearchParams): string {
  const typed = (form.get('email') ?? '').trim().toLowerCase()
  return typed.replaceAll('\0', '\uFFFD').slice(0, EMAIL_LENGTH_MAX)
}

/** The address that was typed is not logged: people type passwords into the wrong field. */
function auditOf(result: SignInResult): Wide {
  const { outcome } = result
  if (outcome === 'ok') return { audit: 'signed_in', method: 'password', user_id: result.userId }
  const user = outcome === 'refused' ? result.userId : undefined
  return { audit: 'sign_in_failed', method: 'password', reason: outcome, user_id: user }
}

function explain(result: SignInResult): string {
  if (result.outcome !== 'throttled') return 'The email address or the password is not right.'
  return tooManyAttempts(result.retryAfterSeconds)
}

/**
 * The session here is over; the browser goes on to end the one with the provider. Not a redirect:
 * our policy lets forms lead to this host only, redirects included, and the sign-out is a form.
 */
function signedOutPage(provider: string, signOutUrl: string): Html {
  return plainPage(
    'Signed out',
    html`<h1>You are signed out</h1>
      <p class="hint">Your session with ${provider} ends next.</p>
      <a class="button primary wide" href="${signOutUrl}">Continue to ${provider}</a>`,
    { goTo: signOutUrl },
  )
}
