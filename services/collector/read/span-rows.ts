import type { Queryable } from '../../shared/postgres/database.ts'
import { KEPT_COLUMNS } from '../conventions/left-out-keys.ts'
import { isDistributed } from '../store/spans/distribution.ts'
import type { IdentityRow, SpanRow } from './span-json.ts'

/** A place in the order of a trace's spans. */
export interface SpanPosition {
  /** Microseconds since 1970. */
  readonly startUs: string
  /** A signed decimal. */
  readonly spanId: string
}

/** The place and the size of a stored span, without its content. */
export interface SpanPlace extends SpanPosition {
  /** A UUID. */
  readonly traceId: string
  readonly organization: string
  readonly startTime: string
  readonly resourceId: string
  readonly scopeId: string
  readonly bytes: number
}

/**
 * The first spans of a trace by start time; expired ones are not seen. Large values are not even
 * unpacked. The order is one that no index has: else the planner may walk through all spans by time
 * rather than look up the trace. Of organizations that use the same trace id the first by name is
 * shown to the platform, whose own comes before all.
 */
export function listSpanPlaces(
  sql: Queryable,
  traceId: string,
  { limit, after }: { limit: number; after?: SpanPosition | undefined },
): Promise<SpanPlace[]> {
  const isAfter = after
    ? sql`and (started, span_id)
        > (timestamptz 'epoch' + ${after.startUs}::text::int8 * interval '1 microsecond',
          ${after.spanId}::text::int8)`
    : sql``
  return sql<SpanPlace[]>`
    select ${sql(PLACE_COLUMNS)} from (
      select ${placeOf(sql)}, live_spans.start_time as started,
        min(organization) over () as shown_organization
      from live_spans where trace_id = ${traceId}::text::uuid
    ) as found
    where organization = shown_organization ${isAfter}
    order by started + interval '0', span_id limit ${limit}`
}

const PLACE_COLUMNS = [
  'trace_id',
  'span_id',
  'organization',
  'start_time',
  'start_us',
  'resource_id',
  'scope_id',
  'bytes',
]

/** The columns of a `SpanPlace`, from `live_spans`. */
export const placeOf = (sql: Queryable, bytes = STORED_BYTES) => sql`
  trace_id, span_id, organization, live_spans.start_time::text as start_time, resource_id, scope_id,
  (extract(epoch from live_spans.start_time) * 1000000)::int8 as start_us,
  ${sql.unsafe(bytes)}::float8 as bytes`

/** The size of a row in SQL, in which this column has the attributes; large values stay packed. */
export const storedBytes = (attributes: string): string =>
  `(octet_length(name) + coalesce(pg_column_size(${attributes}), 0)
    + coalesce(octet_length(payload), 0) + coalesce(octet_length(events), 0)
    + coalesce(octet_length(links), 0))`

/** The size of a row of `live_spans`. */
export const STORED_BYTES = storedBytes('other_attributes')

/** A span with the ids of its resource and scope. */
export type PlacedSpan = SpanRow & Pick<SpanPlace, 'resourceId' | 'scopeId'>

/** The columns of a `PlacedSpan`, as `live_spans` has them. */
export const STORED_COLUMNS: readonly string[] = [
  'trace_id',
  'span_id',
  'parent_span_id',
  'start_time',
  'start_ns',
  'duration_ns',
  'kind',
  'status',
  'status_message',
  'name',
  'trace_state',
  'flags',
  'dropped_attributes',
  'dropped_events',
  'dropped_links',
  'other_attributes',
  'left_out',
  ...KEPT_COLUMNS,
  'payload',
  'events',
  'links',
  'resource_id',
  'scope_id',
]

const SHOWN: Readonly<Record<string, string>> = {
  start_time: '(extract(epoch from spans.start_time) * 1000000)::int8 as start_us',
  other_attributes: 'spans.other_attributes::text as attributes',
}

/** The columns of a `PlacedSpan`, from rows `spans`, in SQL. */
export const SPAN_COLUMNS = STORED_COLUMNS.map((name) => SHOWN[name] ?? `spans.${name}`).join(', ')

/** The spans at these places, in their order. */
export async function listSpansAt(
  sql: Queryable,
  places: readonly SpanPlace[],
): Promise<PlacedSpan[]> {
  const traceIds = [...new Set(places.map(({ traceId }) => traceId))]
  // Citus takes no shard from a join; a plain server would read whole traces by it.
  const isOfShards = (await isDistributed(sql))
    ? sql`where spans.trace_id = any (${traceIds}::text[]::uuid[])`
    : sql``
  return sql<PlacedSpan[]>`
    select ${sql.unsafe(SPAN_COLUMNS)}
    from ${spansAtPlaces(sql, places)} ${isOfShards}
    order by nr`
}

/** The spans at these places for a `from`: `spans`, and `nr`, the number of the place. */
function spansAtPlaces(sql: Queryable, places: readonly SpanPlace[]) {
  const us = places.map(({ startUs }) => BigInt(startUs))
  const range = {
    firstUs: us.reduce((first, one) => (one < first ? one : first), us[0] ?? 0n),
    lastUs: us.reduce((last, one) => (one > last ? one : last), us[0] ?? 0n),
  }
  return sql`
    unnest(
        ${places.map(({ startTime }) => startTime)}::text[]::timestamptz[],
        ${places.map(({ traceId }) => traceId)}::text[]::uuid[],
        ${places.map(({ spanId }) => spanId)}::text[]::int8[],
        ${places.map(({ organization }) => organization)}::text[]
      ) with ordinality as place (start_time, trace_id, span_id, organization, nr)
    join live_spans as spans
      on spans.start_time = place.start_time and spans.trace_id = place.trace_id
      and spans.span_id = place.span_id and spans.organization = place.organization
      and ${isStartWithin(sql, range, 'spans.start_time')}`
}

/**
 * True for spans that start within these microseconds since 1970, and perhaps for some that start a
 * microsecond earlier or later, for the digits that a double has not. Of all ways to give times the
 * planner takes only constants like these for what they are: with others it plans for each day.
 */
export const isStartWithin = (
  sql: Queryable,
  { firstUs, lastUs }: { firstUs: bigint; lastUs: bigint },
  column = 'start_time',
) => sql`
  ${sql(column)} between to_timestamp(${Number(firstUs - 1n) / 1e6}::float8)
    and to_timestamp(${Number(lastUs + 1n) / 1e6}::float8)`

/** The condition that `live_spans` has, for tables: true when the reader may see the row. */
const IS_READABLE = `(
  (select reading_organization()) is null or organization = (select reading_organization())
)`

/** The resources of these ids. */
export function listResources(sql: Queryable, ids: readonly string[]): Promise<IdentityRow[]> {
  return sql<IdentityRow[]>`
    select id, attributes::text as attributes, dropped_attributes, schema_url
    from resources where id = any (${ids}::text[]::int8[]) and ${sql.unsafe(IS_READABLE)}`
}

/** The scopes of these ids. */
export function listScopes(sql: Queryable, ids: readonly string[]): Promise<IdentityRow[]> {
  return sql<IdentityRow[]>`
    select id, attributes::text as attributes, dropped_attributes, schema_url, name, version
    from scopes where id = any (${ids}::text[]::int8[]) and ${sql.unsafe(IS_READABLE)}`
}
