import { Hono } from 'hono'
import { createInvitation, INVITATION_DAYS } from '../../../platform/people/invitations.ts'
import { requireAdministrator } from '../../gate/callers/administrator.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { invitationUrl } from '../frame/addresses.ts'
import { newLinkPage } from '../frame/new-link-page.ts'
import { getOrganization } from './get-organization.ts'
import { ORGANIZATIONS_PATH } from './organizations-page.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

/** Invites an admin to an organization: its first one, or one in place of those who left. */
export function adminInvitationRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const administrator = requireAdministrator(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  routes.post(
    `${ORGANIZATIONS_PATH}/:organizationId/invitations`,
    declareRight('platform-admin'),
    administrator,
    form,
    async (c) => {
      const { session } = c.var
      const { id: organizationId, name } = await getOrganization(c, sql)
      const { id: createdBy } = session.user
      const invitation = { organizationId, role: 'admin', note: 'An admin', createdBy } as const
      const entry = ({ id }: { id: number }) => ({
        action: 'invitation_created',
        organizationId,
        target: { kind: 'invitation', id },
        after: { role: 'admin' },
      })
      const { token } = await audited(c.var, (tx) => createInvitation(tx, invitation), entry)
      return c.html(
        newLinkPage({
          session,
          current: ORGANIZATIONS_PATH,
          title: 'The invitation',
          text:
            `The first person who opens this link within ${INVITATION_DAYS} days can become an ` +
            `admin of ${name}.`,
          url: invitationUrl(config.PLATFORM_BASE_URL, token),
          back: { path: ORGANIZATIONS_PATH, name: 'Organizations' },
        }),
      )
    },
  )

  return routes
}
