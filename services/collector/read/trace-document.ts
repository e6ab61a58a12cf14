import { AppError } from '../../shared/errors.ts'
import { quote } from '../../shared/postgres/copy/copy-connection.ts'
import { createSpanWriter, readOwnedSpans, sortByOwner } from './owned-spans.ts'
import type { OwnedSpans } from './owned-spans.ts'
import type { Reader } from './reader.ts'
import { chunksOf } from './span-chunks.ts'
import type { ChunkLimits } from './span-chunks.ts'
import { listSpanPlaces, SPAN_COLUMNS, STORED_BYTES, STORED_COLUMNS } from './span-rows.ts'
import type { SpanPlace, PlacedSpan } from './span-rows.ts'
import type { IdentityRow } from './span-json.ts'

/**
 * A trace as the text of an OTLP JSON document (`ExportTraceServiceRequest`), written as it is
 * read.
 */
interface TraceDocument {
  /**
   * True when the trace is larger than one answer may be: only its first spans are there, and
   * `truncated` says so.
   */
  readonly isTruncated: boolean
  readonly parts: AsyncGenerator<string, void, undefined>
}

/** The size limits of a document. */
export interface DocumentLimits {
  readonly spans: number
  /** Of the stored form of the spans. */
  readonly bytes: number
}

const LIMITS: DocumentLimits = { spans: 10_000, bytes: 64 << 20 }
/** The part of a response that is in memory at a time, unless a single span is larger. */
const CHUNK: ChunkLimits = { spans: 256, bytes: 1 << 20 }

/**
 * The document of a trace that is small enough to be read and written at once, which takes one
 * question; undefined for another one, and for a trace without spans.
 */
export async function readSmallDocument(
  reader: Pick<Reader, 'askOnce'>,
  traceId: string,
  limits: DocumentLimits = LIMITS,
): Promise<string | undefined> {
  const owned = await readSmallTrace(reader, traceId, {
    spans: Math.min(limits.spans, CHUNK.spans),
    bytes: Math.min(limits.bytes, CHUNK.bytes),
  })
  if (!owned) return undefined
  const writer = createSpanWriter()
  return `${START}${writer.write(owned)}${writer.end()}]}`
}

const START = '{"resourceSpans":['

/**
 * Opens the document of a trace; its spans are in the order of their start within a resource and
 * scope. Raises `not_found`.
 */
export async function openTraceDocument(
  reader: Pick<Reader, 'ask'>,
  traceId: string,
  limits: DocumentLimits = LIMITS,
): Promise<TraceDocument> {
  const found = await reader.ask((sql) => listSpanPlaces(sql, traceId, { limit: limits.spans + 1 }))
  if (found.length === 0) throw traceNotFound(traceId)
  const places = withinLimits(found, limits)
  const isTruncated = places.length < found.length
  return { isTruncated, parts: writeParts({ reader, isTruncated }, places) }
}

/** The error for a trace without spans. */
export const traceNotFound = (traceId: string): AppError =>
  new AppError(
    'not_found',
    `There is no trace ${traceId}. It may have expired, or none of its spans is committed yet.`,
  )

function withinLimits(found: readonly SpanPlace[], limits: DocumentLimits): SpanPlace[] {
  let bytes = 0
  const isBeyond = (place: SpanPlace, index: number): boolean => {
    bytes += place.bytes
    return index > 0 && (index >= limits.spans || bytes > limits.bytes)
  }
  const end = found.findIndex(isBeyond)
  return found.slice(0, end < 0 ? found.length : end)
}

interface Source {
  readonly reader: Pick<Reader, 'ask'>
  readonly isTruncated: boolean
}

async function* writeParts(
  source: Source,
  places: SpanPlace[],
): AsyncGenerator<string, void, undefined> {
  yield START
  const writer = createSpanWriter()
  for (const chunk of chunksOf(sortByOwner(places), CHUNK)) {
    const text = writer.write(await readOwnedSpans(source.reader, chunk))
    if (text) yield text
  }
  yield `${writer.end()}]${source.isTruncated ? marker(places.length) : ''}}`
}

const marker = (spans: number): string =>
  `,"truncated":${JSON.stringify({
    spans_shown: spans,
    message: `The trace is too large for one answer; these are its first ${spans} spans.`,
  })}`

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
async function readSmallTrace(
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
