import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareSchema } from '../../../services/collector/schema.ts'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { createLog } from '../../../services/shared/log.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { cpuMsOf } from '../support/processes.ts'
import { quantile, toTable } from '../support/statistics.ts'
import { fillRollUps } from './fill.ts'
import { QUERIES } from './queries.ts'

const SIZE = { days: 91, callsADay: 24_000, traces: 1_000_000, crews: 20, texts: 1_000_000 }
const TIMES = 21

/**
 * Lists and totals over roll-ups of the size of a busy installation: the questions whose names have
 * one of these words, or all. Texts are stored only where one of the questions looks for some.
 */
export async function run(...words: string[]): Promise<void> {
  const questions = Object.entries(QUERIES).filter(
    ([name]) => words.length === 0 || words.some((word) => name.includes(word)),
  )
  const texts = questions.some(([name]) => name.includes('text')) ? SIZE.texts : 0
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    settings: { shared_buffers: '256MB' },
    password: POSTGRES_PASSWORD,
  })
  const address = parseAddress(server.url)
  const log = createLog({ name: 'bench', level: 'silent' })
  const sql = connectDatabase(address, {
    name: 'bench',
    max: 1,
    statementTimeoutMs: 600_000,
    plansEachTime: true,
  })
  try {
    await prepareSchema({ address, createDatabase: false, distribute: false, timeoutMs: 0, log })
    await fillRollUps(sql, { ...SIZE, texts })
    await measure(sql, questions)
  } finally {
    await sql.end()
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

type Questions = readonly [string, (sql: Database) => Promise<unknown>][]

async function measure(sql: Database, questions: Questions): Promise<void> {
  const [backend] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const pid = backend?.pid ?? 0
  const rows: string[][] = []
  for (const [name, query] of questions) {
    const times: number[] = []
    const processorTimes: number[] = []
    for (let time = 0; time <= TIMES; time++) {
      const [started, before] = [performance.now(), cpuMsOf(pid)]
      await query(sql)
      if (time === 0) continue
      times.push(performance.now() - started)
      processorTimes.push(cpuMsOf(pid) - before)
    }
    const values = [quantile(times, 0.5), quantile(times, 0.95), quantile(processorTimes, 0.5)]
    rows.push([name, ...values.map((ms) => ms.toFixed(1))])
  }
  const [size] = await sql`
    select pg_total_relation_size('traces') / count(*) as trace,
      pg_total_relation_size('usage_hourly') / (select count(*) from usage_hourly) as usage
    from traces`
  const [texts] = await sql`
    select sum(pg_total_relation_size(inhrelid)) / (select nullif(count(*), 0) from span_texts)
      as bytes
    from pg_inherits where inhparent = 'span_texts'::regclass`
  process.stdout.write(`${toTable(['question', 'p50 ms', 'p95 ms', 'PostgreSQL ms'], rows)}\n`)
  process.stdout.write(`bytes: ${size?.['trace']} a trace, ${size?.['usage']} a row of usage\n`)
  process.stdout.write(`bytes: ${Math.round(Number(texts?.['bytes']))} a text\n`)
}
