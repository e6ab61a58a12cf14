import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { SHARE_OF_LIMIT } from '../../../services/collector/server/admission.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { bearer, PROTOBUF } from '../../services/collector/support/harness.ts'
import { buildPrograms } from '../../support/build.ts'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'
import { countChildren, cpuOf, cpuOfFamily } from '../support/processes.ts'
import { limitProcess } from '../support/pod-limits.ts'
import { createRequest } from '../support/requests.ts'
import type { Profile } from '../support/requests.ts'
import { createOwnCopy, createPsqlCopy, hasPsql, toCopyData } from './copy-limit.ts'
import type { CopyAll } from './copy-limit.ts'
import { openSessions, sendGrpcLoad } from './grpc-load.ts'
import { freshBodies } from './fresh-bodies.ts'
import { ingestAlone } from './ingest-alone.ts'
import { createConnections, sendLoad } from './load.ts'
import type { Connections } from './load.ts'
import { printResults } from './report.ts'
import type { Sample } from './report.ts'
import { SERVER_SETTINGS } from './server-settings.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'

const ROUNDS = 7
const CONNECTIONS = 32
const WRITERS = 2
const SPANS_A_REQUEST = 512
// Enough that the start and the end of a round, where one side waits for the other, do not weigh.
const REQUESTS: Readonly<Record<Profile, number>> = { llm: 240, light: 1200 }
/** Requests for the slow receiver: a share of the others' is enough. */
const INSERT_SHARE = 12
/** Different requests; the rest are copies with other ids. */
const TEMPLATES = 24

/** One way of taking the requests. Returns the seconds it took, or everything measured about it. */
type Contender = () => Promise<Omit<Sample, 'walBytes' | 'tableBytes' | 'postgresSeconds'>>

interface Stage {
  readonly sql: Database
  readonly postgresPid: number
  readonly copyAll: CopyAll
  readonly collector: CollectorProcess
  /** The same, with payment cards, keys and addresses redacted. */
  readonly redacting: CollectorProcess
  /**
   * The same as in a pod with the chart's defaults; absent where a process cannot be held to them.
   */
  readonly inPod: CollectorProcess | undefined
  readonly insert: Receiver
  readonly drop: Receiver
  /** To the collector, for gRPC. */
  readonly sessions: readonly ClientHttp2Session[]
  /** By the address that they lead to. */
  readonly connections: Map<string, Connections>
}

interface Receiver {
  readonly url: string
  readonly pid: number
  readonly child: ChildProcess
}

/** The defaults of the chart (SPEC 2.6), what Node makes of them, and what the collector does. */
const POD = { cores: 0.5, memoryBytes: 512 << 20 }
const POD_NODE_OPTIONS = ['--max-old-space-size=256', '--max-semi-space-size=2']
const POD_MEMORY = { COLLECTOR_MEMORY_BYTES: String(POD.memoryBytes * SHARE_OF_LIMIT) }

export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const port = await freePort()
  const data = join(directory, 'data')
  const server = await startEmbeddedPostgres({
    directory: data,
    port,
    settings: SERVER_SETTINGS,
    password: POSTGRES_PASSWORD,
  })
  await buildPrograms(directory)
  const main = join(directory, 'collector/main.js')
  const env = { COLLECTOR_WRITERS: String(WRITERS) }
  const collector = await spawnCollector(main, { databaseUrl: server.url, env })
  const redacting = await spawnCollector(main, {
    databaseUrl: server.url,
    env: { ...env, COLLECTOR_REDACT: 'cards,keys,emails' },
  })
  const limited = await spawnCollector(main, {
    databaseUrl: server.url,
    env: { ...env, ...POD_MEMORY },
    nodeOptions: POD_NODE_OPTIONS,
  })
  const releaseLimits = limitProcess(limited.child.pid ?? 0, POD)
  const sql = connectDatabase(parseAddress(server.url), { name: 'bench', max: 1 })
  const [insert, drop] = await Promise.all([
    startReceiver('insert', server.url),
    startReceiver('drop', server.url),
  ])
  const stage: Stage = {
    sql,
    postgresPid: server.pid,
    copyAll: hasPsql() ? createPsqlCopy(server.url, directory) : createOwnCopy(server.url),
    collector,
    redacting,
    inPod: releaseLimits ? limited : undefined,
    insert,
    drop,
    sessions: openSessions(collector.grpcUrl, CONNECTIONS),
    connections: new Map(),
  }
  try {
    for (const profile of ['llm', 'light'] as const) await measure(profile, stage)
  } finally {
    for (const open of stage.connections.values()) open.close()
    for (const session of stage.sessions) session.close()
    insert.child.kill()
    drop.child.kill()
    await sql.end()
    await Promise.all([collector, redacting, limited].map((one) => one.kill('SIGTERM')))
    releaseLimits?.()
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function startReceiver(kind: 'insert' | 'drop', url: string): Promise<Receiver> {
  const file = new URL('./receivers.ts', import.meta.url)
  const child = fork(file, [kind, url, String(WRITERS)], { execArgv: ['--import', 'tsx'] })
  const [address] = (await once(child, 'message')) as [string]
  return { url: address, pid: child.pid ?? 0, child }
}

async function measure(profile: Profile, stage: Stage): Promise<void> {
  const samples = new Map<string, Sample[]>()
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, contender] of Object.entries(contendersOf(profile, stage))) {
      const sample = await runOnce(stage, contender)
      if (round > 0) samples.set(name, [...(samples.get(name) ?? []), sample])
    }
    process.stderr.write(`${profile} ${round}/${ROUNDS}\n`)
  }
  printResults({ profile, samples })
}

