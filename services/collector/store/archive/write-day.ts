import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { ORGANIZATION, selectArchived, toArchivedRow, TRACE_ID } from './archived-columns.ts'
import type { ArchivedRow } from './archived-columns.ts'
import { dateOf } from './day-rows.ts'
import type { DayRows } from './day-rows.ts'
import { addFile, storeFile } from './archive-files.ts'
import type { ArchiveParts } from './archive-files.ts'

/** What a file holds at the most, unless one trace has more: it is read whole for each of them. */
const FILE = { spans: 16_384, bytes: 16 << 20 }
/** Of a trace that is larger, a file has no more than this many times as much. */
const LARGEST = 2
/** Spans in memory at a time; each may have some megabytes. */
const FETCHED = 64

/**
 * Spans of a day, as a transaction sees them, in the order of the files. Its caller ends the
 * transaction.
 */
export async function* readPartition(session: Session, rows: DayRows): AsyncGenerator<ArchivedRow> {
  await session.query(`declare archived no scroll cursor for ${selectArchived(rows)}`)
  for (;;) {
    const fetched = await session.rows(`fetch ${FETCHED} from archived`)
    yield* fetched.map(toArchivedRow)
    if (fetched.length < FETCHED) break
  }
  await session.query('close archived')
}

/** Writes files of spans of a day, each with whole traces of one organization where they fit. */
export async function writeDay(parts: ArchiveParts, session: Session, of: DayRows): Promise<void> {
  let rows: ArchivedRow[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    if (rows.length > 0) await addFile(parts.sql, await storeFile(parts, dateOf(of.day), rows))
    rows = []
    bytes = 0
  }
  await session.query('begin isolation level repeatable read read only')
  for await (const row of readPartition(session, of)) {
    if (isFull(row, rows.at(-1), Math.max(rows.length / FILE.spans, bytes / FILE.bytes)))
      await flush()
    rows.push(row)
    bytes += row.reduce((sum, value) => sum + (value?.length ?? 0), 0)
  }
  await flush()
  await session.query('commit')
}

/** Whether a row begins a new file, after one that is so full. */
function isFull(row: ArchivedRow, last: ArchivedRow | undefined, fill: number): boolean {
  if (!last) return false
  if (row[ORGANIZATION] !== last[ORGANIZATION]) return true
  return fill >= LARGEST || (fill >= 1 && row[TRACE_ID] !== last[TRACE_ID])
}
