import { writeInt8, writeNull } from './fields'
import { isLlmOperation, writeDouble } from './host'
import {
  attributes,
  ATTRIBUTES_MAX,
  counts,
  keyEntries,
  KEY_SLOTS,
  keySlots,
  keyTexts,
} from './state'
import { NO_RANK, numbers, operation, promoted, PROMOTED_MAX, ranks, texts } from './state'
import { writeInteger, writeString, writeText } from './text'
import { after, readEnd, readVarint } from './wire'

/** Larger values go to the payload. */
const SMALL_VALUE_BYTES: usize = 256
/** Longer texts get no column of their own. */
const MAX_TEXT_BYTES: usize = 512
/** Doubles hold all whole numbers up to here. */
const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991
const JSONB_VERSION: u8 = 1

/** By hash of its key: `base` and the attribute's place. Lower values are left over from earlier spans. */
const SLOTS: u32 = ATTRIBUTES_MAX * 4
const slots: usize = memory.data(SLOTS * 4, 16)
let base: u32 = 1
let count: u32 = 0

/** Forgets the last span's attributes. */
export function clearAttributes(): void {
  for (let i: usize = 0; i < PROMOTED_MAX; i += 16) v128.store(ranks + i, i8x16.splat(NO_RANK))
  count = 0
  base += ATTRIBUTES_MAX
  if (base < u32.MAX_VALUE - ATTRIBUTES_MAX) return
  base = 1
  memory.fill(slots, 0, SLOTS * 4)
}

/** Notes the KeyValue in [at, end); false when it is not a key and a value, once each, or its key came before. */
export function addAttribute(at: usize, end: usize): bool {
  if (count == ATTRIBUTES_MAX || load<u8>(at) != 0x0a) return false
  const keyEnd = readEnd(at + 1, end)
  const key = after
  if (keyEnd == 0 || keyEnd == end || load<u8>(keyEnd) != 0x12) return false
  if (readEnd(keyEnd + 1, end) != end) return false
  const hash = hashKey(key, keyEnd)
  const entry = attributes + ((<usize>count) << 4)
  store<u32>(entry, key)
  store<u32>(entry, keyEnd, 4)
  store<u32>(entry, after, 8)
  store<u32>(entry, end, 12)
  if (!claimSlot(hash, key, keyEnd)) return false
  count++
  promote(hash, entry)
  return true
}

function hashKey(from: usize, end: usize): u32 {
  const size = <u32>(end - from)
  let hash = size
  if (size >= 4) {
    hash = (hash ^ load<u32>(from)) * 0x2c1b3c6d
    hash = (hash ^ load<u32>(end - 4)) * 0x297a2d39
    hash = (hash ^ load<u32>(from + ((size - 4) >> 1))) * 0x45d9f3b
  } else {
    for (let at = from; at < end; at++) hash = (hash ^ load<u8>(at)) * 0x2c1b3c6d
  }
  return (hash ^ (hash >> 15)) & 0x7fffffff
}

function claimSlot(hash: u32, key: usize, keyEnd: usize): bool {
  let slot = hash % SLOTS
  for (;;) {
    const held = load<u32>(slots + (slot << 2))
    if (held < base) break
    const other = attributes + ((<usize>(held - base)) << 4)
    if (isSame(load<u32>(other), load<u32>(other, 4), key, keyEnd)) return false
    slot = (slot + 1) % SLOTS
  }
  store<u32>(slots + (slot << 2), base + count)
  return true
}

function isSame(from: usize, end: usize, other: usize, otherEnd: usize): bool {
  const size = end - from
  if (size != otherEnd - other) return false
  if (size < 8) {
    for (let i: usize = 0; i < size; i++) {
      if (load<u8>(from + i) != load<u8>(other + i)) return false
    }
    return true
  }
  for (let i: usize = 0; i < size - 8; i += 8) {
    if (load<u64>(from + i) != load<u64>(other + i)) return false
  }
  return load<u64>(end - 8) == load<u64>(otherEnd - 8)
}

/** Notes the attribute's value for the column that its key belongs to, unless a better key was there. */
function promote(hash: u32, attribute: usize): void {
  for (let slot = hash % KEY_SLOTS; ; slot = (slot + 1) % KEY_SLOTS) {
    const place = <usize>load<u8>(keySlots + slot)
    if (place == 0) return
    const entry = keyEntries + ((place - 1) << 4)
    if (load<u32>(entry) != hash) continue
    const text = keyTexts + load<u32>(entry, 8)
    const from = load<u32>(attribute)
    if (!isSame(text, text + load<u32>(entry, 4), from, load<u32>(attribute, 4))) continue
    const column = <usize>load<u16>(entry, 12)
    const rank = <u8>load<u16>(entry, 14)
    if (rank > load<u8>(ranks + column)) return
    store<u8>(ranks + column, rank)
    store<u64>(promoted + (column << 3), load<u64>(attribute, 8))
    return
  }
}

function isPromoted(column: usize): bool {
  return load<u8>(ranks + column) != NO_RANK
}

/** The token counts and the cost; 0 when one is neither a whole number nor a double. */
export function writeNumbers(to: usize): usize {
  for (let column: usize = 0; column < counts + numbers && to != 0; column++) {
    to = isPromoted(column) ? writeNumber(to, column) : writeNull(to)
  }
  return to
}

