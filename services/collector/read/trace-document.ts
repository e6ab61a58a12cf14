import { AppError } from '../../shared/errors.ts'
import { createSpanWriter, readOwnedSpans, sortByOwner } from './owned-spans.ts'
import type { Reader } from './reader.ts'
import { readSmallTrace } from './small-trace.ts'
import { chunksOf } from './span-chunks.ts'
import type { ChunkLimits } from './span-chunks.ts'
import { listSpanPlaces } from './span-rows.ts'
import type { SpanPlace } from './span-rows.ts'

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
