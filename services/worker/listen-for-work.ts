import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../shared/database.ts'
import { toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

const RETRY_MS = 5000
/** What the database notifies after each kickoff. */
const CHANNEL = 'execution_queued'

/** Wakes at each kickoff, on a connection of its own that is opened again when it breaks. Returns the stop. */
export function listenForWork(
  sql: Database,
  { wake, log }: { wake: () => void; log: Log },
): () => void {
  const stopped = new AbortController()
  const { signal } = stopped
  async function listen(): Promise<void> {
    while (!signal.aborted) {
      try {
        // The second `wake` comes with each new connection: what was queued before it went unheard.
        await sql.listen(CHANNEL, wake, wake)
        return
      } catch (thrown) {
        log.warn({ reason: toError(thrown).message }, 'kickoffs can not be heard; polling instead')
        await sleep(RETRY_MS, undefined, { signal })
      }
    }
  }
  // Only the stop itself raises here; the connection ends with its pool.
  listen().catch(() => {})
  return () => stopped.abort()
}
