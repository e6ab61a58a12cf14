import { addAttribute, clearAttributes, isLlmCall } from './attributes'
import { writeAttributeFields, writeNumbers, writeTexts } from './attributes'
import { writeBool, writeInt2, writeInt8, writeNull } from './fields'
import { newest, oldest, resourceId, rowColumns, scopeId, startTime } from './state'
import { writeText } from './text'
import { after, readEnd, readVarint } from './wire'

export { escapes, hexDigits, keyEntries, keySlots, keyTexts, startTime } from './state'
export { KEYS_MAX, KEY_SLOTS, KEY_TEXT_BYTES, PROMOTED_MAX } from './state'
export { setColumns, setResource, setScope, setWindow } from './state'
export { escape, hasHighBytes } from './text'

/** 1970 to 2000, in microseconds. */
const POSTGRES_EPOCH_US: u64 = 946_684_800_000_000
const MAX_INT2: u64 = 32_767
/** The largest whole number that the host's numbers hold exactly. */
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991

// Where the fields of the span at hand lie, and their numbers. A place of 0 means that the field is absent.
let traceId: usize = 0
let traceIdEnd: usize = 0
let spanId: usize = 0
let spanIdEnd: usize = 0
let parent: usize = 0
let parentEnd: usize = 0
let traceState: usize = 0
let traceStateEnd: usize = 0
let name: usize = 0
let nameEnd: usize = 0
let message: usize = 0
let messageEnd: usize = 0
let startAt: usize = 0
let endAt: usize = 0
let kind: u64 = 0
let status: u64 = 0
let flags: u32 = 0
let droppedAttributes: u64 = 0
let droppedEvents: u64 = 0
let droppedLinks: u64 = 0

function clear(): void {
  traceId = traceIdEnd = spanId = spanIdEnd = parent = parentEnd = 0
  traceState = traceStateEnd = name = nameEnd = message = messageEnd = 0
  startAt = endAt = 0
  kind = status = droppedAttributes = droppedEvents = droppedLinks = 0
  flags = 0
  clearAttributes()
}

/**
 * Writes the Span message in [from, end) as a row to `to`, and may write 16 bytes more behind it. Answers where the row
 * ends; 0 for a span that is in any way out of the ordinary (bad, with events or links, with maps or bytes among its
 * values, …), which is the host's. The row takes at most seven times the message and 1,024 bytes.
 */
export function writeSpan(from: usize, end: usize, to: usize): usize {
  clear()
  if (!scan(from, end) || !hasIds()) return 0
  if (startAt == 0 || kind > MAX_INT2 || status > MAX_INT2) return 0
  const start = load<u64>(startAt)
  const micros = <i64>(start / 1000 - POSTGRES_EPOCH_US)
  if (start == 0 || <f64>micros < oldest || <f64>micros > newest) return 0
  store<f64>(startTime, <f64>micros)
  to = writeNumbers(writeFixed(to, start, micros))
  if (to == 0) return 0
  to = writeInt2(to, <u16>(start % 1000))
  to = writeInt2(to, <u16>kind)
  to = writeInt2(to, <u16>status)
  return writeVariable(writeBool(to, isLlmCall()))
}

/** Notes where the fields lie; false for a message with anything out of the ordinary. */
function scan(at: usize, end: usize): bool {
  while (at < end) {
    const tag = readVarint(at)
    // No field of a span has a number over 16.
    if (tag > 0xff) return false
    if ((tag & 7) != 2) {
      at = scanNumber(tag, after)
      if (at == 0) return false
      continue
    }
    const stop = readEnd(after, end)
    if (stop == 0 || !scanBytes(tag, after, stop)) return false
    at = stop
  }
  return at == end
}

function scanBytes(tag: u64, from: usize, end: usize): bool {
  switch (<u32>tag) {
    case 0x4a:
      return addAttribute(from, end)
    case 0x0a:
      traceId = from
      traceIdEnd = end
      return true
    case 0x12:
      spanId = from
      spanIdEnd = end
      return true
    case 0x1a:
      traceState = from
      traceStateEnd = end
      return true
    case 0x22:
      parent = from
      parentEnd = end
      return true
    case 0x2a:
      name = from
      nameEnd = end
      return true
    case 0x7a:
      return scanStatus(from, end)
    default:
      return false
  }
}

/** Answers where the field ends. */
function scanNumber(tag: u64, at: usize): usize {
  switch (<u32>tag) {
    case 0x39:
      startAt = at
      return at + 8
    case 0x41:
      endAt = at
      return at + 8
    case 0x85:
      flags = load<u32>(at)
      return at + 4
    case 0x30:
      kind = readVarint(at)
      return after
    case 0x50:
      droppedAttributes = readVarint(at)
      return droppedAttributes > MAX_SAFE_INTEGER ? 0 : after
    case 0x60:
      droppedEvents = readVarint(at)
      return droppedEvents > MAX_SAFE_INTEGER ? 0 : after
    case 0x70:
      droppedLinks = readVarint(at)
      return droppedLinks > MAX_SAFE_INTEGER ? 0 : after
    default:
      return 0
  }
}

function scanStatus(at: usize, end: usize): bool {
  while (at < end) {
    const tag = load<u8>(at++)
    if (tag == 0x18) {
      status = readVarint(at)
      at = after
      continue
    }
    messageEnd = tag == 0x12 ? readEnd(at, end) : 0
    if (messageEnd == 0) return false
    message = after
    at = messageEnd
  }
  return at == end
}

function hasIds(): bool {
  if (traceIdEnd - traceId != 16 || !v128.any_true(v128.load(traceId))) return false
  if (spanIdEnd - spanId != 8 || load<u64>(spanId) == 0) return false
  if (parentEnd == parent) parent = 0
  else if (parentEnd - parent != 8) return false
  else if (load<u64>(parent) == 0) parent = 0
  return true
}

/** Null for 0, protobuf's "not given". */
function writeOptional(to: usize, value: u32): usize {
  return value == 0 ? writeNull(to) : writeInt8(to, bswap(<u64>value))
}

function writeFixed(to: usize, start: u64, micros: i64): usize {
  store<u16>(to, bswap(rowColumns))
  store<u32>(to, bswap<u32>(16), 2)
  v128.store(to, v128.load(traceId), 6)
  to = writeInt8(to + 22, load<u64>(spanId))
  to = writeInt8(to, bswap(<u64>micros))
  const hasEnd = endAt != 0 && load<u64>(endAt) != 0
  to = hasEnd ? writeInt8(to, bswap(load<u64>(endAt) - start)) : writeNull(to)
  to = parent == 0 ? writeNull(to) : writeInt8(to, load<u64>(parent))
  to = writeInt8(to, resourceId)
  to = writeInt8(to, scopeId)
  to = writeOptional(to, flags)
  to = writeOptional(to, <u32>droppedAttributes)
  to = writeOptional(to, <u32>droppedEvents)
  return writeOptional(to, <u32>droppedLinks)
}

function writeVariable(to: usize): usize {
  to = writeText(to, name, nameEnd)
  if (to != 0) to = writeOptionalText(to, message, messageEnd)
  if (to != 0) to = writeOptionalText(to, traceState, traceStateEnd)
  if (to != 0) to = writeTexts(to)
  if (to != 0) to = writeAttributeFields(to)
  // Neither events nor links.
  return to == 0 ? 0 : writeNull(writeNull(to))
}

function writeOptionalText(to: usize, from: usize, end: usize): usize {
  return end > from ? writeText(to, from, end) : writeNull(to)
}
