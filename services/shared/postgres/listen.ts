import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from './database.ts'
import { toError } from '../errors.ts'
import type { Log } from '../log.ts'

const RETRY_MS = 5000

interface Listening {
  /**
   * A channel of the database: `execution_queued` after kickoffs, `execution_stopped` with an id.
   */
  readonly channel: string
  readonly hear: (payload: string) => void
  /** Called with each new connection: earlier notifications were missed. */
  readonly onOpen?: () => void
  readonly log: Log
}

/**
 * Listens to a channel, on a connection that all channels share and that is opened again when it
 * breaks. Returns the stop.
 */
export function listen(sql: Database, { channel, hear, onOpen, log }: Listening): () => void {
  const stopped = new AbortController()
  const { signal } = stopped
  async function open(): Promise<void> {
    while (!signal.aborted) {
      try {
        await sql.listen(channel, hear, onOpen)
        return
      } catch (thrown) {
        const reason = toError(thrown).message
        log.warn({ channel, reason }, 'notifications cannot be heard; polling instead')
        await sleep(RETRY_MS, undefined, { signal })
      }
    }
  }
  // Only the stop itself raises here; the connection ends with its pool.
  open().catch(() => {})
  return () => stopped.abort()
}
