import { randomBytes } from 'node:crypto'
import type { Queryable } from '../../shared/postgres/database.ts'
import { hashOf } from '../automations/static-token-use.ts'
import type { IssuingRule, WorkloadScope } from './workload-rules.ts'

const PREFIX = 'pwt_'
/** The clocks of issuers may differ by less. */
const GRACE_SECONDS = 120
const BATCH = 5000

/** Recognizes a token that a rule issued by its shape. */
export const isWorkloadToken = (token: string): boolean => /^pwt_[A-Za-z0-9_-]{43}$/.test(token)

/** What a workload sent in, and what it is to get for it. */
interface Exchange {
  readonly rule: IssuingRule
  readonly scopes: readonly WorkloadScope[]
  /** The token of the workload, whose signature is good. */
  readonly assertion: string
  /** When that ends, in seconds since 1970. */
  readonly assertionEnds: number
  /** Who the workload is, in at most 200 characters. */
  readonly subject: string
}

/** A token that was just issued. */
interface IssuedWorkloadToken {
  readonly id: number
  /** 256 random bits, seen this once: the database keeps its SHA-256. */
  readonly secret: string
  readonly expiresAt: Date
}

/**
 * Issues a token. Returns undefined where the assertion was exchanged before, unless the rule
 * allows that, and for a rule that was changed since it was read.
 */
export async function issueWorkloadToken(
  sql: Queryable,
  { rule, scopes, assertion, assertionEnds, subject }: Exchange,
): Promise<IssuedWorkloadToken | undefined> {
  const secret = PREFIX + randomBytes(32).toString('base64url')
  // Without the signature, of which some algorithms have several for the same words.
  const words = assertion.slice(0, assertion.lastIndexOf('.'))
  const [issued] = await sql<Omit<IssuedWorkloadToken, 'secret'>[]>`
    with rule as (
      select id, now() + minutes * interval '1 minute' as expires_at from workload_rules
      where id = ${rule.id} and revision = ${rule.revision} and paused_at is null
      for share
    )
    insert into workload_tokens
      (rule_id, token_hash, assertion_hash, subject, scopes, expires_at, kept_until)
    select id, ${hashOf(secret)}, ${rule.isReusable ? null : hashOf(words)},
      ${subject}, ${[...scopes]}, expires_at,
      greatest(expires_at, to_timestamp(${assertionEnds}::float8)
        + ${GRACE_SECONDS} * interval '1 second')
    from rule
    on conflict (assertion_hash) do nothing
    returning id, expires_at`
  return issued && { ...issued, secret }
}

/** A token with the rule that issued it. */
export interface FoundWorkloadToken {
  readonly ruleId: string
  readonly name: string
  readonly subject: string
  readonly organizationId: number
  readonly deploymentId: number
  readonly scopes: readonly WorkloadScope[]
  readonly isExpired: boolean
}

/** Returns a token, also one that has ended lately. */
export async function findWorkloadToken(
  sql: Queryable,
  token: string,
): Promise<FoundWorkloadToken | undefined> {
  const [found] = await sql<FoundWorkloadToken[]>`
    select r.id as rule_id, r.name, t.subject, d.organization_id, r.deployment_id, t.scopes,
      t.expires_at <= now() as is_expired
    from workload_tokens t
      join workload_rules r on r.id = t.rule_id
      join deployments d on d.id = r.deployment_id
    where t.token_hash = ${hashOf(token)}`
  return found
}

/** Deletes tokens that have ended and whose assertions have. Returns how many. */
export async function deleteEndedWorkloadTokens(sql: Queryable): Promise<number> {
  const deleted = await sql`
    delete from workload_tokens where id in (
      select id from workload_tokens where kept_until < now() order by kept_until limit ${BATCH})`
  return deleted.count
}
