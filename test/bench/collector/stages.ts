import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { LEADER_LOCK } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { EXTRACT_LOCK } from '../../../services/collector/store/search/extract-texts.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { bearer, PROTOBUF } from '../../services/collector/support/harness.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { until } from '../../support/until.ts'
import { runMsOfFamily, runMsOfThreads } from '../support/processes.ts'
import { createRequest } from '../support/requests.ts'
import type { RequestTemplate } from '../support/requests.ts'
import { median, toTable } from '../support/statistics.ts'
import { buildCollector } from './checkout.ts'
import { COMPARED_LOADS, createRound } from './compared-loads.ts'
import { createConnections, sendLoad } from './load.ts'
import type { Connections } from './load.ts'
import { SERVER_SETTINGS } from './server-settings.ts'

const ROUNDS = 3
const STAGES = ['ingest', 'roll-ups', 'search'] as const
type Stage = (typeof STAGES)[number]

/** What a stage takes and leaves behind. */
interface Cost {
  readonly nodeMs: number
  readonly postgresMs: number
  readonly walBytes: number
  readonly storedBytes: number
}

/** The requests of a round, in the order in which they are sent. */
interface Load {
  readonly bodies: readonly Buffer[]
  readonly spans: number
  readonly connections: number
  /** The time between two requests; absent where they are sent as fast as they are answered. */
  readonly paceMs?: number
}

const TRICKLE = { traces: 60, requests: 5, spans: 4, paceMs: 30, open: 10 }

const LOADS: Readonly<Record<string, () => Load>> = {
  llm: () => burst('llm'),
  light: () => burst('light'),
  'few-spans': () => burst('few-spans'),
  trickle: () => trickle(),
}

function burst(name: string): Load {
  const load = COMPARED_LOADS[name]
  if (!load) throw new Error(`there is no load ${name}`)
  const { bodies, spans } = createRound(load)
  return { bodies: bodies.flat(), spans, connections: load.connections }
}

let nextTrace = 0

/** Traces that grow side by side: the spans of each arrive in several requests. */
function trickle(): Load {
  const { traces, requests, spans, paceMs, open } = TRICKLE
  const templates = Array.from({ length: requests }, (_, seed) =>
    createRequest('llm', { spans, seed, nowMs: Date.now() }),
  )
  const bodies: { at: number; body: Buffer }[] = []
  for (let trace = 0; trace < traces; trace += 1) {
    const id = Buffer.alloc(16, 1)
    id.writeUInt32LE((nextTrace += 1))
    for (const [nr, template] of templates.entries()) {
      bodies.push({ at: trace + nr * open, body: ofTrace(template, id) })
    }
  }
  const inTurn = bodies.toSorted((one, other) => one.at - other.at).map(({ body }) => body)
  return { bodies: inTurn, spans: inTurn.length * spans, connections: 1, paceMs }
}

function ofTrace({ body, traceIds }: RequestTemplate, id: Buffer): Buffer {
  const copy = Buffer.from(body)
  for (const at of traceIds) id.copy(copy, at)
  return copy
}

/** A collector with a database of its own. */
interface Contender {
  readonly sql: Database
  readonly collector: CollectorProcess
  readonly postgresPid: number
  readonly clients: Map<number, Connections>
}

/**
 * Measures what each stage behind a span costs: the commit before its 200, the roll-ups and the
 * search. One after the other, while locks hold the others back, so that each has its own processor
 * time. With another checkout both take the same loads in turns.
 */
export async function measureStages(...words: string[]): Promise<void> {
  const names = words.filter((word) => Object.hasOwn(LOADS, word))
  const others = words.filter((word) => !names.includes(word))
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    settings: SERVER_SETTINGS,
    password: POSTGRES_PASSWORD,
  })
  const opened = new Map<string, Contender>()
  try {
    for (const checkout of [...others, process.cwd()]) {
      const main = buildCollector(checkout, join(directory, `${opened.size}`))
      const url = new URL(server.url)
      url.pathname = `/bench_${opened.size}`
      const label = checkout === process.cwd() ? 'this' : checkout
      opened.set(label, await openContender(main, url.href, server.pid))
    }
    for (const name of names.length > 0 ? names : Object.keys(LOADS)) await measure(name, opened)
  } finally {
    for (const { sql, collector, clients } of opened.values()) {
      for (const connections of clients.values()) connections.close()
      await sql.end()
      await collector.kill('SIGTERM')
    }
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function openContender(main: string, url: string, postgresPid: number): Promise<Contender> {
  const env = { COLLECTOR_CREATE_DATABASE: 'true', COLLECTOR_WRITERS: '2' }
  const collector = await spawnCollector(main, { databaseUrl: url, env })
  const sql = connectDatabase(parseAddress(url), { name: 'bench', max: 1 })
  return { sql, collector, postgresPid, clients: new Map() }
}

type Costs = Record<Stage, Cost>

async function measure(name: string, opened: ReadonlyMap<string, Contender>): Promise<void> {
  const rounds = new Map<string, { costs: Costs; load: Load }[]>()
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const turns = round % 2 === 0 ? [...opened] : [...opened].toReversed()
    for (const [label, contender] of turns) {
      const load = LOADS[name]?.() ?? burst(name)
      const costs = await runOnce(contender, load)
      if (round > 0) rounds.set(label, [...(rounds.get(label) ?? []), { costs, load }])
    }
    process.stderr.write(`${name} ${round}/${ROUNDS}\n`)
  }
  for (const [label, list] of rounds) print(`${name}, ${label}`, list)
}

