import { Hono } from 'hono'
import type { Context } from 'hono'
import { findAutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import { listClientSightings } from '../../../platform/automations/client-sightings.ts'
import { bindOauthClient, listAutomations } from '../../../platform/automations/automations.ts'
import { automationEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { clientIdProblem } from './form.ts'
import { isUuidCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { clientFilteringPage } from './page.ts'
import type { ClientFilteringPage } from './page.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { noticeOf } from '../frame/notices.ts'
import { OAUTH_PATH } from '../frame/addresses.ts'

/**
 * Serves Client ID Filtering → Manage automations (SPEC 5.3). An automation without a client
 * refuses OAuth calls.
 */
export function clientFilteringRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  async function read(c: Context<SignedIn>): Promise<ClientFilteringPage> {
    const { organizationId } = c.var.session.user
    const request = readPageRequest(c, isUuidCursor)
    const [page, settings] = await Promise.all([
      listAutomations(sql, organizationId, request),
      findAutomationOauth(sql, organizationId),
    ])
    const shown = page.items.map(({ id }) => id)
    const sightings = await listClientSightings(sql, shown)
    const isOn = settings?.enabled === true
    return { session: c.var.session, page, request, sightings, isOn }
  }

  routes.get(`${OAUTH_PATH}/clients`, session, async (c) => {
    const notice = noticeOf(c.req.query('notice'))
    return c.html(clientFilteringPage({ ...(await read(c)), notice }))
  })

  routes.post(`${OAUTH_PATH}/clients/:automationId`, session, form, async (c) => {
    const { organizationId } = c.var.session.user
    const automationId = c.req.param('automationId')
    const clientId = c.var.form.get('client_id') ?? ''
    const problem = clientId === '' ? undefined : clientIdProblem(clientId)
    if (problem) return c.html(clientFilteringPage({ ...(await read(c)), problem }), 422)
    const automation = await getOwnAutomation(c, sql)
    await audited(
      c.var,
      (tx) => bindOauthClient(tx, { automationId, organizationId }, clientId || null),
      {
        ...automationEntry(
          clientId === '' ? 'oauth_client_unbound' : 'oauth_client_bound',
          automation,
        ),
        before: { client_id: automation.oauthClientId },
        after: { client_id: clientId || null },
      },
    )
    const notice = clientId === '' ? 'client-unbound' : 'client-bound'
    const { after, before, search: q } = readPageRequest(c, isUuidCursor)
    return c.redirect(`${OAUTH_PATH}/clients${queryOf({ notice, after, before, q })}`, 303)
  })

  return routes
}
