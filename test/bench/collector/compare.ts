import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { bearer, JSON_TYPE, PROTOBUF } from '../../services/collector/support/harness.ts'
import { requestOf, toJson } from '../../services/collector/support/otlp.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { cpuOf, cpuOfFamily } from '../support/processes.ts'
import { createRequest, createSpans } from '../support/requests.ts'
import type { Profile } from '../support/requests.ts'
import { median, quantile, toTable } from '../support/statistics.ts'
import { freshBodies } from './fresh-bodies.ts'
import { createConnections, sendLoad } from './load.ts'
import type { Connections } from './load.ts'
import { SERVER_SETTINGS } from './server-settings.ts'

const ROUNDS = 9
const CONNECTIONS = 32
const TEMPLATES = 24

interface Load {
  readonly profile: Profile
  readonly spans: number
  readonly requests: number
  /** In JSON; otherwise in protobuf. */
  readonly isJson?: boolean
}

const LOADS: Readonly<Record<string, Load>> = {
  'llm, 512 spans a request': { profile: 'llm', spans: 512, requests: 60 },
  'light, 512 spans a request': { profile: 'light', spans: 512, requests: 300 },
  'light, 1 span a request': { profile: 'light', spans: 1, requests: 6000 },
  'llm, 100 spans a request': { profile: 'llm', spans: 100, requests: 100 },
  'llm, 100 spans a request in JSON': { profile: 'llm', spans: 100, requests: 100, isJson: true },
  'light, 100 spans a request': { profile: 'light', spans: 100, requests: 400 },
  'light, 100 spans a request in JSON': {
    profile: 'light',
    spans: 100,
    requests: 400,
    isJson: true,
  },
}

interface Contender {
  readonly name: string
  readonly collector: CollectorProcess
  readonly sql: Database
  readonly connections: Connections
}

interface Sample {
  readonly spansPerSecond: number
  readonly p99Ms: number
  /** CPU microseconds for each span. */
  readonly nodeMicros: number
  readonly postgresMicros: number
}

/**
 * Measures the collector of this checkout against that of another one, in turns, on one server. The
 * ratios are the medians of the ratios of each round, so that what slows both does not count.
 */
export async function compare(other: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    settings: SERVER_SETTINGS,
    password: POSTGRES_PASSWORD,
  })
  const opened: Contender[] = []
  try {
    for (const [name, checkout] of Object.entries({ other, this: process.cwd() })) {
      const main = buildCollector(checkout, join(directory, name))
      opened.push(await open(name, main, server.url))
    }
    for (const [title, load] of Object.entries(LOADS)) await measure(title, load, opened)
  } finally {
    for (const { collector, connections, sql } of opened) {
      connections.close()
      await sql.end()
      await collector.kill('SIGTERM')
    }
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }

  async function measure(title: string, load: Load, contenders: Contender[]): Promise<void> {
    const rounds: Map<string, Sample>[] = []
    // The first round warms up and is not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      const samples = new Map<string, Sample>()
      const turns = round % 2 === 0 ? contenders : contenders.toReversed()
      for (const one of turns) samples.set(one.name, await runOnce(one, load, server.pid))
      if (round > 0) rounds.push(samples)
      process.stderr.write(`${title} ${round}/${ROUNDS}\n`)
    }
    print(title, rounds)
  }
}

/** Bundles the collector of a checkout with the tools of this one; returns its program. */
function buildCollector(checkout: string, directory: string): string {
  const require =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
  const main = join(directory, 'main.js')
  execFileSync('node_modules/.bin/esbuild', [
    join(checkout, 'services/collector/main.ts'),
    '--bundle',
    '--platform=node',
    '--target=node20',
    '--format=esm',
    `--banner:js=${require}`,
    `--outfile=${main}`,
    '--log-level=warning',
  ])
  const migrations = join(checkout, 'services/collector/migrations')
  cpSync(migrations, join(directory, 'migrations'), { recursive: true })
  return main
}

async function open(name: string, main: string, serverUrl: string): Promise<Contender> {
  const url = new URL(serverUrl)
  url.pathname = `/bench_${name}`
  const env = { COLLECTOR_CREATE_DATABASE: 'true', COLLECTOR_WRITERS: '2' }
  const collector = await spawnCollector(main, { databaseUrl: url.href, env })
  return {
    name,
    collector,
    sql: connectDatabase(parseAddress(url.href), { name: 'bench', max: 1 }),
    connections: createConnections(collector.url, CONNECTIONS),
  }
}

async function runOnce(
  { collector, sql, connections }: Contender,
  load: Load,
  postgresPid: number,
): Promise<Sample> {
  await sql`truncate spans`
  await sql`checkpoint`
  const bodies = bodiesOf(load)
  const pid = collector.child.pid ?? 0
  const [node, postgres] = [cpuOf(pid), cpuOfFamily(postgresPid)]
  const token = await bearer()
  const contentType = load.isJson ? JSON_TYPE : PROTOBUF
  const sent = await sendLoad({ connections, token, contentType, bodies })
  const total = load.spans * load.requests
  return {
    spansPerSecond: total / sent.seconds,
    p99Ms: quantile(sent.latenciesMs, 0.99),
    nodeMicros: ((cpuOf(pid) - node) / total) * 1e6,
    postgresMicros: ((cpuOfFamily(postgresPid) - postgres) / total) * 1e6,
  }
}

let seed = TEMPLATES

function bodiesOf({ profile, spans, requests, isJson }: Load): Buffer[] {
  const nowMs = Date.now()
  if (isJson) {
    return Array.from({ length: requests }, () =>
      toJson(requestOf(...createSpans(profile, { spans, seed: ++seed, nowMs }))),
    )
  }
  const templates = Array.from({ length: TEMPLATES }, (_, one) =>
    createRequest(profile, { spans, seed: one, nowMs }),
  )
  return freshBodies(templates, requests)
}

const FIGURES = {
  'spans/s': ({ spansPerSecond }: Sample) => spansPerSecond,
  'p99 ms': ({ p99Ms }: Sample) => p99Ms,
  'node µs/span': ({ nodeMicros }: Sample) => nodeMicros,
  'postgres µs/span': ({ postgresMicros }: Sample) => postgresMicros,
}

function print(title: string, rounds: readonly Map<string, Sample>[]): void {
  const rows = Object.entries(FIGURES).map(([figure, valueOf]) => {
    const values = (name: string): number[] =>
      rounds.flatMap((round) => [round.get(name)].flatMap((one) => (one ? [valueOf(one)] : [])))
    const [others, own] = [values('other'), values('this')]
    const ratio = median(own.map((value, i) => value / (others[i] ?? Number.NaN)))
    return [figure, short(median(others)), short(median(own)), `${ratio.toFixed(2)} x`]
  })
  const head = [title, 'other checkout', 'this checkout', 'ratio']
  process.stdout.write(`\n${toTable(head, rows)}\n`)
}

const short = (value: number): string => value.toFixed(value < 1000 ? 2 : 0)
