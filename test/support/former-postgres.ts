import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverOwner } from '../../services/local/postgres-binaries.ts'
import { connectDatabase } from '../../services/shared/postgres/database.ts'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** The programs of a former version of PostgreSQL, where Debian's package of it is. */
export const formerPostgres = [15, 16, 17]
  .map((version) => ({ version, bin: `/usr/lib/postgresql/${version}/bin` }))
  .find(({ bin }) => existsSync(join(bin, 'postgres')))

export interface FormerServer {
  /** The `postgres` database, as superuser. */
  readonly url: string
  stop(): Promise<void>
}

/** Starts a server of a former version on data of its own. */
export async function startFormerPostgres(bin: string): Promise<FormerServer> {
  const directory = await mkdtemp(join(tmpdir(), 'former-'))
  await chmod(directory, 0o700)
  if (serverOwner.uid !== undefined) await chown(directory, serverOwner.uid, serverOwner.uid)
  const options = { ...serverOwner, cwd: '/', stdio: 'ignore', env: { LC_ALL: 'C' } } as const
  const initdb = ['-D', directory, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']
  await once(spawn(join(bin, 'initdb'), initdb, options), 'exit')
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off']
  const flags = settings.flatMap((setting) => ['-c', setting])
  const server = spawn(
    join(bin, 'postgres'),
    ['-D', directory, '-p', String(port), ...flags],
    options,
  )
  const exited = once(server, 'exit')
  const url = `postgres://postgres:none@127.0.0.1:${port}/postgres`
  await until(() => isUp(url))
  return {
    url,
    async stop() {
      server.kill('SIGINT')
      await exited
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function isUp(url: string): Promise<boolean> {
  const sql = connectDatabase(parseAddress(url), { name: 'test', max: 1, connectTimeoutMs: 1000 })
  try {
    await sql`select 1`
    return true
  } catch {
    return false
  } finally {
    await sql.end({ timeout: 1 })
  }
}
