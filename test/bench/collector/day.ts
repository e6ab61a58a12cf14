import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { bearer, PROTOBUF } from '../../services/collector/support/harness.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { cpuOf, cpuOfFamily } from '../support/processes.ts'
import { createRequest } from '../support/requests.ts'
import type { RequestTemplate } from '../support/requests.ts'
import { quantile, toTable } from '../support/statistics.ts'
import { buildCollector } from './checkout.ts'
import { freshBodies } from './fresh-bodies.ts'
import { createConnections, sendLoad } from './load.ts'

const DAY_SECONDS = 86_400
const SPANS_A_REQUEST = 512
/** Of ten requests one has model calls with their texts. */
const MIX = ['llm', ...Array.from({ length: 9 }, () => 'light' as const)] as const
const REPLICAS = 2
const CONNECTIONS = 32
const LAGS = ['collector_roll_up_lag_seconds', 'collector_search_lag_seconds'] as const

/** What one second of the day was like. */
interface Second {
  readonly latenciesMs: readonly number[]
  readonly refusals: number
  /** How long its requests took; more than a second is behind. */
  readonly seconds: number
  readonly lagsSeconds: readonly number[]
}

/** Sends spans at the rate of so many millions a day, and says what a day of that would take. */
export async function simulateDay(millions = '1000', duration = '300'): Promise<void> {
  const [perDay, seconds] = [Number(millions) * 1e6, Number(duration)]
  if (!(perDay > 0 && seconds > 0)) throw new Error('day [MILLIONS OF SPANS] [SECONDS]')
  const directory = mkdtempSync(join(tmpdir(), 'day-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    settings: { shared_buffers: '2GB', max_wal_size: '8GB' },
    password: POSTGRES_PASSWORD,
  })
  const url = new URL(server.url)
  url.pathname = '/bench_day'
  const env = { COLLECTOR_CREATE_DATABASE: 'true' }
  const main = buildCollector(process.cwd(), join(directory, 'this'))
  const replicas: CollectorProcess[] = []
  for (let n = 0; n < REPLICAS; n += 1) {
    replicas.push(await spawnCollector(main, { databaseUrl: url.href, env }))
  }
  const sql = connectDatabase(parseAddress(url.href), { name: 'bench', max: 1 })
  try {
    const measure = async () => ({
      ...(await measureBytes(sql)),
      collectors: replicas.reduce((sum, { child }) => sum + cpuOf(child.pid ?? 0), 0),
      postgres: cpuOfFamily(server.pid),
    })
    const before = await measure()
    const taken = await sendAll(replicas, { perSecond: perDay / DAY_SECONDS, seconds })
    print(perDay, taken, { before, after: await measure() })
  } finally {
    await sql.end()
    await Promise.all(replicas.map((replica) => replica.kill('SIGTERM')))
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Rate {
  readonly perSecond: number
  readonly seconds: number
}

/** Begins a second's requests each second, or as soon as those of the one before are done. */
async function sendAll(
  replicas: readonly CollectorProcess[],
  { perSecond, seconds }: Rate,
): Promise<Second[]> {
  const templates = MIX.map((profile, seed) =>
    createRequest(profile, { spans: SPANS_A_REQUEST, seed, nowMs: Date.now() }),
  )
  const clients = replicas.map(({ url }) => createConnections(url, CONNECTIONS / REPLICAS))
  const token = await bearer()
  const taken: Second[] = []
  let owed = 0
  for (let second = 0; second < seconds; second += 1) {
    const started = performance.now()
    owed += perSecond / SPANS_A_REQUEST
    const bodies = turnOf(templates, Math.floor(owed))
    owed %= 1
    const results = await Promise.all(
      clients.map((connections, n) => {
        const own = bodies.filter((_, at) => at % REPLICAS === n)
        return sendLoad({ connections, token, contentType: PROTOBUF, bodies: own })
      }),
    )
    const lagsSeconds = await readLags(replicas)
    taken.push({
      latenciesMs: results.flatMap(({ latenciesMs }) => latenciesMs),
      refusals: results.reduce((sum, { refusals }) => sum + refusals, 0),
      seconds: Math.max(...results.map((result) => result.seconds)),
      lagsSeconds,
    })
    await delay(Math.max(0, started + 1000 - performance.now()))
  }
  for (const connections of clients) connections.close()
  return taken
}

let turn = 0

/** So many new requests, in which the mix goes on where it was. */
function turnOf(templates: readonly RequestTemplate[], count: number): Buffer[] {
  const chosen = Array.from({ length: count }, () => templates[turn++ % templates.length] ?? null)
  return chosen.flatMap((template) => (template ? freshBodies([template], 1) : []))
}

/** The longest lags that the replicas tell. */
async function readLags(replicas: readonly CollectorProcess[]): Promise<number[]> {
  const texts = await Promise.all(
    replicas.map(async ({ metricsUrl }) => (await fetch(`${metricsUrl}/metrics`)).text()),
  )
  return LAGS.map((name) =>
    Math.max(
      0,
      ...texts.map((text) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)),
    ),
  )
}

async function measureBytes(sql: Database) {
  const [row] = await sql<[{ wal: number; stored: number }]>`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
      pg_database_size(current_database())::float8 as stored`
  return row
}

type Measured = Awaited<ReturnType<typeof measureBytes>> & {
  readonly collectors: number
  readonly postgres: number
}

function print(
  perDay: number,
  taken: readonly Second[],
  { before, after }: { readonly before: Measured; readonly after: Measured },
): void {
  const requests = taken.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, 0)
  const spans = requests * SPANS_A_REQUEST
  const seconds = taken.reduce((sum, one) => sum + Math.max(1, one.seconds), 0)
  const latencies = taken.flatMap(({ latenciesMs }) => latenciesMs)
  const perSpan = (name: keyof Measured): number => (after[name] - before[name]) / spans
  const gigabytes = (name: 'wal' | 'stored'): string =>
    `${((perSpan(name) * perDay) / 1e9).toFixed(0)} GB a day`
  const cores = (name: 'collectors' | 'postgres'): string =>
    ((after[name] - before[name]) / seconds).toFixed(2)
  const longest = (at: number): string =>
    `${Math.max(...taken.map(({ lagsSeconds }) => lagsSeconds[at] ?? 0)).toFixed(1)} s`
  const rows = [
    ['spans a second, of those that were due', `${(spans / seconds).toFixed(0)}`],
    ['seconds that took longer than one', `${taken.filter((one) => one.seconds > 1).length}`],
    ['refused with 503', `${taken.reduce((sum, { refusals }) => sum + refusals, 0)}`],
    ['answer, p50', `${quantile(latencies, 0.5).toFixed(0)} ms`],
    ['answer, p99', `${quantile(latencies, 0.99).toFixed(0)} ms`],
    ['cores of the collectors', cores('collectors')],
    ['cores of PostgreSQL', cores('postgres')],
    ['stored, roll-ups and texts of the search included', gigabytes('stored')],
    ['WAL', gigabytes('wal')],
    ['longest lag of the roll-ups', longest(0)],
    ['longest lag of the search', longest(1)],
  ]
  const due = (perDay / DAY_SECONDS).toFixed(0)
  console.log(toTable([`${perDay / 1e6} million spans a day: ${due} a second`, ''], rows))
}
