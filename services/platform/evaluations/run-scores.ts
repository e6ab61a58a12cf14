import type { Queryable } from '../../shared/postgres/database.ts'
import type { ModelUse } from '../../shared/prices/find-price.ts'
import { storable } from '../crew-contract/event-text.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import type { Check, Finding } from './checks.ts'
import { isOfShare } from './score-rules.ts'

/** The time between two looks for runs that ended. */
const EVERY_SECONDS = 10
/** The transactions that end runs are over by then. */
const LATE_MINUTES = 5
/** More runs of an automation do not wait: those that end meanwhile are not scored. */
const WAITING_MAX = 1000
/** The time that a worker has for a run; it is not renewed. */
const LEASE_SECONDS = 960

const isDueRule = (sql: Queryable) => sql`
  r.scored_share > 0 and (r.looked_at is null
    or r.looked_at < now() - make_interval(secs => ${EVERY_SECONDS}))`

/** Holds while it is time to look for runs to score. */
export const hasDueScoreRules = (sql: Queryable) => sql`
  exists (select from score_rules r where ${isDueRule(sql)})`

/** Lines up a share of the runs that completed since the last look. Returns how many. */
export async function lineUpScores(sql: Queryable): Promise<number> {
  const { count } = await sql`
    with due as materialized (
      select r.*, coalesce(r.looked_at, r.scored_since) - make_interval(mins => ${LATE_MINUTES})
        as looked_until, (
        select count(*) from run_scores s
        where s.deployment_id = r.deployment_id and s.state in ('queued', 'running')) as waiting
      from score_rules r where ${isDueRule(sql)} for no key update skip locked),
    looked as (
      update score_rules r set looked_at = now() from due
      where r.deployment_id = due.deployment_id)
    insert into run_scores (run_id, deployment_id, organization_id)
    select e.id, e.deployment_id, e.organization_id from due cross join lateral (
      select id, deployment_id, organization_id from executions x
      where x.deployment_id = due.deployment_id and x.status = 'completed'
        and x.finished_at > greatest(due.looked_until, due.scored_since)
        and ${isOfShare(sql, sql`x.id`, sql`due.scored_share`)}
        and not exists (select from run_scores where run_id = x.id)
      order by x.finished_at limit greatest(${WAITING_MAX} - due.waiting, 0)) e
    on conflict (run_id) do nothing`
  return count
}

/** A run that a worker is to score, until its lease ends. */
export interface TakenScore {
  readonly runId: string
  readonly leaseId: string
  /** How often it was taken, this time included. */
  readonly attempt: number
  readonly organizationId: number
  readonly deploymentId: number
  readonly checks: readonly Check[]
  readonly inputs: Inputs
  readonly output: string
  readonly tools: readonly string[]
  readonly tokens: number
  readonly models: readonly ModelUse[]
  readonly seconds: number
  readonly finishedAt: Date
  /** The address of the crew that asks judges; null: it has none. */
  readonly url: string | null
  readonly crewAutomationId: string
}

const isDue = (sql: Queryable) => sql`(
  (state = 'queued' and available_at <= now()) or (state = 'running' and lease_expires_at < now()))`

/** The condition under which a worker has a run to score. */
export const hasDueScores = (sql: Queryable) => sql`
  exists (select from run_scores where ${isDue(sql)})`

/** Takes runs that are to be scored. Those of automations that score nothing any more are left. */
export async function takeScores(sql: Queryable, limit: number): Promise<TakenScore[]> {
  return sql<TakenScore[]>`
    with due as (
      select run_id from run_scores where ${isDue(sql)}
      order by available_at limit ${limit} for update skip locked),
    taken as (
      update run_scores r set state = 'running', attempt = attempt + 1,
        lease_id = gen_random_uuid(),
        lease_expires_at = now() + make_interval(secs => ${LEASE_SECONDS})
      from due d where r.run_id = d.run_id returning r.*)
    select t.run_id, t.lease_id, t.attempt, t.organization_id, t.deployment_id,
      coalesce(r.checks, '[]') as checks, e.inputs, e.output, e.finished_at,
      coalesce(extract(epoch from e.finished_at - e.started_at), 0)::float8 as seconds,
      coalesce((e.usage ->> 'inputTokens')::float8 + (e.usage ->> 'outputTokens')::float8, 0)
        as tokens,
      array(select coalesce(event ->> 'tool', event ->> 'name') from execution_events
        where execution_id = e.id and event ->> 'type' = 'tool_call' order by number) as tools,
      (select coalesce(json_agg(m), '[]') from (
        select name as model,
          coalesce(sum((usage ->> 'input_tokens')::bigint), 0) as input_tokens,
          coalesce(sum((usage ->> 'cached_input_tokens')::bigint), 0) as cached_input_tokens,
          coalesce(sum((usage ->> 'output_tokens')::bigint), 0) as output_tokens
        from run_steps where run_id = e.id and kind = 'llm' and attempt > 0 group by name) m
      ) as models, crew.url, crew.automation_id as crew_automation_id
    from taken t join executions e on e.id = t.run_id
      left join score_rules r on r.deployment_id = t.deployment_id
      join deployments d on d.id = t.deployment_id
      join deployments crew on crew.id = coalesce(d.runs_on, d.id)`
}

