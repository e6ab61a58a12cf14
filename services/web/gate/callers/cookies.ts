import type { CookieOptions } from 'hono/utils/cookie'

/** `__Host-` binds a cookie to this very host, and browsers take it over https only. */
export function cookieNames(baseUrl: string) {
  const prefix = isHttps(baseUrl) ? '__Host-' : ''
  return {
    session: `${prefix}platform_session`,
    /** Binds the sign-in form to the browser. */
    signIn: `${prefix}platform_sign_in`,
    /** How close the rows of lists are. */
    density: `${prefix}platform_density`,
    /** A sign-in through the identity provider that was begun. */
    attempt: `${prefix}platform_sign_in_attempt`,
  }
}

/** Returns the attributes of all cookies; `Secure` if the platform is served over https. */
export function cookieOptions(baseUrl: string): CookieOptions {
  return { path: '/', httpOnly: true, sameSite: 'Lax', secure: isHttps(baseUrl) }
}

const isHttps = (url: string): boolean => url.startsWith('https:')
