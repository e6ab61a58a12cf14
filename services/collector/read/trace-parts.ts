import type { Queryable } from '../../shared/postgres/database.ts'
import { isStartWithin } from './span-rows.ts'
import type { SpanPosition } from './span-rows.ts'

/** Spans of a trace that follow each other by their start. */
export interface TracePart {
  /** Whose spans they are. */
  readonly organization: string
  /** No span of the part starts before this: microseconds since 1970. */
  readonly firstUs: string
  /** The span before the first one, where that is known. */
  readonly after: SpanPosition | undefined
  readonly last: SpanPosition
  readonly spans: number
}

/** What a part holds at the most, unless a single span is larger. */
export interface PartSize {
  readonly spans: number
  /** Of large values as they were sent. */
  readonly bytes: number
}

/** Where parts are looked for. */
interface PartsQuery {
  /** A UUID. */
  readonly traceId: string
  /** The parts are those behind this span. */
  readonly after?: SpanPosition | undefined
}

interface EndRow extends SpanPosition {
  readonly organization: string
  readonly firstUs: string
  /** Spans up to this one. */
  readonly nr: string
}

/**
 * The parts of a trace in the order of their start, with one look at its spans, of which large
 * values are not unpacked. Of organizations that use the same trace id the first by name is taken.
 */
export async function listTraceParts(
  sql: Queryable,
  { traceId, after }: PartsQuery,
  size: PartSize,
): Promise<TracePart[]> {
  const rows = await sql<EndRow[]>`
    select organization, first_us, start_us, span_id, nr from (
      select organization, start_us, span_id, nr, part,
        first_value(start_us) over in_order as first_us, lead(part) over in_order as next_part
      from (
        select organization, start_us, span_id, row_number() over in_order as nr,
          (sum(bytes) over in_order)::int8 / ${size.bytes}::int8
            + (row_number() over in_order - 1) / ${size.spans}::int8 as part
        from (
          select organization, ${startUs(sql)} as start_us, span_id,
            (coalesce(octet_length(payload), 0) + coalesce(octet_length(events), 0))::int8 as bytes
          from live_spans
          where trace_id = ${traceId}::text::uuid ${after ? isAfter(sql, after) : sql``}
          offset 0
        ) as spans
        window in_order as (partition by organization order by start_us, span_id
          rows unbounded preceding)
      ) as numbered
      window in_order as (partition by organization order by start_us, span_id
        rows unbounded preceding)
    ) as ends
    where next_part is distinct from part
    order by organization, nr`
  return rows
    .filter(({ organization }) => organization === rows[0]?.organization)
    .map((row, index) => toPart(row, rows[index - 1]))
}

function toPart(row: EndRow, before: EndRow | undefined): TracePart {
  return {
    organization: row.organization,
    firstUs: before?.startUs ?? row.firstUs,
    after: before,
    last: row,
    spans: Number(row.nr) - Number(before?.nr ?? 0),
  }
}

/** The spans of a part, for a `from` with its `where`. */
export const spansOfPart = (sql: Queryable, traceId: string, part: TracePart) => sql`
  live_spans
  where trace_id = ${traceId}::text::uuid and organization = ${part.organization}
    and ${isStartWithin(sql, { firstUs: BigInt(part.firstUs), lastUs: BigInt(part.last.startUs) })}
    and (${startUs(sql)}, span_id)
      <= (${part.last.startUs}::text::int8, ${part.last.spanId}::text::int8)
    ${part.after ? isAfter(sql, part.after) : sql``}`

/** Exact until the year 2106: a double then no longer has the microseconds. */
const startUs = (sql: Queryable) => sql`(date_part('epoch', start_time) * 1000000)::int8`

const isAfter = (sql: Queryable, after: SpanPosition) => sql`
  and (${startUs(sql)}, span_id) > (${after.startUs}::text::int8, ${after.spanId}::text::int8)`
