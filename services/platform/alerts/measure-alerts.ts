import type { PendingQuery, Row as Fields } from 'postgres'
import type { Transaction } from '../../shared/postgres/database.ts'
import type { Found } from './next-standing.ts'
import { runMatches } from '../runs/run-list.ts'
import { readRunQuery } from '../runs/run-terms.ts'
import type { Watched } from './watches.ts'

type Fragment = PendingQuery<Fields[]>

/** A schedule that is due for so long has started nothing. */
const OVERDUE_MINUTES = 5

/** The rules of a statement, and when they are looked at. */
interface Look {
  readonly ids: readonly string[]
  /** The terms of those with a filter, in JSON: `{"<id>": {"minTokens": 100}}`. */
  readonly filters: string
  readonly at: Date
}

/** What was found for a rule. */
interface Row extends Found {
  readonly id: string
}

type Measure = (tx: Transaction, look: Look) => Promise<Row[]>

/** The rules; scope 0 is all automations of an organization together. */
const rules = (tx: Transaction, { ids, filters }: Look) => tx`
  rules as materialized (
    select id, organization_id, coalesce(deployment_id, 0) as scope, watches, window_minutes,
      coalesce(${filters}::text::jsonb -> id::text, '{}') as terms
    from alerts where id = any(${[...ids]}::uuid[]))`

/**
 * Reads each run that ended once, however many rules there are. Runs that a person stopped are not
 * counted, nor tests of drafts.
 */
const measureRuns: Measure = (tx, look) => tx<Row[]>`
  with ${rules(tx, look)},
  wanted as materialized (select distinct organization_id, scope, window_minutes, terms
    from rules),
  ended as materialized (
    select e.id, e.organization_id, s.scope, e.started_at, e.finished_at, e.status, e.usage,
      e.trigger, e.starter_name, d.name as automation_name,
      greatest(extract(epoch from e.finished_at - e.started_at), 0)::float8 as seconds,
      (e.usage ->> 'inputTokens')::float8 + (e.usage ->> 'outputTokens')::float8 as tokens, c.usd
    from executions e join deployments d on d.id = e.deployment_id
    left join run_costs c on c.run_id = e.id
    cross join lateral (values (e.deployment_id), (0)) s (scope)
    where e.finished_at <= ${look.at}::timestamptz and e.finished_at > ${look.at}::timestamptz
        - make_interval(mins => (select max(window_minutes) from wanted))
      and e.status in ('completed', 'error') and d.tests_project_id is null),
  sums as (
    select w.*, count(*)::int as samples,
      100.0 * count(*) filter (where e.status = 'error') / count(*) as failures,
      percentile_cont(array[0.5, 0.95]) within group (order by e.seconds) as seconds,
      avg(e.tokens) as average, sum(e.tokens) as total,
      avg(e.usd) as usd, sum(e.usd) as all_usd
    from wanted w join ended e on e.organization_id = w.organization_id and e.scope = w.scope
      and e.finished_at > ${look.at}::timestamptz - make_interval(mins => w.window_minutes)
      and ${counts(tx, tx`w.terms`, tx`e.automation_name`)}
    group by w.organization_id, w.scope, w.window_minutes, w.terms)
  select r.id, s.samples, coalesce(case r.watches when 'failure_share' then s.failures
      when 'duration_median' then s.seconds[1] when 'duration_p95' then s.seconds[2]
      when 'tokens_per_run' then s.average when 'cost_per_run' then s.usd
      when 'cost_total' then s.all_usd else s.total end, 0)::float8 as value
  from rules r join sums s using (organization_id, scope, window_minutes, terms)`

/** The last rating of a run counts that people gave in the window, whenever the run ended. */
const measureRatings: Measure = (tx, look) => tx<Row[]>`
  with ${rules(tx, look)},
  wanted as materialized (select distinct organization_id, scope, window_minutes, terms
    from rules),
  rated as materialized (
    select distinct on (w.window_minutes, w.terms, s.scope, n.trace_id) w.organization_id,
      s.scope, w.window_minutes, w.terms, n.rating
    from trace_notes n join executions e on e.id = n.trace_id
      and e.organization_id = n.organization_id
    join deployments d on d.id = e.deployment_id and d.tests_project_id is null
    cross join lateral (values (e.deployment_id), (0)) s (scope)
    join wanted w on w.organization_id = n.organization_id and w.scope = s.scope
      and n.created_at > ${look.at}::timestamptz - make_interval(mins => w.window_minutes)
      and ${counts(tx, tx`w.terms`, tx`d.name`)}
    where n.rating is not null and n.created_at <= ${look.at}::timestamptz
      and n.created_at > ${look.at}::timestamptz
        - make_interval(mins => (select max(window_minutes) from wanted))
    order by w.window_minutes, w.terms, s.scope, n.trace_id, n.id desc)
  select r.id, count(*)::int as samples,
    (100.0 * count(*) filter (where t.rating < 0) / count(*))::float8 as value
  from rules r join rated t using (organization_id, scope, window_minutes, terms) group by r.id`

