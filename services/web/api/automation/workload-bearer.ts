import type { CallableAutomation } from '../../../platform/automations/automation-oauth.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import { findWorkloadToken, isWorkloadToken } from '../../../platform/workloads/workload-tokens.ts'
import type { FoundWorkloadToken } from '../../../platform/workloads/workload-tokens.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { CallerIdentity } from '../../gate/callers/actor.ts'
import type { BearerScheme } from './bearer.ts'

/** Accepts the tokens that workload rules issued, each for its automation. */
export const workloadBearer = (
  sql: Database,
  scopes: readonly TokenScope[],
): BearerScheme<CallableAutomation, Automation> =>
  workloadScheme(sql, scopes, (found, callable) =>
    callable?.automation.id === found.deploymentId ? callable.automation : undefined,
  )

/** Accepts the tokens of workloads for calls that take all of the scopes; `open` says for what. */
export const workloadScheme = <Target, Opened>(
  sql: Database,
  scopes: readonly TokenScope[],
  open: (found: FoundWorkloadToken, target: Target | undefined) => Opened | undefined,
): BearerScheme<Target, Opened> => ({
  name: 'workload_token',
  recognizes: isWorkloadToken,
  async verify(token, target) {
    const found = await findWorkloadToken(sql, token)
    const opened = found && open(found, target)
    if (!found || opened === undefined) return { ok: false, reason: 'unknown_workload_token' }
    if (found.isExpired) return { ok: false, reason: 'token_expired' }
    const lacking = scopes.find((each) => !found.scopes.some((scope) => scope === each))
    if (lacking !== undefined) return { ok: false, reason: 'insufficient_scope', scope: lacking }
    return { ok: true, by: workloadIdentity(found), opened }
  },
})

/** Returns a workload as the audit and the runs that it starts name it: all of a rule are one. */
export const workloadIdentity = ({
  ruleId,
  name,
  subject,
  organizationId,
}: Pick<FoundWorkloadToken, 'ruleId' | 'name' | 'subject' | 'organizationId'>): CallerIdentity => ({
  kind: 'client',
  id: `workload_rule:${ruleId}`,
  name: subject === '' ? name : `${name} (${subject})`,
  organizationId,
})
