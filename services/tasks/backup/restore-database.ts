import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openCopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import { migrateAsFormer } from '../../shared/postgres/migrate.ts'
import { readStructure } from './catalog.ts'
import { DUMP_TIMEOUT_MS, TEXT_SETTINGS, copyRows, quoteName } from './dump-database.ts'
import { readFrames } from './frames.ts'
import type { Frame } from './frames.ts'
import { dumpNote } from './notes.ts'
import type { Beginning, DumpNote, Ending, SequenceNote, TableEnd, TableNote } from './notes.ts'
import { createRowChecksum } from './row-checksum.ts'
import { bareTables, completeTables } from './table-rules.ts'

/** What a restored database has, and where it differs from the one that was dumped. */
interface Restored {
  readonly tables: number
  readonly rows: number
  /** Lines of the structure that only one of them has, with `-` for what is missing. */
  readonly differences: readonly string[]
  /** The content of each table, by which it is compared. */
  readonly contents: readonly TableContent[]
}

/** A table of a dump, with what tells its rows from others. */
export interface TableContent {
  readonly table: TableNote
  readonly rows: number
  readonly checksum: string
}

/** A dump, the folder of its migrations, and the name for messages. */
interface DumpSource {
  readonly dump: AsyncIterable<Buffer>
  readonly migrations: URL
  readonly name: string
  readonly log: Log
}

/**
 * Fills an empty database: with the schema of then, the rows, and the numbers that come next; then
 * reads every row again and compares. Raises `conflict` where they differ, `schema_mismatch` for a
 * schema of another program, and what the source of the dump raises.
 */
export async function restoreDatabase(
  address: DatabaseAddress,
  { dump, migrations: folder, name, log }: DumpSource,
): Promise<Restored> {
  const parts = readFrames(dump)
  const { applied } = expectNote(await nextNote(parts, name), 'database', name)
  await makeSchema(address, { folder, applied }, log)
  const options = { name: 'restore', statementTimeoutMs: DUMP_TIMEOUT_MS }
  const session = await openCopyConnection(address, options)
  try {
    await session.query(`${TEXT_SETTINGS}; set synchronous_commit = off`)
    const rules = await bareTables(session)
    const { loaded, ending } = await load(session, parts, name)
    await completeTables(session, rules)
    await session.query('analyze')
    for (const table of loaded) await compare(session, table, name)
    const there = await readStructure(session)
    const { tables, rows } = ending
    return { tables, rows, differences: differ(ending, there), contents: loaded }
  } finally {
    session.close()
    await parts.return(undefined)
  }
}

