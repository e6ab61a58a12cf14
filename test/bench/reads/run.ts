import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
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
import { fill, SPANS, TRACE_ID } from './fill.ts'

const ROUNDS = 9

interface Stage {
  readonly sql: Database
  readonly postgresPid: number
  readonly collector: CollectorProcess
}

interface Sample {
  readonly ms: number
  readonly nodeMs: number
  readonly postgresMs: number
  readonly bytes: number
}

/** The columns of all spans, by the server into nothing: the least that a skeleton takes. */
const FLOOR = `
  copy (
    select span_id, parent_span_id, start_time, start_ns, name, kind, operation_kind, duration_ns,
      status, error_type, llm_call, response_model, agent, task, tool, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd
    from live_spans where trace_id = '${TRACE_ID}'
  ) to '/dev/null'`

/** Measures reads of one trace with 50,000 spans and 1 GB, in turns with the least they need. */
export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    settings: { ...SERVER_SETTINGS, fsync: 'off' },
    password: POSTGRES_PASSWORD,
  })
  const address = parseAddress(server.url)
  const sql = connectDatabase(address, { name: 'bench', max: 1, statementTimeoutMs: 300_000 })
  try {
    await buildPrograms(directory)
    const collector = await spawnCollector(join(directory, 'collector/main.js'), {
      databaseUrl: server.url,
      env: { RETENTION_WEEKS: '13' },
    })
    await fill(sql)
    await measure({ sql, postgresPid: server.pid, collector })
    await collector.kill('SIGTERM')
  } finally {
    await sql.end()
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measure(stage: Stage): Promise<void> {
  const contenders: Readonly<Record<string, () => Promise<number>>> = {
    'columns into nothing (the least)': async () => (await stage.sql.unsafe(FLOOR)).count,
    skeleton: () => get(stage, `/api/traces/${TRACE_ID}?view=skeleton`),
    'one span of 40 KB': () => get(stage, `/api/traces/${TRACE_ID}/spans/${spanOf(2n)}`),
    'a page of a search': () => get(stage, `/api/traces/${TRACE_ID}/search?q=nowhere`),
  }
  const samples = new Map<string, Sample[]>()
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, contender] of Object.entries(contenders)) {
      const sample = await time(stage, contender)
      if (round > 0) samples.set(name, [...(samples.get(name) ?? []), sample])
    }
  }
  print(samples)
  process.stdout.write(`\n${SPANS} spans; the collector held ${peakMiB(stage)} MiB at the most.\n`)
}

const spanOf = (n: bigint): string => (n * 7919123456789n).toString(16).padStart(16, '0')

async function get({ collector }: Stage, path: string): Promise<number> {
  const response = await fetch(collector.url + path, {
    headers: { authorization: await bearer() },
  })
  if (response.status !== 200) throw new Error(await response.text())
  return (await response.arrayBuffer()).byteLength
}

async function time(stage: Stage, contender: () => Promise<number>): Promise<Sample> {
  const { collector, postgresPid } = stage
  const pid = collector.child.pid ?? 0
  const [node, postgres, started] = [cpuOf(pid), cpuOfFamily(postgresPid), performance.now()]
  const bytes = await contender()
  return {
    ms: performance.now() - started,
    nodeMs: (cpuOf(pid) - node) * 1000,
    postgresMs: (cpuOfFamily(postgresPid) - postgres) * 1000,
    bytes,
  }
}

function print(samples: ReadonlyMap<string, readonly Sample[]>): void {
  const [least = []] = samples.values()
  const rows = [...samples].map(([name, taken]) => {
    const of = (key: keyof Sample): string => median(taken.map((one) => one[key])).toFixed(0)
    const ratio = median(taken.map(({ ms }, round) => ms / (least[round]?.ms ?? Number.NaN)))
    return [name, of('ms'), ratio.toFixed(2), of('nodeMs'), of('postgresMs'), of('bytes')]
  })
  const head = ['', 'ms', 'x the least', 'Node ms', 'PostgreSQL ms', 'bytes']
  process.stdout.write(`${toTable(head, rows)}\n`)
}

/** NaN where there is no `/proc`. */
function peakMiB({ collector }: Stage): number {
  const status = readFileSync(`/proc/${collector.child.pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
}
