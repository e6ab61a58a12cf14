import { Hono } from 'hono'
import { findOwnLimits, saveOwnLimits } from '../../../platform/people/organization-limits.ts'
import { requireAdministrator } from '../../gate/callers/administrator.ts'
import { limitsEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { standardLimits } from '../../gate/callers/create-limits.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { noticeOf } from '../frame/notices.ts'
import { getOrganization } from './get-organization.ts'
import { readLimitsForm, typedOf } from './limits-form.ts'
import { limitsPage } from './limits-page.ts'
import { ORGANIZATIONS_PATH } from './organizations-page.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

/** Serves the limits of each organization to administrators of the platform. */
export function organizationLimitRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const administrator = requireAdministrator(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const path = `${ORGANIZATIONS_PATH}/:organizationId/limits`
  const standard = standardLimits(config)

  routes.get(path, declareRight('platform-admin'), administrator, async (c) => {
    const organization = await getOrganization(c, sql)
    const typed = typedOf(await findOwnLimits(sql, organization.id))
    const notice = noticeOf(c.req.query('notice'))
    const { session } = c.var
    return c.html(limitsPage({ session, organization, standard, typed, notice }))
  })

  routes.post(path, declareRight('platform-admin'), administrator, form, async (c) => {
    const organization = await getOrganization(c, sql)
    const { session, form: fields } = c.var
    const read = readLimitsForm(fields)
    if ('problem' in read) {
      return c.html(limitsPage({ session, organization, standard, ...read }), 422)
    }
    const { limits } = read
    const before = await findOwnLimits(sql, organization.id)
    const entry = limitsEntry(organization, { before, after: limits })
    await audited(c.var, (tx) => saveOwnLimits(tx, organization.id, limits), entry)
    return c.redirect(`${ORGANIZATIONS_PATH}/${organization.id}/limits?notice=limits-saved`, 303)
  })

  return routes
}