/** Runs that no check could judge are not counted. */
const measureScores: Measure = (tx, look) => tx<Row[]>`
  with ${rules(tx, look)},
  wanted as materialized (select distinct organization_id, scope, window_minutes, terms
    from rules),
  scored as materialized (
    select r.run_id, r.organization_id, s.scope, r.scored_at, r.state from run_scores r
    cross join lateral (values (r.deployment_id), (0)) s (scope)
    where r.state in ('passed', 'failed') and r.scored_at <= ${look.at}::timestamptz
      and r.scored_at > ${look.at}::timestamptz
        - make_interval(mins => (select max(window_minutes) from wanted))),
  sums as (
    select w.*, count(*)::int as samples,
      100.0 * count(*) filter (where s.state = 'failed') / count(*) as failures
    from wanted w join scored s on s.organization_id = w.organization_id and s.scope = w.scope
      and s.scored_at > ${look.at}::timestamptz - make_interval(mins => w.window_minutes)
      and (w.terms = '{}' or exists (
        select from executions e join deployments d on d.id = e.deployment_id
        where e.id = s.run_id and ${counts(tx, tx`w.terms`, tx`d.name`)}))
    group by w.organization_id, w.scope, w.window_minutes, w.terms)
  select r.id, s.samples, s.failures::float8 as value
  from rules r join sums s using (organization_id, scope, window_minutes, terms)`

const measureBudgets: Measure = (tx, look) => tx<Row[]>`
  with ${rules(tx, look)}
  select r.id, count(l)::int as samples, coalesce(max(100.0 * greatest(
      l.spent_tokens::numeric / b.tokens_max, l.spent_usd / b.usd_max)), 0)::float8 as value
  from rules r join budgets b on b.organization_id = r.organization_id and b.period <> 'run'
    and (r.scope = 0 or b.deployment_id = r.scope)
  left join budget_ledgers l on l.budget_id = b.id
    and l.period = to_char(${look.at}::timestamptz at time zone 'UTC',
      case b.period when 'day' then 'YYYY-MM-DD' else 'YYYY-MM' end)
  group by r.id`

const measureApprovals: Measure = (tx, look) => tx<Row[]>`
  with ${rules(tx, look)},
  open as materialized (
    select e.organization_id, s.scope, a.asked_at
    from run_approvals a join executions e on e.id = a.run_id
    join deployments d on d.id = e.deployment_id
    cross join lateral (values (e.deployment_id), (0)) s (scope)
    where a.decision is null and e.status = 'waiting' and d.tests_project_id is null)
  select r.id, count(o)::int as samples, (case r.watches when 'approvals_waiting' then count(o)
      else greatest(extract(epoch from ${look.at}::timestamptz - min(o.asked_at)) / 60, 0)
      end)::float8 as value
  from rules r left join open o using (organization_id, scope) group by r.id, r.watches`

const measureSchedules: Measure = (tx, look) => tx<Row[]>`
  with ${rules(tx, look)},
  idle as materialized (
    select d.organization_id, s.scope
    from schedules c join deployments d on d.id = c.deployment_id
    cross join lateral (values (c.deployment_id), (0)) s (scope)
    where c.paused_at is null and (c.last_problem is not null
      or c.next_at < ${look.at}::timestamptz - make_interval(mins => ${OVERDUE_MINUTES})))
  select r.id, count(i)::int as samples, count(i)::float8 as value
  from rules r left join idle i using (organization_id, scope) group by r.id`

/** Holds for a run `e` that the terms of a rule ask for, in any case of letters. */
const counts = (tx: Transaction, terms: Fragment, automation: Fragment) => tx`(${terms} = '{}' or (
  (${terms} ->> 'status' is null or e.status = ${terms} ->> 'status')
  and (${terms} ->> 'trigger' is null or e.trigger = ${terms} ->> 'trigger')
  and (${terms} ->> 'starter' is null
    or strpos(lower(e.starter_name), lower(${terms} ->> 'starter')) > 0)
  and (${terms} ->> 'automation' is null
    or strpos(lower(${automation}), lower(${terms} ->> 'automation')) > 0)
  and (${terms} ->> 'minCostUsd' is null or coalesce((select usd from run_costs c
    where c.run_id = e.id) >= (${terms} ->> 'minCostUsd')::float8, false))
  and ${runMatches(tx, terms)}))`

/** Those over traces have another file. */
const MEASURES: Readonly<Partial<Record<Watched, Measure>>> = {
  failure_share: measureRuns,
  duration_median: measureRuns,
  duration_p95: measureRuns,
  tokens_per_run: measureRuns,
  tokens_total: measureRuns,
  cost_per_run: measureRuns,
  cost_total: measureRuns,
  bad_ratings: measureRatings,
  failed_scores: measureScores,
  budget_spent: measureBudgets,
  approvals_waiting: measureApprovals,
  approval_age: measureApprovals,
  schedules_idle: measureSchedules,
}

/** A rule that is looked at. */
interface DueRule {
  readonly id: string
  readonly watches: Watched
  readonly filter: string
}

const filtersOf = (due: readonly Pick<DueRule, 'id' | 'filter'>[]): string =>
  JSON.stringify(Object.fromEntries(due.map(({ id, filter }) => [id, readRunQuery(filter).terms])))

