import { Hono } from 'hono'
import { listTriggerDeliveries } from '../../../platform/triggers/trigger-deliveries.ts'
import type { TriggerDelivery } from '../../../platform/triggers/trigger-deliveries.ts'
import { findTrigger } from '../../../platform/triggers/triggers.ts'
import { AppError } from '../../../shared/errors.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { requireOrganization } from '../../gate/callers/organization.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { getAutomation } from './get-automation.ts'
import { readNumberPage } from './requests.ts'

/** Lists the deliveries of a trigger, newest first. */
export function triggerDeliveryRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const routes = new Hono<OrganizationCall>()
  const authenticate = requireOrganization(deps)
  const path = '/automations/:automationId/triggers/:triggerId/deliveries'

  routes.get(path, declareRight('viewer'), authenticate, async (c) => {
    const { id: deploymentId } = await getAutomation(c, sql)
    const trigger = await findTrigger(sql, { id: c.req.param('triggerId'), deploymentId })
    if (!trigger) throw new AppError('not_found', 'This automation has no such trigger.')
    const { limit, cursor } = readNumberPage(c)
    const after = cursor === undefined ? undefined : String(cursor)
    const page = await listTriggerDeliveries(sql, trigger.id, { limit, after })
    return c.json({ deliveries: page.items.map(toDocument), next_cursor: page.next ?? null })
  })
  routes.all(path, authenticate, refuseMethod('GET, HEAD'))
  return routes
}

const toDocument = ({ deliveryId, state, problem, runId, receivedAt }: TriggerDelivery) => ({
  delivery_id: deliveryId,
  status: state,
  kickoff_id: runId,
  reason: problem,
  received_at: receivedAt,
})
