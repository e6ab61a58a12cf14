import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { backoffMs } from '../../../shared/backoff.ts'
import { AppError, toError } from '../../../shared/errors.ts'
import type { RowBuffer } from '../../otlp/row-buffer.ts'
import type { CopyConnection, Session } from '../../../shared/postgres/copy/copy-connection.ts'
import type { StoreIdentities } from './identity-store.ts'
import { dayOf } from './partitions.ts'
import type { Day, Partitions } from './partitions.ts'
import { createCopyStreams, rowBytes, rowIds, sortedRows } from './sorted-rows.ts'
import { createSuspicion, findStored, lookAtRows } from './stored-rows.ts'
import type { RequestRows, Suspicion } from './stored-rows.ts'
import { rollUpsOf, touchedBy } from './touched-traces.ts'
import type { TraceRows } from './trace-row.ts'
import { openConnection, storeRows } from './writer-connection.ts'
import type { WriterConnection } from './writer-connection.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { RowIds } from './sorted-rows.ts'

/** A row that the database refused. */
interface Reject extends RowIds {
  readonly sqlstate: string
  readonly reason: string
  readonly rowBytes: Buffer
}

const MAX_ROW_BYTES = 1 << 20

/** The outcome of a buffer of rows. */
export interface Written {
  committed: number
  /** Were there already, or came twice. */
  duplicates: number
  readonly rejected: { readonly row: number; readonly sqlstate: string }[]
}

/** Writes one batch at a time. */
export interface Writer {
  /**
   * Resolves when every row is committed, a duplicate, or rejected; rejects only when `signal`
   * aborts.
   */
  write(buffer: RowBuffer, facts: BufferFacts): Promise<Written>
  close(): void
}

/** What is known of the rows of a buffer. */
interface BufferFacts {
  /** All requests have been here before. */
  readonly isRepeat: boolean
  readonly requests: readonly RequestRows[]
}

interface WriterOptions {
  readonly address: DatabaseAddress
  readonly partitions: Partitions
  readonly storeIdentities: StoreIdentities
  /** One for all writers: what it makes is taken at once. */
  readonly rowsOf: TraceRows
  /** Ends the retries when the service stops. */
  readonly signal: AbortSignal
  readonly onCommit: () => void
  /** A write failed; `sqlstate` is absent when the database did not answer. */
  readonly onFailure: (error: Error, sqlstate: string | undefined) => void
}

/** Rows that are written, or fail, together. */
interface Piece {
  readonly rows: Uint32Array
  /**
   * `split` looks for requests that came before and for known rows, `check` for rows that need not
   * be written. `merge` of known rows, after a conflict that this does not explain, or when an
   * attempt may have been committed.
   */
  way: 'copy' | 'split' | 'check' | 'merge' | 'reject'
  /** A copy of it has failed because one of its keys exists. */
  hasConflict: boolean
  attempts: number
  sqlstate: string
  reason: string
  knowsPartitions: boolean
}

const UNIX_TO_POSTGRES_EPOCH_MS = 946_684_800_000

/** Writes buffers of rows over one connection of its own, whatever it takes. */
export function createWriter(options: WriterOptions): Writer {
  let connection: WriterConnection | undefined
  const copyStream = createCopyStreams()
  const connect = async (): Promise<WriterConnection> => {
    if (connection?.isOpen() === true) return connection
    connection = await openConnection(options.address)
    return connection
  }
  const store = async (buffer: RowBuffer, piece: Piece): Promise<number> => {
    const open = await connect()
    await options.partitions.ensure(open, daysOf(buffer, piece.rows))
    await options.storeIdentities(open, buffer.identities)
    const stream = copyStream(buffer, piece.rows)
    const touched = touchedBy({ buffer, rows: piece.rows, dayAt: (row) => dayAt(buffer, row) })
    const way = piece.way === 'copy' ? 'copy' : 'merge'
    const isFirst = way === 'copy' && !open.isDistributed
    const rollUps = isFirst
      ? rollUpsOf(options.rowsOf, { buffer, touched, from: dayOf(Date.now()) - 1 })
      : []
    return storeRows(open, { way, touched, rollUps, stream })
  }
  const suspicion = createSuspicion()
  /** Returns what is left to write. */
  const advance = async (job: Job, piece: Piece): Promise<Piece[]> => {
    const { buffer, written } = job
    const session = await connect()
    // Its other nodes would have to be asked for each row.
    if (session.isDistributed && isLook(piece.way)) return [{ ...piece, way: 'merge' }]
    if (piece.way === 'reject') await reject(buffer, piece, { written, session })
    else if (piece.way === 'split') return split(job, piece, { session, suspicion })
    else if (piece.way === 'check') return check(job, piece, session)
    else count(written, piece, await store(buffer, piece))
    return []
  }
  return {
    async write(buffer, { isRepeat, requests }) {
      const written: Written = { committed: 0, duplicates: 0, rejected: [] }
      const first = suspicion.isRaised() ? 'split' : 'copy'
      const pieces = [toPiece(sortedRows(buffer), isRepeat ? 'check' : first)]
      for (let piece = pieces.pop(); piece; piece = pieces.pop()) {
        options.signal.throwIfAborted()
        try {
          pieces.push(...(await advance({ buffer, requests, written }, piece)))
          options.onCommit()
        } catch (thrown) {
          pieces.push(...(await react(piece, toError(thrown), options)))
        }
      }
      return written
    },
    close: () => connection?.close(),
  }
}

/** The rows of one buffer, and what has become of them so far. */
interface Job {
  readonly buffer: RowBuffer
  readonly requests: readonly RequestRows[]
  readonly written: Written
}

