import { quote } from '../../shared/postgres/copy/copy-connection.ts'
import type { TraceSummary } from '../../shared/trace-answers/lists.ts'
import { CALL_COLUMNS, REPORTED_COST, UNCOUNTED_CALLS } from '../store/roll-ups/uncounted-calls.ts'
import type { Reader } from './reader.ts'
import { toHexId } from './span-json.ts'

/** Of larger traces only the first spans are counted. */
const MAX_SPANS = 10_000
const MAX_MODELS = 20

interface SummaryRow {
  readonly traceId: string
  readonly spanId: string
  readonly name: string
  readonly isRoot: boolean
  readonly status: number
  readonly startUs: string
  readonly startNs: number
  readonly durationNs: string | null
  readonly spans: number
  readonly errorSpans: number
  readonly crewId: string | null
  readonly kickoffId: string | null
  readonly models: string[] | null
  readonly llmCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly costUsd: number | null
}

/** The summary of a trace by its id (a UUID); undefined when it has no live span. */
export async function summarizeTrace(
  reader: Pick<Reader, 'askOnce'>,
  traceId: string,
  maxSpans = MAX_SPANS,
): Promise<TraceSummary | undefined> {
  const [row] = await reader.askOnce<SummaryRow>(summaryOf(quote(traceId), maxSpans + 1))
  return row && toSummary(row, maxSpans)
}

const summaryOf = (traceId: string, limit: number): string => `
  with trace_spans as materialized (${firstSpans(traceId, limit)}),
  usage as (${USAGE_OF_CALLS}),
  totals as (
    select count(*) as spans, count(*) filter (where status = 2) as error_spans,
      min(crew_id) as crew_id, min(kickoff_id) as kickoff_id
    from trace_spans
  ),
  root as (
    select trace_id, span_id, shown_name as name, parent_span_id is null as is_root, status,
      (extract(epoch from start_time) * 1000000)::int8 as start_us, start_ns, duration_ns,
      crew_id, kickoff_id
    from trace_spans
    order by parent_span_id is null desc, start_time, span_id limit 1
  )
  select trace_id, span_id, name, is_root, status, start_us, start_ns, duration_ns,
    spans::float8 as spans, error_spans::float8 as error_spans,
    coalesce(root.crew_id, totals.crew_id) as crew_id,
    coalesce(root.kickoff_id, totals.kickoff_id) as kickoff_id,
    models[:${MAX_MODELS}] as models,
    llm_calls::float8 as llm_calls,
    coalesce(input_tokens, 0)::float8 as input_tokens,
    coalesce(output_tokens, 0)::float8 as output_tokens,
    coalesce(cache_read_tokens, 0)::float8 as cache_read_tokens,
    coalesce(cache_write_tokens, 0)::float8 as cache_write_tokens,
    coalesce(reasoning_tokens, 0)::float8 as reasoning_tokens,
    cost_usd
  from root, totals, usage`

/**
 * In an order that no index has: else the planner walks through all spans by time rather than look
 * up the trace. Every part of the question is about one trace, so Citus asks the node that has it.
 */
const firstSpans = (traceId: string, limit: number): string => `
  select found.* from (
    select trace_id, ${CALL_COLUMNS.join(', ')}, coalesce(title, name) as shown_name, start_ns,
      crew_id, kickoff_id, coalesce(request_model, response_model) as model,
      input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
      cost_usd, organization, min(organization) over () as shown_organization
    from live_spans where trace_id = ${traceId}
    order by organization, start_time + interval '0' limit ${limit}
  ) as found
  where organization = shown_organization`

const USAGE_OF_CALLS = `
  select count(*) as llm_calls, array_agg(distinct model) as models,
    sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
    sum(cache_read_tokens) as cache_read_tokens, sum(cache_write_tokens) as cache_write_tokens,
    sum(reasoning_tokens) as reasoning_tokens, sum(${REPORTED_COST}) as cost_usd
  from trace_spans
  where llm_call and span_id not in (
    select unnest(span_ids) from (select ${UNCOUNTED_CALLS} as span_ids from trace_spans) as found
  )`

function toSummary(row: SummaryRow, maxSpans: number): TraceSummary {
  const start = BigInt(row.startUs) * 1000n + BigInt(row.startNs)
  return {
    trace_id: row.traceId.replaceAll('-', ''),
    root_span_id: row.isRoot ? toHexId(row.spanId) : null,
    name: row.name,
    status: statusOf(row),
    started_at: new Date(Number(start / 1_000_000n)).toISOString(),
    start_time_unix_nano: `${start}`,
    duration_ms:
      row.isRoot && row.durationNs !== null ? Number(BigInt(row.durationNs) / 1000n) / 1000 : null,
    spans: Math.min(row.spans, maxSpans),
    error_spans: row.errorSpans,
    crew_id: row.crewId,
    kickoff_id: row.kickoffId,
    models: (row.models ?? []).filter((model) => model !== null),
    llm_calls: row.llmCalls,
    tokens: {
      input: row.inputTokens,
      output: row.outputTokens,
      cache_read: row.cacheReadTokens,
      cache_write: row.cacheWriteTokens,
      reasoning: row.reasoningTokens,
    },
    cost_usd: row.costUsd,
    truncated: row.spans > maxSpans,
  }
}

function statusOf({ isRoot, status }: SummaryRow): TraceSummary['status'] {
  if (!isRoot) return 'incomplete'
  return status === 2 ? 'error' : 'ok'
}
