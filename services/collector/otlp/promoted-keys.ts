import { BARE_CALL, ENTITY_COLUMNS, ENTITY_KEY } from '../conventions/columns.ts'
import {
  NAMED_BY_SPAN,
  OPERATION_COLUMN,
  PROMOTED_COLUMNS,
  WORKFLOW,
} from '../conventions/columns.ts'
import type { PromotedColumn, Source } from '../conventions/promoted-column.ts'
import { OPERATION_KINDS } from '../conventions/kinds.ts'
import { LEFT_OUT_KEYS } from '../conventions/left-out-keys.ts'
import { MAX_PROMOTED_COLUMNS, MAX_PROMOTED_KEYS } from './limits.ts'
import type { WriteText } from './table-texts.ts'

/** The module's table of promoted columns and their keys. */
export interface PromotedTable {
  setPromoted(counts: number, numbers: number, texts: number, documents: number): void
  setOperation(column: number): void
  /** The kind of a span without a word that has one of each of these columns, by their bits. */
  setBareCall(kind: number, models: number, tokens: number): void
  /** The rank of the operation's key with which a step has the name of its span. */
  setNamedBySpan(rank: number): void
  /** The word, written last, with which the first column's name is the second one's. */
  setWorkflow(size: number, from: number, to: number): void
  /** Adds the key of `size` bytes that was written last; lower ranks win. */
  addKey(size: number, column: number, rank: number, isJson: number): void
  /** The code of the key that was added last, for rows whose attributes go without it. */
  setCode(code: number): void
  /** The column of OpenLLMetry's entity for spans of this kind. */
  setEntityColumn(kind: number, column: number): void
}

const columnsOf = (kind: string) => PROMOTED_COLUMNS.filter((one) => one.kind === kind)

/** The promoted columns in the order of a row: counts, other numbers, texts. */
export const ROW_ORDER: readonly PromotedColumn[] = [
  ...columnsOf('count'),
  ...columnsOf('number'),
  ...columnsOf('text'),
]

/** The place of a promoted column among those of a row. */
const placeOfColumn = (name: string): number => ROW_ORDER.findIndex(({ column }) => column === name)

/** The name of the attribute. */
const attributeOf = (source: Source): string => (typeof source === 'string' ? source : source.json)

/** True when only members of the attribute's JSON are the value. */
const isPart = (source: Source): boolean =>
  typeof source !== 'string' && ('member' in source || 'text' in source)

/** The attributes of which members are looked for. */
export const DOCUMENTS: readonly string[] = [
  ...new Set(PROMOTED_COLUMNS.flatMap(({ keys }) => keys.filter(isPart).map(attributeOf))),
]

/** Behind the columns of a row the module keeps the entity's name, and then the documents. */
const ENTITY = ROW_ORDER.length
const FIRST_DOCUMENT = ENTITY + 1

/** Fills the module's table. Raises an error when there is no room for all. */
export function addPromotedColumns(table: PromotedTable, write: WriteText): void {
  requireRoom()
  const [counts = 0, numbers = 0, texts = 0] = ['count', 'number', 'text'].map(
    (kind) => columnsOf(kind).length,
  )
  table.setPromoted(counts, numbers, texts, DOCUMENTS.length)
  table.setOperation(placeOfColumn(OPERATION_COLUMN))
  table.setBareCall(
    OPERATION_KINDS.indexOf(BARE_CALL.kind) + 1,
    bitsOf(BARE_CALL.models),
    bitsOf(BARE_CALL.tokens),
  )
  const operation = ROW_ORDER[placeOfColumn(OPERATION_COLUMN)]?.keys ?? []
  table.setNamedBySpan(operation.indexOf(NAMED_BY_SPAN))
  const { word, from, to } = WORKFLOW
  table.setWorkflow(write(word), placeOfColumn(from), placeOfColumn(to))
  for (const [column, { keys }] of ROW_ORDER.entries()) {
    for (const [rank, source] of keys.entries()) {
      const isJson = typeof source === 'string' ? 0 : 1
      if (isPart(source)) continue
      table.addKey(write(attributeOf(source)), column, rank, isJson)
      table.setCode(isJson === 1 ? 0 : LEFT_OUT_KEYS.indexOf(attributeOf(source)) + 1)
    }
  }
  table.addKey(write(ENTITY_KEY), ENTITY, 0, 0)
  for (const [index, key] of DOCUMENTS.entries()) {
    table.addKey(write(key), FIRST_DOCUMENT + index, 0, 0)
  }
  addEntityColumns(table)
}

const bitsOf = (columns: readonly string[]): number =>
  columns.reduce((bits, column) => bits | (1 << placeOfColumn(column)), 0)

function requireRoom(): void {
  const keys = ROW_ORDER.flatMap((one) => one.keys)
  const isRoom =
    FIRST_DOCUMENT + DOCUMENTS.length <= MAX_PROMOTED_COLUMNS &&
    keys.length + 1 + DOCUMENTS.length <= MAX_PROMOTED_KEYS
  if (!isRoom) throw new Error('limits.ts has no room for all promoted columns and their keys.')
}

function addEntityColumns(table: PromotedTable): void {
  for (const [index, kind] of OPERATION_KINDS.entries()) {
    const column = ENTITY_COLUMNS[kind]
    if (column) table.setEntityColumn(index + 1, placeOfColumn(column))
  }
}
