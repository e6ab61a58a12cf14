import { openCopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { createWaitingLine } from '../../shared/waiting-line.ts'

/** Reads many rows at a time, on connections of its own. */
interface CopyReader {
  /**
   * Runs statements of which one is a `copy … to stdout`, in one transaction. `onRow` gets each row
   * while the server sends it. Raises `unavailable`, with `details.sqlstate` where the server gave
   * one, and `timeout`.
   */
  read(statements: string, onRow: (row: Buffer) => void): Promise<void>
  close(): void
}

const CONCURRENT = 2
const WAITING = 4

/** Opens nothing until something is read; a connection then stays open for the next one. */
export function createCopyReader(
  address: DatabaseAddress,
  { statementMs }: { statementMs: number },
): CopyReader {
  const idle: CopyConnection[] = []
  let isClosed = false
  const line = createWaitingLine({
    concurrent: CONCURRENT,
    waitingMax: WAITING,
    busy: 'Too many large traces are being read; try again.',
  })
  const connect = async (): Promise<CopyConnection> => {
    const free = idle.pop()
    if (free?.isOpen()) return free
    const limits = { connectTimeoutMs: 3000, statementTimeoutMs: statementMs }
    return openCopyConnection(address, { name: 'collector-read-copy', ...limits })
  }
  const keep = (connection: CopyConnection): void => {
    if (isClosed) connection.close()
    else if (connection.isOpen()) idle.push(connection)
  }
  return {
    async read(statements, onRow) {
      await line.enter()
      try {
        const connection = await connect()
        await connection.copyOut(statements, onRow).finally(() => keep(connection))
      } finally {
        line.leave()
      }
    },
    close() {
      isClosed = true
      for (const connection of idle.splice(0)) connection.close()
    },
  }
}
