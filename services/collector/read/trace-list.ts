import type { Queryable } from '../../shared/postgres/database.ts'
import { toCursor } from './cursor.ts'
import type { Position } from './cursor.ts'
import type { TraceQuery } from './read-query.ts'
import type { Reader } from './reader.ts'
import { summarizeTraces } from './trace-summary.ts'
import type { TraceSummary } from './trace-summary.ts'

/** A page of traces, and where the next one begins. */
export interface TracePage {
  readonly traces: readonly TraceSummary[]
  /** Null at the end. A page with fewer traces than asked for, even with none, is not the end. */
  readonly next_cursor: string | null
}

/** Roots looked at for one page at the most, when some filter has no index. */
const BATCHES = 10
const BATCH = 200

/**
 * One page of the traces whose root has come, the latest start first. The order is that of the
 * start of a root, which never changes, so pages neither repeat nor skip a trace while spans
 * arrive.
 */
export async function listTraces(reader: Reader, query: TraceQuery): Promise<TracePage> {
  const { found, next } = await findRoots(reader, query)
  const ids = found.map(({ traceId }) => traceId)
  const summaries =
    ids.length > 0 ? await reader.ask((sql) => summarizeTraces(sql, ids)) : new Map<string, never>()
  const traces = found.flatMap((root): TraceSummary[] => {
    const summary: TraceSummary | undefined = summaries.get(root.traceId)
    // A trace with several roots is listed where its first one is.
    return summary && isRootOf(root, summary) ? [summary] : []
  })
  return { traces, next_cursor: next ? toCursor(next) : null }
}

interface Root extends Position {
  readonly startUs: string
  readonly startNs: number
  readonly matches: boolean
}

const isRootOf = ({ startUs, startNs }: Root, summary: TraceSummary): boolean =>
  `${BigInt(startUs) * 1000n + BigInt(startNs)}` === summary.start_time_unix_nano

async function findRoots(
  reader: Reader,
  query: TraceQuery,
): Promise<{ found: Root[]; next: Position | undefined }> {
  const { limit } = query
  const isScan = query.model !== undefined || query.minDurationMs !== undefined
  const size = isScan ? BATCH : limit + 1
  const found = new Map<string, Root>()
  let position = query.after
  for (let batch = 0; batch < BATCHES; batch++) {
    const after = position
    const roots = await reader.ask((sql) => listRoots(sql, query, { after, size }))
    for (const [index, root] of roots.entries()) {
      position = root
      if (root.matches) found.set(root.traceId, root)
      const hasMore = index + 1 < roots.length || roots.length === size
      if (found.size === limit) {
        return { found: [...found.values()], next: hasMore ? position : undefined }
      }
    }
    if (roots.length < size) return { found: [...found.values()], next: undefined }
  }
  return { found: [...found.values()], next: position }
}

/** The next roots that fit the filters that have an index, and whether they fit the others. */
function listRoots(
  sql: Queryable,
  query: TraceQuery,
  { after, size }: { after: Position | undefined; size: number },
): Promise<Root[]> {
  const { crew, kickoff, status, from, to } = query
  // The place is also given as a plain bound: partitions are not excluded by a comparison of rows.
  return sql<Root[]>`
    select trace_id, (start_time at time zone 'UTC')::text as start_time, start_ns,
      (extract(epoch from start_time) * 1000000)::int8 as start_us,
      ${matchesOf(sql, query)} as matches
    from live_spans as root
    where parent_span_id is null
      ${crew === undefined ? sql`` : sql`and crew_id = ${crew}`}
      ${kickoff === undefined ? sql`` : sql`and kickoff_id = ${kickoff}`}
      ${status === 'error' ? sql`and status = 2` : sql``}
      ${status === 'ok' ? sql`and status <> 2` : sql``}
      ${from ? sql`and start_time >= ${from.toISOString()}::text::timestamptz` : sql``}
      ${to ? sql`and start_time < ${to.toISOString()}::text::timestamptz` : sql``}
      ${
        after
          ? sql`and start_time <= ${`${after.startTime}Z`}::text::timestamptz
              and (start_time, trace_id)
                < (${`${after.startTime}Z`}::text::timestamptz, ${after.traceId}::text::uuid)`
          : sql``
      }
    order by root.start_time desc, trace_id desc limit ${size}`
}

/**
 * A call of the model is looked for in the days around the root only, so that few partitions are
 * touched.
 */
function matchesOf(sql: Queryable, { model, minDurationMs }: TraceQuery) {
  const isLong =
    minDurationMs === undefined
      ? sql`true`
      : sql`coalesce(duration_ns >= ${minDurationMs}::int8 * 1000000, false)`
  if (model === undefined) return isLong
  return sql`${isLong} and exists (
    select from live_spans as call
    where call.trace_id = root.trace_id and call.llm_call
      and call.organization = root.organization
      and (call.request_model = ${model} or call.response_model = ${model})
      and call.start_time >= root.start_time - interval '1 hour'
      and call.start_time <= coalesce(root.end_time, root.start_time) + interval '1 day'
  )`
}
