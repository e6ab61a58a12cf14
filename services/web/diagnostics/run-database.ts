import type { Socket } from 'node:net'
import { connectDatabase } from '../../shared/database.ts'
import type { Database, DatabaseAddress } from '../../shared/database.ts'

const CONNECTIONS = 4

export interface RunDatabase {
  readonly sql: Database
  /** Leaves no socket behind, also where the server does not answer. Never rejects. */
  close(): Promise<void>
}

/**
 * Connections for one run of the probe: a busy pool does not look like a dead database, a stale one not like a live
 * one, and the login is tried anew each time.
 */
export function openRunDatabase(address: DatabaseAddress, timeoutMs: number): RunDatabase {
  const sockets = new Set<Socket>()
  const sql = connectDatabase(address, {
    name: 'web-probe',
    max: CONNECTIONS,
    connectTimeoutMs: timeoutMs,
    statementTimeoutMs: timeoutMs,
    onSocket(socket) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    },
  })
  return {
    sql,
    async close() {
      // Before the sockets: else the driver would connect again.
      await sql.end({ timeout: 0 }).catch(() => {})
      for (const socket of sockets) socket.destroy()
    },
  }
}
