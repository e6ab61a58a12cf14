import { ENTITY_KEY, PROMOTED_COLUMNS } from '../../../../services/collector/conventions/columns.ts'
import type { Tape } from './tape.ts'

const columnsOf = (kind: string) => PROMOTED_COLUMNS.filter((one) => one.kind === kind)
const COLUMNS = [...columnsOf('count'), ...columnsOf('number'), ...columnsOf('text')]
export const COLUMN_NAMES = COLUMNS.map(({ column }) => column)
/** The columns of a row; behind them are the entity's name and the documents. */
export const PROMOTED_COUNT: number = COLUMNS.length
export const FIRST_NUMBER = columnsOf('count').length
export const FIRST_TEXT = FIRST_NUMBER + columnsOf('number').length
/** The place behind the columns of a row. */
export const ENTITY = COLUMNS.length

/** A sum of members of a document that is a column's value. */
interface Sum {
  readonly column: number
  readonly rank: number
  readonly members: readonly string[]
}

/** Members of documents that are a text. */
export const TEXTS: { key: string; column: number; rank: number; member: string }[] = []
/** By the attribute that holds the document. */
export const SUMS = new Map<string, Sum[]>()
const KEYS: { key: string; column: number; rank: number; isJson: boolean }[] = [
  { key: ENTITY_KEY, column: ENTITY, rank: 0, isJson: false },
]
for (const [column, { keys }] of COLUMNS.entries()) {
  for (const [rank, source] of keys.entries()) {
    const key = typeof source === 'string' ? source : source.json
    if (typeof source !== 'string' && 'text' in source) {
      TEXTS.push({ key, column, rank, member: source.text })
    } else if (typeof source === 'string' || !('member' in source)) {
      KEYS.push({ key, column, rank, isJson: typeof source !== 'string' })
    } else
      SUMS.set(key, [
        ...(SUMS.get(key) ?? []),
        { column, rank, members: [source.member, ...source.plus] },
      ])
  }
}
export const DOCUMENTS = [...new Set([...SUMS.keys(), ...TEXTS.map(({ key }) => key)])]
for (const [index, key] of DOCUMENTS.entries()) {
  KEYS.push({ key, column: ENTITY + 1 + index, rank: 0, isJson: false })
}
/** All columns, those that no row has with them. */
export const ALL_COLUMNS = ENTITY + 1 + DOCUMENTS.length

interface PromotedKey {
  readonly bytes: DataView
  readonly hash: number
  /** Index among the promoted columns. */
  readonly column: number
  /** Place in the column's list: 0 wins over 1. */
  readonly rank: number
  /** True when the value is a string of JSON, with its quotes. */
  readonly isJson: boolean
}

/**
 * A cheap hash that tells keys of one length apart by twelve of their bytes; equality is always
 * checked as well.
 */
export function hashKey(view: DataView, from: number, end: number): number {
  const size = end - from
  let hash = size
  if (size >= 4) {
    hash = Math.imul(hash ^ view.getInt32(from, true), 0x2c1b3c6d)
    hash = Math.imul(hash ^ view.getInt32(end - 4, true), 0x297a2d39)
    hash = Math.imul(hash ^ view.getInt32(from + ((size - 4) >> 1), true), 0x45d9f3b)
  } else {
    for (let i = from; i < end; i++) hash = Math.imul(hash ^ view.getUint8(i), 0x2c1b3c6d)
  }
  return (hash ^ (hash >>> 15)) & 0x7fffffff
}

/**
 * True when the scanned key has the bytes that lie at `from` in `view`; both have the same length.
 */
export function isSameKey(tape: Tape, view: DataView, from: number): boolean {
  const { srcView, keyFrom, keyEnd } = tape
  const size = keyEnd - keyFrom
  let i = 0
  for (; i + 4 <= size; i += 4) {
    if (srcView.getInt32(keyFrom + i) !== view.getInt32(from + i)) return false
  }
  for (; i < size; i++) {
    if (srcView.getUint8(keyFrom + i) !== view.getUint8(from + i)) return false
  }
  return true
}

function promotedKey({ key, ...rest }: (typeof KEYS)[number]): PromotedKey {
  const bytes = Buffer.from(key)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return { bytes: view, hash: hashKey(view, 0, bytes.length), ...rest }
}

const SLOTS = 1024
const TABLE = buildTable()

function buildTable(): (PromotedKey | undefined)[] {
  const table = Array.from<PromotedKey | undefined>({ length: SLOTS })
  for (const promoted of KEYS.map(promotedKey)) {
    let slot = promoted.hash % SLOTS
    while (table[slot]) slot = (slot + 1) % SLOTS
    table[slot] = promoted
  }
  return table
}

/** The promoted key that the scanned key is, if it is one. */
export function findPromotedKey(tape: Tape, hash: number): PromotedKey | undefined {
  const size = tape.keyEnd - tape.keyFrom
  for (let slot = hash % SLOTS; ; slot = (slot + 1) % SLOTS) {
    const candidate = TABLE[slot]
    if (!candidate) return undefined
    const isCandidate = candidate.hash === hash && candidate.bytes.byteLength === size
    if (isCandidate && isSameKey(tape, candidate.bytes, 0)) return candidate
  }
}
