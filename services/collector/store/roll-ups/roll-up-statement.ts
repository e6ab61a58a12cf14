import { priceJoins } from './call-cost.ts'
import type { Price } from '../../../shared/prices/price-table.ts'
import { OWNER_COLUMNS } from './noted-rows.ts'
import {
  COST_COLUMNS,
  durationRange,
  MAX_COST,
  MAX_DURATION_NS,
  MAX_TOKENS,
  MEASURES,
  TOKEN_COLUMNS,
  USAGE_KEYS,
} from './measures.ts'
import { MAX_NAMES, TERM_COLUMNS, TERM_LISTS, TERMS } from './terms.ts'
import { CALL_COLUMNS, HAS_USAGE, IS_COST_KNOWN, UNCOUNTED_CALLS } from './uncounted-calls.ts'
import { HAS_TEXTS, NOTE_TEXTS } from '../search/note-texts.ts'

/** What the roll-ups read of a span, beside its trace and its organization. */
export const SPAN_COLUMNS: readonly string[] = [
  ['span_id', 'parent_span_id', 'start_time', 'start_ns', 'duration_ns', 'status', 'llm_call'],
  ['operation_kind', 'name', 'title', 'resource_id', 'scope_id', 'response_id', 'agent'],
  ['crew_id', 'kickoff_id', 'session_id', 'user_id'],
  ['request_model', 'response_model', ...TERM_COLUMNS, ...TOKEN_COLUMNS, 'cost_usd'],
].flat()

interface Tables {
  readonly spans: string
  readonly resources: string
  readonly prices: string
}

const keys = USAGE_KEYS.join(', ')
const measures = MEASURES.map(({ column }) => column)

/**
 * Brings the roll-ups of some traces up to date: their organizations (text[]), ids (uuid[]), and
 * the first and last day (date[]) of the spans for which it was noted. Finds the number of traces.
 *
 * What is joined later has a number for each trace, `nr`: that is cheaper than its key.
 */
export const rollUpStatement = (prices: readonly Price[], tables: Tables): string => `
  with ${TOUCHED}, ${tracesIn(tables)}, ${spansIn(tables.spans)}, ${callsOf(prices, tables.prices)},
  ${USAGE},
  added as (${ADD_USAGE}), written as (${WRITE_TRACES}), gone as (${DELETE_GONE}),
  noted as (${NOTE_TEXTS}),
  announced as (
    insert into trace_changes (organization, trace_id)
    select organization, trace_id from touched
  )
  select count(*) from touched`

/** The types of its parameters. */
export const ROLL_UP_PARAMETERS = 'text[], uuid[], date[], date[]'

const TOUCHED = `
  touched as materialized (
    select nr, noted.organization, noted.trace_id, first_day, last_day, known.usage as usage_before,
      known.crew_id as crew_before, known.ctid as place_before,
      least(first_day::timestamp at time zone 'UTC', first_start) as begins,
      greatest((last_day + 1)::timestamp at time zone 'UTC',
        last_start + interval '1 microsecond') as ends
    from unnest($1, $2, $3, $4) with ordinality
      as noted (organization, trace_id, first_day, last_day, nr)
    left join lateral (
      select ctid, first_start, last_start, usage, crew_id from traces
      where traces.organization = noted.organization and traces.trace_id = noted.trace_id
      offset 0
    ) as known on true
  )`

/**
 * Trace by trace, by `lateral`, and only in the days that each trace has: the planner would
 * otherwise read whole days. The `between` says nothing new, but makes the index on the trace id
 * look as cheap as it is: of a day that nobody has analyzed, the planner believes that a range of
 * times finds as few rows, and goes through the whole day for each trace.
 */
const OF_TRACE = `spans.trace_id = touched.trace_id
        and spans.trace_id between touched.trace_id and touched.trace_id
        and start_time >= begins and start_time < ends
        and spans.organization = touched.organization`

/**
 * What a trace has from its root, or else from its first span: the first of these, in this order.
 * All of them share one sort of a trace's spans, and that costs less than to look the root up.
 */
