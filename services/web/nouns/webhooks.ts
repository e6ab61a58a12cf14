import { createHash, randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import * as v from 'valibot'
import type { Automation } from '../../platform/automations/automations.ts'
import { requireRegion } from '../../platform/connections/regions.ts'
import {
  isDeliveryId,
  listDeliveries,
  sendTestMessage,
} from '../../platform/webhooks/webhook-deliveries.ts'
import { readWebhook, URL_LENGTH_MAX } from '../../platform/webhooks/webhook-fields.ts'
import { createWebhookKeys, createWebhookSecret } from '../../platform/webhooks/webhook-keys.ts'
import {
  createWebhook,
  deleteWebhook,
  EVERY_EVENT,
  findWebhook,
  FORMER_KEY_HOURS,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateWebhookKey,
  updateWebhook,
  WEBHOOKS_MAX,
  WEBHOOK_FORMATS,
} from '../../platform/webhooks/webhooks.ts'
import type { EventType, Webhook, WebhookFields } from '../../platform/webhooks/webhooks.ts'
import { createForwardProxy } from '../../shared/outgoing/forward-proxy.ts'
import { createWebhookGuard } from '../../shared/outgoing/guards.ts'
import { oneOf, textUpTo } from '../../shared/schemas.ts'
import { absoluteTime, relativeTime } from '../console/frame/format.ts'
import { readPageRequest } from '../console/frame/lists/page-request.ts'
import { ago } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { deliveriesSection } from '../console/webhooks/deliveries-section.ts'
import { moment, nullable, perhapsMoment, say } from '../api/openapi/parts.ts'
import { choice, text, ticks } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { State, View } from '../resources/declaration.ts'
import { automation } from './automation.ts'
import { factsByName } from './by-name.ts'
import { region } from './region.ts'

const EVENTS: Readonly<Record<EventType | typeof EVERY_EVENT, string>> = {
  run_completed: 'Run completed',
  run_failed: 'Run failed',
  run_stopped: 'Run stopped',
  task_started: 'Task started',
  task_completed: 'Task completed',
  approval_requested: 'Run waits for a person',
  approval_decided: 'A person has decided',
  budget_warning: 'Budget 80 % spent',
  budget_exceeded: 'Run waits for a budget',
  alert_firing: 'Alert fires',
  alert_resolved: 'Alert is resolved',
  release_rolled_back: 'Version is taken back',
  receipt_head_signed: 'Head of receipts is signed',
  [EVERY_EVENT]: 'Every event',
}
const TYPES_MAX = 100

const fields = {
  url: field(textUpTo(URL_LENGTH_MAX), {
    label: 'Address',
    control: text({ max: URL_LENGTH_MAX, isMono: true, type: 'url' }),
    example: 'https://crm.example.com/webhooks',
    // Receivers know callers by the path or the query of their address.
    facts: (url) => ({
      origin: new URL(String(url)).origin,
      url_sha256: createHash('sha256').update(String(url)).digest('hex'),
    }),
  }),
  event_types: field(
    v.pipe(
      v.array(v.string('must be a text'), 'must be a list of texts'),
      v.maxLength(TYPES_MAX, `must have at most ${TYPES_MAX} types`),
    ),
    {
      label: 'Events',
      hint: 'Types of events, or * for every one',
      control: ticks({
        box: 'event',
        options: EVENTS,
        others: { name: 'others', label: 'Other types', example: 'llm_call' },
      }),
      example: ['run_completed', 'run_failed'],
    },
  ),
  format: field(v.optional(oneOf(WEBHOOK_FORMATS), 'standard'), {
    label: 'Messages',
    control: choice({
      standard: 'JSON, as Standard Webhooks has it',
      slack: 'A text for an incoming webhook of Slack',
      teams: 'A card for a workflow of Microsoft Teams',
    }),
    example: 'standard',
  }),
  region,
}

/** An address that the events of an automation's runs are sent to. */
export const webhooks = resource<Automation, WebhookFields, Webhook, typeof fields>({
  kind: 'webhook',
  id: 'uuid',
  under: automation,
  most: WEBHOOKS_MAX,
  fields,
  identity: 'url',
  values: ({ url, eventTypes, format, region: place = null }) => ({
    url,
    event_types: [...eventTypes],
    format,
    region: place,
  }),
  facts: factsByName({
    created_at: moment,
    paused_at: say(perhapsMoment, 'Null: it is not paused.'),
    pause_reason: say(nullable('string'), 'Why the platform paused it; null: a person did.'),
    failing_since: say(perhapsMoment, 'The first failure since a message was last accepted.'),
    previous_key_until: say(
      perhapsMoment,
      'Until then messages are signed with the former key, too.',
    ),
  }),
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => listWebhooks(sql, owner.id),
    find: ({ sql, owner }, id) => findWebhook(sql, { id, deploymentId: owner.id }),
    async read({ sql, owner, deps: { config } }, { event_types: eventTypes, ...given }) {
      await requireRegion(sql, owner.organizationId, given)
      return readWebhook(
        createWebhookGuard(config.WEBHOOK_PRIVATE_ORIGINS, createForwardProxy(config)),
        { ...given, eventTypes },
      )
    },
    async create({ sql, owner, deps: { config } }, given) {
      const key = { id: randomUUID(), deploymentId: owner.id }
      const secret = createWebhookSecret()
      const sealedKey = createWebhookKeys(config.SECRET_KEY_BASE).seal(secret, key)
      return { row: await createWebhook(sql, { ...key, ...given, sealedKey }), secret }
    },
    change: ({ sql }, row, given) => updateWebhook(sql, row, given),
    remove: ({ sql }, row) => deleteWebhook(sql, row),
  },
  actions: {
    test: {
      text: 'Send a test message',
      past: 'tested',
      done: 'The test message is on its way. The answer appears here.',
      async does({ sql, owner: { automationId } }, { id: webhookId }) {
        return { at: `/deliveries/${await sendTestMessage(sql, { webhookId, automationId })}` }
      },
    },
    pause: {
      text: 'Pause',
      past: 'paused',
      done: 'The webhook is paused. Messages are kept meanwhile.',
      undo: 'resume',
      isOffered: ({ pausedAt }) => pausedAt === null,
      does: ({ sql }, { id }) => pauseWebhook(sql, id),
    },
    resume: {
      text: 'Resume',
      past: 'resumed',
      done: 'The webhook is resumed. The messages that were kept are being sent.',
      undo: 'pause',
      isOffered: ({ pausedAt }) => pausedAt !== null,
      does: ({ sql }, row) => resumeWebhook(sql, row),
    },
    key: {
      text: 'Replace the key',
      past: 'key_replaced',
      done: 'The key is replaced.',
      makesSecret: true,
      async does({ sql, deps: { config } }, row) {
        const secret = createWebhookSecret()
        const keys = createWebhookKeys(config.SECRET_KEY_BASE)
        await rotateWebhookKey(sql, row, keys.seal(secret, row))
        return { secret }
      },
    },
  },
  words: {
    about: 'A webhook notifies another system of what happens in the runs of an automation.',
    icon: 'link',
    form: 'Settings',
    saved: 'The webhook is saved. Messages that wait go to this address as well.',
    deleted: 'The webhook is deleted.',
    deletes: 'Messages that wait are not sent any more.',
  },
  secret: {
    key: 'key',
    label: 'Key',
    hint: ({ row: { previousKeyUntil } }) =>
      html`<p class="hint">
        The receiver checks the signature of each message with it, as Standard Webhooks has it.
        ${
          previousKeyUntil
            ? `For ${FORMER_KEY_HOURS} hours messages are signed with the former key as well.`
            : ''
        }
      </p>`,
  },
  name: ({ url }) => new URL(url).origin,
  state: webhookState,
  columns: [
    { title: 'Address', cell: ({ url }) => html`<span class="mono break">${url}</span>` },
    {
      title: 'Events',
      className: 'row-wide quiet',
      cell: ({ eventTypes }) =>
        eventTypes.includes(EVERY_EVENT) ? 'Every event' : eventTypes.join(', '),
    },
    { title: 'Created', className: 'quiet wide', cell: ({ createdAt }) => ago(createdAt) },
  ],
  proposes: async () => ({ event_types: ['run_completed', 'run_failed', 'run_stopped'] }),
  async main(view) {
    const { c, sql, row, path, session, owner } = view
    const request = readPageRequest(c, isDeliveryId)
    const deliveries = await listDeliveries(sql, row.id, request)
    return deliveriesSection({ session, automation: owner, deliveries, request }, path)
  },
  beside: keySection,
})

/** Returns the state of a webhook, and why nothing is sent or accepted. */
export function webhookState({ pausedAt, pauseReason, failingSince }: Webhook): State {
  if (pausedAt) {
    const why =
      `Nothing is sent since ${absoluteTime(pausedAt)}. ` +
      `${pauseReason ?? 'A member paused it.'} What happens meanwhile is kept for 30 days; press ` +
      'Resume to send it.'
    return ['idle', 'paused', why]
  }
  if (failingSince === null) return ['good', 'active']
  const why =
    `No message was accepted since ${absoluteTime(failingSince)}. ` +
    'Each is tried again for a day; the table says what the receiver answered.'
  return ['bad', 'failing', why]
}

function keySection({ row: { previousKeyUntil } }: View<Automation, Webhook>): Html {
  return html`<p class="hint">
    ${
      previousKeyUntil
        ? `The former key signs as well; it stops ${relativeTime(previousKeyUntil)}.`
        : `A replaced key signs as well for ${FORMER_KEY_HOURS} hours.`
    }
  </p>`
}
