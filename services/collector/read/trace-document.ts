import { AppError } from '../../shared/errors.ts'
import type { Reader } from './reader.ts'
import { toIdentityJson, toSpanJson } from './span-json.ts'
import type { IdentityRow } from './span-json.ts'
import { chunksOf } from './span-chunks.ts'
import type { ChunkLimits } from './span-chunks.ts'
import { listResources, listScopes, listSpanPlaces, listSpansAt } from './span-rows.ts'
import type { PlacedSpan, SpanPlace } from './span-rows.ts'

/**
 * A trace as the text of an OTLP JSON document (`ExportTraceServiceRequest`), written as it is
 * read.
 */
export interface TraceDocument {
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
 * Opens the document of a trace; its spans are in the order of their start within a resource and
 * scope. Raises `not_found`.
 */
export async function openTraceDocument(
  reader: Reader,
  traceId: string,
  limits: DocumentLimits = LIMITS,
): Promise<TraceDocument> {
  const found = await reader.ask((sql) => listSpanPlaces(sql, traceId, { limit: limits.spans + 1 }))
  if (found.length === 0) throw traceNotFound(traceId)
  const places = withinLimits(found, limits)
  const isTruncated = places.length < found.length
  return { isTruncated, parts: writeParts({ reader, traceId, isTruncated }, places) }
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
  readonly reader: Reader
  readonly traceId: string
  readonly isTruncated: boolean
}

async function* writeParts(
  source: Source,
  places: SpanPlace[],
): AsyncGenerator<string, void, undefined> {
  yield '{"resourceSpans":['
  let last: PlacedSpan | undefined
  for (const chunk of chunksOf(sortByOwner(places), CHUNK)) {
    const { spans, resources, scopes } = await readChunk(source, chunk)
    let text = ''
    for (const span of spans) {
      text += separator(last, span, { resources, scopes }) + JSON.stringify(toSpanJson(span))
      last = span
    }
    if (text) yield text
  }
  yield `${last ? ']}]}' : ''}]${source.isTruncated ? marker(places.length) : ''}}`
}

const marker = (spans: number): string =>
  `,"truncated":${JSON.stringify({
    spans_shown: spans,
    message: `The trace is too large for one answer; these are its first ${spans} spans.`,
  })}`

/** Spans of one resource and scope together, each group in the order in which it began. */
function sortByOwner(places: readonly SpanPlace[]): SpanPlace[] {
  const groups = new Map<string, Map<string, SpanPlace[]>>()
  for (const place of places) {
    const scopes = groups.get(place.resourceId) ?? new Map<string, SpanPlace[]>()
    const spans = scopes.get(place.scopeId) ?? []
    spans.push(place)
    groups.set(place.resourceId, scopes.set(place.scopeId, spans))
  }
  return [...groups.values()].flatMap((scopes) => [...scopes.values()].flat())
}

interface Owners {
  readonly resources: ReadonlyMap<string, IdentityRow>
  readonly scopes: ReadonlyMap<string, IdentityRow>
}

async function readChunk(
  { reader, traceId }: Source,
  chunk: readonly SpanPlace[],
): Promise<Owners & { spans: PlacedSpan[] }> {
  const resourceIds = [...new Set(chunk.map(({ resourceId }) => resourceId))]
  const scopeIds = [...new Set(chunk.map(({ scopeId }) => scopeId))]
  const [spans, resources, scopes] = await reader.ask((sql) =>
    Promise.all([
      listSpansAt(sql, traceId, chunk),
      listResources(sql, resourceIds),
      listScopes(sql, scopeIds),
    ]),
  )
  return { spans, resources: byId(resources), scopes: byId(scopes) }
}

const byId = (rows: readonly IdentityRow[]): Map<string, IdentityRow> =>
  new Map(rows.map((row) => [row.id, row]))

/**
 * What stands between two spans: a comma, or the end of one group and the beginning of the next.
 */
function separator(last: PlacedSpan | undefined, span: PlacedSpan, owners: Owners): string {
  const isSameResource = last?.resourceId === span.resourceId
  if (isSameResource && last.scopeId === span.scopeId) return ','
  const scope = owners.scopes.get(span.scopeId)
  const scopeStart = `{"scope":${JSON.stringify(toIdentityJson(scope))}${schema(scope)},"spans":[`
  if (isSameResource) return `]},${scopeStart}`
  const resource = owners.resources.get(span.resourceId)
  const resourceJson = JSON.stringify(toIdentityJson(resource))
  const end = last ? ']}]},' : ''
  return `${end}{"resource":${resourceJson}${schema(resource)},"scopeSpans":[${scopeStart}`
}

const schema = (owner: IdentityRow | undefined): string =>
  owner?.schemaUrl ? `,"schemaUrl":${JSON.stringify(owner.schemaUrl)}` : ''
