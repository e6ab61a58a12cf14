import { beginningOf } from '../../../shared/query-terms.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { platformService } from '../../../shared/tracing/platform-service.ts'
import type { TraceMeasure, TraceQuestion } from '../../../shared/trace-answers/measures.ts'
import { TERM_KINDS, toTerm } from '../../store/roll-ups/terms.ts'
import type { Reader } from '../reader.ts'
import { timestamp } from './sql-parts.ts'
import type { Fragment } from './sql-parts.ts'

/** Traces are found by their start; those that took longer than this, by how long they took. */
const LONG_MINUTES = 60
const LONGEST_MAX = 10_000
const WORST_MAX = 5

/**
 * Measures the traces that ended in the windows of some questions, with one statement: it reads
 * each trace once, however many questions there are. Runs of the platform and requests to it are
 * not counted.
 */
export const measureTraces = (
  reader: Reader,
  questions: readonly TraceQuestion[],
  at: Date,
): Promise<readonly TraceMeasure[]> =>
  reader.ask(async (sql) => {
    const rows = await askMeasures(sql, questions, at)
    return rows.map(({ measure }) => measure)
  })

function toRow({ terms, worst, ...question }: TraceQuestion, index: number) {
  const [whole, beginnings]: [string[], string[]] = [[], []]
  for (const kind of TERM_KINDS) {
    const name = terms[kind]
    if (name === undefined) continue
    const beginning = beginningOf(name)
    if (beginning === undefined) whole.push(toTerm(kind, name))
    else beginnings.push(toTerm(kind, beginning))
  }
  return {
    ...question,
    ...terms,
    nr: index,
    worst,
    terms: someOf(whole),
    beginnings: someOf(beginnings),
  }
}

/** Null for none, which is compared faster than a list. */
const someOf = (names: readonly string[]) => (names.length > 0 ? names : null)

/** The values of a trace, of `listed_traces as traces`. */
const SEEN = `
  traces.organization, replace(traces.trace_id::text, '-', '') as id, start_time, end_time, status,
  service, kickoff_id, terms, session_id, user_id, llm_calls,
  duration_ns / 1e9::float8 as seconds, (input_tokens + output_tokens)::float8 as tokens,
  (case when cost_usd > 1e300 then 1e300 else cost_usd end)::float8 as usd`

const askMeasures = (sql: Queryable, questions: readonly TraceQuestion[], at: Date) => sql<
  { measure: TraceMeasure }[]
>`
  with questions as materialized (
    select *, ${timestamp(sql, at)} - window_minutes * interval '1 minute' as since
    from jsonb_to_recordset(${JSON.stringify(questions.map(toRow))}::text::jsonb) as q (
      nr int, organization text, window_minutes int, worst text, status text, session text,
      "user" text, min_duration_ms float8, min_tokens float8, min_cost_usd float8, terms text[],
      beginnings text[])),
  asked as materialized (
    select organization, min(since) as since,
      min(since) - ${LONG_MINUTES}::int * interval '1 minute' as oldest
    from questions group by organization),
  seen as (
    select recent.* from asked cross join lateral (
      select ${sql.unsafe(SEEN)} from listed_traces as traces
      where traces.organization = asked.organization and start_time > asked.oldest
        and start_time <= ${timestamp(sql, at)} and service is distinct from ${WEB(sql)}
      offset 0) as recent
    union all
    select long.* from asked join (
      select ${sql.unsafe(SEEN)} from listed_traces as traces
      where duration_ns >= ${LONG_MINUTES}::int8 * 60000000000
        and traces.organization in (select organization from asked)
      order by duration_ns desc, start_time desc, trace_id desc limit ${LONGEST_MAX}) as long
      using (organization)
    where long.start_time <= asked.oldest and long.service is distinct from ${WEB(sql)}),
  ended as materialized (
    select seen.* from seen join asked using (organization)
    where seen.end_time > asked.since and seen.end_time <= ${timestamp(sql, at)}
      and seen.status in ('ok', 'error')
      -- A run has the trace id that it names.
      and replace(seen.kickoff_id, '-', '') is distinct from seen.id)
  ${measuresOfEach(sql)}`

const WEB = (sql: Queryable): Fragment => sql`${sql.unsafe(`'${platformService('web')}'`)}`

const measuresOfEach = (sql: Queryable): Fragment => sql`
  select json_build_object(
    'question', q.nr, 'traces', count(*),
    'failure_share', 100.0 * count(*) filter (where t.status = 'error') / count(*),
    'duration', percentile_cont(array[0.5, 0.95]) within group (order by t.seconds),
    'tokens_per_trace', avg(t.tokens) filter (where t.llm_calls > 0),
    'tokens_total', sum(t.tokens), 'cost_per_trace', avg(t.usd), 'cost_total', sum(t.usd),
    'worst', coalesce((array_agg(t.id order by case q.worst when 'duration' then t.seconds
          when 'tokens' then t.tokens when 'cost' then t.usd
          else extract(epoch from t.end_time) end desc nulls last, t.id)
        filter (where q.worst <> 'failed' or q.worst = 'failed' and t.status = 'error')
      )[:${WORST_MAX}::int], '{}')) as measure
  from questions q join ended t on t.organization = q.organization and t.end_time > q.since
    and ${holds(sql)}
  group by q.nr`

/** A trace `t` is one of those that a question `q` is about. */
const holds = (sql: Queryable): Fragment => sql`
  (q."user" is null or t.user_id = q."user")
    and (q.session is null or t.session_id = q.session)
    and (q.min_duration_ms is null or t.seconds * 1000 >= q.min_duration_ms)
    and (q.min_tokens is null or t.tokens >= q.min_tokens)
    and (q.min_cost_usd is null or t.usd >= q.min_cost_usd)
    and (q.status is null or t.status = q.status)
    and (q.terms is null or t.terms @> q.terms)
    and (q.beginnings is null or not exists (
      select from unnest(q.beginnings) b (beginning) where not exists (
        select from unnest(t.terms) x (term) where starts_with(x.term, b.beginning))))`