/** Parts the requests that came before, and single known rows, from those that can be copied. */
async function split(
  { buffer, requests }: Job,
  { rows, hasConflict }: Piece,
  { session, suspicion }: { session: CopyConnection; suspicion: Suspicion },
): Promise<Piece[]> {
  const { isRepeated, isKnown } = await lookAtRows(session, buffer, { rows, requests })
  const repeated = rows.filter((row) => isRepeated(row))
  const known = rows.filter((row) => isKnown(row) && !isRepeated(row))
  const isFound = repeated.length + known.length > 0
  suspicion.note(isFound)
  // The conflict is of regrouped spans, or of others than roots.
  if (!isFound && hasConflict) return [toPiece(rows, 'merge')]
  const fresh = rows.filter((row) => !isKnown(row) && !isRepeated(row))
  const parts = [
    toPiece(repeated, 'check'),
    toPiece(known, 'merge'),
    { ...toPiece(fresh, 'copy'), hasConflict },
  ]
  return parts.filter((one) => one.rows.length > 0)
}

/** Counts the rows that are stored already, and returns the others, which are merged. */
async function check({ buffer, written }: Job, piece: Piece, session: Session): Promise<Piece[]> {
  const stored = await findStored(session, buffer, piece.rows)
  const missing = piece.rows.filter((row) => stored.get(row) !== true)
  written.duplicates += piece.rows.length - missing.length
  return missing.length > 0 ? [toPiece(missing, 'merge')] : []
}

function toPiece(rows: Uint32Array, way: Piece['way']): Piece {
  return {
    rows,
    way,
    hasConflict: false,
    attempts: 0,
    sqlstate: '',
    reason: '',
    knowsPartitions: true,
  }
}

function count(written: Written, { rows }: Piece, stored: number): void {
  written.committed += stored
  written.duplicates += rows.length - stored
}

const dayAt = (buffer: RowBuffer, row: number): Day =>
  dayOf((buffer.startTimes[row] ?? 0) / 1000 + UNIX_TO_POSTGRES_EPOCH_MS)

/** The days of the rows. */
function daysOf(buffer: RowBuffer, rows: Uint32Array): Set<Day> {
  const days = new Set<Day>()
  for (const row of rows) days.add(dayAt(buffer, row))
  return days
}

async function reject(
  buffer: RowBuffer,
  { rows, sqlstate, reason }: Piece,
  { written, session }: { written: Written; session: CopyConnection },
): Promise<void> {
  for (const row of rows) {
    const ids = rowIds(buffer, row)
    await storeReject(session, { ...ids, sqlstate, reason, rowBytes: rowBytes(buffer, row) })
    written.rejected.push({ row, sqlstate })
  }
}

const isLook = (way: Piece['way']): boolean => way === 'split' || way === 'check'

/** SQLSTATE classes that are the fault of the data. */
const DATA_CLASSES = new Set(['22', '23', '54'])

/** A key that exists, 23505, is not. */
const isFaultOfData = (sqlstate: string): boolean =>
  sqlstate !== '23505' && DATA_CLASSES.has(sqlstate.slice(0, 2))

/**
 * What to write next after a failure: the piece again, or its halves until the bad row stands
 * alone.
 */
async function react(piece: Piece, error: Error, options: WriterOptions): Promise<Piece[]> {
  const sqlstate = stateOf(error)
  const { way, hasConflict } = piece
  // Merging needs no look. What it cannot do either is seen then.
  if (isLook(way) && sqlstate !== undefined) return [{ ...piece, way: 'merge' }]
  if (sqlstate === '23505' && way === 'copy') {
    return [{ ...piece, way: hasConflict ? 'merge' : 'split', hasConflict: true }]
  }
  if (sqlstate !== undefined && isFaultOfData(sqlstate)) {
    return isolate(piece, { sqlstate, error }, options)
  }
  if (way !== 'reject') piece.way = 'merge'
  options.onFailure(error, sqlstate)
  await backOff(piece.attempts++, options.signal)
  return [piece]
}

function isolate(
  piece: Piece,
  { sqlstate, error }: { sqlstate: string; error: Error },
  { partitions }: WriterOptions,
): Piece[] {
  // Also the code of a row without a partition: one may have been dropped since.
  if (sqlstate === '23514' && piece.knowsPartitions) {
    partitions.forget()
    piece.knowsPartitions = false
    return [piece]
  }
  const half = piece.rows.length >> 1
  if (half === 0) return [{ ...piece, way: 'reject', sqlstate, reason: error.message }]
  const halves = [piece.rows.subarray(half), piece.rows.subarray(0, half)]
  return halves.map((rows) => ({ ...toPiece(rows, piece.way), knowsPartitions: false }))
}

function stateOf(error: Error): string | undefined {
  const sqlstate = error instanceof AppError ? error.details['sqlstate'] : undefined
  return typeof sqlstate === 'string' ? sqlstate : undefined
}

const BACKOFF = { firstMs: 50, maxMs: 2000 }

async function backOff(attempts: number, signal: AbortSignal): Promise<void> {
  await delay(backoffMs(attempts + 1, BACKOFF), undefined, { signal })
}

/** Keeps a refused row for people to look at; a very large one is cut. */
async function storeReject(session: Session, reject: Reject): Promise<void> {
  const { traceId, spanId, organization, sqlstate, reason, rowBytes } = reject
  const bytes = rowBytes.toString('hex', 0, MAX_ROW_BYTES)
  await session.query(`
    insert into span_rejects (trace_id, span_id, organization, sqlstate, reason, row_bytes)
    values (${quote(traceId.toString('hex'))}, ${spanId.readBigInt64BE(0)}, ${quote(organization)},
      ${quote(sqlstate)}, ${quote(reason)}, decode('${bytes}', 'hex'))`)
}
