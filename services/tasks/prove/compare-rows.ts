import * as v from 'valibot'
import { listTables } from '../backup/catalog.ts'
import { DUMP_TIMEOUT_MS, TEXT_SETTINGS, copyRows } from '../backup/dump-database.ts'
import { readFrames } from '../backup/frames.ts'
import { dumpNote } from '../backup/notes.ts'
import type { TableNote } from '../backup/notes.ts'
import type { TableContent } from '../backup/restore-database.ts'
import { createRowChecksum, rowsOf } from '../backup/row-checksum.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openCopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import type { TableFigures } from './figures.ts'
import { CONNECTION_NAME } from './observe.ts'

type Columns = TableNote['columns']

interface Before {
  readonly contents: readonly TableContent[]
  /** Reads the dump from its begin, for tables that have lost columns. */
  readonly readDump: () => AsyncIterable<Buffer>
}

/**
 * Compares the rows of each table with those that were restored, in the columns that have the same
 * name and type in both schemas, in whatever order they lie.
 */
export async function compareRows(
  address: DatabaseAddress,
  { contents, readDump }: Before,
): Promise<TableFigures[]> {
  const options = { name: CONNECTION_NAME, statementTimeoutMs: DUMP_TIMEOUT_MS }
  const session = await openCopyConnection(address, options)
  try {
    await session.query(TEXT_SETTINGS)
    const now = new Map((await listTables(session)).map((table) => [table.name, table.columns]))
    const compared = contents.map((content) => {
      const there = now.get(content.table.name)
      const { columns } = content.table
      return {
        ...content,
        columns: there && columns.filter((each) => there.some((other) => isSame(each, other))),
      }
    })
    const narrowed = compared.filter(
      ({ table, columns = [] }) => columns.length > 0 && columns.length < table.columns.length,
    )
    const again = narrowed.length === 0 ? new Map() : await sumAgain(readDump(), narrowed)
    const figures: TableFigures[] = []
    for (const { columns, ...content } of compared) {
      const checksum = again.get(content.table.name) ?? content.checksum
      figures.push(await compareTable(session, { ...content, checksum }, columns))
    }
    return figures
  } finally {
    session.close()
  }
}

/** Compares in the columns of both schemas, of which there are none where the table is lost. */
async function compareTable(
  session: CopyConnection,
  { table, rows: rowsBefore, checksum: before }: TableContent,
  columns: Columns | undefined,
): Promise<TableFigures> {
  const content = { table: table.name, parent: table.parent, rowsBefore }
  if (!columns) return { ...content, before, rowsAfter: null, after: null }
  if (columns.length === 0) {
    // No column is the same: the rows are counted.
    const [row] = await session.rows(`select count(*) from ${table.name}`)
    const rowsAfter = Number(row?.[0])
    return { ...content, before: `${rowsBefore} rows`, rowsAfter, after: `${rowsAfter} rows` }
  }
  const stored = createRowChecksum()
  for await (const part of copyRows(session, { ...table, columns })) stored.add(part)
  const { rows: rowsAfter, checksum: after } = stored.value()
  return { ...content, before, rowsAfter, after }
}
const isSame = (one: Columns[number], other: Columns[number]): boolean =>
  one.name === other.name && one.type === other.type

const TAB = 0x09
const LINE_END = Buffer.from('\n')

/** Sums the rows of a dump up by some of their columns. A restore has checked its bytes. */
async function sumAgain(
  dump: AsyncIterable<Buffer>,
  wanted: readonly { readonly table: TableNote; readonly columns?: Columns | undefined }[],
): Promise<Map<string, string>> {
  const sums = new Map<string, string>()
  let picked: readonly number[] | undefined
  let name = ''
  let sum = createRowChecksum()
  for await (const frame of readFrames(dump)) {
    if (frame.kind === 'rows') {
      if (!picked) continue
      for (const row of rowsOf(frame.rows)) sum.add(pick(row, picked))
      continue
    }
    const note = v.parse(dumpNote, frame.note)
    if (note.note === 'table') {
      const columns = wanted.find(({ table }) => table.name === note.name)?.columns
      name = note.name
      picked = columns?.map((column) => note.columns.findIndex((each) => isSame(each, column)))
      sum = createRowChecksum()
    } else if (note.note === 'rows' && picked) sums.set(name, sum.value().checksum)
  }
  return sums
}

/** A row of COPY with some of its fields; within a field, a tab is written as `\t`. */
function pick(row: Buffer, indexes: readonly number[]): Buffer {
  const fields: Buffer[] = []
  for (let from = 0; from < row.length;) {
    const tab = row.indexOf(TAB, from)
    const end = tab === -1 ? row.length - 1 : tab
    fields.push(row.subarray(from, end))
    from = end + 1
  }
  const parts = indexes.flatMap((index, place) => [
    ...(place === 0 ? [] : [Buffer.of(TAB)]),
    fields[index] ?? Buffer.alloc(0),
  ])
  return Buffer.concat([...parts, LINE_END])
}
