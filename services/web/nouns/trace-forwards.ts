import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import * as v from 'valibot'
import { requireRegion } from '../../platform/connections/regions.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import {
  checkEndpoint,
  createTraceForward,
  deleteTraceForward,
  findTraceForward,
  FORWARD_LENGTHS,
  FORWARD_SERVICES_MAX,
  listTraceForwards,
  pauseTraceForward,
  readForwardHeaders,
  resumeTraceForward,
  SERVICE_PATTERN,
  TRACE_FORWARDS_MAX,
  updateTraceForward,
} from '../../platform/traces/trace-forwards.ts'
import type { TraceForward, TraceForwardFields } from '../../platform/traces/trace-forwards.ts'
import { createWebhookKeys } from '../../platform/webhooks/webhook-keys.ts'
import { createForwardProxy } from '../../shared/outgoing/forward-proxy.ts'
import { createWebhookGuard } from '../../shared/outgoing/guards.ts'
import { textUpTo, whole } from '../../shared/schemas.ts'
import { integer, moment, nullable, perhapsMoment, say } from '../api/openapi/parts.ts'
import { absoluteTime } from '../console/frame/format.ts'
import { lines, number, secret, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, State } from '../resources/declaration.ts'
import { factsByName, valuesByName } from './by-name.ts'
import { nameField } from './name-text.ts'
import { organization } from './organization.ts'
import { region } from './region.ts'

const {
  name: NAME_MAX,
  endpoint: ENDPOINT_MAX,
  headers: HEADERS_MAX,
  service: SERVICE_MAX,
} = FORWARD_LENGTHS

const SERVICE_FORM = 'must be the name of a service without commas; an asterisk may be at its end'

const fields = {
  name: nameField(NAME_MAX, { example: 'Langfuse' }),
  endpoint: field(textUpTo(ENDPOINT_MAX), {
    label: 'Endpoint',
    hint: 'The base of an OTLP endpoint; /v1/traces is added to it.',
    control: text({ max: ENDPOINT_MAX, isMono: true, type: 'url' }),
    example: 'https://cloud.langfuse.com/api/public/otel',
  }),
  headers: field(v.optional(textUpTo(HEADERS_MAX)), {
    label: 'Headers',
    hint:
      'As in OTEL_EXPORTER_OTLP_HEADERS: name=value with commas between, values percent-encoded. ' +
      'Stored encrypted and never shown again. Those that are stored stay while they go to the ' +
      'same origin.',
    control: secret({ max: HEADERS_MAX }),
  }),
  share: field(v.optional(whole(1, 100), 100), {
    label: 'Share in percent',
    hint: 'Whole traces, picked by their ids',
    control: number({ max: 100 }),
    example: 100,
  }),
  services: field(
    v.optional(
      v.pipe(
        v.array(v.pipe(textUpTo(SERVICE_MAX), v.regex(SERVICE_PATTERN, SERVICE_FORM))),
        v.maxLength(FORWARD_SERVICES_MAX, `must have at most ${FORWARD_SERVICES_MAX} names`),
      ),
      [],
    ),
    {
      label: 'Services',
      hint:
        'Only spans whose resource has one of these as service.name, one on each line; an ' +
        'asterisk at the end stands for any rest. Empty: all',
      control: lines({ rows: 2 }),
      example: ['billing', 'crew-*'],
    },
  ),
  region,
}

type Given = TraceForwardFields & { readonly headers?: string | undefined }

