import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import { startAgain } from '../../../platform/triggers/receive-delivery.ts'
import {
  findTriggerDelivery,
  listTriggerPayloads,
  PAYLOAD_DAYS,
} from '../../../platform/triggers/trigger-deliveries.ts'
import type { TriggerDeliveryRecord } from '../../../platform/triggers/trigger-deliveries.ts'
import { findTrigger } from '../../../platform/triggers/triggers.ts'
import type { Trigger } from '../../../platform/triggers/triggers.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { mapDelivery } from '../../../platform/triggers/trigger-mapping.ts'
import type { Mapping, Facts } from '../../../platform/triggers/trigger-mapping.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { takeForm } from '../../gate/callers/forms.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { readTyped, triggers } from '../../nouns/triggers.ts'
import { resourcePage } from '../../resources/page-routes.ts'
import { runPath } from '../frame/addresses.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { pretty } from '../frame/format.ts'
import { copyable, pill, csrfField, factList, problemBox, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { crumbs } from '../frame/confirm-page.ts'
import { page } from '../frame/layout.ts'
import { deliveryPill, runLink } from './deliveries-section.ts'

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

/** Says what a mapping makes of deliveries, without starting a run. */
const trySection = (mapping: Mapping, deliveries: readonly TriggerDeliveryRecord[]): Html =>
  html`<section class="card" aria-labelledby="test">
    <div class="card-head"><h2 id="test">With the last deliveries</h2></div>
    ${
      deliveries.length > 0
        ? html`<dl class="findings">${findings(mapping, deliveries)}</dl>`
        : html`<p class="hint">Nothing was delivered yet. Have the sender send something.</p>`
    }
  </section>`

/** One that takes too long ends the trial: the others would take as long. */
function findings(mapping: Mapping, deliveries: readonly TriggerDeliveryRecord[]): Html[] {
  const found: Html[] = []
  for (const delivery of deliveries) {
    const made = tryToMap(mapping, delivery)
    found.push(finding(delivery, made))
    if (made instanceof AppError && made.code === 'timeout') break
  }
  return found
}

function tryToMap(mapping: Mapping, { payload: body, headers }: TriggerDeliveryRecord) {
  try {
    return mapDelivery(mapping, { body, headers })
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown
    throw thrown
  }
}

function finding({ deliveryId }: TriggerDeliveryRecord, made: ReturnType<typeof tryToMap>): Html {
  const [state, text] =
    made instanceof AppError
      ? [pill('bad', 'fails'), made.message]
      : made.inputs
        ? [pill('good', 'starts a run'), copyable('Inputs', pretty(made.inputs))]
        : [pill('idle', 'is skipped'), 'The filter leaves it out.']
  return html`<div>
    <dt><span class="mono break">${deliveryId}</span> ${state}</dt>
    <dd>${text}</dd>
  </div>`
}

/** A delivery of a trigger. */
interface DeliveryPage {
  readonly session: Session
  readonly automation: Automation
  readonly trigger: Trigger
  /** The address of the page of the trigger. */
  readonly back: string
  readonly delivery: TriggerDeliveryRecord
  /** Why no run was started by hand. */
  readonly wrong?: string | undefined
}

/** The page of a delivery: what it did and why, what was sent, and a button to start again. */
function deliveryPage(view: DeliveryPage): Html {
  const { session, automation, trigger, back, delivery, wrong } = view
  const { deliveryId, state, problem, runId, receivedAt, headers, payload } = delivery
  const path = `/automations/${automation.automationId}`
  return page(
    { title: 'Delivery', session, current: '/automations' },
    html`${crumbs([
        { path: '/automations', name: 'Automations' },
        { path, name: automation.name },
        { path: `${path}/triggers`, name: 'Triggers' },
        { path: back, name: trigger.name },
      ])}
      <div class="page-head">
        <h1 class="mono break">${deliveryId}</h1>
        ${deliveryPill(state)} ${payload === null ? '' : startAgainButton(view)}
      </div>
      ${problemBox(wrong)}
      <section class="card" aria-label="What it did">
        ${factList('facts in-row', [
          ['Received', time(receivedAt)],
          ['Run', runId === null ? 'None' : runLink(automation, runId)],
          ...(problem === null ? [] : [['Reason', problem] as const]),
        ])}
      </section>
      ${
        payload === null
          ? html`<p class="hint">
              Its content could not be read, or was received more than ${PAYLOAD_DAYS} days ago.
            </p>`
          : html`${contentSection('headers', headers)} ${contentSection('body', payload)}`
      }`,
  )
}

/** What was sent, by its name in filters and paths. */
const contentSection = (name: keyof Facts, content: unknown): Html =>
  html`<section class="card" aria-labelledby="${name}">
    <div class="card-head"><h2 id="${name}" class="mono">$.${name}</h2></div>
    ${copyable(name, pretty(content))}
  </section>`

const startAgainButton = ({ session, back, delivery }: DeliveryPage): Html =>
  html`<form method="post" action="${back}/deliveries/${delivery.id}" class="push">
    ${csrfField(session.csrfToken)}<button class="button">
      ${delivery.runId === null ? 'Start a run' : 'Start again'}
    </button>
  </form>`
