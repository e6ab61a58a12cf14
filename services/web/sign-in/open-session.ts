import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import {
  createSession,
  deleteExpiredSessions,
  deleteSession,
} from '../../platform/people/sessions.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { clientAddress } from '../gate/callers/client-address.ts'
import { cookieNames, cookieOptions } from '../gate/callers/cookies.ts'
import type { WebApp, WebDeps } from '../context.ts'

/**
 * Opens a session for a person in this browser, always a new one (SPEC 5.1); one that the browser
 * still has ends.
 */
export async function openSession(
  c: Context<WebApp>,
  { config }: WebDeps,
  { sql, userId }: { sql: Queryable; userId: number },
): Promise<void> {
  const { PLATFORM_BASE_URL: baseUrl, TRUSTED_PROXIES: proxies } = config
  const names = cookieNames(baseUrl)
  const earlier = getCookie(c, names.session)
  if (earlier) await deleteSession(sql, earlier)
  await deleteExpiredSessions(sql)
  const origin = {
    clientAddress: clientAddress(c, proxies),
    userAgent: c.req.header('user-agent') ?? '',
  }
  const token = await createSession(sql, userId, origin)
  setCookie(c, names.session, token, cookieOptions(baseUrl))
  deleteCookie(c, names.signIn, cookieOptions(baseUrl))
}
