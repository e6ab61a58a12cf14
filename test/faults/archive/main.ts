import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { buildPrograms } from '../../support/build.ts'
import { freePort } from '../../support/free-port.ts'
import { startServer } from '../postgres-server.ts'
import { runArchiveFaults } from './run-archive-faults.ts'
import type { ArchiveFaultReport } from './run-archive-faults.ts'

interface Options {
  readonly kills: number
  readonly seed: number
  readonly onKill: (kills: number) => void
}

/** `npm run test:long -- faults archive`, on a PostgreSQL of its own. */
export async function testArchive(options: Options): Promise<ArchiveFaultReport> {
  const directory = await mkdtemp(join(tmpdir(), 'archive-faults-'))
  await chmod(directory, 0o755)
  await buildPrograms(directory)
  const server = await startServer(directory, await freePort())
  const admin = connectDatabase(parseAddress(server.url), { name: 'faults', max: 1 })
  const url = new URL(server.url)
  const main = join(directory, 'collector/main.js')
  try {
    await admin`create database faults`
    url.pathname = '/faults'
    return await runArchiveFaults({ ...options, main, databaseUrl: url.href })
  } finally {
    await admin.end()
    await server.stop()
    await rm(directory, { recursive: true })
  }
}
