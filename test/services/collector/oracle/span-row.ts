import type { Refusal } from '../../../../services/collector/otlp/problems.ts'
import {
  MAX_INT2,
  MAX_ORGANIZATION_CHARS,
  POSTGRES_EPOCH_US,
} from '../../../../services/collector/otlp/limits.ts'
import { writeAttributeFields } from './attributes.ts'
import {
  FIXED_FIELD_BYTES,
  writeBoolField,
  writeBytesField,
  writeInt2Field,
  writeInt8Halves,
  writeNull,
  writeOptionalInt8Field,
  writeTextField,
} from './copy-fields.ts'
import { isZero, writeEvent, writeItemsField, writeLink } from './events-and-links.ts'
import { completeSpan } from './kinds.ts'
import { writePromotedNumbers, writePromotedTexts } from './promoted-fields.ts'
import { MODEL_KINDS } from '../../../../services/collector/conventions/kinds.ts'
import type { OperationKind } from '../../../../services/collector/conventions/kinds.ts'
import { SPAN_COLUMNS } from '../../../../services/collector/otlp/span-columns.ts'
import { scanSpan } from './span-scan.ts'
import type { SpanScan } from './span-scan.ts'
import { reserve } from './tape.ts'
import type { Tape } from './tape.ts'

/** The spans of one request share these. */
export interface SpanContext {
  /** Start times outside are refused; microseconds since 2000, PostgreSQL's epoch. */
  readonly oldest: number
  readonly newest: number
  /** The two halves of the int8 ids. */
  resourceHigh: number
  resourceLow: number
  scopeHigh: number
  scopeLow: number
  scopeName: string
  organization: string
  /** The start of the row written last; microseconds since 2000, and nanoseconds more. */
  startTime: number
  startNs: number
}

const TWO_32 = 4_294_967_296

/**
 * Reads the Span message in [at, end) and appends its row. Returns why the span is refused, in
 * which case nothing is appended, or undefined.
 */
export function writeSpanRow(
  tape: Tape,
  scan: SpanScan,
  context: SpanContext & { end: number },
): Refusal | undefined {
  const start = tape.to
  tape.depth = 0
  tape.tooDeep = false
  scanSpan(tape, scan, context.end)
  readStart(tape.srcView, scan.startAt, context)
  const refusal = checkIds(tape, scan) ?? checkRanges(tape, scan, context)
  if (refusal) return refusal
  const span = tape.src.toString('utf8', scan.nameFrom, scan.nameEnd)
  const kind = completeSpan(tape, scan.attributes, { span, scope: context.scopeName })
  writeFixedFields(tape, scan, context)
  writeVariableFields(tape, scan, { ...context, kind })
  tape.at = context.end
  if (!tape.tooDeep) return undefined
  tape.to = start
  return 'too_deep'
}

function checkIds({ src }: Tape, scan: SpanScan): Refusal | undefined {
  if (scan.traceIdSize !== 16 || isZero(src, scan.traceIdFrom, 16)) return 'invalid_trace_id'
  if (scan.spanIdSize !== 8 || isZero(src, scan.spanIdFrom, 8)) return 'invalid_span_id'
  // No parent may be an empty id or, from some senders, one of zeros.
  const hasParent = scan.parentSize !== 0
  if (hasParent && scan.parentSize !== 8) return 'invalid_parent_span_id'
  if (hasParent && isZero(src, scan.parentFrom, 8)) scan.parentSize = 0
  return undefined
}

function checkRanges(tape: Tape, scan: SpanScan, context: SpanContext): Refusal | undefined {
  if (scan.kind > MAX_INT2) return 'invalid_kind'
  if (scan.status > MAX_INT2) return 'invalid_status'
  if (scan.startAt < 0 || isZero(tape.src, scan.startAt, 8)) return 'missing_start_time'
  if (context.startTime < context.oldest) return 'too_old'
  if (context.startTime > context.newest) return 'too_far_in_future'
  return undefined
}

/**
 * Notes a fixed64 of nanoseconds since 1970 as whole microseconds since 2000, exactly, and what
 * those leave.
 */
