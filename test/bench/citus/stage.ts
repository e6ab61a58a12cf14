import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { citusUrl, createCitusDatabase } from '../../support/citus.ts'
import { buildCollector } from '../collector/checkout.ts'

/** A collector with its database. */
export interface Contender {
  readonly sql: Database
  readonly url: string
  /** The nodes that it does not use yet. */
  readonly spareUrls: readonly string[]
  readonly collector: CollectorProcess
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
function requireCitus(): string {
  if (citusUrl !== undefined) return citusUrl
  throw new Error('CITUS_DATABASE_URL is not set; test/citus/README.md starts a Citus.')
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
  const sql = connectDatabase(parseAddress(url), { name: 'bench', max: 1 })
  return {
    sql,
    url,
    spareUrls,
    collector,
    async close() {
      await collector.kill('SIGKILL')
      await sql.end()
      await drop()
    },
  }
}
