import { createIdentities } from './identities.ts'
import type { Identities, IdentityRange } from './identities.ts'
import { noteIdentity, noteRow, truncateRows } from './row-buffer.ts'
import type { RowBuffer } from './row-buffer.ts'
import { writeSpanRow } from './span-row.ts'
import type { Refusal, SpanContext } from './span-row.ts'
import { rowBytesMax } from './accelerator.ts'
import type { Accelerator } from './accelerator.ts'
import { createSpanScan } from './span-scan.ts'
import type { SpanScan } from './span-scan.ts'
import { checkEnd, createTape, malformed, readEnd, readFrom, readVarint } from './tape.ts'
import { release, skipField, writeTo } from './tape.ts'
import type { Tape } from './tape.ts'

/** Spans that start outside are refused; microseconds since 2000. */
export interface Window {
  readonly oldest: number
  readonly newest: number
}

/** What became of the spans of one request. */
export interface Transcript {
  /** Spans in the request. */
  spans: number
  /** Those that are rows now. */
  rows: number
  /** The others, by reason. */
  readonly refused: Map<Refusal, number>
  /** Attribute keys that one span gave more than once. */
  duplicateKeys: number
  /** Strings cut to the length limit. */
  truncated: number
  /** Attributes of spans, and their events and links, beyond what one span may have. */
  droppedAttributes: number
  droppedItems: number
}

export type Transcode = (body: Buffer, target: RowBuffer, window: Window) => Transcript

interface State {
  readonly tape: Tape
  readonly scan: SpanScan
  readonly identities: Identities
  readonly context: SpanContext & { end: number; oldest: number; newest: number }
  target: RowBuffer
  transcript: Transcript
  /** Spans without a trace id at all. */
  withoutId: number
}

/**
 * Turns the protobuf bytes of an ExportTraceServiceRequest into rows of `spans`, in one pass and without an object per
 * span, appended to the target. Raises `invalid_request` for a body that is not such a message; the target is then as
 * it was before.
 */
export function createTranscoder(accelerator?: Accelerator): Transcode {
  const tape = createTape()
  const scan = createSpanScan()
  const identities = createIdentities()
  return (body, target, { oldest, newest }) => {
    const context = { oldest, newest, end: 0, startTime: 0, startNs: 0, ...NO_IDENTITY }
    const transcript = emptyTranscript()
    const state = { tape, scan, identities, context, target, transcript, withoutId: 0 }
    const { rows, end } = target
    readFrom(tape, body)
    writeTo(tape, target.bytes, end)
    tape.memory = target.memory
    const block = accelerator?.block
    tape.accelerator =
      body.buffer === block && target.bytes.buffer === block ? accelerator : undefined
    tape.accelerator?.setWindow(oldest, newest)
    tape.truncated = 0
    try {
      readRequest(state, body.length)
    } catch (error) {
      truncateRows(target, rows, end)
      throw error
    } finally {
      target.bytes = tape.out
      release(tape)
    }
    transcript.truncated = tape.truncated
    return transcript
  }
}

const NO_IDENTITY = { resourceHigh: 0, resourceLow: 0, scopeHigh: 0, scopeLow: 0 }

const emptyTranscript = (): Transcript => ({
  spans: 0,
  rows: 0,
  refused: new Map(),
  duplicateKeys: 0,
  truncated: 0,
  droppedAttributes: 0,
  droppedItems: 0,
})

function readRequest(state: State, end: number): void {
  const { tape, target, transcript } = state
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === 0x0a) readResourceSpans(state, readEnd(tape, end))
    else skipField(tape, tag, end)
  }
  checkEnd(tape, end)
  target.end = tape.to
  // Requests for logs and metrics have the same outer structure, so they read as spans without ids.
  if (transcript.spans > 0 && state.withoutId === transcript.spans) {
    malformed('none of its spans has a trace id; is it a request for logs or metrics')
  }
}

function readResourceSpans(state: State, end: number): void {
  const { tape, context } = state
  const from = tape.at
  const range = findIdentity(tape, end)
  const resource = state.identities.resourceOf(tape, range)
  context.resourceHigh = resource.high
  context.resourceLow = resource.low
  tape.accelerator?.setResource(resource.high, resource.low)
  const before = state.target.rows
  tape.at = from
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === 0x12) readScopeSpans(state, readEnd(tape, end))
    else skipField(tape, tag, end)
  }
  if (state.target.rows > before) noteIdentity(state.target, resource)
}

function readScopeSpans(state: State, end: number): void {
  const { tape, context } = state
  const from = tape.at
  const range = findIdentity(tape, end)
  const scope = state.identities.scopeOf(tape, range)
  context.scopeHigh = scope.high
  context.scopeLow = scope.low
  tape.accelerator?.setScope(scope.high, scope.low)
  const before = state.target.rows
  tape.at = from
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === 0x12) readSpan(state, readEnd(tape, end))
    else skipField(tape, tag, end)
  }
  if (state.target.rows > before) noteIdentity(state.target, scope)
}

/** The identity (field 1) and schema URL (field 3) of ResourceSpans or ScopeSpans; the URL comes after the spans. */
function findIdentity(tape: Tape, end: number): IdentityRange {
  const range = { from: tape.at, end: tape.at, schemaFrom: 0, schemaEnd: 0 }
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag !== 0x0a && tag !== 0x1a) {
      skipField(tape, tag, end)
      continue
    }
    const stop = readEnd(tape, end)
    if (tag === 0x0a) {
      range.from = tape.at
      range.end = stop
    } else {
      range.schemaFrom = tape.at
      range.schemaEnd = stop
    }
    tape.at = stop
  }
  checkEnd(tape, end)
  return range
}

function readSpan(state: State, end: number): void {
  const { tape, context, target, transcript } = state
  const start = tape.to
  context.end = end
  transcript.spans++
  const isWritten = writeOrdinarySpan(tape, context) || writeOtherSpan(state)
  tape.at = end
  if (!isWritten) return
  transcript.rows++
  noteRow(target, start, context.startTime)
}

/** Larger spans would need more room for their rows than there is left in most batches. */
const ORDINARY_BYTES_MAX = 64 * 1024

/** Writes the span at the tape's place as a row, if there is an accelerator and it can. */
function writeOrdinarySpan(tape: Tape, context: State['context']): boolean {
  const { accelerator, src, out, at, to } = tape
  const size = context.end - at
  if (!accelerator || size > ORDINARY_BYTES_MAX || to + rowBytesMax(size) > out.length) return false
  const from = src.byteOffset + at
  const stop = accelerator.writeSpan(from, from + size, out.byteOffset + to)
  if (stop === 0) return false
  tape.to = stop - out.byteOffset
  context.startTime = accelerator.startTime()
  return true
}

/** Writes the span at the tape's place as a row, whatever is in it, unless it is to be refused. */
function writeOtherSpan(state: State): boolean {
  const { tape, scan, context, transcript } = state
  const refusal = writeSpanRow(tape, scan, context)
  if (scan.traceIdSize === 0) state.withoutId++
  if (refusal) {
    transcript.refused.set(refusal, (transcript.refused.get(refusal) ?? 0) + 1)
    return false
  }
  transcript.duplicateKeys += scan.attributes.duplicates
  transcript.droppedAttributes += scan.attributes.dropped
  transcript.droppedItems += scan.events.dropped + scan.links.dropped
  return true
}
