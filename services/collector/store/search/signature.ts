import { createBlock, instantiate } from '../../otlp/web-assembly.ts'
import { SIGNATURE_WASM } from './signature-wasm.ts'

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

/** Texts whose bits are in one byte of each row. */
const GROUP_TEXTS = 8
const GROUPS = TEXTS / GROUP_TEXTS

/** The beginning of the module's memory, which belongs to the module. */
export const RESERVED_FOR_HASHES = 2 * MAX_ROWS
/** Units of UTF-16; an excerpt has fewer. Of a longer text the beginning is signed. */
const MAX_UNITS = 4096
const TEXT_AT = RESERVED_FOR_HASHES
const GROUPS_AT = TEXT_AT + 2 * MAX_UNITS
const ROWS_AT = GROUPS_AT + GROUPS * MAX_ROWS
const MEMORY_BYTES = ROWS_AT + GROUPS * MAX_ROWS

/** What `assembly` is compiled to; places are counted from the beginning of its memory. */
interface SignatureModule {
  /** Adds a text, so many units at that place, to a group; returns how many hashes it has. */
  addText(units: number, length: number, ...[group, nr]: [number, number]): number
  /** Writes so many rows of so many groups. */
  writeRows(groups: number, width: number, ...[rows, to]: [number, number]): void
}

/** Makes the signature of at most `TEXTS` texts. */
export type Signatures = (texts: readonly string[]) => Buffer

/**
 * The signature of texts: rows of bits, one for each text. A bit is set where the text has three or
 * four letters whose hash is the number of the row, so that a look at few rows says which texts may
 * have a word, and which ones do not. Stored signatures depend on each line of it.
 */
export function createSignatures(): Signatures {
  const block = createBlock(MEMORY_BYTES)
  const bytes = Buffer.from(block.buffer)
  // The compiler of AssemblyScript checks the module's side, and any test of signatures this.
  const wasm = Buffer.from(SIGNATURE_WASM, 'base64')
  const module = instantiate(wasm, block, {}) as SignatureModule
  const add = (text: string, place: number): number => {
    const group = GROUPS_AT + Math.floor(place / GROUP_TEXTS) * MAX_ROWS
    const written = bytes.write(fold(text), TEXT_AT, 2 * MAX_UNITS, 'utf16le')
    return module.addText(TEXT_AT, written / 2, group, place % GROUP_TEXTS)
  }
  return (texts) => {
    const width = Math.ceil(texts.length / GROUP_TEXTS)
    bytes.fill(0, GROUPS_AT, GROUPS_AT + width * MAX_ROWS)
    const rows = rowsFor(texts.map(add))
    module.writeRows(GROUPS_AT, width, rows, ROWS_AT)
    return Buffer.from(bytes.subarray(ROWS_AT, ROWS_AT + rows * width))
  }
}

/** So many rows that texts with so many hashes set less than half of the bits. */
function rowsFor(counts: readonly number[]): number {
  const filled = counts.filter((count) => count > 0).length
  const hashes = counts.reduce((sum, count) => sum + count, 0)
  const wanted = (hashes / Math.max(filled, 1)) * ROWS_A_GRAM
  let rows = MAX_ROWS
  while (rows > MIN_ROWS && rows / 2 >= wanted) rows /= 2
  return rows
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
