import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'

/** The most rules that one automation has. */
export const WORKLOAD_RULES_MAX = 20
/** What the tokens of workloads may be for. */
export const WORKLOAD_SCOPES = ['kickoff', 'read'] as const
/** What a token of a workload may be for. */
export type WorkloadScope = (typeof WORKLOAD_SCOPES)[number]

/** What people enter of a rule. */
export interface WorkloadRuleFields {
  readonly name: string
  /** Signs the tokens of the workload. */
  readonly issuer: string
  /** null: the address that discovery names. */
  readonly jwksUrl: string | null
  /** What the tokens have to say, by claim: a text, or its beginning and an asterisk. */
  readonly claims: Readonly<Record<string, string>>
  readonly scopes: readonly WorkloadScope[]
  /** For how long a token of the automation is good. */
  readonly minutes: number
  /** A token of the workload may be exchanged more than once. */
  readonly isReusable: boolean
}

/** Says which workloads get tokens of an automation, by the claims of their own tokens. */
export interface WorkloadRule extends WorkloadRuleFields {
  readonly id: string
  readonly deploymentId: number
  /** Counts its changes. */
  readonly revision: number
  readonly pausedAt: Date | null
  readonly createdAt: Date
}

/** Names a rule of an automation. */
type RuleKey = Pick<WorkloadRule, 'id' | 'deploymentId'>

const columns = (sql: Queryable) => sql`
  r.id, r.deployment_id, r.name, r.issuer, r.jwks_url, r.claims, r.scopes, r.minutes, r.is_reusable,
  r.revision, r.paused_at, r.created_at`

/** Creates a rule. Raises `conflict` when the automation has as many as it may. */
export async function createWorkloadRule(
  sql: Queryable,
  deploymentId: number,
  { name, issuer, jwksUrl, claims, scopes, minutes, isReusable }: WorkloadRuleFields,
): Promise<WorkloadRule> {
  return inTransaction(sql, async (tx) => {
    await tx`select from deployments where id = ${deploymentId} for no key update`
    const [created] = await tx<WorkloadRule[]>`
      insert into workload_rules as r (deployment_id, name, issuer, jwks_url, claims, scopes,
        minutes, is_reusable)
      select ${deploymentId}, ${name}, ${issuer}, ${jwksUrl},
        ${JSON.stringify(claims)}::text::jsonb, ${[...scopes]}, ${minutes}, ${isReusable}
      where (select count(*) from workload_rules where deployment_id = ${deploymentId})
        < ${WORKLOAD_RULES_MAX}
      returning ${columns(tx)}`
    if (created) return created
    throw new AppError(
      'conflict',
      `An automation has at most ${WORKLOAD_RULES_MAX} workload rules. Delete one that is no ` +
        'longer used.',
    )
  })
}

/** Changes a rule. The tokens that it issued end. */
export async function updateWorkloadRule(
  sql: Queryable,
  key: RuleKey,
  { name, issuer, jwksUrl, claims, scopes, minutes, isReusable }: WorkloadRuleFields,
): Promise<void> {
  await sql`
    update workload_rules set name = ${name}, issuer = ${issuer}, jwks_url = ${jwksUrl},
      claims = ${JSON.stringify(claims)}::text::jsonb, scopes = ${[...scopes]},
      minutes = ${minutes}, is_reusable = ${isReusable}, revision = revision + 1
    where id = ${key.id} and deployment_id = ${key.deploymentId}`
  await endTokens(sql, key)
}

/** Keeps a rule from issuing tokens. Those that it issued end. */
export async function pauseWorkloadRule(sql: Queryable, key: RuleKey): Promise<void> {
  await sql`
    update workload_rules set paused_at = now(), revision = revision + 1
    where id = ${key.id} and paused_at is null`
  await endTokens(sql, key)
}

/** Their assertions are kept in mind: none can be exchanged again. */
const endTokens = (sql: Queryable, { id }: RuleKey) => sql`
  update workload_tokens set expires_at = now() where rule_id = ${id} and expires_at > now()`

/** Lets a rule issue tokens again. */
export async function resumeWorkloadRule(sql: Queryable, { id }: RuleKey): Promise<void> {
  await sql`update workload_rules set paused_at = null where id = ${id}`
}

/** Deletes a rule with the tokens that it issued. */
export async function deleteWorkloadRule(
  sql: Queryable,
  { id, deploymentId }: RuleKey,
): Promise<void> {
  await sql`delete from workload_rules where id = ${id} and deployment_id = ${deploymentId}`
}

/** Returns a rule of this automation; undefined for one of another. */
export async function findWorkloadRule(
  sql: Queryable,
  { id, deploymentId }: RuleKey,
): Promise<WorkloadRule | undefined> {
  const [found] = await sql<WorkloadRule[]>`
    select ${columns(sql)} from workload_rules r
    where r.id = ${id} and r.deployment_id = ${deploymentId}`
  return found
}

/** Returns the rules of an automation, the oldest first. */
export const listWorkloadRules = (
  sql: Queryable,
  deploymentId: number,
): Promise<WorkloadRule[]> => sql<WorkloadRule[]>`
  select ${columns(sql)} from workload_rules r
  where r.deployment_id = ${deploymentId} order by r.created_at, r.id`

/** A rule with the automation that it is for. */
export interface IssuingRule extends WorkloadRule {
  readonly organizationId: number
  readonly automationId: string
}

/** Returns the rules of an automation that issue tokens, the oldest first. */
export const listIssuingRules = (
  sql: Queryable,
  automationId: string,
): Promise<IssuingRule[]> => sql<IssuingRule[]>`
  select ${columns(sql)}, d.organization_id, d.automation_id
  from workload_rules r join deployments d on d.id = r.deployment_id
  where d.automation_id = ${automationId} and d.tests_project_id is null
    and d.deleting_since is null and r.paused_at is null
  order by r.created_at, r.id`
