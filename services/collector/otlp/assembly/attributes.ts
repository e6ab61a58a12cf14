import { ANY_VALUE_JSON_TEXT, ANY_VALUE_STRING_VALUE, JSONB_VERSION } from './constants'
import { MAX_ATTRIBUTES, MAX_PROMOTED_COLUMNS, SMALL_VALUE_BYTES } from './constants'
import { beginField, endField, writeNull } from './fields'
import { keyEndOf, keyOf, PAIR_BYTES, readKeyValue, valueEndOf, valueOf } from './key-value'
import { offsetOf, room, writeByte } from './output'
import { clearPromoted, isKept } from './promoted-columns'
import { promote } from './promoted-values'
import { codeOf, isSameKey } from './promoted-keys'
import { isOwn } from './protobuf'
import { hashText } from './table-texts'
import { COMMA, writePair } from './value'

/** The attributes of the span at hand. */

/**
 * Their pairs; the key of one that was replaced begins at 0. One more than may be, to read into.
 */
const pairs: usize = memory.data((MAX_ATTRIBUTES + 1) * <u32>PAIR_BYTES, 16)
let count: u32 = 0
/** For each pair the entry of its key; 0 where it is not promoted, or has to be written. */
const entries: usize = memory.data(MAX_ATTRIBUTES * 4, 16)

/** Attributes beyond the limit. */
export let dropped: u32 = 0
/** Keys given more than once; the last one counts. */
export let duplicates: u32 = 0

/**
 * By hash of its key: `base` and the attribute's place. Lower values are left over from other
 * spans.
 */
const SLOTS: u32 = MAX_ATTRIBUTES * 2
const slots: usize = memory.data(SLOTS * 4, 16)
let base: u32 = 1

/** Forgets the last span's attributes. */
export function clearAttributes(): void {
  clearPromoted()
  base += count
  count = dropped = duplicates = 0
  if (base < u32.MAX_VALUE - MAX_ATTRIBUTES) return
  base = 1
  memory.fill(slots, 0, SLOTS * 4)
}

@inline
function pairAt(place: u32): usize {
  return pairs + <usize>place * PAIR_BYTES
}

/** Notes the KeyValue in [at, end). */
export function addAttribute(at: usize, end: usize): void {
  const pair = pairAt(count)
  readKeyValue(pair, at, end)
  if (count == MAX_ATTRIBUTES) {
    dropped++
    return
  }
  const hash = hashText(keyOf(pair), keyEndOf(pair))
  claimSlot(hash, pair)
  count++
  const isPromoted = valueOf(pair) != 0 && !isEmptyText(pair)
  setEntry(count - 1, isPromoted ? promote(hash, pair) : 0)
}

@inline
function entryAt(place: u32): usize {
  return <usize>load<u32>(entries + ((<usize>place) << 2))
}

@inline
function setEntry(place: u32, entry: usize): void {
  store<u32>(entries + ((<usize>place) << 2), <u32>entry)
}

/** An AnyValue of a string without a byte: senders write it where they have nothing to say. */
@inline
function isEmptyText(pair: usize): bool {
  return valueEndOf(pair) - valueOf(pair) == 2 && load<u16>(valueOf(pair)) == EMPTY_TEXT
}

/** Of the texts of a body in JSON only long ones are left there. */
@inline
function isLarge(pair: usize): bool {
  const size = valueEndOf(pair) - valueOf(pair)
  if (size > SMALL_VALUE_BYTES) return true
  return isOwn && size > 0 && load<u8>(valueOf(pair)) == <u8>ANY_VALUE_JSON_TEXT
}

/** Takes the slot of the pair's key; an earlier attribute of the same key is replaced. */
function claimSlot(hash: u32, pair: usize): void {
  let slot = hash % SLOTS
  for (;;) {
    const held = load<u32>(slots + (slot << 2))
    if (held < base) break
    const other = pairAt(held - base)
    if (isSameKey(pair, keyOf(other), keyEndOf(other))) {
      store<u32>(other, 0)
      duplicates++
      break
    }
    slot = (slot + 1) % SLOTS
  }
  store<u32>(slots + (slot << 2), base + count)
}

/** The codes of the attributes that are in columns of their own, and in none of the two below. */
export function writeLeftOut(to: usize): usize {
  to = room(to, 4 + MAX_PROMOTED_COLUMNS)
  const start = offsetOf(to)
  let end = to + 4
  for (let place: u32 = 0; place < count; place++) {
    const entry = entryAt(place)
    if (entry == 0) continue
    const pair = pairAt(place)
    if (keyOf(pair) == 0 || isLarge(pair) || !isKept(entry, pair)) setEntry(place, 0)
    else store<u8>(end++, codeOf(entry))
  }
  return end == to + 4 ? writeNull(to) : endField(end, start)
}

/** The two columns: small values as jsonb, large ones as the text of a JSON object. */
export function writeAttributes(to: usize): usize {
  return writeObject(writeObject(to, false), true)
}

/** The small or the large values of all attributes; null when there are none. */
function writeObject(to: usize, large: bool): usize {
  to = room(to, 5)
  const start = offsetOf(to)
  to = beginField(to)
  if (!large) to = writeByte(to, <u8>JSONB_VERSION)
  const first = offsetOf(to)
  for (let place: u32 = 0; place < count; place++) {
    const pair = pairAt(place)
    if (keyOf(pair) == 0 || isLarge(pair) != large || entryAt(place) != 0) continue
    to = writeByte(to, offsetOf(to) == first ? OPEN : COMMA)
    to = writePair(to, pair)
  }
  if (offsetOf(to) == first) return writeNull(to - (large ? 4 : 5))
  return endField(writeByte(to, CLOSE), start)
}

/** The tag of a string, and its length of 0. */
const EMPTY_TEXT: u16 = <u16>ANY_VALUE_STRING_VALUE
const OPEN: u8 = 0x7b
const CLOSE: u8 = 0x7d