function readStart(view: DataView, at: number, context: SpanContext): void {
  if (at < 0) return
  const high = view.getUint32(at + 4, true)
  const thousands = Math.floor(high / 1000)
  const rest = (high - thousands * 1000) * TWO_32 + view.getUint32(at, true)
  const micros = Math.floor(rest / 1000)
  // In this order, since microseconds since 1970 may be beyond what a number holds exactly.
  context.startTime = thousands * TWO_32 - POSTGRES_EPOCH_US + micros
  context.startNs = rest - micros * 1000
}

const FIXED_FIELDS = 12
const MAX_ORGANIZATION_BYTES = 4 * MAX_ORGANIZATION_CHARS

function writeFixedFields(tape: Tape, scan: SpanScan, context: SpanContext): void {
  reserve(tape, 2 + 20 + FIXED_FIELDS * FIXED_FIELD_BYTES + MAX_ORGANIZATION_BYTES)
  tape.outView.setInt16(tape.to, SPAN_COLUMNS.length)
  tape.to += 2
  writeBytesField(tape, scan.traceIdFrom, 16)
  writeBytesField(tape, scan.spanIdFrom, 8)
  writeOrganization(tape, context.organization)
  writeInt8Halves(tape, Math.floor(context.startTime / TWO_32), context.startTime >>> 0)
  writeDuration(tape, scan)
  if (scan.parentSize === 0) writeNull(tape)
  else writeBytesField(tape, scan.parentFrom, 8)
  writeInt8Halves(tape, context.resourceHigh, context.resourceLow)
  writeInt8Halves(tape, context.scopeHigh, context.scopeLow)
  writeOptionalInt8Field(tape, scan.flags)
  writeOptionalInt8Field(tape, scan.droppedAttributes + scan.attributes.dropped)
  writeOptionalInt8Field(tape, scan.droppedEvents + scan.events.dropped)
  writeOptionalInt8Field(tape, scan.droppedLinks + scan.links.dropped)
}

/**
 * End minus start, modulo 2^64 so that even absurd ends come back unchanged; null without an end.
 */
function writeDuration(tape: Tape, { startAt, endAt }: SpanScan): void {
  if (endAt < 0 || isZero(tape.src, endAt, 8)) return writeNull(tape)
  const { srcView: view } = tape
  const low = view.getUint32(endAt, true) - view.getUint32(startAt, true)
  const borrow = low < 0 ? 1 : 0
  const high = view.getUint32(endAt + 4, true) - view.getUint32(startAt + 4, true) - borrow
  writeInt8Halves(tape, high, low)
}

function writeVariableFields(
  tape: Tape,
  scan: SpanScan,
  { startNs, kind }: SpanContext & { kind: OperationKind | undefined },
): void {
  writePromotedNumbers(tape, scan.attributes)
  reserve(tape, 4 * FIXED_FIELD_BYTES)
  writeInt2Field(tape, startNs)
  writeInt2Field(tape, scan.kind)
  writeInt2Field(tape, scan.status)
  writeBoolField(tape, kind !== undefined && MODEL_KINDS.includes(kind))
  writeTextField(tape, scan.nameFrom, scan.nameEnd)
  writeOptionalText(tape, scan.messageFrom, scan.messageEnd)
  writeOptionalText(tape, scan.stateFrom, scan.stateEnd)
  writeOwnText(tape, kind ?? '')
  writePromotedTexts(tape, scan.attributes)
  writeAttributeFields(tape, scan.attributes)
  writeItemsField(tape, scan.events, writeEvent)
  writeItemsField(tape, scan.links, writeLink)
}

function writeOptionalText(tape: Tape, from: number, end: number): void {
  if (end > from) return writeTextField(tape, from, end)
  reserve(tape, 4)
  writeNull(tape)
}

/** A text that is there even when it is empty. */
function writeOrganization(tape: Tape, organization: string): void {
  const size = tape.out.write(organization, tape.to + 4)
  tape.outView.setInt32(tape.to, size)
  tape.to += 4 + size
}

/** A text that does not come from the request; null when it is empty. */
function writeOwnText(tape: Tape, text: string): void {
  const bytes = Buffer.from(text)
  reserve(tape, 4 + bytes.length)
  tape.outView.setInt32(tape.to, bytes.length || -1)
  tape.to += 4 + bytes.copy(tape.out, tape.to + 4)
}