/** Addresses that the committed spans of an organization are forwarded to. */
export const traceForwards = resource<Organization, Given, TraceForward, typeof fields>({
  kind: 'trace_forward',
  id: 'uuid',
  under: organization('/traces', [{ path: '/traces', name: 'Traces' }]),
  most: TRACE_FORWARDS_MAX,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    created_at: moment,
    has_headers: { type: 'boolean' },
    began_at: say(
      perhapsMoment,
      'Spans that are committed from then on are forwarded; null: not yet.',
    ),
    forwarded: say(integer, 'Spans that the receiver took.'),
    rejected: say(integer, 'Spans that the receiver did not take of what it answered for.'),
    waiting_since: say(
      perhapsMoment,
      'The commit of the oldest span that waits, as of the last look.',
    ),
    failing_since: say(perhapsMoment, 'The first failure since spans were last accepted.'),
    problem: say(nullable('string'), 'Why the last try failed, or what the receiver said.'),
    paused_at: say(perhapsMoment, 'Null: it is not paused.'),
    pause_reason: say(nullable('string'), 'Why the platform paused it; null: a person did.'),
  }),
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => listTraceForwards(sql, owner.id),
    find: ({ sql, owner }, id) => findTraceForward(sql, { id, organizationId: owner.id }),
    async read({ sql, owner, deps: { config } }, { name, ...given }) {
      await requireRegion(sql, owner.id, given)
      const guard = createWebhookGuard(config.WEBHOOK_PRIVATE_ORIGINS, createForwardProxy(config))
      checkEndpoint(given.endpoint, guard)
      readForwardHeaders(given.headers ?? '')
      return { ...given, name: name.trim() }
    },
    async create(call, { headers = '', ...given }) {
      const key = { id: randomUUID(), organizationId: call.owner.id }
      const sealedHeaders = seal(call, key.id, headers)
      return { row: await createTraceForward(call.sql, { ...key, ...given, sealedHeaders }) }
    },
    change(call, row, { headers, ...given }) {
      const sealedHeaders = headers === undefined ? undefined : seal(call, row.id, headers)
      return updateTraceForward(call.sql, row, { ...given, sealedHeaders })
    },
    remove: ({ sql }, row) => deleteTraceForward(sql, row),
  },
  actions: {
    pause: {
      text: 'Pause',
      past: 'paused',
      done: 'The forward is paused. Spans wait meanwhile, for as long as traces are kept.',
      undo: 'resume',
      isOffered: ({ pausedAt }) => pausedAt === null,
      does: ({ sql }, row) => pauseTraceForward(sql, row),
    },
    resume: {
      text: 'Resume',
      past: 'resumed',
      done: 'The forward is resumed. The spans that wait are being sent.',
      undo: 'pause',
      isOffered: ({ pausedAt }) => pausedAt !== null,
      does: ({ sql }, row) => resumeTraceForward(sql, row),
    },
  },
  words: {
    about: 'A trace forward sends the spans of your organization on to another backend, as OTLP.',
    icon: 'link',
    form: 'Settings',
    saved: 'The forward is saved. Spans that are still waiting go to this address, too.',
    deleted: 'The trace forward is deleted.',
    deletes: 'Spans that wait are not sent any more. The traces here stay.',
  },
  name: ({ name }) => name,
  state: stateOf,
  columns: [
    { title: 'Name', cell: ({ name }) => html`<span class="break">${name}</span>` },
    {
      title: 'Endpoint',
      className: 'row-wide',
      cell: ({ endpoint }) => html`<span class="mono break">${endpoint}</span>`,
    },
    { title: 'Share', className: 'quiet wide', cell: ({ share }) => `${share} %` },
    { title: 'Spans sent', className: 'quiet wide', cell: ({ forwarded }) => `${forwarded}` },
  ],
})

const seal = ({ deps, owner }: Call<Organization>, id: string, headers: string): Buffer | null =>
  headers.trim() === ''
    ? null
    : createWebhookKeys(deps.config.SECRET_KEY_BASE).seal(headers, { id, deploymentId: owner.id })

function stateOf(forward: TraceForward): State {
  const { pausedAt, pauseReason, failingSince, problem, waitingSince, beganAt, rejected } = forward
  const behind = waitingSince === null ? '' : ` Spans since ${absoluteTime(waitingSince)} wait.`
  if (pausedAt) {
    const why = pauseReason ?? 'A member paused it.'
    return ['idle', 'paused', `Nothing is sent since ${absoluteTime(pausedAt)}. ${why}${behind}`]
  }
  if (failingSince) {
    const since = `Nothing was accepted since ${absoluteTime(failingSince)}.`
    return ['bad', 'failing', `${since} ${problem ?? ''}${behind} It is tried again.`]
  }
  if (beganAt === null) return ['idle', 'starting']
  if (waitingSince) return ['good', 'behind', `${behind.trim()} They are being sent.`]
  if (rejected === 0) return ['good', 'active']
  return ['good', 'active', `The receiver did not take ${rejected} spans. ${problem ?? ''}`]
}
