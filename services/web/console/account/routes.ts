import type { Hono } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { isUuid } from '../../../platform/automations/automations.ts'
import {
  deleteSessionsOf,
  endSession,
  enterOrganization,
  listSessions,
} from '../../../platform/people/sessions.ts'
import { AppError } from '../../../shared/errors.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { cookieNames, cookieOptions } from '../../gate/callers/cookies.ts'
import { sessionToken } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'
import { createRoom } from '../frame/room.ts'
import { leaveRoutes } from './leave-routes.ts'
import { accountPage } from './page.ts'
import type { ReadAccountPage } from './page.ts'

/** Serves a person's own account, whatever the organization: memberships and sessions. */
export function accountRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const room = createRoom(deps, {
    'session-ended': 'The session has ended.',
  })
  const audited = createAudited(sql)

  const readPage: ReadAccountPage = async (c, problem) => {
    const { session } = c.var
    const sessions = await listSessions(sql, session.user.id)
    const notice = problem ? undefined : c.var.notice
    return { session, sessions, notice, problem }
  }

  room.page('person', '/account', async (c) => c.html(accountPage(await readPage(c))))

  room.form('person', '/account/organization', async (c) => {
    const text = c.var.form.get('organization') ?? ''
    const id = isIdCursor(text) ? Number(text) : 0
    if (!(await enterOrganization(sql, sessionToken(c, config) ?? '', id))) {
      throw new AppError('not_found', 'You are not a member of such an organization.')
    }
    return c.redirect('/', 303)
  })

  room.form('person', '/account/sessions/:sessionId/end', async (c) => {
    const id = c.req.param('sessionId') ?? ''
    const entry = { action: 'session_ended', target: { kind: 'session', id } }
    const isEnded =
      isUuid(id) &&
      (await audited(
        c.var,
        (tx) => endSession(tx, { id, userId: c.var.session.user.id }),
        (done) => (done ? entry : undefined),
      ))
    if (!isEnded) throw new AppError('not_found', 'You have no such session, or it has ended.')
    return c.redirect('/account?notice=session-ended', 303)
  })

  room.form('person', '/account/sign-out-everywhere', async (c) => {
    const { id, email, name } = c.var.session.user
    const target = { kind: 'user', id, name: email ?? name }
    const entry = (ended: number) => ({
      action: 'signed_out_everywhere',
      target,
      after: { sessions_ended: ended },
    })
    await audited(c.var, (tx) => deleteSessionsOf(tx, id), entry)
    deps.seenAdministrators.forget(sessionToken(c, config) ?? '')
    const { PLATFORM_BASE_URL: baseUrl } = config
    deleteCookie(c, cookieNames(baseUrl).session, cookieOptions(baseUrl))
    return c.redirect('/sign-in', 303)
  })

  room.routes.route('/', displayRoutes(deps))
  room.routes.route('/', leaveRoutes(deps, readPage))
  return room.routes
}

const DISPLAY_SECONDS = 365 * 86_400

/** Keeps how close the rows of lists are, in this browser. */
function displayRoutes(deps: WebDeps): Hono<SignedIn> {
  const { config } = deps
  const room = createRoom(deps)

  room.form('person', '/account/display', (c) => {
    const { PLATFORM_BASE_URL: baseUrl } = config
    const density = c.var.form.get('density') === 'compact' ? 'compact' : 'roomy'
    const cookie = { ...cookieOptions(baseUrl), maxAge: DISPLAY_SECONDS }
    setCookie(c, cookieNames(baseUrl).density, density, cookie)
    return c.redirect(backTo(c.req.header('referer'), baseUrl), 303)
  })

  return room.routes
}

/** Returns the path of the page that a form was on; that of the account for any other address. */
function backTo(referer: string | undefined, baseUrl: string): string {
  if (referer === undefined || !URL.canParse(referer)) return '/account'
  const { host, pathname, search } = new URL(referer)
  return host === new URL(baseUrl).host && /^\/(?!\/)/.test(pathname)
    ? pathname + search
    : '/account'
}
