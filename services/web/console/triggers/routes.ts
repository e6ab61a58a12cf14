import type { Context, Hono } from 'hono'
import type { Automation } from '../../../platform/automations/automations.ts'
import { startAgain } from '../../../platform/triggers/receive-delivery.ts'
import {
  findTriggerDelivery,
  listTriggerPayloads,
} from '../../../platform/triggers/trigger-deliveries.ts'
import { findTrigger } from '../../../platform/triggers/triggers.ts'
import type { Trigger } from '../../../platform/triggers/triggers.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { takeForm } from '../../gate/callers/forms.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { readTyped, triggers } from '../../nouns/triggers.ts'
import { resourcePage } from '../../resources/page-routes.ts'
import { runPath } from '../frame/addresses.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { deliveryPage } from './delivery-page.ts'
import type { DeliveryPage } from './delivery-page.ts'
import { trySection } from './try-section.ts'

const PATH = '/automations/:automationId/triggers/:triggerId'
const TRIED_MAX = 5

/** Tries the filter and the mapping of a trigger, and shows its deliveries one by one. */
export function triggerPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, queue } = deps
  const room = createRoom(deps)
  const show = triggers.read(resourcePage(deps))
  const delivery = `${PATH}/deliveries/:eventId`

  room.form('admin', `${PATH}/test`, async (c) => {
    const { trigger } = await getOwnTrigger(c, sql)
    const typed = c.var.form
    const mapping = await takeForm(async () => readTyped(typed, trigger))
    if (typeof mapping === 'string') return show(c, {}, { typed, problem: mapping })
    const tried = trySection(mapping, await listTriggerPayloads(sql, trigger.id, TRIED_MAX))
    return show(c, { beside: () => tried }, { typed, problem: undefined })
  })

  room.page('viewer', delivery, async (c) => c.html(deliveryPage(await readPage(c, sql))))

  room.form('editor', delivery, async (c) => {
    const view = await readPage(c, sql)
    const {
      automation,
      trigger,
      delivery: { id, payload: body, headers },
    } = view
    const started = await takeForm(async () => {
      if (body === null) throw new AppError('unprocessable', 'Its content is not kept any more.')
      const starter = toStarter(c.var.actor, 'console')
      const again = { trigger, delivery: { id, body, headers }, starter, queue }
      return { runId: await startAgain(sql, again) }
    })
    if (typeof started === 'string') return c.html(deliveryPage({ ...view, wrong: started }), 422)
    return c.redirect(runPath(automation, { id: started.runId }), 303)
  })

  return room.routes
}

interface OwnTrigger {
  readonly automation: Automation
  readonly trigger: Trigger
  /** The address of its page. */
  readonly back: string
}

/** Returns the trigger of the path with its automation. Raises `not_found`. */
async function getOwnTrigger(c: Context<SignedIn>, sql: Database): Promise<OwnTrigger> {
  const automation = await getOwnAutomation(c, sql)
  const key = { id: c.req.param('triggerId') ?? '', deploymentId: automation.id }
  const trigger = await findTrigger(sql, key)
  if (!trigger) throw new AppError('not_found', 'This automation has no such trigger.')
  const back = `/automations/${automation.automationId}/triggers/${trigger.id}`
  return { automation, trigger, back }
}

async function readPage(c: Context<SignedIn>, sql: Database): Promise<DeliveryPage> {
  const own = await getOwnTrigger(c, sql)
  const key = { triggerId: own.trigger.id, id: c.req.param('eventId') ?? '' }
  const delivery = await findTriggerDelivery(sql, key)
  if (delivery) return { session: c.var.session, ...own, delivery }
  throw new AppError('not_found', 'This trigger has no such delivery, or no longer.')
}
