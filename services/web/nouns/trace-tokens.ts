import { html } from 'hono/html'
import * as v from 'valibot'
import { requireWithin } from '../../platform/automations/static-token-fields.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import {
  findTraceToken,
  listTraceTokens,
  markTraceTokenRevoked,
  recordTraceToken,
  TRACE_SCOPES,
  TRACE_TOKENS_A_YEAR,
} from '../../platform/traces/trace-tokens.ts'
import type { TraceScope, TraceToken } from '../../platform/traces/trace-tokens.ts'
import { AppError } from '../../shared/errors.ts'
import { whole } from '../../shared/schemas.ts'
import { moment, nullable, say } from '../api/openapi/parts.ts'
import { ago, copyable } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { environmentCommands, readCommand } from '../console/send-traces/environment.ts'
import type { WebDeps } from '../context.ts'
import { choice, number } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Made, State } from '../resources/declaration.ts'
import { factsByName, valuesByName } from './by-name.ts'
import type { TraceTokens } from '../traces/trace-tokens.ts'
import { organization } from './organization.ts'
import { DAYS_DEFAULT, nameOfToken } from './token-fields.ts'

/** A token with an id is good for 366 days at the most; one day is for clocks that differ. */
const DAYS_MAX = 365
const DAY_MS = 86_400_000
/** As long before its end as the collector's log begins to warn. */
const WARNING_MS = 7 * DAY_MS
const SCOPES: Readonly<Record<TraceScope, string>> = {
  'traces:write': 'Sends',
  'traces:read': 'Reads',
}

const fields = {
  name: nameOfToken,
  scope: field(v.picklist(TRACE_SCOPES, `must be ${TRACE_SCOPES.join(' or ')}`), {
    label: 'It',
    control: choice({ 'traces:write': 'Sends traces', 'traces:read': 'Reads traces' }),
    example: 'traces:write',
  }),
  days: field(v.optional(whole(1, DAYS_MAX), DAYS_DEFAULT), {
    label: 'Days until it expires',
    control: number({ max: DAYS_MAX }),
    example: DAYS_DEFAULT,
  }),
}

type Fields = Pick<TraceToken, 'name' | 'scope' | 'days'>

/** What programs send traces to the collector with, and read them. */
export const traceTokens = resource<Organization, Fields, TraceToken, typeof fields>({
  kind: 'trace_token',
  id: 'uuid',
  under: organization('/traces', [
    { path: '/traces', name: 'Traces' },
    { path: '/send-traces', name: 'Send traces' },
  ]),
  most: TRACE_TOKENS_A_YEAR,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    created_at: moment,
    created_by: say(nullable('string'), 'The name of the person who issued it.'),
    expires_at: moment,
  }),
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    async list({ sql, owner }) {
      const all = { limit: TRACE_TOKENS_A_YEAR }
      return (await listTraceTokens(sql, owner.id, all)).items.toReversed()
    },
    page: ({ sql, owner }, request) => listTraceTokens(sql, owner.id, request),
    find: ({ sql, owner }, id) => findTraceToken(sql, { id, organizationId: owner.id }),
    read: async (_, { name, ...given }) => ({ name: name.trim(), ...given }),
    async create({ sql, deps, owner: { id: organizationId }, userId: createdBy, tokenId }, given) {
      const tokens = tokensOf(deps)
      if (tokenId !== null) await requireWithin(sql, tokenId, limitsOf(given))
      const row = await recordTraceToken(sql, { ...given, organizationId, createdBy })
      return { row, secret: await tokens.sign({ ...row, organizationId }) }
    },
    async remove({ sql, deps, owner, userId: revokedBy }, { id }) {
      // First the collector: what pages call deleted must be refused there.
      await tokensOf(deps).revoke({ id })
      await markTraceTokenRevoked(sql, { id, organizationId: owner.id, revokedBy })
    },
  },
  actions: {},
  words: {
    about: 'A trace token lets one program send traces to the trace collector, or read them.',
    icon: 'key',
    form: 'What it does',
    saved: 'The token is issued.',
    deleted: 'The token is deleted. The trace collector refuses it within a minute.',
    deletes:
      'Every program that uses it is refused by the trace collector, within a minute. A deleted ' +
      'token cannot be restored.',
  },
  secret: { key: 'token', label: 'Token', hint: commandsWith },
  name: ({ name }) => name,
  state: stateOf,
  columns: [
    {
      title: 'Name',
      cell: ({ name, id }) =>
        html`<span class="break">${name}</span> <span class="sub mono">${id}</span>`,
    },
    { title: 'It', cell: ({ scope }) => SCOPES[scope] },
    { title: 'Expires', className: 'quiet wide', cell: ({ expiresAt }) => ago(expiresAt) },
    {
      title: 'Issued',
      className: 'quiet row-wide',
      cell: ({ createdAt, createdBy }) =>
        html`${ago(createdAt)} ${createdBy && html`<span class="sub">by ${createdBy}</span>`}`,
    },
  ],
  async proposes({ deps }) {
    tokensOf(deps)
    return { scope: 'traces:write' }
  },
})

/** What a token of the platform has to allow to issue one that reads, or sends, from anywhere. */
const limitsOf = ({ scope, days }: Fields) => ({
  scopes: scope === 'traces:read' ? (['read'] as const) : [],
  expiresAt: new Date(Date.now() + days * DAY_MS),
  networks: [],
})

/** Returns what signs and revokes. Raises `not_found` without a trace collector. */
export function tokensOf({ traceTokens: tokens }: WebDeps): TraceTokens {
  if (tokens) return tokens
  throw new AppError(
    'not_found',
    'This installation keeps no traces: the trace collector is off (chart: collector.enabled).',
  )
}

function stateOf({ expiresAt }: TraceToken): State {
  const leftMs = expiresAt.getTime() - Date.now()
  if (leftMs <= 0) return ['idle', 'Expired']
  return leftMs > WARNING_MS ? ['good', 'Works'] : ['waiting', 'Expires soon']
}

function commandsWith({ deps, row: { scope }, secret }: Made<Organization, TraceToken>): Html {
  const { endpoint } = tokensOf(deps)
  return scope === 'traces:write'
    ? html`<p class="hint">The variables that OpenTelemetry SDKs read, with the token in them:</p>
        ${copyable('Commands that set the variables', environmentCommands(endpoint, secret))}`
    : html`<p class="hint">To try it, list the latest traces:</p>
        ${copyable('Command that lists traces', readCommand(endpoint, secret))}`
}