async function makeSchema(
  address: DatabaseAddress,
  schema: { readonly folder: URL } & Pick<Beginning, 'applied'>,
  log: Log,
): Promise<void> {
  const sql = connectDatabase(address, { name: 'restore', max: 1 })
  try {
    await migrateAsFormer(sql, schema, log)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function load(
  session: CopyConnection,
  parts: AsyncGenerator<Frame>,
  name: string,
): Promise<{ loaded: TableContent[]; ending: Ending }> {
  const loaded: TableContent[] = []
  for (;;) {
    const note = await nextNote(parts, name)
    if (note.note === 'table') {
      await makeTable(session, note)
      loaded.push({ table: note, ...(await loadRows(session, { table: note, parts, name })) })
    } else if (note.note === 'sequence') await setSequence(session, note)
    else {
      const ending = expectNote(note, 'end', name)
      if (ending.tables !== loaded.length) throw unknownForm(name)
      return { loaded, ending }
    }
  }
}

/** Partitions, and tables that the schema does not have. */
async function makeTable(session: CopyConnection, table: TableNote): Promise<void> {
  const { name, parent, bound, columns } = table
  const [row] = await session.rows(
    `select to_regclass('${name.replaceAll("'", "''")}') is not null`,
  )
  if (row?.[0] === 't') return
  if (parent !== null && bound !== null) {
    await session.query(`create table ${name} partition of ${parent} ${bound}`)
    await session.query(`alter table ${name} disable trigger user`)
    return
  }
  const lines = columns.map(
    (column) => `${quoteName(column.name)} ${column.type}${column.isRequired ? ' not null' : ''}`,
  )
  await session.query(`create table ${name} (${lines.join(', ')})`)
}

interface RowsToLoad {
  readonly table: TableNote
  readonly parts: AsyncGenerator<Frame>
  readonly name: string
}

async function loadRows(
  session: CopyConnection,
  { table, parts, name }: RowsToLoad,
): Promise<Pick<TableContent, 'rows' | 'checksum'>> {
  let end: TableEnd | undefined
  const sha256 = createHash('sha256')
  const checksum = createRowChecksum()
  async function* rows(): AsyncGenerator<Buffer> {
    for (;;) {
      const frame = await nextFrame(parts, name)
      if (frame.kind === 'rows') {
        sha256.update(frame.rows)
        checksum.add(frame.rows)
        yield frame.rows
      } else {
        end = expectNote(readNote(frame.note, name), 'rows', name)
        return
      }
    }
  }
  const columns = table.columns.map((column) => quoteName(column.name)).join(', ')
  const count = await session.copyIn(`copy ${table.name} (${columns}) from stdin`, rows())
  if (end?.count !== count) throw unequal(name, table.name, `${count} of ${end?.count} rows`)
  if (sha256.digest('hex') !== end.sha256) throw unequal(name, table.name, 'other bytes')
  return checksum.value()
}

const setSequence = (session: CopyConnection, sequence: SequenceNote): Promise<string> =>
  session.query(
    `select setval('${sequence.name.replaceAll("'", "''")}', ${BigInt(sequence.value)}, ` +
      `${sequence.isCalled})`,
  )

/** Reads what is stored now, in whatever order it lies. */
async function compare(
  session: CopyConnection,
  { table, checksum }: TableContent,
  name: string,
): Promise<void> {
  const stored = createRowChecksum()
  for await (const rows of copyRows(session, table)) stored.add(rows)
  if (stored.value().checksum !== checksum) throw unequal(name, table.name, 'other bytes')
}

/** The collector makes it after its start, where the server has the extension for it. */
const MADE_BY_SERVICES = 'index CREATE INDEX span_texts_text '

function differ(ending: Ending, restored: readonly string[]): string[] {
  const isCompared = (line: string): boolean => !line.startsWith(MADE_BY_SERVICES)
  const [structure, there] = [ending.structure.filter(isCompared), restored.filter(isCompared)]
  const [before, after] = [new Set(structure), new Set(there)]
  return [
    ...structure.filter((line) => !after.has(line)).map((line) => `- ${line}`),
    ...there.filter((line) => !before.has(line)).map((line) => `+ ${line}`),
  ]
}

/** What a dump has, by its own account. */
export interface Checked {
  readonly tables: number
  readonly rows: number
}

/** Reads a dump to its end and compares its rows with their checksums. */
export async function checkDump(dump: AsyncIterable<Buffer>, name: string): Promise<Checked> {
  const parts = readFrames(dump)
  expectNote(await nextNote(parts, name), 'database', name)
  let tables = 0
  let table = ''
  let sha256 = createHash('sha256')
  for (;;) {
    const frame = await nextFrame(parts, name)
    if (frame.kind === 'rows') {
      sha256.update(frame.rows)
      continue
    }
    const note = readNote(frame.note, name)
    if (note.note === 'table') table = note.name
    if (note.note === 'rows') {
      if (sha256.digest('hex') !== note.sha256) throw unequal(name, table, 'other bytes')
      sha256 = createHash('sha256')
      tables += 1
    }
    if (note.note !== 'end') continue
    if (note.tables !== tables) throw unknownForm(name)
    return { tables, rows: note.rows }
  }
}

async function nextFrame(parts: AsyncGenerator<Frame>, name: string): Promise<Frame> {
  const next = await parts.next()
  if (next.done) throw unknownForm(name)
  return next.value
}

async function nextNote(parts: AsyncGenerator<Frame>, name: string): Promise<DumpNote> {
  const frame = await nextFrame(parts, name)
  if (frame.kind !== 'note') throw unknownForm(name)
  return readNote(frame.note, name)
}

function readNote(given: unknown, name: string): DumpNote {
  const { success, output } = v.safeParse(dumpNote, given)
  if (!success) throw unknownForm(name)
  return output
}

type NoteOf<Kind> = Extract<DumpNote, { note: Kind }>

function expectNote<Kind extends DumpNote['note']>(
  note: DumpNote,
  kind: Kind,
  name: string,
): NoteOf<Kind> {
  const isWanted = (given: DumpNote): given is NoteOf<Kind> => given.note === kind
  if (!isWanted(note)) throw unknownForm(name)
  return note
}

const unknownForm = (name: string): AppError =>
  new AppError(
    'invalid_request',
    `${name} has a form that this program does not know. Use the version of the platform that ` +
      'made the backup.',
  )

const unequal = (name: string, table: string, what: string): AppError =>
  new AppError('conflict', `${name}: the table ${table} came out with ${what}.`)