/**
 * Measures what rules watch, with one statement for each kind, however many rules there are. Those
 * for which there is nothing to measure are not in the result.
 */
export async function measureAlerts(
  tx: Transaction,
  due: readonly DueRule[],
  at: Date,
): Promise<ReadonlyMap<string, Found>> {
  const found = new Map<string, Found>()
  for (const measure of new Set(due.map(({ watches }) => MEASURES[watches]))) {
    if (!measure) continue
    const of = due.filter(({ watches }) => MEASURES[watches] === measure)
    const rows = await measure(tx, { ids: of.map(({ id }) => id), filters: filtersOf(of), at })
    for (const { id, ...rest } of rows) found.set(id, rest)
  }
  return found
}

/** Returns the worst five runs of what each of some alerts watches, by the ids of the alerts. */
export async function listWorstRuns(
  tx: Transaction,
  alerts: readonly Pick<DueRule, 'id' | 'filter'>[],
  at: Date,
): Promise<ReadonlyMap<string, unknown>> {
  const ids = alerts.map(({ id }) => id)
  const terms = tx`coalesce(${filtersOf(alerts)}::text::jsonb -> r.id::text, '{}')`
  const rows = await tx<{ id: string; runs: unknown }[]>`
    select r.id, jsonb_agg(jsonb_build_object(
      'kickoff_id', w.id, 'automation_id', w.automation_id)
      order by w.badness desc nulls last, w.id) as runs
    from alerts r cross join lateral ((
      select e.id, d.automation_id, (case
          when r.watches in ('approvals_waiting', 'approval_age')
            then extract(epoch from ${at}::timestamptz - a.asked_at)
          when r.watches = 'failure_share' then extract(epoch from e.finished_at)
          when r.watches in ('duration_median', 'duration_p95')
            then extract(epoch from e.finished_at - e.started_at)
          when r.watches in ('cost_per_run', 'cost_total')
            then (select usd::numeric from run_costs where run_id = e.id)
          else coalesce((e.usage ->> 'inputTokens')::numeric
            + (e.usage ->> 'outputTokens')::numeric, 0) end) as badness
      from executions e join deployments d on d.id = e.deployment_id
      left join run_approvals a on a.run_id = e.id and a.decision is null
        and r.watches in ('approvals_waiting', 'approval_age')
      where e.organization_id = r.organization_id and d.tests_project_id is null
        and r.watches not in ('bad_ratings', 'failed_scores')
        and ${counts(tx, terms, tx`d.name`)}
        and (r.deployment_id is null or e.deployment_id = r.deployment_id)
        and case when r.watches in ('approvals_waiting', 'approval_age')
            then e.status = 'waiting' and a.run_id is not null
          else e.status = any(case r.watches when 'failure_share' then '{error}'
              when 'schedules_idle' then '{}' else '{completed,error}' end::text[])
            and e.finished_at <= ${at}::timestamptz and e.finished_at >
              ${at}::timestamptz - make_interval(mins => r.window_minutes) end
      order by badness desc nulls last, e.id limit 5)
    union all (${ratedBad(tx, terms, at)}) union all (${scoredBad(tx, terms, at)})) w
    where r.id = any(${[...ids]}::uuid[])
    group by r.id`
  return new Map(rows.map(({ id, runs }) => [id, runs]))
}

/** Those whose last rating is bad, the newest first. */
const ratedBad = (tx: Transaction, terms: Fragment, at: Date) => tx`
  select e.id, d.automation_id, max(n.id)::numeric
  from trace_notes n join executions e on e.id = n.trace_id
    and e.organization_id = n.organization_id
  join deployments d on d.id = e.deployment_id and d.tests_project_id is null
  where r.watches = 'bad_ratings' and n.organization_id = r.organization_id and n.rating < 0
    and (r.deployment_id is null or e.deployment_id = r.deployment_id)
    and ${counts(tx, terms, tx`d.name`)}
    and n.created_at <= ${at}::timestamptz
    and n.created_at > ${at}::timestamptz - make_interval(mins => r.window_minutes)
    and not exists (
      select from trace_notes l where l.organization_id = n.organization_id
        and l.trace_id = n.trace_id and l.id > n.id and l.rating > 0
        and l.created_at <= ${at}::timestamptz)
  group by e.id, d.automation_id order by max(n.id) desc limit 5`

/** Those that failed a check, the newest first. */
const scoredBad = (tx: Transaction, terms: Fragment, at: Date) => tx`
  select s.run_id, d.automation_id, extract(epoch from s.scored_at)
  from run_scores s join deployments d on d.id = s.deployment_id
  join executions e on e.id = s.run_id and ${counts(tx, terms, tx`d.name`)}
  where r.watches = 'failed_scores' and s.organization_id = r.organization_id
    and (r.deployment_id is null or s.deployment_id = r.deployment_id) and s.state = 'failed'
    and s.scored_at <= ${at}::timestamptz
    and s.scored_at > ${at}::timestamptz - make_interval(mins => r.window_minutes)
  order by s.scored_at desc limit 5`
