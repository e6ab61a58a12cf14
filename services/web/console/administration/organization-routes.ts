import { Hono } from 'hono'
import type { Context } from 'hono'
import { createOrganization, listOrganizations } from '../../../platform/people/organizations.ts'
import type { Organization } from '../../../platform/people/organizations.ts'
import { AppError } from '../../../shared/errors.ts'
import { requireAdministrator } from '../../gate/callers/administrator.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isIdCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { noticeOf } from '../frame/notices.ts'
import { adminInvitationRoutes } from './admin-invitation-routes.ts'
import { organizationLimitRoutes } from './limit-routes.ts'
import { ORGANIZATIONS_PATH, organizationsPage } from './organizations-page.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

/** Serves the organizations to administrators of the platform, and 404 to anybody else. */
export function organizationRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const administrator = requireAdministrator(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  async function show(c: Context<SignedIn>, shown: { problem?: string; typed?: string } = {}) {
    const request = readPageRequest(c, isIdCursor)
    const page = await listOrganizations(sql, request)
    const notice = shown.problem ? undefined : noticeOf(c.req.query('notice'))
    return organizationsPage({ session: c.var.session, page, request, notice, ...shown })
  }

  routes.get(ORGANIZATIONS_PATH, declareRight('platform-admin'), administrator, async (c) =>
    c.html(await show(c)),
  )

  routes.post(
    ORGANIZATIONS_PATH,
    declareRight('platform-admin'),
    administrator,
    form,
    async (c) => {
      const typed = (c.var.form.get('name') ?? '').trim()
      const entry = ({ id, name }: Organization) => ({
        action: 'organization_created',
        organizationId: id,
        target: { kind: 'organization', id, name },
      })
      try {
        await audited(c.var, (tx) => createOrganization(tx, typed), entry)
      } catch (thrown) {
        if (!(thrown instanceof AppError) || thrown.status >= 500) throw thrown
        return c.html(await show(c, { problem: thrown.message, typed }), 422)
      }
      return c.redirect(`${ORGANIZATIONS_PATH}?notice=organization-created`, 303)
    },
  )

  routes.route('/', adminInvitationRoutes(deps))
  routes.route('/', organizationLimitRoutes(deps))
  return routes
}
