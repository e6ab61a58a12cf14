import { findOnlyAutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import { isBoundClient } from '../../../platform/automations/startable-automations.ts'
import type { Reach } from '../../../platform/automations/startable-automations.ts'
import { findToken } from '../../../platform/automations/static-token-use.ts'
import { isStaticToken } from '../../../platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Gate } from '../../gate/access-token/gate.ts'
import { parseToken } from '../../gate/access-token/parse-token.ts'
import type { BearerScheme, Door } from '../automation/bearer.ts'
import { toOauthResult } from '../automation/oauth-bearer.ts'
import { toStaticResult, UNKNOWN_TOKEN } from '../automation/static-bearer.ts'
import { workloadScheme } from '../automation/workload-bearer.ts'

/** A call starts a run and reads what it said. */
export const MCP_SCOPES: readonly TokenScope[] = ['kickoff', 'read']

/** Creates the door of the address that names no automation: the token says which ones it opens. */
export const createMcpDoor = (sql: Database, gate: Gate): Door<never, Reach> => ({
  schemes: [staticBearer(sql), workloadBearer(sql), oauthBearer(sql, gate)],
  find: async () => undefined,
  factsOf: () => ({}),
  variable: 'reach',
})

/** Accepts static tokens: for their automation, or all of their organization. */
const staticBearer = (sql: Database): BearerScheme<never, Reach> => ({
  name: 'static_token',
  recognizes: isStaticToken,
  async verify(token, _, address) {
    const found = await findToken(sql, token, { scopes: MCP_SCOPES, address })
    if (!found) return UNKNOWN_TOKEN
    const { organizationId, deploymentId } = found
    return toStaticResult(found, MCP_SCOPES, { organizationId, deploymentId, clientId: null })
  },
})

/** Accepts the tokens of workloads, for their automation. */
const workloadBearer = (sql: Database) =>
  workloadScheme<never, Reach>(sql, MCP_SCOPES, ({ organizationId, deploymentId }) => ({
    organizationId,
    deploymentId,
    clientId: null,
  }))

/**
 * Accepts access tokens where there is one organization, for the automations that are bound to
 * their client. Where there are several, a token would choose whose settings it has to meet.
 */
const oauthBearer = (sql: Database, gate: Gate): BearerScheme<never, Reach> => ({
  name: 'oauth',
  recognizes: (token) => token.includes('.'),
  async verify(token) {
    const settings = await findOnlyAutomationOauth(sql)
    if (!settings?.enabled) {
      await gate.refuse(token)
      return { ok: false, reason: 'oauth_off' }
    }
    const { organizationId } = settings
    const read = parseToken(token)
    const clientId = read.ok && read.parsed.client.ok ? read.parsed.client.id : ''
    const isBound = await isBoundClient(sql, { organizationId, clientId })
    const context = { organizationId, settings, boundClient: isBound ? clientId : null }
    const opened = { organizationId, deploymentId: null, clientId }
    const result = toOauthResult(await gate.decide(token, context), context, opened)
    return !result.ok && result.reason === 'automation_not_bound'
      ? { ...result, reason: 'client_not_bound' }
      : result
  },
})
