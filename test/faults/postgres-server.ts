import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import type { EmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import { POSTGRES_PASSWORD } from '../support/postgres-password.ts'
import { DATA_CACHE } from '../support/server-settings.ts'

const START_TRIES = 20

/** Starts PostgreSQL, also after it was killed: its sessions may hold its memory for a moment. */
export async function startServer(directory: string, port: number): Promise<EmbeddedPostgres> {
  for (let tries = 1; ; tries++) {
    try {
      // Every commit reaches the disk, as in an installation.
      return await startEmbeddedPostgres({
        directory: join(directory, 'data'),
        port,
        password: POSTGRES_PASSWORD,
        cache: DATA_CACHE,
      })
    } catch (error) {
      if (tries === START_TRIES) throw error
      await delay(250)
    }
  }
}
