import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../services/shared/postgres/database.ts'
import type { Database } from '../../services/shared/postgres/database.ts'
import { spawnCollector } from '../services/collector/support/process.ts'
import type { CollectorProcess } from '../services/collector/support/process.ts'
import { buildPrograms } from '../support/build.ts'
import { createCitusDatabase } from '../support/citus.ts'
import type { CitusDatabase } from '../support/citus.ts'

const LAB = fileURLToPath(new URL('lab.sh', import.meta.url))
const DATA = process.env['CITUS_LAB'] || '/var/tmp/citus-lab'

export type NodeName = 'coordinator' | 'worker1' | 'worker2'

/** The nodes of `lab.sh`, and two collectors: one writes to the coordinator, one to a worker. */
export interface Stage {
  readonly database: CitusDatabase
  readonly urls: Readonly<Record<NodeName, string>>
  readonly collectors: readonly CollectorProcess[]
  close(): Promise<void>
}

export async function openStage(): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), 'citus-kills-'))
  await buildPrograms(directory)
  const database = await createCitusDatabase(await startNodes())
  const [worker1 = '', worker2 = ''] = database.workerUrls
  const main = join(directory, 'collector/main.js')
  const env = { COLLECTOR_DISTRIBUTE: 'true' }
  const first = await spawnCollector(main, { databaseUrl: database.url, env })
  const second = await spawnCollector(main, {
    databaseUrl: worker1,
    env: { ...env, COLLECTOR_DDL_DATABASE_URL: database.url },
  })
  return {
    database,
    urls: { coordinator: database.url, worker1, worker2 },
    collectors: [first, second],
    async close() {
      await Promise.all([first.kill('SIGKILL'), second.kill('SIGKILL')])
      await database.drop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const START_TRIES = 40

/** Starts the nodes that do not run. A dead server's sessions may hold its memory for a moment. */
export async function startNodes(): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      const { stdout } = await promisify(execFile)(LAB, ['up'])
      return stdout.trim()
    } catch (error) {
      if (tries === START_TRIES) throw error
      await delay(250)
    }
  }
}

/** Ends a node as `kill -9` does; its sessions end when they notice. */
export async function killNode(name: NodeName): Promise<void> {
  const [pid] = (await readFile(join(DATA, name, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGKILL')
}

export async function withNode<Result>(
  url: string,
  use: (sql: Database) => Promise<Result>,
): Promise<Result> {
  const sql = connectDatabase(parseAddress(url), { name: 'citus-kills', max: 1 })
  try {
    return await use(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** The transactions that are prepared on a node and neither committed nor rolled back. */
export const listPrepared = (sql: Database) =>
  sql<{ gid: string }[]>`
    select gid from pg_prepared_xacts
    where database = current_database() and gid like 'citus\\_%'`