async function runOnce(contender: Contender, load: Load): Promise<Costs> {
  const { sql } = contender
  await hold(sql, LEADER_LOCK)
  await hold(sql, EXTRACT_LOCK)
  await sql`truncate spans, touched_traces, traces, traces_daily, trace_days, usage_hourly,
    days_to_roll_up, text_signatures, traces_to_extract, trace_changes`
  await sql`checkpoint`
  const ingest = await costOf(contender, 'spans', () => send(contender, load))
  const rolledUp = await costOf(contender, 'traces', () => rollUp(sql))
  const rollUps = load.paceMs === undefined ? rolledUp : await costBeside(contender, load, ingest)
  const search = await costOf(contender, 'text_signatures', async () => {
    await release(sql, EXTRACT_LOCK)
    await until(async () => (await sql`select from traces_to_extract limit 1`).length === 0)
  })
  await release(sql, LEADER_LOCK)
  return { ingest, 'roll-ups': rollUps, search }
}

async function rollUp(sql: Database): Promise<void> {
  await release(sql, LEADER_LOCK)
  await until(async () => (await sql`select from touched_traces limit 1`).length === 0)
  await hold(sql, LEADER_LOCK)
}

/** Spans that trickle in are rolled up a few at a time: what that takes beside their ingest. */
async function costBeside(contender: Contender, load: Load, ingest: Cost): Promise<Cost> {
  const { sql } = contender
  const both = await costOf(contender, 'traces', async () => {
    await release(sql, LEADER_LOCK)
    await send(contender, { ...load, bodies: trickle().bodies })
    await hold(sql, LEADER_LOCK)
    await rollUp(sql)
  })
  return {
    nodeMs: both.nodeMs - ingest.nodeMs,
    postgresMs: both.postgresMs - ingest.postgresMs,
    walBytes: both.walBytes - ingest.walBytes,
    storedBytes: both.storedBytes,
  }
}

const hold = (sql: Database, lock: number) => sql`select pg_advisory_lock(${lock})`
const release = (sql: Database, lock: number) => sql`select pg_advisory_unlock(${lock})`

async function costOf(
  { sql, collector, postgresPid }: Contender,
  table: string,
  work: () => Promise<void>,
): Promise<Cost> {
  const look = async () => {
    const [row] = await sql<{ wal: number; stored: number }[]>`
      select (pg_current_wal_insert_lsn() - '0/0')::float8 as wal,
        pg_total_relation_size(${table}::text::regclass)::float8 + coalesce((
          select sum(pg_total_relation_size(inhrelid)) from pg_inherits
          where inhparent = ${table}::text::regclass
        ), 0)::float8 as stored`
    return {
      wal: row?.wal ?? 0,
      stored: row?.stored ?? 0,
      node: runMsOfThreads(collector.child.pid ?? 0),
      postgres: runMsOfFamily(postgresPid),
    }
  }
  const before = await look()
  await work()
  const after = await look()
  return {
    nodeMs: after.node - before.node,
    postgresMs: after.postgres - before.postgres,
    walBytes: after.wal - before.wal,
    storedBytes: after.stored - before.stored,
  }
}

async function send({ collector, clients }: Contender, load: Load): Promise<void> {
  const token = await bearer()
  const known = clients.get(load.connections)
  const connections = known ?? createConnections(collector.url, load.connections)
  clients.set(load.connections, connections)
  const request = { connections, token, contentType: PROTOBUF }
  if (load.paceMs === undefined) return void (await sendLoad({ ...request, bodies: load.bodies }))
  try {
    for (const body of load.bodies) {
      const next = delay(load.paceMs)
      await sendLoad({ ...request, bodies: [body] })
      await next
    }
  } finally {
    // The server ends connections that nothing comes over.
    connections.close()
    clients.delete(load.connections)
  }
}

const HEAD = ['node µs', 'postgres µs', 'both', 'of ingest', 'wal B', 'stored B', 'of sent']

function print(title: string, rounds: readonly { costs: Costs; load: Load }[]): void {
  const per = (stage: Stage, valueOf: (cost: Cost) => number): number =>
    median(rounds.map(({ costs, load }) => valueOf(costs[stage]) / load.spans))
  const sent = median(
    rounds.map(({ load }) => load.bodies.reduce((sum, { length }) => sum + length, 0) / load.spans),
  )
  const both = (stage: Stage): number => per(stage, (one) => (one.nodeMs + one.postgresMs) * 1000)
  const rows = STAGES.map((stage) => {
    const stored = per(stage, ({ storedBytes }) => storedBytes)
    return [
      stage,
      per(stage, ({ nodeMs }) => nodeMs * 1000).toFixed(2),
      per(stage, ({ postgresMs }) => postgresMs * 1000).toFixed(2),
      both(stage).toFixed(2),
      (both(stage) / both('ingest')).toFixed(2),
      per(stage, ({ walBytes }) => walBytes).toFixed(0),
      stored.toFixed(0),
      (stored / sent).toFixed(2),
    ]
  })
  const head = [`${title}: a span of ${sent.toFixed(0)} B`, ...HEAD]
  process.stdout.write(`\n${toTable(head, rows)}\n`)
}
