import { createHmac, randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import type { WebDeps } from '../context.ts'
import { cookieNames, cookieOptions } from '../gate/callers/cookies.ts'
import { CSRF_FIELD } from '../gate/callers/csrf-field.ts'
import { isSame } from '../gate/callers/forms.ts'

/**
 * Binds the sign-in form to this browser, which has no session yet: a random cookie, and in the
 * form its HMAC. Without it another site could sign a visitor in to an account of its own. Returns
 * what the form carries.
 */
export function bindSignInForm(c: Context, { config }: WebDeps): string {
  const { PLATFORM_BASE_URL: baseUrl, SECRET_KEY_BASE: secret } = config
  const name = cookieNames(baseUrl).signIn
  // Two tabs share the cookie, so that both forms stay good.
  const nonce = getCookie(c, name) ?? randomBytes(32).toString('base64url')
  setCookie(c, name, nonce, cookieOptions(baseUrl))
  return formToken(secret, nonce)
}

/** Returns true if this browser was shown the form that it sends. */
export function isOwnSignInForm(c: Context, form: URLSearchParams, { config }: WebDeps): boolean {
  const nonce = getCookie(c, cookieNames(config.PLATFORM_BASE_URL).signIn)
  if (!nonce) return false
  const given = form.get(CSRF_FIELD) ?? ''
  // One that was shown before the key was rotated is good too.
  const { SECRET_KEY_BASE: secret, SECRET_KEY_BASE_PREVIOUS: previous = secret } = config
  return [secret, previous].some((each) => isSame(given, formToken(each, nonce)))
}

function formToken(secret: string, nonce: string): string {
  return createHmac('sha256', secret).update(`sign-in form:${nonce}`).digest('base64url')
}
