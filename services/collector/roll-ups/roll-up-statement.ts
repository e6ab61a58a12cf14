import { priceJoins } from './call-cost.ts'
import type { Price } from '../prices/price-table.ts'
import { COST_COLUMNS, MEASURES, TOKEN_COLUMNS, USAGE_KEYS } from './measures.ts'
import { TERM_COLUMNS, TERMS } from './terms.ts'

/** Notes, and bytes of their trace ids, that are taken at a time; always one note. */
const MAX_NOTES = 500
const MAX_BYTES = 128 * 1024
/** Names that a trace shows of its agents and of its models. */
const MAX_NAMES = 20

const keys = USAGE_KEYS.join(', ')
const tokens = TOKEN_COLUMNS.join(', ')
const measures = MEASURES.map(({ column }) => column)

/**
 * Takes the oldest notes and brings the roll-ups of their traces up to date, in one statement. A
 * note that it sees was committed with its spans, so it sees those too: nothing is missed, however
 * transactions end in another order than they began. Finds a row for each trace.
 *
 * The lateral queries with `offset 0` look up trace by trace, and only in the days that each trace
 * has: the planner would otherwise read whole days.
 */
export const rollUpStatement = (prices: readonly Price[]): string => `
  with recursive ${TOUCHED}, ${SPANS}, ${TRACES}, terms as (${TERMS}), ${callsOf(prices)},
  ${USAGE},
  added as (${ADD_USAGE}), written as (${WRITE_TRACES}), gone as (${DELETE_GONE})
  select from touched`

const TOUCHED = `
  taken as (
    delete from touched_traces where ctid = any (array(
      select ctid from (
        select ctid, sum(length(trace_ids)) over (order by noted_at, ctid) - length(trace_ids)
          as bytes_before
        from (
          select ctid, noted_at, trace_ids from touched_traces
          order by noted_at limit ${MAX_NOTES}
        ) as oldest
      ) as counted
      where bytes_before < ${MAX_BYTES}
    ))
    -- as a new value, which is not fetched anew for each id
    returning day, trace_ids || ''::bytea as trace_ids
  ),
  noted as (
    select encode(substr(trace_ids, place, 16), 'hex')::uuid as trace_id,
      min(day) as first_day, max(day) as last_day
    from taken cross join lateral generate_series(1, length(trace_ids), 16) as place
    group by 1
  ),
  touched as materialized (
    select noted.trace_id, known.usage,
      least(first_day::timestamp at time zone 'UTC', first_start) as begins,
      greatest((last_day + 1)::timestamp at time zone 'UTC',
        last_start + interval '1 microsecond') as ends
    from noted left join lateral (
      select first_start, last_start, usage from traces
      where traces.trace_id = noted.trace_id offset 0
    ) as known on true
  )`

/**
 * The `between` says nothing new, but makes the index on the trace id look as cheap as it is: of a
 * day that nobody has analyzed, the planner believes that a range of times finds as few rows, and
 * goes through the whole day for each trace.
 */
const SPANS = `
  trace_spans as materialized (
    select span.* from touched cross join lateral (
      select trace_id, span_id, parent_span_id, start_time, start_ns, duration_ns, status,
        llm_call, name, resource_id, agent, crew_id, kickoff_id, session_id, user_id,
        organization, response_model, ${TERM_COLUMNS.join(', ')}, ${tokens}, cost_usd,
        coalesce(request_model, response_model) as model
      from spans
      where spans.trace_id = touched.trace_id
        and spans.trace_id between touched.trace_id and touched.trace_id
        and start_time >= begins and start_time < ends
      offset 0
    ) as span
  )`

const TRACES = `
  roots as (
    select distinct on (trace_id) trace_id, span_id, parent_span_id is null as is_root, start_time,
      start_ns, duration_ns, status, name, resource_id, crew_id, kickoff_id, session_id, user_id,
      organization
    from trace_spans
    order by trace_id, parent_span_id is null desc, start_time, span_id
  ),
  totals as (
    select trace_id, count(*) as spans, count(*) filter (where status = 2) as error_spans,
      min(start_time) as first_start, max(start_time) as last_start,
      max(start_time + duration_ns / 1000 * interval '1 microsecond') as end_time,
      min(crew_id) as crew_id, min(kickoff_id) as kickoff_id, min(session_id) as session_id,
      min(user_id) as user_id, min(organization) as organization,
      array_agg(distinct agent) filter (where agent is not null) as agents
    from trace_spans group by trace_id
  ),
  found as materialized (
    select trace_id, roots.start_time, first_start, last_start, end_time,
      case when is_root then duration_ns end as duration_ns,
      case when is_root then span_id end as root_span_id, start_ns,
      case when not is_root then 'incomplete' when status = 2 then 'error'
        when duration_ns is null then 'running' else 'ok' end as status,
      name,
      (select attributes->>'service.name' from resources where id = resource_id) as service,
      coalesce(roots.organization, totals.organization) as organization,
      coalesce(roots.crew_id, totals.crew_id) as crew_id,
      coalesce(roots.kickoff_id, totals.kickoff_id) as kickoff_id,
      coalesce(roots.session_id, totals.session_id) as session_id,
      coalesce(roots.user_id, totals.user_id) as user_id,
      coalesce(agents[:${MAX_NAMES}], '{}') as agents, spans, error_spans
    from roots join totals using (trace_id)
  )`

