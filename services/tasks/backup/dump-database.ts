import { createHash } from 'node:crypto'
import { AppError } from '../../shared/errors.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openCopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import { isGone, listTables, readApplied, readSequences, readStructure } from './catalog.ts'
import { ROWS_BYTES, writeFrame } from './frames.ts'
import type { DumpNote, TableNote } from './notes.ts'

/** Longer than any dump; the server's own limits do not hold for it. */
export const DUMP_TIMEOUT_MS = 7 * 86_400_000
/** Tables that retention drops while they are listed are listed again. */
const TRIES = 10

/** A text of any row is the same on every server. */
export const TEXT_SETTINGS = `
  set datestyle = 'ISO, YMD'; set intervalstyle = 'iso_8601'; set timezone = 'UTC';
  set extra_float_digits = 1; set bytea_output = 'hex'; set synchronize_seqscans = off;
  set row_security = off`

/** How much a dump has. */
export interface DumpSize {
  readonly tables: number
  readonly rows: number
}

/**
 * Writes all tables of a database as one moment saw them, a part at a time. Only the partitions
 * themselves are locked, against their removal, so that neither rows nor new partitions wait.
 */
export async function* dumpDatabase(
  address: DatabaseAddress,
  onEnd: (size: DumpSize) => void,
): AsyncGenerator<Buffer> {
  const options = { name: 'backup', statementTimeoutMs: DUMP_TIMEOUT_MS }
  const session = await openCopyConnection(address, options)
  try {
    await session.query(TEXT_SETTINGS)
    const tables = await openSnapshot(session)
    yield* write(await begin(session))
    let rows = 0
    for (const table of tables) rows += yield* dumpTable(session, table)
    // After the rows: a number that was taken meanwhile is no harm, one that is used is.
    for (const sequence of await readSequences(session)) yield* write(sequence)
    const structure = await readStructure(session)
    yield* write({ note: 'end', tables: tables.length, rows, structure: [...structure] })
    onEnd({ tables: tables.length, rows })
  } finally {
    session.close()
  }
}

const write = (note: DumpNote): Buffer[] => writeFrame({ kind: 'note', note })

async function openSnapshot(session: CopyConnection): Promise<readonly TableNote[]> {
  for (let tries = 1; ; tries++) {
    await session.query('begin isolation level repeatable read read only')
    try {
      const tables = await listTables(session)
      for (const { name } of tables)
        await session.query(`lock table only ${name} in access share mode`)
      return tables
    } catch (thrown) {
      if (!isGone(thrown) || tries === TRIES) throw thrown
      await session.query('rollback')
    }
  }
}

async function begin(session: CopyConnection): Promise<DumpNote> {
  const [row] = await session.rows(
    `select current_setting('server_version'), to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  )
  const [serverVersion, takenAt] = row ?? []
  if (!serverVersion || !takenAt) throw new AppError('internal', 'The server told no version.')
  const applied = await readApplied(session)
  return { note: 'database', format: 1, serverVersion, takenAt, applied }
}

async function* dumpTable(
  session: CopyConnection,
  table: TableNote,
): AsyncGenerator<Buffer, number> {
  yield* write(table)
  const sha256 = createHash('sha256')
  let count = 0
  for await (const rows of copyRows(session, table)) {
    sha256.update(rows)
    // Within a row of this format a line feed is written as `\n`.
    for (const byte of rows) if (byte === 0x0a) count += 1
    yield* writeFrame({ kind: 'rows', rows })
  }
  yield* write({ note: 'rows', count, sha256: sha256.digest('hex') })
  return count
}

/** The rows of a table in the order in which they lie, some at a time. */
export async function* copyRows(
  session: CopyConnection,
  { name, columns }: TableNote,
): AsyncGenerator<Buffer> {
  const names = columns.map((column) => quoteName(column.name)).join(', ')
  const channel = createChannel<Buffer>()
  let waiting: Buffer[] = []
  let size = 0
  const flush = (): void | Promise<void> => {
    const rows = Buffer.concat(waiting)
    waiting = []
    size = 0
    return rows.length > 0 ? channel.push(rows) : undefined
  }
  const copied = session
    .copyOut(`copy ${name} (${names}) to stdout`, (row) => {
      // The message is part of a chunk that is used again.
      waiting.push(Buffer.from(row))
      size += row.length
      return size < ROWS_BYTES ? undefined : flush()
    })
    .then(flush)
  copied.then(channel.end, channel.fail)
  yield* channel.values()
  await copied
}

/** A name as SQL takes it. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Hands values from one side that pushes to another one that pulls, a few at a time. */
interface Channel<Value> {
  /** Resolves when there is room for another value; undefined while there is. */
  push(value: Value): Promise<void> | undefined
  readonly end: () => void
  readonly fail: (error: unknown) => void
  values(): AsyncGenerator<Value>
}

const ROOM = 16

/** One side may be `ROOM` values ahead; a few more where it cannot stop at once. */
function createChannel<Value>(): Channel<Value> {
  const waiting: Value[] = []
  let isOver = false
  let failure: { readonly error: unknown } | undefined
  let wake = (): void => {}
  let makeRoom: (() => void) | undefined
  let room: Promise<void> | undefined

  return {
    push(value) {
      waiting.push(value)
      wake()
      if (waiting.length < ROOM || isOver) return undefined
      room ??= new Promise((resolve) => (makeRoom = resolve))
      return room
    },
    end() {
      isOver = true
      wake()
    },
    fail(error) {
      failure = { error }
      isOver = true
      wake()
    },
    async *values() {
      try {
        for (;;) {
          const value = waiting.shift()
          if (value !== undefined) yield value
          else if (failure) throw failure.error
          else if (isOver) return
          else await new Promise<void>((resolve) => (wake = resolve))
          if (waiting.length < ROOM / 2) release()
        }
      } finally {
        // Whoever pulled has gone: nobody waits for room any more.
        isOver = true
        release()
      }
    },
  }

  function release(): void {
    makeRoom?.()
    makeRoom = undefined
    room = undefined
  }
}
