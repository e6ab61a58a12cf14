import type { Context, Hono } from 'hono'
import { removeMember } from '../../../platform/people/memberships.ts'
import type { OrganizationChoice } from '../../../platform/people/sessions.ts'
import { AppError } from '../../../shared/errors.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'
import { accountPage } from './page.ts'
import type { ReadAccountPage } from './page.ts'
import { createRoom } from '../frame/room.ts'

const BY_GROUPS =
  'Groups of the identity provider make you a member of this organization. Leave them there.'

/** Lets people leave an organization; what they made stays. */
export function leaveRoutes(deps: WebDeps, readPage: ReadAccountPage): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {
    'organization-left': 'You have left the organization.',
  })
  const audited = createAudited(sql)
  const path = '/account/organizations/:organizationId/leave'

  room.page('person', path, (c) => {
    const { id, name } = getOwnOrganization(c)
    return c.html(
      confirmPage({
        session: c.var.session,
        current: '/account',
        crumbs: [{ path: '/account', name: 'Your account' }],
        question: `Leave ${name}?`,
        consequence: `You have no access to ${name} from then on. What you made stays.`,
        action: `/account/organizations/${id}/leave`,
        verb: 'Leave',
        back: '/account',
      }),
    )
  })

  room.form('person', path, async (c) => {
    const { id: userId, email, name } = c.var.session.user
    const { id: organizationId, role } = getOwnOrganization(c)
    const target = { kind: 'user', id: userId, name: email ?? name }
    const entry = { action: 'member_removed', organizationId, target, before: { role } }
    try {
      const hasLeft = await audited(
        c.var,
        (tx) => removeMember(tx, { userId, organizationId }),
        (done) => (done ? entry : undefined),
      )
      if (!hasLeft) return c.html(accountPage(await readPage(c, BY_GROUPS)), 409)
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== 'conflict') throw thrown
      return c.html(accountPage(await readPage(c, thrown.message)), 409)
    }
    return c.redirect('/account?notice=organization-left', 303)
  })

  return room.routes
}

function getOwnOrganization(c: Context<SignedIn>): OrganizationChoice {
  const text = c.req.param('organizationId') ?? ''
  const id = isIdCursor(text) ? Number(text) : 0
  const found = c.var.session.organizations.find((each) => each.id === id)
  if (found) return found
  throw new AppError('not_found', 'You are not a member of such an organization.')
}
