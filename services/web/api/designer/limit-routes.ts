import type { Context, Hono } from 'hono'
import {
  findOwnLimits,
  LIMIT_MAX,
  ownLimits,
  saveOwnLimits,
} from '../../../platform/people/organization-limits.ts'
import type { Limits, OwnLimits } from '../../../platform/people/organization-limits.ts'
import { findOrganization } from '../../../platform/people/organizations.ts'
import type { Organization } from '../../../platform/people/organizations.ts'
import { AppError } from '../../../shared/errors.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { standardLimits } from '../../gate/callers/create-limits.ts'
import { requireOrganizationToken } from '../../gate/callers/organization.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import * as s from '../openapi/parts.ts'
import { describing, jsonBody } from '../openapi/operation.ts'
import { readNumber } from './requests.ts'

const bounds = { minimum: 0, maximum: LIMIT_MAX }
const each = (type: object) => ({
  token_calls_per_minute: s.say(type, 'With one token, or by one OAuth client.'),
  organization_calls_per_minute: s.say(type, 'With all tokens of the organization.'),
  queued_runs: s.say(type, 'Runs that wait in the queue.'),
})
const toRow = ({ tokenCalls, organizationCalls, queuedRuns }: OwnLimits) => ({
  tokenCallsPerMinute: tokenCalls,
  organizationCallsPerMinute: organizationCalls,
  queuedRuns,
})
const ownDocument = s.document('OwnLimits', each(s.nullable('integer', bounds)), toRow)
const limitsDocument = s.document('Limits', {
  ...each({ type: 'integer', ...bounds }),
  own: ownDocument,
})
const limitsBody = jsonBody('LimitsRequest', ownLimits, {
  example: { token_calls_per_minute: 600, queued_runs: null },
  description: 'One that is null or left out is the platform’s; 0 is no limit.',
  bytesMax: 16 * 1024,
  more: { properties: each(s.nullable('integer', { ...bounds, default: null })) },
})

const answers = {
  200: ['What holds; 0 is no limit. `own` has what differs from the platform’s.', limitsDocument],
} as const
const operation = describing({ tag: 'Platform' })
const ofOthers = describing({
  tag: 'Platform',
  ...s.refusedTokens('No token of the whole organization.'),
  403: 'No token of the internal organization, or one without the scope.',
  404: 'There is no such organization.',
})
const getOwn = operation('getLimits', 'The limits of the organization', { ...answers })
const get = ofOthers('getOrganizationLimits', 'The limits of an organization, for operators', {
  ...answers,
})
const set = ofOthers('setOrganizationLimits', 'Gives an organization limits of its own', {
  body: limitsBody,
  ...answers,
})

/**
 * The limits of the caller's organization; and those of each one, for tokens of the platform's own
 * organization.
 */
export function limitRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const others = createApi(deps, requireOrganizationToken(deps))
  const path = '/organizations/:organizationId/limits'
  const standard = standardLimits(config)

  /** Raises `forbidden` but for a token of the internal organization. */
  async function getOrganization(c: Context<OrganizationCall>): Promise<Organization> {
    if (!c.var.caller.internal) {
      throw new AppError(
        'forbidden',
        'Only a token of the internal organization reads and changes the limits of others.',
      )
    }
    const found = await findOrganization(sql, readNumber(c, 'organizationId'))
    if (found) return found
    throw new AppError('not_found', 'There is no such organization.')
  }

  api.get('viewer', ['/limits', getOwn], async (c) =>
    c.json(toDocument(standard, await findOwnLimits(sql, c.var.caller.organizationId))),
  )

  others.get('token', [path, get], async (c) => {
    const { id } = await getOrganization(c)
    return c.json(toDocument(standard, await findOwnLimits(sql, id)))
  })

  others.put('token', [path, set], async (c) => {
    const organization = await getOrganization(c)
    const limits = await limitsBody.read(c)
    const before = await findOwnLimits(sql, organization.id)
    const { id: organizationId, name } = organization
    const target = { kind: 'organization', id: organizationId, name }
    const [earlier, later] = [before, limits].map(ownDocument.of)
    const change = { before: earlier, after: later }
    const entry = { action: 'organization_changed', organizationId, target, ...change }
    await audited(c.var, (tx) => saveOwnLimits(tx, organization.id, limits), entry)
    return c.json(toDocument(standard, limits))
  })

  return api.routes().route('/', others.routes())
}

/** What holds, and what of it is the organization's own. */
function toDocument(standard: Limits, own: OwnLimits) {
  const tokenCalls = own.tokenCalls ?? standard.tokenCalls
  const organizationCalls = own.organizationCalls ?? standard.organizationCalls
  const queuedRuns = own.queuedRuns ?? standard.queuedRuns
  const row = toRow({ tokenCalls, organizationCalls, queuedRuns })
  return limitsDocument.of({ ...row, own: ownDocument.of(own) })
}
