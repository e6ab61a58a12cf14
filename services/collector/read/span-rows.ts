import type { Queryable } from '../../shared/postgres/database.ts'
import type { IdentityRow, SpanRow } from './span-json.ts'

/** The place and the size of a stored span, without its content. */
export interface SpanPlace {
  readonly spanId: string
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
  limit: number,
): Promise<SpanPlace[]> {
  return sql<SpanPlace[]>`
    select span_id, organization, start_time::text as start_time, resource_id, scope_id,
      (octet_length(name) + coalesce(pg_column_size(attributes), 0)
        + coalesce(octet_length(payload), 0) + coalesce(octet_length(events), 0)
        + coalesce(octet_length(links), 0))::float8 as bytes
    from (
      select *, min(organization) over () as shown_organization
      from live_spans where trace_id = ${traceId}::text::uuid
    ) as found
    where organization = shown_organization
    order by found.start_time + interval '0', span_id limit ${limit}`
}

/** A span with the ids of its resource and scope. */
export type PlacedSpan = SpanRow & Pick<SpanPlace, 'resourceId' | 'scopeId'>

/** The spans at these places, in their order. */
export function listSpansAt(
  sql: Queryable,
  traceId: string,
  places: readonly SpanPlace[],
): Promise<PlacedSpan[]> {
  const times = places.map(({ startTime }) => startTime)
  // Constants that the planner sees: only the days that hold these spans are looked at.
  const range = [...times].sort()
  return sql<PlacedSpan[]>`
    select spans.trace_id, spans.span_id, parent_span_id, start_ns, duration_ns, kind, status,
      (extract(epoch from spans.start_time) * 1000000)::int8 as start_us,
      status_message, name, trace_state, flags, dropped_attributes, dropped_events, dropped_links,
      attributes::text as attributes, payload, events, links, resource_id, scope_id
    from unnest(
        ${times}::text[]::timestamptz[],
        ${places.map(({ spanId }) => spanId)}::text[]::int8[],
        ${places.map(({ organization }) => organization)}::text[]
      ) with ordinality as place (start_time, span_id, organization, nr)
    join live_spans as spans
      on spans.start_time = place.start_time and spans.span_id = place.span_id
      and spans.organization = place.organization
      and spans.trace_id = ${traceId}::text::uuid
      and spans.start_time between ${range.at(0) ?? ''}::text::timestamptz
        and ${range.at(-1) ?? ''}::text::timestamptz
    order by nr`
}

/** The condition that `live_spans` has, for tables: true when the reader may see the row. */
const isReadable = (sql: Queryable) => sql`(
  (select reading_organization()) is null or organization = (select reading_organization())
)`

/** The resources of these ids. */
export function listResources(sql: Queryable, ids: readonly string[]): Promise<IdentityRow[]> {
  return sql<IdentityRow[]>`
    select id, attributes::text as attributes, dropped_attributes, schema_url
    from resources where id = any (${ids}::text[]::int8[]) and ${isReadable(sql)}`
}

/** The scopes of these ids. */
export function listScopes(sql: Queryable, ids: readonly string[]): Promise<IdentityRow[]> {
  return sql<IdentityRow[]>`
    select id, attributes::text as attributes, dropped_attributes, schema_url, name, version
    from scopes where id = any (${ids}::text[]::int8[]) and ${isReadable(sql)}`
}
