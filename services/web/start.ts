import type { HttpBindings } from '@hono/node-server'
import { connectDatabase, databaseAddress } from '../shared/database.ts'
import { openDatabasePing } from '../shared/database-ping.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import type { Log } from '../shared/log.ts'
import { serve } from '../shared/serve.ts'
import type { Service } from '../shared/serve.ts'
import { createApp } from './app.ts'
import { webEnv } from './env.ts'

export interface StartOptions {
  readonly log?: Log
  /** How long a stopping service still takes requests, with `/health` at 503. @default 5_000 */
  readonly lingerMs?: number
}

/** Starts the web service. Raises `invalid_configuration`; a database that is away only makes `/health` fail. */
export async function start(source: EnvSource, options: StartOptions = {}): Promise<Service> {
  const config = readEnv(webEnv, source)
  const log = options.log ?? createLog({ name: 'web', level: config.LOG_LEVEL })
  const address = databaseAddress(config)
  const sql = connectDatabase(address, { name: 'web' })
  const database = openDatabasePing(address, { name: 'web-ping', freshMs: 1000 })
  let draining = false
  const app = createApp({ config, sql, log, ping: database.ping, isDraining: () => draining })
  const close = async (): Promise<void> => {
    await Promise.all([sql.end({ timeout: 5 }), database.close()])
  }
  try {
    const service = await serve({
      // The bindings are what @hono/node-server passes.
      fetch: (request, env) => app.fetch(request, env as HttpBindings),
      port: config.PORT,
      host: config.HOST,
      log,
      lingerMs: options.lingerMs ?? 5000,
      onDrain: () => (draining = true),
    })
    return {
      url: service.url,
      async stop() {
        await service.stop()
        await close()
      },
    }
  } catch (thrown) {
    await close()
    throw thrown
  }
}
