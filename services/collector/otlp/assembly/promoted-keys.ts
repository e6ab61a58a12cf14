import { keyEndOf, keyOf } from './key-value'
import { MAX_PROMOTED_KEYS } from './constants'
import { hashText, isSameText, takeText } from './table-texts'

/** The keys of promoted columns, which the host adds at its start, and how they are found. */

const SLOTS: u32 = 1024
/** By hash of a key: one more than the place of its entry, 0 for none. */
const slots: usize = memory.data(SLOTS, 16)
/** Hash, length, place of the text, column, code, rank, and whether it is JSON: four words each. */
const entries: usize = memory.data(MAX_PROMOTED_KEYS * 16, 16)

let count: u32 = 0

/**
 * Adds the key of `size` bytes that was written last. Of the keys of a column the one with the
 * lowest rank wins.
 */
export function addKey(size: usize, column: u8, rank: u8, isJson: u8): void {
  const text = takeText(size)
  const hash = hashText(text, text + size)
  const entry = entries + ((<usize>count) << 4)
  store<u32>(entry, hash)
  store<u32>(entry, <u32>size, 4)
  store<u32>(entry, <u32>text, 8)
  store<u8>(entry, column, 12)
  store<u8>(entry, rank, 14)
  store<u8>(entry, isJson, 15)
  let slot = hash % SLOTS
  while (load<u8>(slots + slot) != 0) slot = (slot + 1) % SLOTS
  store<u8>(slots + slot, <u8>++count)
}

/** The code of the key that was added last, in rows whose attributes go without it. */
export function setCode(code: u8): void {
  store<u8>(entries + ((<usize>(count - 1)) << 4), code, 13)
}

/** True when the pair's key has the bytes in [other, otherEnd). */
export function isSameKey(pair: usize, other: usize, otherEnd: usize): bool {
  return isSameText(keyOf(pair), keyEndOf(pair), other, otherEnd)
}

/**
 * The entry of the pair's key, which has this hash; 0 when it is not the key of a promoted column.
 */
export function findKey(hash: u32, pair: usize): usize {
  let slot = hash % SLOTS
  for (let place = placeIn(slot); place != 0; place = placeIn(slot)) {
    const entry = entries + ((place - 1) << 4)
    const text = <usize>load<u32>(entry, 8)
    const isHash = load<u32>(entry) == hash
    if (isHash && isSameKey(pair, text, text + load<u32>(entry, 4))) return entry
    slot = (slot + 1) % SLOTS
  }
  return 0
}

@inline
function placeIn(slot: u32): usize {
  return <usize>load<u8>(slots + slot)
}

/** The column of the entry's key. */
export function columnOf(entry: usize): usize {
  return <usize>load<u8>(entry, 12)
}

/** The code of the entry's key; 0 for one that always stays among the attributes. */
export function codeOf(entry: usize): u8 {
  return load<u8>(entry, 13)
}

/** The rank of the key among those of its column. */
export function rankOf(entry: usize): u8 {
  return load<u8>(entry, 14)
}

/** True when the key's text is a string of JSON, with its quotes. */
export function isJsonOf(entry: usize): bool {
  return load<u8>(entry, 15) != 0
}