const isOurs = (sql: Queryable, { runId, leaseId }: TakenScore) =>
  sql`run_id = ${runId} and lease_id = ${leaseId}`

/** Gives a run back, due after some time; the attempt does not count. */
export async function putBackScore(
  sql: Queryable,
  taken: TakenScore,
  delaySeconds = 0,
): Promise<void> {
  await sql`
    update run_scores set state = 'queued', attempt = attempt - 1, lease_id = null,
      lease_expires_at = null, available_at = now() + make_interval(secs => ${delaySeconds})
    where ${isOurs(sql, taken)}`
}

/** What the checks found of a run, and what asking judges took. */
export interface ScoreResult {
  readonly state: 'passed' | 'failed' | 'error'
  readonly reason?: string | undefined
  readonly findings: readonly Finding[]
}

/** Stores what the checks found of a run, if it is still this worker's. */
export async function finishScore(
  sql: Queryable,
  taken: TakenScore,
  { state, reason, findings }: ScoreResult,
): Promise<void> {
  const { tokens, usd } = sumFindings(findings)
  await sql`
    update run_scores set state = ${state}, scored_at = now(), lease_id = null,
      lease_expires_at = null, reason = ${reason === undefined ? null : storableText(reason)},
      findings = ${storable(findings)}::text::jsonb, tokens = ${tokens},
      usd = ${usd}::text::numeric
    where ${isOurs(sql, taken)}`
}

/** Sums up what asking judges took; the dollars as text, null where a model has no price. */
export function sumFindings(findings: readonly Finding[]) {
  const tokens = Math.ceil(findings.reduce((sum, each) => sum + (each.tokens ?? 0), 0))
  const hasPrice = findings.every(({ usd }) => usd !== null)
  const usd = hasPrice ? String(findings.reduce((sum, each) => sum + (each.usd ?? 0), 0)) : null
  return { tokens, usd }
}

const REASON_MAX = 2000
const storableText = (text: string): string => text.replaceAll('\0', '').slice(0, REASON_MAX)

/** What the checks found of a run. */
export interface RunScore {
  readonly state: 'waiting' | 'passed' | 'failed' | 'error'
  readonly reason: string | null
  readonly findings: readonly Finding[]
  readonly tokens: number | null
  readonly usd: number | null
  readonly scoredAt: Date | null
}

/** Returns what the checks found of a run, if it is one that is scored. */
export async function findRunScore(sql: Queryable, runId: string): Promise<RunScore | undefined> {
  const [found] = await sql<RunScore[]>`
    select case when scored_at is null then 'waiting' else state end as state, reason,
      coalesce(findings, '[]') as findings, tokens::float8 as tokens, usd::float8 as usd, scored_at
    from run_scores where run_id = ${runId}`
  return found
}

/** How the runs did that were scored on a day (UTC). */
export interface ScoredDay {
  readonly day: string
  readonly passed: number
  readonly failed: number
  /** Those that no check could judge. */
  readonly errors: number
  /** What asking judges cost, as far as it is known. */
  readonly usd: number
}

/** Returns the days of an automation, the oldest first; those without a score are not in it. */
export const listScoredDays = (
  sql: Queryable,
  deploymentId: number,
  days: number,
): Promise<ScoredDay[]> =>
  countByDay(sql, sql`run_scores where deployment_id = ${deploymentId}`, days)

/** Counts scores, named by their table and a condition, by day (UTC), the oldest first. */
export const countByDay = (
  sql: Queryable,
  scores: ReturnType<Queryable>,
  days: number,
): Promise<ScoredDay[]> => sql<ScoredDay[]>`
  select to_char(scored_at at time zone 'UTC', 'YYYY-MM-DD') as day,
    count(*) filter (where state = 'passed')::int as passed,
    count(*) filter (where state = 'failed')::int as failed,
    count(*) filter (where state = 'error')::int as errors, coalesce(sum(usd), 0)::float8 as usd
  from ${scores}
    and scored_at >= date_trunc('day', now(), 'UTC') - make_interval(days => ${days - 1})
  group by 1 order by 1`
