import type { Context, Hono } from 'hono'
import {
  findOwnLimits,
  ownLimits,
  saveOwnLimits,
} from '../../../platform/people/organization-limits.ts'
import type { Limits, OwnLimits } from '../../../platform/people/organization-limits.ts'
import { findOrganization } from '../../../platform/people/organizations.ts'
import type { Organization } from '../../../platform/people/organizations.ts'
import { AppError } from '../../../shared/errors.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { standardLimits } from '../../gate/callers/create-limits.ts'
import { requireOrganizationToken } from '../../gate/callers/organization.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { parseBody } from '../../http/parse-body.ts'
import { readNumber } from './requests.ts'

const BODY_BYTES_MAX = 16 * 1024

/**
 * The limits of the caller's organization; and those of each one, for tokens of the platform's own
 * organization.
 */
export function limitRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const others = createApi(deps, requireOrganizationToken(deps))
  const ofOthers = '/organizations/:organizationId/limits'
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

  api.get('viewer', '/limits', async (c) =>
    c.json(toDocument(standard, await findOwnLimits(sql, c.var.caller.organizationId))),
  )

  others.get('token', ofOthers, async (c) => {
    const { id } = await getOrganization(c)
    return c.json(toDocument(standard, await findOwnLimits(sql, id)))
  })

  others.put('token', ofOthers, async (c) => {
    const organization = await getOrganization(c)
    const limits = parseBody(ownLimits, await readJson(c.req.raw, BODY_BYTES_MAX))
    const before = await findOwnLimits(sql, organization.id)
    const { id: organizationId, name } = organization
    const target = { kind: 'organization', id: organizationId, name }
    const [earlier, later] = [before, limits].map(ownDocument)
    const change = { before: earlier, after: later }
    const entry = { action: 'organization_changed', organizationId, target, ...change }
    await audited(c.var, (tx) => saveOwnLimits(tx, organization.id, limits), entry)
    return c.json(toDocument(standard, limits))
  })

  return api.routes().route('/', others.routes())
}

/** What holds, and what of it is the organization's own. */
const toDocument = (standard: Limits, own: OwnLimits) => ({
  token_calls_per_minute: own.tokenCalls ?? standard.tokenCalls,
  organization_calls_per_minute: own.organizationCalls ?? standard.organizationCalls,
  queued_runs: own.queuedRuns ?? standard.queuedRuns,
  own: ownDocument(own),
})

const ownDocument = ({ tokenCalls, organizationCalls, queuedRuns }: OwnLimits) => ({
  token_calls_per_minute: tokenCalls,
  organization_calls_per_minute: organizationCalls,
  queued_runs: queuedRuns,
})
