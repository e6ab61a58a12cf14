/** Spans whose texts share a signature. */
export const TEXTS = 256

/** Rows for each three or four letters of a text: less than half of its bits are set. */
const ROWS_A_GRAM = 1.5
const MIN_ROWS = 64
/** For the longest text, of which no three letters are the same. */
const MAX_ROWS = 8192
/** Rows that are looked at, for a longer text those of some in all of its parts. */
const MAX_SOUGHT = 12

/**
 * A text in small letters, each of one unit of UTF-16 for one: of letters that have several small
 * forms, or one of two units, the one that databases take.
 */
export const fold = (text: string): string =>
  text.replaceAll('İ', 'i').replaceAll('Σ', 'σ').toLowerCase()

/**
 * The signature of texts: rows of bits, one for each text. A bit is set where the text has three or
 * four letters whose hash is the number of the row, so that a look at few rows says which texts may
 * have a word, and which ones do not. Stored signatures depend on each line of it.
 */
export function signatureOf(texts: readonly string[]): Buffer {
  const width = Math.ceil(texts.length / 8)
  const bits = Buffer.alloc(MAX_ROWS * width)
  let grams = 0
  let filled = 0
  for (const [place, text] of texts.entries()) {
    const set = setBits(bits, fold(text), { width, place })
    grams += set
    if (set > 0) filled += 1
  }
  const wanted = (grams / Math.max(filled, 1)) * ROWS_A_GRAM
  let rows = MAX_ROWS
  while (rows > MIN_ROWS && rows / 2 >= wanted) {
    rows /= 2
    halve(bits, rows * width)
  }
  return bits.subarray(0, rows * width)
}

/** Where the bit of a text is, in each row of so many bytes. */
interface Column {
  readonly width: number
  readonly place: number
}

/** Returns how many were not set before. */
function setBits(bits: Buffer, text: string, { width, place }: Column): number {
  const column = place >> 3
  const mask = 0x80 >> (place & 7)
  let set = 0
  const setBit = (hash: number): void => {
    const at = (hash & (MAX_ROWS - 1)) * width + column
    const byte = bits[at] ?? 0
    if (byte & mask) return
    bits[at] = byte | mask
    set += 1
  }
  for (let end = 2; end < text.length; end++) {
    const three = hashOf(text, end)
    setBit(mix(three))
    if (end > 2) setBit(mixFour(three, text.charCodeAt(end - 3)))
  }
  return set
}

/** Half as many rows: of a hash one bit less counts. */
function halve(bits: Buffer, size: number): void {
  for (let i = 0; i < size; i++) bits[i] = (bits[i] ?? 0) | (bits[size + i] ?? 0)
}

/** Of the three units of a text that end there. */
function hashOf(text: string, end: number): number {
  const hash = Math.imul(text.charCodeAt(end - 2), 0x9e3779b1) ^ text.charCodeAt(end - 1)
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ text.charCodeAt(end)
}

function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

const mixFour = (three: number, unit: number): number => mix(Math.imul(three, 0x27d4eb2f) ^ ~unit)

/** The hashes of which each text has a bit that contains this text, of three units at least. */
export function soughtHashes(text: string): number[] {
  const folded = fold(text)
  const [fours, threes]: [number[], number[]] = [[], []]
  for (let end = 2; end < folded.length; end++) {
    const three = hashOf(folded, end)
    threes.push(mix(three))
    if (end > 2) fours.push(mixFour(three, folded.charCodeAt(end - 3)))
  }
  const all = [...new Set([...fours, ...threes].map((hash) => hash & (MAX_ROWS - 1)))]
  const step = Math.max(all.length / MAX_SOUGHT, 1)
  return all.filter((_, i) => Math.floor(i / step) > Math.floor((i - 1) / step))
}
