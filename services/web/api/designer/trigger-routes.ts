import {
  DELIVERY_STATES,
  listTriggerDeliveries,
} from '../../../platform/triggers/trigger-deliveries.ts'
import type { TriggerDelivery } from '../../../platform/triggers/trigger-deliveries.ts'
import { findTrigger } from '../../../platform/triggers/triggers.ts'
import { AppError } from '../../../shared/errors.ts'
import type { WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { getAutomation } from './get-automation.ts'
import * as s from '../openapi/parts.ts'
import { operation } from '../openapi/operation.ts'
import { paged, readNumberPage } from './requests.ts'

/** What is shown of a delivery to everybody. */
export const deliveryFields = {
  delivery_id: s.say(s.text, 'By which the sender identifies it.'),
  status: s.words(DELIVERY_STATES),
  kickoff_id: s.say(s.perhapsUuid, 'The run that it started.'),
  reason: s.say(s.perhapsText, 'Why it started no run.'),
}
/** Returns a delivery with the names of these fields. */
export const toDelivery = <Row extends Pick<TriggerDelivery, 'state' | 'runId' | 'problem'>>(
  row: Row,
) => ({ ...row, status: row.state, kickoffId: row.runId, reason: row.problem })

const delivery = s.document(
  'Delivery',
  { ...deliveryFields, received_at: s.moment },
  (row: TriggerDelivery) => toDelivery(row),
)
const list = operation('listDeliveries', 'The deliveries of a trigger, newest first', {
  tag: 'Triggers',
  ...paged,
  200: [
    'The deliveries of the last 30 days.',
    s.named('Deliveries', s.page('deliveries', delivery)),
  ],
})

/** Lists the deliveries of a trigger, newest first. */
export function triggerDeliveryRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const path = '/automations/:automationId/triggers/:triggerId/deliveries'

  api.get('viewer', [path, list], async (c) => {
    const { id: deploymentId } = await getAutomation(c, sql)
    const trigger = await findTrigger(sql, { id: c.req.param('triggerId') ?? '', deploymentId })
    if (!trigger) throw new AppError('not_found', 'This automation has no such trigger.')
    const { limit, cursor } = readNumberPage(c)
    const after = cursor === undefined ? undefined : String(cursor)
    const { items, next = null } = await listTriggerDeliveries(sql, trigger.id, { limit, after })
    return c.json({ deliveries: items.map(delivery.of), next_cursor: next })
  })
}