function writeNumber(to: usize, column: usize): usize {
  const at = <usize>load<u32>(promoted + (column << 3))
  const end = <usize>load<u32>(promoted + (column << 3), 4)
  const tag = load<u8>(at)
  if (tag == 0x18) {
    const value = <i64>readVarint(at + 1)
    if (after != end || value > MAX_SAFE_INTEGER || value < -MAX_SAFE_INTEGER) return 0
    return column < counts ? writeCount(to, value) : writeDoubleField(to, <f64>value)
  }
  if (tag != 0x21 || at + 9 != end) return 0
  const value = load<f64>(at + 1)
  if (column >= counts) return isFinite(value) ? writeDoubleField(to, value) : writeNull(to)
  const isCount = abs(value) <= <f64>MAX_SAFE_INTEGER && trunc(value) == value
  return isCount ? writeCount(to, <i64>value) : writeNull(to)
}

function writeCount(to: usize, value: i64): usize {
  return value < 0 ? writeNull(to) : writeInt8(to, bswap(<u64>value))
}

function writeDoubleField(to: usize, value: f64): usize {
  return writeInt8(to, bswap(reinterpret<u64>(value)))
}

/** The model, agent, task, tool, crew and their like; 0 when one is not a string, or not one for a text. */
export function writeTexts(to: usize): usize {
  const first = <usize>(counts + numbers)
  for (let column = first; column < first + texts && to != 0; column++) {
    if (!isPromoted(column)) to = writeNull(to)
    else {
      const end = textEnd(column)
      if (end == 0) return 0
      to = end - after > MAX_TEXT_BYTES ? writeNull(to) : writeText(to, after, end)
    }
  }
  return to
}

/** Where the column's value ends when it is one string, which begins at `after`; else 0. */
function textEnd(column: usize): usize {
  const at = <usize>load<u32>(promoted + (column << 3))
  const end = <usize>load<u32>(promoted + (column << 3), 4)
  return at < end && load<u8>(at) == 0x0a && readEnd(at + 1, end) == end ? end : 0
}

/** Whether the span is a call of a model. */
export function isLlmCall(): bool {
  if (!isPromoted(operation)) return false
  const end = textEnd(operation)
  return end != 0 && end - after <= 20 && isLlmOperation(after, end)
}

/** The two attribute columns: small values as jsonb, large ones as the text of a JSON object. 0 for an odd value. */
export function writeAttributeFields(to: usize): usize {
  const large = writeObject(to, false)
  return large == 0 ? 0 : writeObject(large, true)
}

function writeObject(to: usize, large: bool): usize {
  const start = to
  to += large ? 4 : 5
  const first = to
  for (let i: u32 = 0; i < count; i++) {
    const entry = attributes + ((<usize>i) << 4)
    const value = <usize>load<u32>(entry, 8)
    const end = <usize>load<u32>(entry, 12)
    if (end - value > SMALL_VALUE_BYTES != large) continue
    store<u8>(to, to == first ? 0x7b : 0x2c)
    to = writeString(to + 1, load<u32>(entry), load<u32>(entry, 4))
    if (to == 0) return 0
    store<u8>(to, 0x3a)
    to = writeValue(to + 1, value, end)
    if (to == 0) return 0
  }
  if (to == first) return writeNull(start)
  store<u8>(to, 0x7d)
  to++
  store<u32>(start, bswap(<u32>(to - start - 4)))
  if (!large) store<u8>(start, JSONB_VERSION, 4)
  return to
}

/** The AnyValue in [at, end) as JSON, if it is one text, number or truth, or a list of these; else 0. */
function writeValue(to: usize, at: usize, end: usize): usize {
  if (at >= end) return 0
  if (load<u8>(at) != 0x2a) return writeScalar(to, at, end)
  if (readEnd(at + 1, end) != end) return 0
  at = after
  store<u8>(to++, 0x5b)
  for (let isFirst = true; at < end; isFirst = false) {
    if (load<u8>(at) != 0x0a) return 0
    const stop = readEnd(at + 1, end)
    if (stop == 0) return 0
    if (!isFirst) store<u8>(to++, 0x2c)
    to = writeScalar(to, after, stop)
    if (to == 0) return 0
    at = stop
  }
  store<u8>(to, 0x5d)
  return to + 1
}

function writeScalar(to: usize, at: usize, end: usize): usize {
  if (at >= end) return 0
  switch (load<u8>(at)) {
    case 0x0a:
      return readEnd(at + 1, end) == end ? writeString(to, after, end) : 0
    case 0x10: {
      const isTrue = readVarint(at + 1) != 0
      if (after != end) return 0
      store<u32>(to, isTrue ? 0x65757274 : 0x736c6166)
      if (isTrue) return to + 4
      store<u8>(to, 0x65, 4)
      return to + 5
    }
    case 0x18: {
      const value = <i64>readVarint(at + 1)
      return after == end ? writeInteger(to, value) : 0
    }
    case 0x21:
      return at + 9 == end ? writeDouble(load<f64>(at + 1), to) : 0
    default:
      return 0
  }
}
