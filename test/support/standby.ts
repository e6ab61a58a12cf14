import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startEmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import type { EmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import { freePort } from './free-port.ts'
import { POSTGRES_PASSWORD } from './postgres-password.ts'
import { DATA_CACHE, SERVER_SETTINGS } from './server-settings.ts'

/** A server that can be stopped, and started again on its data and its port. */
export interface StoppableServer {
  /** The `postgres` database, as superuser. */
  readonly url: string
  stop(): Promise<void>
  start(): Promise<void>
}

export interface ServerWithStandby {
  readonly primary: StoppableServer
  /** Follows the primary by streaming replication. */
  readonly standby: StoppableServer
  close(): Promise<void>
}

const SETTINGS = { ...SERVER_SETTINGS, max_connections: '60' }

/**
 * Starts two servers of their own, one of which follows the other one: it begins as a copy of its
 * data, taken while it was down.
 */
export async function startWithStandby(): Promise<ServerWithStandby> {
  const parent = await mkdtemp(join(tmpdir(), 'standby-'))
  // As root the servers run as another user, who has to pass through here.
  await chmod(parent, 0o755)
  const directories = { primary: join(parent, 'primary'), standby: join(parent, 'standby') }
  const port = await freePort()
  const primary = await openServer({ directory: directories.primary, port, settings: SETTINGS })
  await primary.stop()
  // Node's own copy would give the files of the server's user to this one.
  await promisify(execFile)('cp', ['-a', directories.primary, directories.standby])
  await promisify(execFile)('cp', [
    '-a',
    join(directories.standby, 'PG_VERSION'),
    join(directories.standby, 'standby.signal'),
  ])
  await primary.start()
  const standby = await openServer({
    directory: directories.standby,
    port: await freePort(),
    settings: {
      ...SETTINGS,
      primary_conninfo: `host=127.0.0.1 port=${port} user=postgres password=${POSTGRES_PASSWORD}`,
      wal_retrieve_retry_interval: '200ms',
      // Nothing waits for a reader of the standby: the reader is cancelled.
      max_standby_streaming_delay: '0',
    },
  })
  return {
    primary,
    standby,
    async close() {
      await Promise.all([primary.stop(), standby.stop()])
      await rm(parent, { recursive: true, force: true })
    },
  }
}

async function openServer(
  options: Omit<Parameters<typeof startEmbeddedPostgres>[0], 'password'>,
): Promise<StoppableServer> {
  const own = { ...options, password: POSTGRES_PASSWORD, cache: DATA_CACHE }
  const open = () => startEmbeddedPostgres(own)
  let server: EmbeddedPostgres | undefined = await open()
  return {
    url: server.url,
    async stop() {
      await server?.stop()
      server = undefined
    },
    async start() {
      server ??= await open()
    },
  }
}
