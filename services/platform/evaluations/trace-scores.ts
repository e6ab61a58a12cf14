import type { Queryable } from '../../shared/postgres/database.ts'
import { storable } from '../crew-contract/event-text.ts'
import { runnerOf } from '../projects/project-automations.ts'
import type { Check, Finding } from './checks.ts'
import { countByDay, sumFindings } from './run-scores.ts'
import type { ScoredDay, ScoreResult } from './run-scores.ts'

/** The time between two looks for traces that ended. */
const EVERY_SECONDS = 60
/** The time that a worker has for a look. */
const LEASE_SECONDS = 1800
/** Scores are kept for so long. */
const KEPT_DAYS = 90
const BATCH_SIZE = 1000

/** Which traces of an organization are scored, and how. */
export interface TraceScoreRule {
  /** Of 100 traces. */
  readonly share: number
  /** Null: of all services. */
  readonly service: string | null
  readonly checks: readonly Check[]
}

const NONE = { share: 0, service: null, checks: [], problem: null }

/** Returns the rule of an organization, and why its last look failed; one over no trace is none. */
export async function getTraceScoreRule(
  sql: Queryable,
  organizationId: number,
): Promise<TraceScoreRule & { readonly problem: string | null }> {
  const [found] = await sql<(TraceScoreRule & { problem: string | null })[]>`
    select share, service, checks, problem from trace_score_rules
    where organization_id = ${organizationId}`
  return found ?? NONE
}

/** Keeps the rule of an organization. Checks that begin to score do so with what starts now. */
export async function saveTraceScoreRule(
  sql: Queryable,
  organizationId: number,
  { share, service, checks }: TraceScoreRule,
): Promise<void> {
  await sql`
    insert into trace_score_rules as r (organization_id, share, service, checks)
    values (${organizationId}, ${share}, ${service}, ${JSON.stringify(checks)}::text::jsonb)
    on conflict (organization_id) do update set share = excluded.share,
      service = excluded.service, checks = excluded.checks, due_at = now(), problem = null,
      scored_since = case when r.share = 0 then now() else r.scored_since end,
      looked_until = case when r.share = 0 then null else r.looked_until end`
}

/** A rule whose traces a worker looks at, until its lease ends. */
export interface TakenTraceRule extends TraceScoreRule {
  readonly organizationId: number
  readonly leaseId: string
  /** All that started before was looked at. */
  readonly from: Date
  /** The address of the crew that asks judges; null: there is none. */
  readonly url: string | null
  readonly crewAutomationId: string | null
}

const isDue = (sql: Queryable) => sql`share > 0 and due_at < now()`

/** The condition under which a worker has traces to look at. */
export const hasDueTraceRules = (sql: Queryable) => sql`
  exists (select from trace_score_rules where ${isDue(sql)})`

/** Takes rules of which it is time to look at the traces. */
export const takeTraceRules = (sql: Queryable, limit: number): Promise<TakenTraceRule[]> =>
  sql<TakenTraceRule[]>`
    with due as (
      select organization_id from trace_score_rules where ${isDue(sql)}
      order by due_at limit ${limit} for no key update skip locked)
    update trace_score_rules r set lease_id = gen_random_uuid(),
      due_at = now() + make_interval(secs => ${LEASE_SECONDS})
    from due left join (
      select url, automation_id from deployments where id in (${runnerOf(sql)})) crew on true
    where r.organization_id = due.organization_id
    returning r.organization_id, r.lease_id, r.share, r.service, r.checks,
      greatest(r.looked_until, r.scored_since) as "from", crew.url,
      crew.automation_id as crew_automation_id`

/** Gives a rule back after a look, or part of one; `until`: all before was looked at. */
export async function releaseTraceRule(
  sql: Queryable,
  { organizationId, leaseId }: Pick<TakenTraceRule, 'organizationId' | 'leaseId'>,
  { until, problem = null }: { readonly until?: Date; readonly problem?: string | null },
): Promise<void> {
  await sql`
    update trace_score_rules set lease_id = null, problem = ${problem?.slice(0, 1000) ?? null},
      due_at = now() + make_interval(secs => ${EVERY_SECONDS}),
      looked_until = greatest(looked_until, coalesce(${until ?? null}::timestamptz, looked_until))
    where organization_id = ${organizationId} and lease_id = ${leaseId}`
}

/** Returns those of these traces that are runs of the platform, or are scored already. */
export async function listKnownTraces(
  sql: Queryable,
  organizationId: number,
  traceIds: readonly string[],
): Promise<Set<string>> {
  const ids = [...traceIds]
  const rows = await sql<{ id: string }[]>`
    select replace(id::text, '-', '') as id from executions where id = any (${ids}::uuid[])
    union all
    select trace_id from trace_scores
    where organization_id = ${organizationId} and trace_id = any (${ids}::text[])`
  return new Set(rows.map(({ id }) => id))
}

/** Stores what the checks found of a trace; the first time counts. */
export async function keepTraceScore(
  sql: Queryable,
  { organizationId, traceId }: { readonly organizationId: number; readonly traceId: string },
  { state, reason, findings }: ScoreResult,
): Promise<void> {
  const { tokens, usd } = sumFindings(findings)
  await sql`
    insert into trace_scores (organization_id, trace_id, state, reason, findings, tokens, usd)
    values (${organizationId}, ${traceId}, ${state},
      ${reason?.replaceAll('\0', '').slice(0, 2000) ?? null},
      ${storable(findings)}::text::jsonb, ${tokens}, ${usd}::text::numeric)
    on conflict do nothing`
}

/** What the checks found of a trace. */
export interface TraceScore {
  readonly traceId: string
  readonly state: ScoreResult['state']
  readonly reason: string | null
  readonly findings: readonly Finding[]
  readonly tokens: number
  readonly usd: number | null
  readonly scoredAt: Date
}

/** Returns the newest scores of an organization, of one state or all. */
export const listTraceScores = (
  sql: Queryable,
  organizationId: number,
  { state, limit }: { readonly state: ScoreResult['state'] | null; readonly limit: number },
): Promise<TraceScore[]> => sql<TraceScore[]>`
  select trace_id, state, reason, findings, tokens::float8 as tokens, usd::float8 as usd, scored_at
  from trace_scores
  where organization_id = ${organizationId} and (${state}::text is null or state = ${state})
  order by scored_at desc, trace_id limit ${limit}`

/** Returns how the scored traces of an organization did by day (UTC), the oldest first. */
export const listScoredTraceDays = (
  sql: Queryable,
  organizationId: number,
  days: number,
): Promise<ScoredDay[]> =>
  countByDay(sql, sql`trace_scores where organization_id = ${organizationId}`, days)

/** Deletes one batch of scores whose time is over. Returns how many. */
export async function deleteOldTraceScores(sql: Queryable): Promise<number> {
  const { count } = await sql`
    delete from trace_scores where (organization_id, trace_id) in (
      select organization_id, trace_id from trace_scores
      where scored_at < now() - make_interval(days => ${KEPT_DAYS}) limit ${BATCH_SIZE})`
  return count
}
