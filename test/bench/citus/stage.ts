import { mkdtempSync, rmSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { citusUrl, createCitusDatabase } from '../../support/citus.ts'
import { buildCollector } from '../collector/checkout.ts'
import { cpuOf, cpuOfFamily, parentOf } from '../support/processes.ts'

/** A collector with its database, and what both use of the processor. */
export interface Contender {
  readonly sql: Database
  readonly url: string
  /** The nodes that it does not use yet. */
  readonly spareUrls: readonly string[]
  readonly collector: CollectorProcess
  /** CPU seconds of the collector so far. */
  readonly nodeSeconds: () => number
  /** CPU seconds of all nodes of the database so far. */
  readonly postgresSeconds: () => number
  close(): Promise<void>
}

/** Bundles of the collector, for as long as the work takes. */
export async function withCollector(work: (main: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-citus-'))
  try {
    await work(buildCollector(process.cwd(), directory))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The coordinator of the Citus that is measured. */
export function requireCitus(): string {
  if (citusUrl !== undefined) return citusUrl
  throw new Error('CITUS_DATABASE_URL is not set; test/citus/README.md starts a Citus.')
}

/** On a database of the coordinator's server that Citus does not know. */
export async function openPlain(main: string): Promise<Contender> {
  const coordinator = requireCitus()
  const name = `bench_${randomBytes(4).toString('hex')}`
  const url = new URL(coordinator)
  url.pathname = `/${name}`
  const admin = connectDatabase(parseAddress(coordinator), { name: 'bench', max: 1 })
  await admin`set citus.enable_ddl_propagation = off`
  await admin.unsafe(`create database ${name}`)
  return openContender(main, {
    urls: [url.href],
    env: {},
    async drop() {
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.end()
    },
  })
}

/** On a database of the coordinator and so many of its workers. */
export async function openCitus(main: string, used = Infinity): Promise<Contender> {
  const database = await createCitusDatabase(requireCitus(), { used })
  const { url, workerUrls } = database
  return openContender(main, {
    urls: [url, ...workerUrls.slice(0, used)],
    spareUrls: workerUrls.slice(used),
    env: { COLLECTOR_DISTRIBUTE: 'true' },
    drop: () => database.drop(),
  })
}

interface Opening {
  /** Of the nodes, that of the collector first. */
  readonly urls: readonly string[]
  readonly spareUrls?: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly drop: () => Promise<void>
}

async function openContender(main: string, opening: Opening): Promise<Contender> {
  const { urls, spareUrls = [], env, drop } = opening
  const [url = ''] = urls
  const collector = await spawnCollector(main, {
    databaseUrl: url,
    env: { ...env, COLLECTOR_WRITERS: '2', COLLECTOR_SEARCH: 'off' },
  })
  const servers = await Promise.all([...urls, ...spareUrls].map(serverOf))
  const sql = connectDatabase(parseAddress(url), { name: 'bench', max: 1 })
  return {
    sql,
    url,
    spareUrls,
    collector,
    nodeSeconds: () => cpuOf(collector.child.pid ?? 0),
    postgresSeconds: () => servers.reduce((sum, pid) => sum + cpuOfFamily(pid), 0),
    async close() {
      await collector.kill('SIGKILL')
      await sql.end()
      await drop()
    },
  }
}

/** The process of the server. */
async function serverOf(url: string): Promise<number> {
  const sql = connectDatabase(parseAddress(url), { name: 'bench', max: 1 })
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const server = parentOf(row?.pid ?? 0)
  await sql.end()
  if (server === undefined) throw new Error('The nodes must run on this machine, with /proc.')
  return server
}
