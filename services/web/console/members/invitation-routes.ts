import type { Hono } from 'hono'
import {
  createInvitation,
  INVITATION_DAYS,
  revokeInvitation,
} from '../../../platform/people/invitations.ts'
import { AppError } from '../../../shared/errors.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { mailLink } from '../../mail/mail-link.ts'
import { invitationUrl, MEMBERS_PATH } from '../frame/addresses.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'
import { newLinkPage } from '../frame/new-link-page.ts'
import { invitationProblem, readInvitation } from './fields.ts'
import { membersPage } from './page.ts'
import type { ReadMembersPage } from './page.ts'
import { createRoom } from '../frame/room.ts'

/** Creates and revokes invitations to the session's organization. */
export function invitationRoutes(deps: WebDeps, readPage: ReadMembersPage): Hono<SignedIn> {
  const { sql, config } = deps
  const room = createRoom(deps)
  const audited = createAudited(sql)
  const path = '/settings/organization/invitations'

  room.form('admin', path, async (c) => {
    const { session } = c.var
    const { id: createdBy, organizationId } = session.user
    const typed = readInvitation(c.var.form)
    const { note, role, email } = typed
    const problem = invitationProblem(typed)
    if (problem !== undefined || role === undefined) {
      return c.html(membersPage(await readPage(c, { problem, typed })), 422)
    }
    const invitation = { organizationId, role, note, createdBy }
    const entry = ({ id }: { id: number }) => ({
      action: 'invitation_created',
      target: { kind: 'invitation', id, name: note },
      after: email === '' ? { role } : { role, mail: email },
    })
    const created = await audited(c.var, (tx) => createInvitation(tx, invitation), entry)
    const url = invitationUrl(config.PLATFORM_BASE_URL, created.token)
    const text =
      `The first person who opens this link within ${INVITATION_DAYS} days can become a ` +
      `member of ${session.organization}, with the role ${role}.`
    const subject = `Invitation to ${session.organization}`
    const mailed = await mailLink(c.var, deps, { to: email, subject, text, url })
    const title = 'The invitation'
    const back = { path: MEMBERS_PATH, name: 'Members' }
    return c.html(newLinkPage({ session, current: MEMBERS_PATH, title, text, url, back, mailed }))
  })

  room.form('admin', `${path}/:invitationId/revoke`, async (c) => {
    const { organizationId } = c.var.session.user
    const text = c.req.param('invitationId') ?? ''
    const id = isIdCursor(text) ? Number(text) : 0
    const entry = { action: 'invitation_revoked', target: { kind: 'invitation', id } }
    const isRevoked = await audited(
      c.var,
      (tx) => revokeInvitation(tx, { id, organizationId }),
      (done) => (done ? entry : undefined),
    )
    if (!isRevoked) {
      throw new AppError(
        'not_found',
        'Your organization has no such invitation, or it was accepted or has expired.',
      )
    }
    return c.redirect(`${MEMBERS_PATH}?notice=invitation-revoked`, 303)
  })

  return room.routes
}
