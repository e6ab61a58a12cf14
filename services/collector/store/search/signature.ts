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

const WORD_BITS = 32
const WORDS = MAX_ROWS / WORD_BITS

/**
 * The signature of texts: rows of bits, one for each text. A bit is set where the text has three or
 * four letters whose hash is the number of the row, so that a look at few rows says which texts may
 * have a word, and which ones do not. Stored signatures depend on each line of it.
 *
 * Each text has bits of its own at first, which stay in the processor's nearest cache; only then do
 * they become a column of the rows.
 */
export function signatureOf(texts: readonly string[]): Buffer {
  const columns = texts.map((text) => gramsOf(fold(text)))
  const counts = columns.map(countBits)
  const filled = counts.filter((count) => count > 0).length
  const grams = counts.reduce((sum, count) => sum + count, 0)
  const wanted = (grams / Math.max(filled, 1)) * ROWS_A_GRAM
  let rows = MAX_ROWS
  while (rows > MIN_ROWS && rows / 2 >= wanted) rows /= 2
  const width = Math.ceil(texts.length / 8)
  const bits = Buffer.alloc(rows * width)
  for (const [place, column] of columns.entries()) setColumn(bits, column, { rows, width, place })
  return bits
}

/** A bit for each hash of three or four letters, of `MAX_ROWS`. */
function gramsOf(text: string): Uint32Array {
  const bits = new Uint32Array(WORDS)
  let [fourth, third, second] = [0, text.charCodeAt(0), text.charCodeAt(1)]
  for (let end = 2; end < text.length; end++) {
    const first = text.charCodeAt(end)
    const three = hashOf(third, second, first)
    const row = mix(three) & (MAX_ROWS - 1)
    bits[row >>> 5] = (bits[row >>> 5] ?? 0) | (1 << row)
    if (end > 2) {
      const other = mixFour(three, fourth) & (MAX_ROWS - 1)
      bits[other >>> 5] = (bits[other >>> 5] ?? 0) | (1 << other)
    }
    fourth = third
    third = second
    second = first
  }
  return bits
}

/** Adds neighbours up: pairs of bits, then of sums of two, four, and all. */
function countBits(words: Uint32Array): number {
  let count = 0
  for (const word of words) {
    const pairs = word - ((word >>> 1) & 0x55555555)
    const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
    count += Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return count
}

/** Where the bit of a text is, in each row of so many bytes. */
interface Column {
  readonly rows: number
  readonly width: number
  readonly place: number
}

/** With fewer rows the last bits of a hash count. */
function setColumn(bits: Buffer, words: Uint32Array, { rows, width, place }: Column): void {
  const at = place >> 3
  const mask = 0x80 >> (place & 7)
  for (let first = 0; first < rows; first += WORD_BITS) {
    let word = 0
    for (let nr = first / WORD_BITS; nr < WORDS; nr += rows / WORD_BITS) word |= words[nr] ?? 0
    for (; word !== 0; word &= word - 1) {
      const row = first + 31 - Math.clz32(word & -word)
      bits[row * width + at] = (bits[row * width + at] ?? 0) | mask
    }
  }
}

/** Of three units of a text, one after the other. */
function hashOf(third: number, second: number, first: number): number {
  const hash = Math.imul(third, 0x9e3779b1) ^ second
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ first
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
    const three = hashOf(
      folded.charCodeAt(end - 2),
      folded.charCodeAt(end - 1),
      folded.charCodeAt(end),
    )
    threes.push(mix(three))
    if (end > 2) fours.push(mixFour(three, folded.charCodeAt(end - 3)))
  }
  const all = [...new Set([...fours, ...threes].map((hash) => hash & (MAX_ROWS - 1)))]
  const step = Math.max(all.length / MAX_SOUGHT, 1)
  return all.filter((_, i) => Math.floor(i / step) > Math.floor((i - 1) / step))
}
