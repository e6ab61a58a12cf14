import { quote } from '../../shared/postgres/copy/copy-connection.ts'
import { sortByOwner } from './owned-spans.ts'
import type { OwnedSpans } from './owned-spans.ts'
import type { Reader } from './reader.ts'
import type { ChunkLimits } from './span-chunks.ts'
import type { IdentityRow } from './span-json.ts'
import { SPAN_COLUMNS, STORED_BYTES, STORED_COLUMNS } from './span-rows.ts'
import type { PlacedSpan } from './span-rows.ts'

/** The owners stand with the first span of each pair of them. */
interface Row extends PlacedSpan {
  readonly isFirst: boolean
  readonly resourceAttributes: string | null
  readonly resourceDroppedAttributes: string | null
  readonly resourceSchemaUrl: string | null
  readonly scopeAttributes: string | null
  readonly scopeDroppedAttributes: string | null
  readonly scopeSchemaUrl: string | null
  readonly scopeName: string
  readonly scopeVersion: string | null
}

/**
 * Reads a whole trace with one statement: its spans by their owners, in the order of their start.
 * Undefined for a trace without spans, and for one that is larger than this.
 */
export async function readSmallTrace(
  reader: Pick<Reader, 'askOnce'>,
  traceId: string,
  limits: ChunkLimits,
): Promise<OwnedSpans | undefined> {
  const rows = await reader.askOnce<Row>(wholeTrace(quote(traceId), limits))
  if (rows.length === 0) return undefined
  const firsts = rows.filter(({ isFirst }) => isFirst)
  return {
    spans: sortByOwner(rows),
    resources: new Map(firsts.map((row) => [row.resourceId, resourceOf(row)])),
    scopes: new Map(firsts.map((row) => [row.scopeId, scopeOf(row)])),
  }
}

const resourceOf = (row: Row): IdentityRow => ({
  id: row.resourceId,
  attributes: row.resourceAttributes,
  droppedAttributes: row.resourceDroppedAttributes,
  schemaUrl: row.resourceSchemaUrl,
})

const scopeOf = (row: Row): IdentityRow => ({
  id: row.scopeId,
  attributes: row.scopeAttributes,
  droppedAttributes: row.scopeDroppedAttributes,
  schemaUrl: row.scopeSchemaUrl,
  name: row.scopeName,
  version: row.scopeVersion,
})

/**
 * Of organizations that use the same trace id the first by name is shown. Nothing is sent of a
 * trace that has too much; of one with more spans no more are looked at than one. The order is one
 * that no index has: else the planner may walk through all spans by time.
 */
const wholeTrace = (traceId: string, { spans, bytes }: ChunkLimits): string => `
  select ${SPAN_COLUMNS}, nr = 1 as is_first, ${ownerColumns('resource')},
    ${ownerColumns('scope')}, scopes.name as scope_name, scopes.version as scope_version
  from (
    select *, row_number() over (partition by resource_id, scope_id) as nr,
      min(organization) over () as shown_organization,
      count(*) over () <= ${spans} and sum(bytes) over () <= ${bytes} as fits
    from (
      select ${STORED_COLUMNS.join(', ')}, organization, ${STORED_BYTES} as bytes from live_spans
      where trace_id = ${traceId}
      order by organization, start_time + interval '0', span_id limit ${spans + 1}
    ) as first
  ) as spans
  left join ${ownersOf('resource')} left join ${ownersOf('scope')}
  where fits and spans.organization = shown_organization
  order by start_time + interval '0', span_id`

/** A span that a reader may see has owners that it may see: they are of the same organization. */
const ownersOf = (owner: string): string => `
  ${owner}s on nr = 1 and ${owner}s.id = ${owner}_id
    and ${owner}s.organization = spans.organization`

const ownerColumns = (owner: string): string => `
  ${owner}s.attributes::text as ${owner}_attributes,
  ${owner}s.dropped_attributes as ${owner}_dropped_attributes,
  ${owner}s.schema_url as ${owner}_schema_url`
