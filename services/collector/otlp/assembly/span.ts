import { MAX_INT2, MAX_ORGANIZATION_CHARS, POSTGRES_EPOCH_US } from './constants'
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './constants'
import { REFUSED_INVALID_KIND, REFUSED_INVALID_PARENT_SPAN_ID } from './constants'
import { REFUSED_INVALID_SPAN_ID, REFUSED_INVALID_STATUS } from './constants'
import { REFUSED_INVALID_TRACE_ID, REFUSED_MISSING_START_TIME } from './constants'
import { REFUSED_TOO_DEEP, REFUSED_TOO_FAR_IN_FUTURE, REFUSED_TOO_OLD } from './constants'
import * as attributes from './attributes'
import { FIELD_BYTES, writeBool, writeGivenInt8, writeInt2, writeInt8, writeNull } from './fields'
import { writeOwnText } from './fields'
import * as items from './items'
import { offsetOf, placeOf, room } from './output'
import { complete, isLlmCall, writeKind, writeNumbers, writeTexts } from './promoted-columns'
import * as scan from './span-scan'
import { writeText } from './text'
import { clearDepth, isTooDeep } from './value'

/** Rows of `spans`. */

/** Called by the host at its start. */
export function setRowColumns(count: u32): void {
  rowColumns = <u16>count
}
let rowColumns: u16 = 0

/** Spans that start outside are refused; microseconds since 2000. */
export function setWindow(from: f64, to: f64): void {
  oldest = from
  newest = to
}
let oldest: f64 = 0
let newest: f64 = 0

/**
 * The place where the host writes the ids of the resource and of the scope, as they lie in a row.
 */
export const resourceId: usize = memory.data(8, 8)
/** The place where the host writes the id of the scope. */
export const scopeId: usize = memory.data(8, 8)

const MAX_ORGANIZATION_BYTES: usize = MAX_ORGANIZATION_CHARS * 4
/** The place where the host writes the organization of the next rows, in UTF-8. */
export const organization: usize = memory.data(MAX_ORGANIZATION_CHARS * 4, 16)
let organizationEnd: usize = organization

/** Called by the host: the bytes of the organization; 0 for the platform's own. */
export function setOrganization(size: usize): void {
  organizationEnd = organization + size
}

/** The reason why the span read last is refused; 0 for one that is a row. */
export let refusal: u32 = 0
/** The start of the span; microseconds since 2000. */
export let startTime: f64 = 0

/** Writes the Span message in [from, end) as a row; nothing when it is refused. */
export function writeSpan(to: usize, from: usize, end: usize): usize {
  const row = offsetOf(to)
  clearDepth()
  scan.readSpan(from, end)
  refusal = checkIds()
  if (refusal == 0) refusal = checkNumbers()
  if (refusal != 0) return to
  const start = load<u64>(scan.startAt)
  const micros = microsOf(start)
  startTime = <f64>micros
  refusal = checkStart(startTime)
  if (refusal != 0) return to
  complete(scan.name, scan.nameEnd)
  to = writeNumbers(writeFixed(to, start, micros))
  to = writeVariable(to, <u16>(start % 1000))
  if (!isTooDeep) return to
  refusal = REFUSED_TOO_DEEP
  return placeOf(row)
}

function checkIds(): u32 {
  const isTrace = scan.traceIdEnd - scan.traceId == TRACE_ID_BYTES
  if (!isTrace || !v128.any_true(v128.load(scan.traceId))) return REFUSED_INVALID_TRACE_ID
  const isSpan = scan.spanIdEnd - scan.spanId == SPAN_ID_BYTES
  if (!isSpan || load<u64>(scan.spanId) == 0) return REFUSED_INVALID_SPAN_ID
  const parentBytes = scan.parentEnd - scan.parent
  const isParent = parentBytes == 0 || parentBytes == SPAN_ID_BYTES
  return isParent ? 0 : REFUSED_INVALID_PARENT_SPAN_ID
}

function checkNumbers(): u32 {
  if (scan.kind > MAX_INT2) return REFUSED_INVALID_KIND
  if (scan.status > MAX_INT2) return REFUSED_INVALID_STATUS
  const hasStart = scan.startAt != 0 && load<u64>(scan.startAt) != 0
  return hasStart ? 0 : REFUSED_MISSING_START_TIME
}

function checkStart(micros: f64): u32 {
  if (micros < oldest) return REFUSED_TOO_OLD
  return micros > newest ? REFUSED_TOO_FAR_IN_FUTURE : 0
}

/** Nanoseconds since 1970 as whole microseconds since 2000. */
function microsOf(nanos: u64): i64 {
  return <i64>(nanos / 1000) - <i64>POSTGRES_EPOCH_US
}

/** Fields of a fixed width in front of the promoted numbers, and behind them. */
const FIXED_FIELDS: usize = 16

function writeFixed(to: usize, start: u64, micros: i64): usize {
  to = room(to, 2 + TRACE_ID_BYTES + FIXED_FIELDS * FIELD_BYTES + MAX_ORGANIZATION_BYTES)
  store<u16>(to, bswap(rowColumns))
  store<u32>(to, bswap<u32>(TRACE_ID_BYTES), 2)
  v128.store(to, v128.load(scan.traceId), 6)
  to = writeInt8(to + 6 + TRACE_ID_BYTES, load<u64>(scan.spanId))
  to = writeOwnText(to, organization, organizationEnd)
  to = writeInt8(to, bswap(<u64>micros))
  to = writeDuration(to, start)
  to = writeParent(to)
  to = writeInt8(to, load<u64>(resourceId))
  to = writeInt8(to, load<u64>(scopeId))
  to = writeGivenInt8(to, scan.flags)
  to = writeGivenInt8(to, <u64>scan.droppedAttributes + attributes.dropped)
  to = writeGivenInt8(to, <u64>scan.droppedEvents + items.droppedEvents)
  return writeGivenInt8(to, <u64>scan.droppedLinks + items.droppedLinks)
}

/**
 * End minus start, modulo 2^64 so that even absurd ends come back unchanged; null without an end.
 */
function writeDuration(to: usize, start: u64): usize {
  const end = scan.endAt == 0 ? 0 : load<u64>(scan.endAt)
  return end == 0 ? writeNull(to) : writeInt8(to, bswap(end - start))
}

/** No parent is an empty id or, from some senders, one of zeros. */
function writeParent(to: usize): usize {
  const id = scan.parentEnd == scan.parent ? 0 : load<u64>(scan.parent)
  return id == 0 ? writeNull(to) : writeInt8(to, id)
}

function writeVariable(to: usize, startNs: u16): usize {
  to = writeInt2(room(to, 4 * FIELD_BYTES), startNs)
  to = writeInt2(to, <u16>scan.kind)
  to = writeInt2(to, <u16>scan.status)
  to = writeBool(to, isLlmCall())
  to = writeText(to, scan.name, scan.nameEnd)
  to = writeGivenText(to, scan.message, scan.messageEnd)
  to = writeGivenText(to, scan.traceState, scan.traceStateEnd)
  to = attributes.writeLeftOut(writeTexts(writeKind(to)))
  to = attributes.writeAttributes(to)
  return items.writeItems(to)
}

function writeGivenText(to: usize, from: usize, end: usize): usize {
  return end > from ? writeText(to, from, end) : writeNull(room(to, 4))
}
