import { Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { verifyPassword } from '../../platform/passwords.ts'
import { deleteSession } from '../../platform/sessions.ts'
import type { Wide } from '../../shared/log.ts'
import { clientAddress } from '../auth/client-address.ts'
import { cookieNames, cookieOptions } from '../auth/cookies.ts'
import { formExpired, readForm, requireForm, requireSameOrigin } from '../auth/forms.ts'
import { createGate } from '../auth/gate.ts'
import { nextPage } from '../auth/next-page.ts'
import { readSession, requireSession } from '../auth/session.ts'
import { bindSignInForm, isOwnSignInForm } from '../auth/sign-in-form.ts'
import { createSignIn } from '../auth/sign-in.ts'
import type { SignInResult } from '../auth/sign-in.ts'
import type { SignedIn, WebApp, WebDeps } from '../context.ts'
import { signInPage } from '../views/sign-in-page.ts'

const EMAIL_LENGTH_MAX = 254
/** Each check of a password takes 128 MiB while it runs. */
const PASSWORD_CHECKS = {
  concurrent: 2,
  waitingMax: 30,
  busy: 'Too many people sign in right now. Try again in a moment.',
}

/** Signing in with a password, and out. */
export function signInRoutes(deps: WebDeps): Hono<WebApp> {
  const { sql, config } = deps
  const routes = new Hono<WebApp>()
  const baseUrl = config.PLATFORM_BASE_URL
  const sessionCookie = cookieNames(baseUrl).session
  const signIn = createSignIn(sql, createGate(verifyPassword, PASSWORD_CHECKS))

  routes.get('/sign-in', async (c) => {
    const next = nextPage(c.req.query('next'))
    if (await readSession(c, deps)) return c.redirect(next, 303)
    return c.html(signInPage({ csrfToken: bindSignInForm(c, deps), next }))
  })

  routes.post('/sign-in', async (c) => {
    requireSameOrigin(c, baseUrl)
    const form = await readForm(c.req.raw)
    const email = readEmail(form)
    const next = nextPage(form.get('next'))
    if (!isOwnSignInForm(c, form, deps)) {
      const page = {
        csrfToken: bindSignInForm(c, deps),
        email,
        next,
        problem: formExpired().message,
      }
      return c.html(signInPage(page), 403)
    }
    const address = clientAddress(c, config.TRUSTED_PROXIES)
    const password = form.get('password') ?? ''
    const earlierToken = getCookie(c, sessionCookie)
    const result = await signIn({ email, password, address, earlierToken })
    Object.assign(c.var.wide, auditOf(result), { address })
    if (result.outcome !== 'ok') {
      const page = { csrfToken: bindSignInForm(c, deps), email, next, problem: explain(result) }
      return c.html(signInPage(page), result.outcome === 'throttled' ? 429 : 401, retryOf(result))
    }
    setCookie(c, sessionCookie, result.token, cookieOptions(baseUrl))
    deleteCookie(c, cookieNames(baseUrl).signIn, cookieOptions(baseUrl))
    return c.redirect(next, 303)
  })

  routes.route('/', signOutRoutes(deps))
  return routes
}

function signOutRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const baseUrl = config.PLATFORM_BASE_URL
  const routes = new Hono<SignedIn>()
  routes.post('/sign-out', requireSession(deps), requireForm(baseUrl), async (c) => {
    const name = cookieNames(baseUrl).session
    await deleteSession(sql, getCookie(c, name) ?? '')
    deleteCookie(c, name, cookieOptions(baseUrl))
    c.var.wide['audit'] = 'sign_out'
    return c.redirect('/sign-in', 303)
  })
  return routes
}

/** What people type into the form; PostgreSQL has no text with NUL in it. */
function readEmail(form: URLSearchParams): string {
  const typed = (form.get('email') ?? '').trim().toLowerCase()
  return typed.replaceAll('\0', '\uFFFD').slice(0, EMAIL_LENGTH_MAX)
}

/** The address that was typed is not logged: people type passwords into the wrong field. */
function auditOf(result: SignInResult): Wide {
  const user = result.outcome === 'throttled' ? undefined : result.userId
  return { audit: 'sign_in', outcome: result.outcome, user_id: user }
}

function explain(result: SignInResult): string {
  if (result.outcome !== 'throttled') return 'The email address or the password is not right.'
  const minutes = Math.ceil(result.retryAfterSeconds / 60)
  return `Too many attempts. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`
}

function retryOf(result: SignInResult): Record<string, string> {
  return result.outcome === 'throttled' ? { 'retry-after': String(result.retryAfterSeconds) } : {}
}
