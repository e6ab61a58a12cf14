import type { Context, MiddlewareHandler } from 'hono'
import { getCookie } from 'hono/cookie'
import { findSession } from '../../../platform/people/sessions.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { actorOf, toIdentity } from './actor.ts'
import { cookieNames } from './cookies.ts'

/** Returns the live session of a request, which is read once; undefined if it has none. */
export async function readSession(
  c: Context,
  { sql, config, seenAdministrators, traces, rights }: WebDeps,
): Promise<Session | undefined> {
  const known: Session | undefined = c.get('session')
  if (known) return known
  const token = sessionToken(c, config)
  if (!token) return undefined
  const session = await findSession(sql, token)
  if (session) seenAdministrators.note(token, session)
  else seenAdministrators.forget(token)
  const isCompact = getCookie(c, cookieNames(config.PLATFORM_BASE_URL).density) === 'compact'
  if (!session) return undefined
  const mayCall = (method: string, path: string) => rights.mayCall(session, method, path)
  return { ...session, isCompact, hasTraces: traces !== undefined, mayCall }
}

/** Returns the token in the session cookie of a request. */
export const sessionToken = (c: Context, config: WebDeps['config']): string | undefined =>
  getCookie(c, cookieNames(config.PLATFORM_BASE_URL).session)

/**
 * Lets signed-in users pass. Redirects others to the sign-in page, which leads back to the page
 * they asked for.
 */
export function requireSession(deps: WebDeps): MiddlewareHandler<SignedIn> {
  return async function loadSession(c, next) {
    const session = await readSession(c, deps)
    if (!session) {
      const { pathname, search } = new URL(c.req.url)
      const back = c.req.method === 'GET' ? `?next=${encodeURIComponent(pathname + search)}` : ''
      return c.redirect(`/sign-in${back}`, 303)
    }
    c.set('session', session)
    c.set('actor', actorOf(c, deps, toIdentity(session.user)))
    const { id, organizationId } = session.user
    Object.assign(c.var.wide, { user_id: id, organization_id: organizationId })
    return next()
  }
}
