import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import * as v from 'valibot'
import { getDefinition } from '../../platform/automations/automations.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { inputFields } from '../../platform/definitions/crew-inputs.ts'
import { proposedInputs } from '../../platform/definitions/input-schema.ts'
import { SCHEME_NAMES, SCHEMES } from '../../platform/triggers/signature-schemes.ts'
import { readTrigger } from '../../platform/triggers/trigger-fields.ts'
import type { GivenTrigger } from '../../platform/triggers/trigger-fields.ts'
import {
  createTrigger,
  deleteTrigger,
  endFormerSecret,
  findSecretOfAddress,
  findTrigger,
  FORMER_SECRET_HOURS,
  listTriggers,
  pauseTrigger,
  replaceTriggerSecret,
  resumeTrigger,
  TRIGGERS_MAX,
  updateTrigger,
} from '../../platform/triggers/triggers.ts'
import type { Trigger } from '../../platform/triggers/triggers.ts'
import { createWebhookKeys, createWebhookSecret } from '../../platform/webhooks/webhook-keys.ts'
import { oneOf, someText } from '../../shared/schemas.ts'
import { moment, nullable, perhapsMoment, text as string, say } from '../api/openapi/parts.ts'
import { absoluteTime } from '../console/frame/format.ts'
import { ago } from '../console/frame/parts.ts'
import { addressSection } from '../console/triggers/address-section.ts'
import { deliveriesSection } from '../console/triggers/deliveries-section.ts'
import { choice, json, secret, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, State, Values } from '../resources/declaration.ts'
import { readForm, withFixed } from '../resources/values.ts'
import { automation, inputsByName } from './automation.ts'
import { factsByName } from './by-name.ts'

const SECRET_MAX = 500
const perhaps = (max: number) => v.optional(v.nullable(someText(max)), null)

const fields = {
  name: field(someText(100), {
    label: 'Name',
    control: text({ max: 100 }),
    example: 'Paid invoices',
  }),
  scheme: field(oneOf(SCHEME_NAMES), {
    label: 'Signed by',
    control: choice(Object.fromEntries(SCHEME_NAMES.map((name) => [name, SCHEMES[name].label]))),
    example: 'stripe',
    isFixed: true,
  }),
  header: field(perhaps(100), {
    label: 'Header',
    hint:
      'The header with the signature or the token, for any sender; without it, ' +
      `${SCHEMES.hmac.usual} or ${SCHEMES.token.usual}`,
    control: text({ max: 100, isMono: true, isOptional: true }),
  }),
  secret: field(v.optional(someText(SECRET_MAX)), {
    label: 'Secret of the sender',
    hint:
      'What Stripe and Slack made for the address; others take one that is made here. One that ' +
      `is replaced is good for ${FORMER_SECRET_HOURS} hours more.`,
    control: secret({ max: SECRET_MAX }),
  }),
  filter: field(perhaps(2000), {
    label: 'Filter',
    hint: 'A condition over @.body and @.headers. Without it, each delivery starts a run.',
    control: text({ max: 2000, isMono: true, isOptional: true }),
    example: "@.body.type == 'invoice.paid'",
  }),
  delivery_id: field(perhaps(1000), {
    label: 'Id of a delivery',
    hint: 'The path of what is the same when an event is sent again, where it is not as usual',
    control: text({ max: 1000, isMono: true, isOptional: true }),
    example: '$.body.id',
  }),
  inputs: field(inputsByName, {
    label: 'Inputs',
    hint: 'A JSON object; {{ $.body.path }} stands for what a JSONPath finds in a delivery',
    control: json({ rows: 6 }),
    example: { topic: '{{ $.body.data.object.description }}' },
  }),
}

/** A trigger with the address that a third party sends to. */
interface Row extends Trigger {
  readonly url: string
}

const addressed =
  ({ deps: { config } }: Pick<Call<Automation>, 'deps'>) =>
  (trigger: Trigger): Row => ({
    ...trigger,
    url: `${config.PLATFORM_BASE_URL}/hooks/${trigger.id}`,
  })

const values = (given: GivenTrigger): Values<typeof fields> => ({
  name: given.name,
  scheme: given.scheme,
  header: given.header,
  secret: given.secret,
  filter: given.filter,
  delivery_id: given.deliveryPath,
  inputs: { ...given.inputs },
})

const givenOf = ({ delivery_id: deliveryPath, ...rest }: Values<typeof fields>): GivenTrigger =>
  readTrigger({ ...rest, deliveryPath })

/** Reads the form of a trigger that is only tried. */
export const readTyped = (typed: URLSearchParams, row: Trigger): GivenTrigger =>
  givenOf(readForm({ fields }, withFixed({ fields, values }, typed, row)))

const sealed = (
  { deps: { config } }: Call<Automation>,
  key: Pick<Trigger, 'id' | 'deploymentId'>,
  entered: string,
): Buffer => createWebhookKeys(config.SECRET_KEY_BASE).seal(entered, key)

