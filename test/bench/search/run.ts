import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  openExtraction,
  takeExtraction,
} from '../../../services/collector/store/search/extract-texts.ts'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { DatabaseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { bearer } from '../../services/collector/support/harness.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { buildPrograms } from '../../support/build.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { SERVER_SETTINGS } from '../collector/server-settings.ts'
import { cpuOf, cpuOfFamily } from '../support/processes.ts'
import { median, toTable } from '../support/statistics.ts'
import { fill } from './fill.ts'

const ROUNDS = 7

/** What is looked for, and how often it is there. */
const QUESTIONS: Readonly<Record<string, string>> = {
  'in no text': 'text=hippopotamus',
  'in no text, of frequent letters': 'text=stationer',
  'in one of 100,000': 'text=axolotl',
  'in one of 1000': 'text=zebra-crossing',
  'in most': 'text=database',
  'in most, by duration': 'text=database&sort=duration',
  'the latest without a text, with excerpts': 'excerpts=200',
}

/** Measures what it takes to make model calls searchable, and to search them. */
export async function run(calls = '1000000'): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    settings: { ...SERVER_SETTINGS, fsync: 'off' },
    password: POSTGRES_PASSWORD,
  })
  const address = parseAddress(server.url)
  const sql = connectDatabase(address, { name: 'bench', max: 1, statementTimeoutMs: 3_600_000 })
  try {
    await buildPrograms(directory)
    const main = join(directory, 'collector/main.js')
    const env = { RETENTION_WEEKS: '13' }
    // It migrates, and searches nothing yet.
    await (await spawnCollector(main, { databaseUrl: server.url, env })).kill('SIGTERM')
    await fill(sql, Number(calls))
    await measureWriting(sql, { address, postgresPid: server.pid })
    const collector = await spawnCollector(main, { databaseUrl: server.url, env })
    try {
      await measureReading(collector, server.pid)
    } finally {
      await collector.kill('SIGTERM')
    }
  } finally {
    await sql.end()
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measureWriting(
  sql: Database,
  { address, postgresPid }: { address: DatabaseAddress; postgresPid: number },
): Promise<void> {
  const session = await openExtraction(address)
  const [node, postgres] = [process.cpuUsage(), cpuOfFamily(postgresPid)]
  let texts = 0
  for (;;) {
    const { spans, isDone } = await takeExtraction(session)
    if (isDone) break
    texts += spans
  }
  const { user, system } = process.cpuUsage(node)
  const postgresMicros = (cpuOfFamily(postgresPid) - postgres) * 1e6
  session.close()
  const [size] = await sql<{ bytes: number }[]>`
    select sum(pg_total_relation_size(inhrelid))::float8 as bytes
    from pg_inherits where inhparent = 'text_signatures'::regclass`
  const per = (all: number): string => (all / texts).toFixed(0)
  const row = [`${texts}`, per(user + system), per(postgresMicros), per(size?.bytes ?? Number.NaN)]
  process.stdout.write(`${toTable(['texts', 'Node µs', 'PostgreSQL µs', 'bytes'], [row])}\n\n`)
  await sql`vacuum analyze text_signatures`
}

interface Sample {
  readonly ms: number
  readonly nodeMs: number
  readonly postgresMs: number
  readonly traces: number
}

async function measureReading(collector: CollectorProcess, postgresPid: number): Promise<void> {
  const rows: string[][] = []
  for (const [name, question] of Object.entries(QUESTIONS)) {
    // The first one warms up and is not counted.
    await ask(collector, question)
    const samples: Sample[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const pid = collector.child.pid ?? 0
      const [node, postgres, started] = [cpuOf(pid), cpuOfFamily(postgresPid), performance.now()]
      const { traces } = await ask(collector, question)
      samples.push({
        ms: performance.now() - started,
        nodeMs: (cpuOf(pid) - node) * 1000,
        postgresMs: (cpuOfFamily(postgresPid) - postgres) * 1000,
        traces: traces.length,
      })
    }
    const of = (key: keyof Sample): string => median(samples.map((one) => one[key])).toFixed(0)
    rows.push([name, of('traces'), of('ms'), of('nodeMs'), of('postgresMs')])
  }
  process.stdout.write(`${toTable(['', 'traces', 'ms', 'Node ms', 'PostgreSQL ms'], rows)}\n`)
}

interface Page {
  readonly traces: readonly unknown[]
}

async function ask({ url }: CollectorProcess, question: string): Promise<Page> {
  const headers = { authorization: await bearer() }
  const response = await fetch(`${url}/api/traces?${question}`, { headers })
  if (response.status !== 200) throw new Error(await response.text())
  return (await response.json()) as Page
}