/** The calls that have no other one below them; `union` ends with spans in a circle. */
const callsOf = (prices: readonly Price[]): string => {
  const { joins, computedCost } = priceJoins(prices)
  return `
  above as (
    select trace_id, parent_span_id as span_id
    from trace_spans where llm_call and parent_span_id is not null
    union
    select trace_id, parent_span_id
    from above join trace_spans using (trace_id, span_id)
    where parent_span_id is not null
  ),
  leaves as materialized (
    select * from trace_spans as call where llm_call and not exists (
      select from above where above.trace_id = call.trace_id and above.span_id = call.span_id
    )
  ),
  priced as materialized (
    select call.trace_id, date_trunc('hour', call.start_time, 'UTC') as hour,
      coalesce(call.organization, found.organization, '') as organization,
      coalesce(found.crew_id, '') as crew_id, coalesce(call.model, '') as model,
      call.status, call.duration_ns, ${TOKEN_COLUMNS.map((column) => `call.${column}`).join(', ')},
      call.cost_usd::numeric as reported_cost_usd,
      ${computedCost} as computed_cost_usd
    from leaves as call join found using (trace_id) ${joins}
  ),
  calls as (
    select *, coalesce(reported_cost_usd, computed_cost_usd) as cost_usd from priced
  )`
}

const USAGE = `
  usage as materialized (
    select trace_id, ${keys},
      ${MEASURES.map(({ column, sum }) => `${sum} as ${column}`).join(', ')},
      ${COST_COLUMNS.map((column) => `count(${column}) as known_${column}`).join(', ')}
    from calls group by trace_id, ${keys}
  ),
  usage_totals as (
    select trace_id, sum(calls) as llm_calls,
      (array_agg(distinct model) filter (where model <> ''))[:${MAX_NAMES}] as models,
      ${TOKEN_COLUMNS.map((column) => `sum(${column}) as ${column}`).join(', ')},
      ${COST_COLUMNS.map(
        (column) => `sum(${column}) filter (where known_${column} > 0) as ${column}`,
      ).join(', ')},
      jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        ${USAGE_KEYS.map((column) => `'${column}', ${column}`).join(', ')},
        ${measures.map((column) => `'${column}', nullif(${column}, 0)`).join(', ')}
      ))) as usage
    from usage group by trace_id
  )`

const added = measures.map((column) => `${column} = usage_hourly.${column} + excluded.${column}`)

/** What the traces have now, less what they had added before. */
const ADD_USAGE = `
  insert into usage_hourly (${keys}, ${measures.join(', ')})
  select ${keys}, ${measures.map((column) => `sum(${column})`).join(', ')}
  from (
    select ${keys}, ${measures.join(', ')} from usage
    union all
    select ${keys}, ${measures.map((column) => `-coalesce(before.${column}, 0)`).join(', ')}
    from touched cross join lateral jsonb_to_recordset(touched.usage) as before (
      hour timestamptz, organization text, crew_id text, model text,
      ${measures.map((column) => `${column} numeric`).join(', ')}
    )
  ) as change
  group by ${keys}
  having ${measures.map((column) => `sum(${column}) <> 0`).join(' or ')}
  on conflict (${keys}) do update set ${added.join(', ')}`

const found = [
  ['trace_id', 'start_time', 'first_start', 'last_start', 'end_time', 'duration_ns'],
  ['root_span_id', 'start_ns', 'status', 'name', 'service', 'organization', 'crew_id'],
  ['kickoff_id', 'session_id', 'user_id', 'agents', 'spans', 'error_spans'],
].flat()
const summed = ['llm_calls', ...TOKEN_COLUMNS]
const written = [...found, ...summed, ...COST_COLUMNS, 'models', 'usage', 'terms']
const replaced = written.filter((column) => column !== 'trace_id')

const WRITE_TRACES = `
  insert into traces (${written.join(', ')})
  select ${found.join(', ')}, ${summed.map((column) => `coalesce(${column}, 0)`).join(', ')},
    ${COST_COLUMNS.join(', ')}, coalesce(models, '{}'), coalesce(usage_totals.usage, '[]'),
    array_remove(coalesce(terms, '{}') || ('service:' || left(service, 512)), null)
  from found left join usage_totals using (trace_id) left join terms using (trace_id)
  on conflict (trace_id) do update
  set ${replaced.map((column) => `${column} = excluded.${column}`).join(', ')}`

/** Traces that have no span any more. */
const DELETE_GONE = `
  delete from traces where trace_id = any (array(
    select trace_id from touched where usage is not null
      and not exists (select from found where found.trace_id = touched.trace_id)
  ))`
