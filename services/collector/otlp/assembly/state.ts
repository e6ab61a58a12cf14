/** Memory that the module keeps to itself, and what its host fills in once. */

/** Spans with more attributes are left to the host. */
export const ATTRIBUTES_MAX: u32 = 128
/** Room for as many promoted columns, a multiple of sixteen. */
export const PROMOTED_MAX: u32 = 32
/** A rank that no key has. */
export const NO_RANK: u8 = 255

export const KEY_SLOTS: u32 = 1024
/** Room for the keys of promoted columns, which the host fills in. */
export const KEYS_MAX: u32 = 128
export const KEY_TEXT_BYTES: u32 = 4096

/** For each byte the letter of its escape in JSON: 0 for none, 1 for one of four digits. */
export const escapes: usize = memory.data(256, 16)
export const hexDigits: usize = memory.data(16, 16)
/** Keys of promoted columns by hash: one more than the place of the entry, 0 for none. */
export const keySlots: usize = memory.data(KEY_SLOTS, 16)
/** Hash, length, place of the text, column and rank: four words each. */
export const keyEntries: usize = memory.data(KEYS_MAX * 16, 16)
export const keyTexts: usize = memory.data(KEY_TEXT_BYTES, 16)

/** For each attribute where its key begins and ends, and its value: four words each. */
export const attributes: usize = memory.data(ATTRIBUTES_MAX * 16, 16)
/** By promoted column: the rank of the key that was found, and where the value begins and ends. */
export const ranks: usize = memory.data(PROMOTED_MAX, 16)
export const promoted: usize = memory.data(PROMOTED_MAX * 8, 16)

/** What the host reads after a row was written: when the span starts, in microseconds since 2000. */
export const startTime: usize = memory.data(8, 8)

/** Counts of columns, in their order in a row; `operation` is the place of one among the promoted columns. */
export let rowColumns: u16 = 0
export let counts: u32 = 0
export let numbers: u32 = 0
export let texts: u32 = 0
export let operation: u32 = 0

export function setColumns(
  all: u32,
  ofCounts: u32,
  ofNumbers: u32,
  ofTexts: u32,
  ofOperation: u32,
): void {
  rowColumns = <u16>all
  counts = ofCounts
  numbers = ofNumbers
  texts = ofTexts
  operation = ofOperation
}

/** Spans that start outside are left to the host; microseconds since 2000. */
export let oldest: f64 = 0
export let newest: f64 = 0

export function setWindow(from: f64, to: f64): void {
  oldest = from
  newest = to
}

/** Ids of the resource and the scope, in the order of their bytes in a row. */
export let resourceId: u64 = 0
export let scopeId: u64 = 0

export function setResource(high: u32, low: u32): void {
  resourceId = bswap(((<u64>high) << 32) | low)
}

export function setScope(high: u32, low: u32): void {
  scopeId = bswap(((<u64>high) << 32) | low)
}
