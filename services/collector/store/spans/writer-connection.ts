import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { AppError } from '../../../shared/errors.ts'
import { openCopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection, CopyStream } from '../../../shared/postgres/copy/copy-connection.ts'
import { DISTRIBUTED_SESSION } from './distribution.ts'
import { COPY_INCOMING, COPY_SPANS, CREATE_INCOMING, MERGE_INCOMING } from './span-statements.ts'
import { COPY_NOTES, notesOf, noteTouched, removeErased } from './touched-traces.ts'
import type { Touched } from './touched-traces.ts'

/** The connection of a writer. */
export interface WriterConnection extends CopyConnection {
  /** The spans are on other nodes, of Citus. */
  readonly isDistributed: boolean
}

/** Connects. Raises `unavailable` and `timeout`. */
export async function openConnection(address: DatabaseAddress): Promise<WriterConnection> {
  const connection = await openCopyConnection(address, { name: 'collector-writer' })
  try {
    const [row] = await connection.rows('select is_distributed()')
    const isDistributed = row?.[0] === 't'
    if (isDistributed) await connection.query(DISTRIBUTED_SESSION)
    return { ...connection, isDistributed }
  } catch (error) {
    connection.close()
    throw error
  }
}

/** What is stored in one transaction. */
interface RowsToStore {
  /** `merge` looks for what is stored already, `copy` fails on that. */
  readonly way: 'copy' | 'merge'
  readonly touched: readonly Touched[]
  /** Of `touched`, where the rows are all there is of each trace. */
  readonly rollUps: readonly Buffer[]
  readonly stream: CopyStream
}

/** Stores all rows, with the note of what they touch; returns the number of those that are new. */
export async function storeRows(connection: WriterConnection, rows: RowsToStore): Promise<number> {
  const { way, touched, rollUps, stream } = rows
  // In one message they are one transaction, and take one way to the server and back.
  return way === 'copy' && !connection.isDistributed
    ? connection.copy(`${COPY_NOTES}; ${COPY_SPANS}`, notesOf(touched, rollUps), stream)
    : storeInSteps(connection, rows)
}

/** The table of the careful way lives in the transaction, so no session has state. */
async function storeInSteps(
  connection: WriterConnection,
  { way, touched, stream }: RowsToStore,
): Promise<number> {
  const isMerge = way === 'merge'
  try {
    await connection.query(`begin; ${isMerge ? `${CREATE_INCOMING};` : ''} ${noteTouched(touched)}`)
    const copied = await connection.copy(isMerge ? COPY_INCOMING : COPY_SPANS, stream)
    const [merged] = isMerge ? await connection.rows(MERGE_INCOMING) : []
    const removal = connection.isDistributed ? `${removeErased(touched)};` : ''
    const outcome = await connection.query(`${removal} commit`)
    if (outcome !== 'COMMIT') throw new AppError('unavailable', `The server answered ${outcome}.`)
    return merged ? Number(merged[0]) : copied
  } catch (error) {
    if (connection.isOpen()) await connection.query('rollback')
    throw isMerge ? error : toConflict(error)
  }
}

const INTERNAL_ERROR = 'XX000'
const UNIQUE_VIOLATION = '23505'

/**
 * Whatever another node finds wrong with a copied row, Citus passes on as an internal error.
 * Merging takes what exists, and tells the code of the others.
 */
function toConflict(error: unknown): unknown {
  if (!(error instanceof AppError) || error.details['sqlstate'] !== INTERNAL_ERROR) return error
  return new AppError(error.code, error.message, {
    cause: error,
    details: { sqlstate: UNIQUE_VIOLATION },
  })
}