async function secretOf({ sql, deps }: Call<Automation>, row: Trigger) {
  const { SECRET_KEY_BASE: current, SECRET_KEY_BASE_PREVIOUS: previous } = deps.config
  const found = await findSecretOfAddress(sql, row.id)
  return found && createWebhookKeys(current, previous).open(found.sealedKey, row)
}

/** An address that takes the webhooks of a third party, each of which may start a run. */
export const triggers = resource<Automation, GivenTrigger, Row, typeof fields>({
  kind: 'trigger',
  id: 'uuid',
  under: automation,
  most: TRIGGERS_MAX,
  fields,
  values,
  facts: factsByName({
    url: { ...string, format: 'uri' },
    has_secret: { type: 'boolean' },
    previous_secret_until: say(perhapsMoment, 'Until then the former secret is good as well.'),
    paused_at: say(perhapsMoment, 'Null: it is not paused.'),
    pause_reason: say(nullable('string'), 'Why the platform paused it; null: a person did.'),
    created_at: moment,
  }),
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: async (call) => (await listTriggers(call.sql, call.owner.id)).map(addressed(call)),
    async find(call, id) {
      const found = await findTrigger(call.sql, { id, deploymentId: call.owner.id })
      return found && addressed(call)(found)
    },
    read: async (_, given) => givenOf(given),
    async create(call, { secret: entered, ...given }) {
      const key = { id: randomUUID(), deploymentId: call.owner.id }
      const sealedKey = entered === undefined ? null : sealed(call, key, entered)
      return { row: addressed(call)(await createTrigger(call.sql, key, { ...given, sealedKey })) }
    },
    async change(call, row, { secret: entered, ...given }) {
      await updateTrigger(call.sql, row, given)
      // Files send it with each change; the former one is good for its time all the same.
      if (entered !== undefined && entered !== (await secretOf(call, row))) {
        await replaceTriggerSecret(call.sql, row, sealed(call, row, entered))
      }
    },
    remove: ({ sql }, row) => deleteTrigger(sql, row),
  },
  actions: {
    pause: {
      text: 'Pause',
      past: 'paused',
      done: 'The trigger is paused: deliveries are listed and start no run.',
      undo: 'resume',
      isOffered: ({ pausedAt }) => pausedAt === null,
      does: ({ sql }, { id }) => pauseTrigger(sql, id),
    },
    resume: {
      text: 'Resume',
      past: 'resumed',
      done: 'The trigger is resumed. What was skipped meanwhile can be started by hand.',
      undo: 'pause',
      isOffered: ({ pausedAt }) => pausedAt !== null,
      does: ({ sql }, row) => resumeTrigger(sql, row),
    },
    secret: {
      text: 'Make a secret',
      past: 'secret_made',
      done: 'The secret is made.',
      makesSecret: true,
      async does(call, row) {
        const made = createWebhookSecret()
        await replaceTriggerSecret(call.sql, row, sealed(call, row, made))
        return { secret: made }
      },
    },
    'end-former': {
      text: 'End the former secret',
      past: 'former_secret_ended',
      done: 'The former secret is refused from now on.',
      isOffered: ({ previousSecretUntil }) => previousSecretUntil !== null,
      does: ({ sql }, row) => endFormerSecret(sql, row),
    },
  },
  words: {
    about:
      'A trigger takes the webhooks of a third party, such as GitHub or Stripe, and starts a run ' +
      'for each.',
    icon: 'pulse',
    form: 'What starts a run',
    tries: 'Try on the last deliveries',
    saved: 'The trigger is saved. It applies from the next delivery on.',
    deleted: 'The trigger is deleted. The runs that it started stay.',
    deletes: 'Its address takes nothing more. The runs that it started stay.',
  },
  secret: {
    key: 'secret',
    label: 'Secret',
    isOfActions: true,
    hint: ({ row: { url, previousSecretUntil } }) =>
      html`<p class="hint">
        Enter it at the sender, where the address is <span class="mono break">${url}</span>.
        ${
          previousSecretUntil ? `The former one is good for ${FORMER_SECRET_HOURS} hours more.` : ''
        }
      </p>`,
  },
  name: ({ name }) => name,
  state: stateOf,
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Signed by', className: 'row-wide', cell: ({ scheme }) => SCHEMES[scheme].label },
    { title: 'Created', className: 'quiet wide', cell: ({ createdAt }) => ago(createdAt) },
  ],
  proposes: async ({ sql, owner }) => ({
    scheme: 'standard_webhooks',
    inputs: proposedInputs(inputFields(await getDefinition(sql, owner))),
  }),
  below: deliveriesSection,
  beside: ({ row }) => addressSection(row),
})

function stateOf({ hasSecret, pausedAt, pauseReason }: Trigger): State {
  if (pausedAt) {
    const why = pauseReason ?? 'A member paused it.'
    return [
      pauseReason === null ? 'idle' : 'bad',
      'paused',
      `No run is started since ${absoluteTime(pausedAt)}. ${why} Deliveries are listed below.`,
    ]
  }
  return hasSecret ? ['good', 'active'] : ['idle', 'no secret']
}
