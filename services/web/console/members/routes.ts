import type { Context, Hono } from 'hono'
import { listInvitations } from '../../../platform/people/invitations.ts'
import { findMember, listMembers } from '../../../platform/people/members.ts'
import type { Member } from '../../../platform/people/members.ts'
import { changeMemberRole, readOrganizationRole } from '../../../platform/people/memberships.ts'
import { AppError } from '../../../shared/errors.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { MEMBERS_PATH } from '../frame/addresses.ts'
import { isIdCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { noticeOf } from '../frame/notices.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { membersPage } from './page.ts'
import type { ReadMembersPage } from './page.ts'
import { conflictOf, removalRoutes } from './removal-routes.ts'
import { createRoom } from '../frame/room.ts'

/** Serves the members of an organization: their roles, and the ends of memberships. */
export function memberRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const audited = createAudited(sql)

  const readPage: ReadMembersPage = async (c, shown = {}) => {
    const { session } = c.var
    const { organizationId } = session.user
    const request = readPageRequest(c, isIdCursor)
    const page = await listMembers(sql, organizationId, request)
    const invitations = await listInvitations(sql, organizationId)
    const notice = shown.problem ? undefined : noticeOf(c.req.query('notice'))
    const hasMail = deps.mailer !== undefined
    return { session, page, request, invitations, hasMail, notice, ...shown }
  }

  const getMember = async (c: Context<SignedIn>): Promise<Member> => {
    const { organizationId } = c.var.session.user
    const text = c.req.param('userId') ?? ''
    const userId = isIdCursor(text) ? Number(text) : 0
    const member = await findMember(sql, { organizationId, userId })
    if (member) return member
    throw new AppError('not_found', 'Your organization has no such member.')
  }

  room.page('viewer', MEMBERS_PATH, async (c) => c.html(membersPage(await readPage(c))))

  room.form('admin', `${MEMBERS_PATH}/:userId/role`, async (c) => {
    const { userId, name, email } = await getMember(c)
    const { organizationId } = c.var.session.user
    const from = readOrganizationRole(c.var.form.get('from'))
    const to = readOrganizationRole(c.var.form.get('to'))
    if (!from || !to) {
      const problem = 'A role is viewer, editor or admin. Choose one of them.'
      return c.html(membersPage(await readPage(c, { problem })), 422)
    }
    try {
      const target = { kind: 'user', id: userId, name: email ?? name }
      const entry = { action: 'member_set', target, before: { role: from }, after: { role: to } }
      const change = { userId, organizationId, from, to }
      await audited(c.var, (tx) => changeMemberRole(tx, change), entry)
    } catch (thrown) {
      return c.html(membersPage(await readPage(c, { problem: conflictOf(thrown) })), 409)
    }
    return c.redirect(`${MEMBERS_PATH}?notice=role-saved`, 303)
  })

  room.routes.route('/', removalRoutes(deps, { readPage, getMember }))
  room.routes.route('/', invitationRoutes(deps, readPage))
  return room.routes
}