const ROOT_COLUMNS = [
  ['start_ns', 'span_id', 'duration_ns', 'status', 'name', 'resource_id'],
  ['crew_id', 'kickoff_id', 'session_id', 'user_id'],
].flat()
const ROOT_FIRST = 'parent_span_id is null desc, start_time, span_id'
const root = ROOT_COLUMNS.map((column) => {
  const value = column === 'name' ? 'coalesce(title, name)' : column
  return `(array_agg(${value} order by ${ROOT_FIRST}))[1] as ${column}`
}).join(', ')

const ownersOfAny = OWNER_COLUMNS.map(
  (column) => `coalesce(${column}, any_${column}) as ${column}`,
).join(', ')

/**
 * A row for each trace, of one look at its spans. Of an empty day the index on the trace id looks
 * as cheap as the key, whose order the sums could use: `offset 0` keeps that from the planner.
 */
const tracesIn = ({ spans, resources }: Tables): string => `
  grouped as materialized (
    select nr, touched.organization, touched.trace_id, begins, ends, whole.*
    from touched cross join lateral (
      select count(*) as spans, count(*) filter (where status = 2) as error_spans,
        min(start_time) as first_start, max(start_time) as last_start,
        min(start_time) filter (where parent_span_id is null) as root_start,
        max(start_time + duration_ns / 1000 * interval '1 microsecond') as end_time, ${root},
        ${OWNER_COLUMNS.map((column) => `min(${column} collate "C") as any_${column}`).join(', ')},
        bool_or(llm_call) as has_calls,
        bool_or(${HAS_TEXTS}) as has_texts,
        array_agg(distinct agent collate "C") filter (where agent is not null) as agents,
        ${TERM_LISTS}
      from (
        select ${SPAN_COLUMNS.join(', ')} from ${spans} as spans where ${OF_TRACE} offset 0
      ) as span
    ) as whole
    where whole.spans > 0
  ),
  found as materialized (
    select nr, organization, trace_id, coalesce(root_start, first_start) as start_time, first_start,
      last_start, end_time, case when root_start is not null then duration_ns end as duration_ns,
      case when root_start is not null then span_id end as root_span_id, start_ns,
      case when root_start is null then 'incomplete' when status = 2 then 'error'
        when duration_ns is null then 'running' else 'ok' end as status,
      name,
      (select attributes->>'service.name' from ${resources} where id = resource_id) as service,
      ${ownersOfAny},
      coalesce(agents[:${MAX_NAMES}], '{}') as agents, spans, error_spans, ${TERMS} as terms
    from grouped
  )`

/** The spans of traces with calls: the others add nothing to what is used. */
const spansIn = (spans: string): string => `
  trace_spans as materialized (
    select nr, touched.organization, span.* from grouped as touched cross join lateral (
      select ${[...CALL_COLUMNS, ...TOKEN_COLUMNS].join(', ')}, cost_usd
      from ${spans} as spans where ${OF_TRACE}
      offset 0
    ) as span
    where has_calls
  )`

/** The tokens of a call as they are counted, in SQL. */
export const COUNTED_TOKENS = TOKEN_COLUMNS.map(
  (column) => `least(greatest(${column}, 0), ${MAX_TOKENS})::int4 as ${column}`,
).join(', ')

/**
 * The calls without those for which others stand. Only where a call has a span below it, or beside
 * it a call from another source or one without tokens, may there be any, and is it worth to look.
 */