/** What a contender leaves to be rolled up must not slow the next one. */
async function empty(sql: Database): Promise<void> {
  await ingestAlone(
    sql,
    () => sql`truncate spans, touched_traces, traces, traces_daily, trace_days, usage_hourly,
      days_to_roll_up, text_signatures, traces_to_extract`,
  )
  await sql`checkpoint`
}

async function runOnce(stage: Stage, contender: Contender): Promise<Sample> {
  const { sql, postgresPid } = stage
  await empty(sql)
  const cpu = cpuOfFamily(postgresPid)
  const [before] = await sql`select pg_current_wal_insert_lsn() as lsn`
  const outcome = await contender()
  const [wal] = await sql`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), ${before?.['lsn']})::float8 as bytes`
  const postgresSeconds = cpuOfFamily(postgresPid) - cpu
  const [table] = await sql`
    select sum(pg_total_relation_size(relid))::float8 as bytes from pg_partition_tree('spans')`
  const [walBytes, tableBytes] = [Number(wal?.['bytes']), Number(table?.['bytes'])]
  return { ...outcome, postgresSeconds, walBytes, tableBytes }
}

const addressOf = ({ url, child }: CollectorProcess) => ({ url, pid: child.pid ?? 0 })

function contendersOf(profile: Profile, stage: Stage): Record<string, Contender> {
  const requests = REQUESTS[profile]
  const nowMs = Date.now()
  const templates = Array.from({ length: TEMPLATES }, (_, seed) =>
    createRequest(profile, { spans: SPANS_A_REQUEST, seed, nowMs }),
  )
  const bodies = (): Buffer[] => freshBodies(templates, requests)
  const { inPod } = stage
  return {
    collector: () => sendTo(stage, addressOf(stage.collector), bodies()),
    'collector, ingest alone': () =>
      ingestAlone(stage.sql, () => sendTo(stage, addressOf(stage.collector), bodies())),
    'collector, gRPC': () => sendOverGrpc(stage, bodies()),
    'collector, redacting': () => sendTo(stage, addressOf(stage.redacting), bodies()),
    'copy, as many connections': () => copyTo(stage, bodies(), WRITERS),
    'copy, one connection': () => copyTo(stage, bodies(), 1),
    'protobufjs and insert': () =>
      sendTo(stage, stage.insert, bodies().slice(0, Math.ceil(requests / INSERT_SHARE))),
    'read and drop': () => sendTo(stage, stage.drop, bodies()),
    ...(inPod && {
      'collector, 500m and 512 MiB': () =>
        sendTo(stage, addressOf(inPod), bodies().slice(0, requests / 2)),
    }),
  }
}

async function sendTo(
  stage: Stage,
  { url, pid }: { url: string; pid: number },
  bodies: readonly Buffer[],
): ReturnType<Contender> {
  const cpu = cpuOf(pid)
  const token = await bearer()
  const connections = stage.connections.get(url) ?? createConnections(url, CONNECTIONS)
  stage.connections.set(url, connections)
  const result = await sendLoad({ connections, token, contentType: PROTOBUF, bodies })
  const nodeSeconds = cpuOf(pid) - cpu
  return { ...result, spans: bodies.length * SPANS_A_REQUEST, nodeSeconds }
}

async function sendOverGrpc(
  { collector, sessions }: Stage,
  bodies: readonly Buffer[],
): ReturnType<Contender> {
  const { pid } = addressOf(collector)
  const cpu = cpuOf(pid)
  const result = await sendGrpcLoad({ sessions, token: await bearer(), bodies })
  const nodeSeconds = cpuOf(pid) - cpu
  return { ...result, spans: bodies.length * SPANS_A_REQUEST, nodeSeconds }
}

async function copyTo(
  { copyAll, postgresPid }: Stage,
  bodies: readonly Buffer[],
  connections: number,
): ReturnType<Contender> {
  const data = toCopyData(bodies)
  const sessions = countChildren(postgresPid)
  const seconds = await copyAll(data, connections)
  // PostgreSQL knows what a session has used only once it has noticed its end.
  await until(async () => countChildren(postgresPid) <= sessions)
  const spans = bodies.length * SPANS_A_REQUEST
  return { spans, seconds, latenciesMs: [], refusals: 0, nodeSeconds: Number.NaN }
}
