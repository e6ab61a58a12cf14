import { REQUEST_TAGS as TAGS } from '../../../../services/collector/otlp/tags.ts'
import type {
  Transcode,
  Transcript as Result,
} from '../../../../services/collector/otlp/transcode.ts'
import { createIdentities } from './identities.ts'
import type { Identities, IdentityRange } from './identities.ts'
import {
  noteIdentity,
  noteRow,
  truncateRows,
} from '../../../../services/collector/otlp/row-buffer.ts'
import type { RowBuffer } from '../../../../services/collector/otlp/row-buffer.ts'
import { writeSpanRow } from './span-row.ts'
import type { SpanContext } from './span-row.ts'
import type { Refusal } from '../../../../services/collector/otlp/problems.ts'
import { createSpanScan } from './span-scan.ts'
import type { SpanScan } from './span-scan.ts'
import { checkEnd, createTape, malformed, readEnd, readFrom, readVarint } from './tape.ts'
import { release, skipField, writeTo } from './tape.ts'
import type { Tape } from './tape.ts'

type Transcript = { -readonly [Name in keyof Result]: Result[Name] } & {
  refused: Map<Refusal, number>
}

interface State {
  readonly tape: Tape
  readonly scan: SpanScan
  readonly identities: Identities
  readonly context: SpanContext & { end: number; oldest: number; newest: number }
  target: RowBuffer
  readonly organization: string
  transcript: Transcript
  /** Spans without a trace id at all. */
  withoutId: number
}

/**
 * Turns the protobuf bytes of an ExportTraceServiceRequest into rows of `spans`, in one pass and
 * without an object per span, appended to the target. Raises `invalid_request` for a body that is
 * not such a message; the target is then as it was before.
 */
export function createOracle(): Transcode {
  const tape = createTape()
  const scan = createSpanScan()
  const identities = createIdentities()
  return (body, target, { oldest, newest, organization = '' }) => {
    const place = { end: 0, startTime: 0, startNs: 0 }
    const context = { oldest, newest, organization, ...place, ...NO_IDENTITY }
    const transcript = emptyTranscript()
    const counts = { transcript, withoutId: 0 }
    const state = { tape, scan, identities, context, target, organization, ...counts }
    const { rows, end } = target
    readFrom(tape, body)
    writeTo(tape, target.bytes, end)
    tape.memory = target.memory
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

const NO_IDENTITY = { resourceHigh: 0, resourceLow: 0, scopeHigh: 0, scopeLow: 0, scopeName: '' }

const emptyTranscript = (): Transcript => ({
  spans: 0,
  rows: 0,
  refused: new Map(),
  duplicateKeys: 0,
  truncated: 0,
  droppedAttributes: 0,
  droppedItems: 0,
  redacted: new Map(),
})

function readRequest(state: State, end: number): void {
  const { tape, target, transcript } = state
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === TAGS.request.resourceSpans) readResourceSpans(state, readEnd(tape, end))
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
  const resource = state.identities.resourceOf(tape, range, state.organization)
  context.organization = resource.organization
  context.resourceHigh = resource.high
  context.resourceLow = resource.low
  const before = state.target.rows
  tape.at = from
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === TAGS.resourceSpans.scopeSpans) readScopeSpans(state, readEnd(tape, end))
    else skipField(tape, tag, end)
  }
  if (state.target.rows > before)
    noteIdentity(state.target, { ...resource, idBytes: Buffer.alloc(8) })
}

function readScopeSpans(state: State, end: number): void {
  const { tape, context } = state
  const from = tape.at
  const range = findIdentity(tape, end)
  const scope = state.identities.scopeOf(tape, range, context.organization)
  context.scopeHigh = scope.high
  context.scopeLow = scope.low
  context.scopeName = String(JSON.parse(scope.document).name)
  const before = state.target.rows
  tape.at = from
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === TAGS.scopeSpans.spans) readSpan(state, readEnd(tape, end))
    else skipField(tape, tag, end)
  }
  if (state.target.rows > before) noteIdentity(state.target, { ...scope, idBytes: Buffer.alloc(8) })
}

/**
 * The identity (field 1) and schema URL (field 3) of ResourceSpans or ScopeSpans; the URL comes
 * after the spans.
 */
function findIdentity(tape: Tape, end: number): IdentityRange {
  const range = { from: tape.at, end: tape.at, schemaFrom: 0, schemaEnd: 0 }
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag !== TAGS.resourceSpans.resource && tag !== TAGS.resourceSpans.schemaUrl) {
      skipField(tape, tag, end)
      continue
    }
    const stop = readEnd(tape, end)
    if (tag === TAGS.resourceSpans.resource) {
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
  const isWritten = writeOtherSpan(state)
  tape.at = end
  if (!isWritten) return
  transcript.rows++
  noteRow(target, start, context.startTime)
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