const callsOf = (prices: readonly Price[], entered: string): string => {
  const { joins, computedCost } = priceJoins(prices, entered)
  return `
  doubtful as (
    select child.nr from trace_spans as child join trace_spans as call
      on call.nr = child.nr and call.span_id = child.parent_span_id and call.llm_call
    union
    select nr from trace_spans where llm_call
    group by nr, parent_span_id
    having count(*) > 1 and (min(scope_id) <> max(scope_id)
      or min(name collate "C") <> max(name collate "C") or not bool_and(${HAS_USAGE}))
  ),
  uncounted as (
    select nr, unnest(span_ids) as span_id
    from (
      select nr, ${UNCOUNTED_CALLS} as span_ids from trace_spans join doubtful using (nr)
      group by nr
    ) as found
  ),
  counted as (
    select nr, organization, start_time, status, request_model, response_model,
      ${COUNTED_TOKENS},
      case when duration_ns is not null then least(duration_ns, ${MAX_DURATION_NS}) / 1000 end
        as duration_us,
      ${durationRange('duration_ns')} as duration_range,
      case when cost_usd is not null and ${IS_COST_KNOWN}
        then (least(greatest(cost_usd, 0), ${MAX_COST}) * 1e12)::int8 end as reported_cost_usd
    from trace_spans as call where llm_call and not exists (
      select from uncounted where uncounted.nr = call.nr and uncounted.span_id = call.span_id
    )
  ),
  priced as (
    select call.*, ${computedCost} as computed_cost_usd from counted as call ${joins}
  ),
  calls as (
    select *, date_bin('1 hour', start_time, 'epoch') as hour,
      coalesce(request_model, response_model, '') as model,
      coalesce(reported_cost_usd, computed_cost_usd) as cost_usd
    from priced
  )`
}

const USAGE = `
  usage as materialized (
    select nr, hour, model, ${MEASURES.map(({ column, sum }) => `${sum} as ${column}`).join(', ')}
    from calls group by nr, hour, model
  ),
  models as (
    select nr, (array_agg(model order by model collate "C"))[:${MAX_NAMES}] as models
    from (select distinct nr, model from usage where model <> '') as named
    group by nr
  ),
  usage_totals as (
    select nr, sum(calls) as llm_calls,
      ${[...TOKEN_COLUMNS, ...COST_COLUMNS].map((name) => `sum(${name}) as ${name}`).join(', ')},
      array_agg(row(hour, model, ${measures.map((column) => `nullif(${column}, 0)`).join(', ')})
        ::usage_part order by hour, model collate "C") as usage
    from usage group by nr
  )`

const added = measures.map((column) => `${column} = usage_hourly.${column} + excluded.${column}`)

/** The statement that adds rows, `change`, to the sums of all traces. */
export const addUsage = (change: string): string => `
  insert into usage_hourly (${keys}, ${measures.join(', ')})
  select ${keys}, ${measures.map((column) => `coalesce(sum(${column}), 0)`).join(', ')}
  from (${change}) as change
  group by ${keys}
  on conflict (${keys}) do update set ${added.join(', ')}`

/** What the traces have now, less what they had added before. */
const ADD_USAGE = addUsage(`
    select hour, organization, coalesce(crew_id, '') as crew_id, model, ${measures.join(', ')}
    from usage join found using (nr)
    union all
    select hour, organization, coalesce(crew_before, ''), model,
      ${measures.map((column) => `-before.${column}`).join(', ')}
    from touched cross join lateral unnest(usage_before) as before`)

const found = [
  ['organization', 'trace_id', 'start_time', 'first_start', 'last_start', 'end_time'],
  ['duration_ns', 'root_span_id', 'start_ns', 'status', 'name', 'service', 'crew_id'],
  ['kickoff_id', 'session_id', 'user_id', 'agents', 'spans', 'error_spans'],
].flat()
const summed = ['llm_calls', ...TOKEN_COLUMNS]
const written = [...found, ...summed, ...COST_COLUMNS, 'models', 'usage', 'terms']
const replaced = written.filter((column) => !['organization', 'trace_id'].includes(column))

const WRITE_TRACES = `
  insert into traces (${written.join(', ')})
  select ${found.join(', ')}, ${summed.map((column) => `coalesce(${column}, 0)`).join(', ')},
    ${COST_COLUMNS.join(', ')}, coalesce(models, '{}'), coalesce(usage_totals.usage, '{}'),
    array_remove(coalesce(terms, '{}') || ('service:' || left(service, 512)), null)
  from found left join usage_totals using (nr) left join models using (nr)
  on conflict (organization, trace_id) do update
  set ${replaced.map((column) => `${column} = excluded.${column}`).join(', ')}`

/** Traces that have no span any more. */
const DELETE_GONE = `
  delete from traces where ctid = any (array(
    select place_before from touched
    where place_before is not null
      and not exists (select from found where found.nr = touched.nr)
  ))`
