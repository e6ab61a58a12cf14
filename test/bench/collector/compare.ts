import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { bearer, PROTOBUF } from '../../services/collector/support/harness.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { until } from '../../support/until.ts'
import { countChildren, cpuOf, cpuOfFamily } from '../support/processes.ts'
import { quantile } from '../support/statistics.ts'
import { COMPARED_LOADS, createRound } from './compared-loads.ts'
import type { ComparedLoad, Round } from './compared-loads.ts'
import { buildCollector } from './checkout.ts'
import { printComparison } from './comparison-report.ts'
import type { Compared } from './comparison-report.ts'
import { createOwnCopy, createPsqlCopy, hasPsql, toCopyData } from './copy-limit.ts'
import { ingestAlone } from './ingest-alone.ts'
import { createConnections, sendLoad } from './load.ts'
import type { Connections } from './load.ts'
import { SERVER_SETTINGS } from './server-settings.ts'

const ROUNDS = 5
const REPLICAS = 2
/** Enough that the start of psql does not weigh. */
const COPIED_SPANS = 60_000

/** Takes one round of a load. */
type Contender = (load: ComparedLoad) => Promise<Compared>

interface Opened {
  readonly contender: Contender
  /** The same without roll-ups, of a collector. */
  readonly alone?: Contender
  readonly close: () => Promise<void>
}

/**
 * Measures the collector of this checkout against that of another one, against one connection of
 * psql, and against HTTP with nothing behind it, in turns, on one machine. The ratios are the
 * medians of the ratios of each round, so that what slows all does not count. Names some of the
 * loads, or none for all.
 */
export async function compare(other: string, ...names: string[]): Promise<void> {
  const chosen = Object.entries(COMPARED_LOADS).filter(
    ([name]) => names.length === 0 || names.includes(name),
  )
  if (chosen.length < names.length) throw new Error(`Loads: ${Object.keys(COMPARED_LOADS).join()}`)
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    settings: SERVER_SETTINGS,
    password: POSTGRES_PASSWORD,
  })
  const opened = new Map<string, Opened>()
  const addressOf = (name: string): Address => {
    const url = new URL(server.url)
    url.pathname = `/bench_${name}`
    return { url: url.href, postgresPid: server.pid, directory }
  }
  try {
    for (const [name, checkout] of Object.entries({ other, this: process.cwd() })) {
      const main = buildCollector(checkout, join(directory, name))
      opened.set(name, await openCollector(main, addressOf(name)))
    }
    opened.set('http', await openHttp())
    opened.set('copy', openCopy(addressOf('this')))
    for (const [name, load] of chosen) await measure(name, load, opened)
  } finally {
    for (const { close } of opened.values()) await close()
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measure(
  name: string,
  load: ComparedLoad,
  opened: ReadonlyMap<string, Opened>,
): Promise<void> {
  const rounds: Map<string, Compared>[] = []
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const turns = round % 2 === 0 ? [...opened] : [...opened].toReversed()
    const samples = new Map<string, Compared>()
    for (const [one, { contender, alone }] of turns) {
      samples.set(one, await contender(load))
      if (one === 'this' && alone) samples.set('alone', await alone(load))
    }
    if (round > 0) rounds.push(samples)
    process.stderr.write(`${name} ${round}/${ROUNDS}\n`)
  }
  printComparison(name, rounds)
}

/** A database, the server that it is on, and a directory for files. */
interface Address {
  readonly url: string
  readonly postgresPid: number
  readonly directory: string
}

async function openCollector(main: string, { url, postgresPid }: Address): Promise<Opened> {
  const env = { COLLECTOR_CREATE_DATABASE: 'true', COLLECTOR_WRITERS: '2' }
  const replicas: CollectorProcess[] = []
  for (let i = 0; i < REPLICAS; i++) {
    replicas.push(await spawnCollector(main, { databaseUrl: url, env }))
  }
  const sql = connectDatabase(parseAddress(url), { name: 'bench', max: 1 })
  const clients = createClients()
  const cpu = (): number => replicas.reduce((sum, { child }) => sum + cpuOf(child.pid ?? 0), 0)
  const send = async (load: ComparedLoad, { bodies, spans }: Round): Promise<Compared> => {
    const token = await bearer()
    const [node, postgres] = [cpu(), cpuOfFamily(postgresPid)]
    const results = await Promise.all(
      bodies.map((some, i) => {
        const connections = clients.to(replicas[i]?.url ?? '', load.connections / bodies.length)
        return sendLoad({ connections, token, contentType: PROTOBUF, bodies: some })
      }),
    )
    const nodeMicros = ((cpu() - node) / load.requests) * 1e6
    const postgresMicros = ((cpuOfFamily(postgresPid) - postgres) / spans) * 1e6
    const latenciesMs = results.flatMap((result) => result.latenciesMs)
    return {
      spansPerSecond: spans / Math.max(...results.map(({ seconds }) => seconds)),
      p50Ms: quantile(latenciesMs, 0.5),
      p99Ms: quantile(latenciesMs, 0.99),
      nodeMicros,
      postgresMicros,
      rolledUpMicros: Number.NaN,
    }
  }
  const contender: Contender = async (load) => {
    const round = createRound(load)
    await empty(sql)
    const postgres = cpuOfFamily(postgresPid)
    const sent = await send(load, round)
    await rolledUp(sql)
    const seconds = cpuOfFamily(postgresPid) - postgres
    return { ...sent, rolledUpMicros: (seconds / round.spans) * 1e6 }
  }
  const alone: Contender = async (load) => {
    const round = createRound(load)
    await empty(sql)
    const sent = await ingestAlone(sql, () => send(load, round))
    await rolledUp(sql)
    return sent
  }
  const close = async (): Promise<void> => {
    clients.close()
    await sql.end()
    await Promise.all(replicas.map((replica) => replica.kill('SIGTERM')))
  }
  return { contender, alone, close }
}

/** Connections by address and number, kept from round to round. */
function createClients() {
  const known = new Map<string, Connections>()
  return {
    to(url: string, count: number): Connections {
      const key = `${url} ${count}`
      const connections = known.get(key) ?? createConnections(url, count)
      known.set(key, connections)
      return connections
    },
    close(): void {
      for (const connections of known.values()) connections.close()
    },
  }
}

/** Requests that are read and answered, each once, and nothing else. */
async function openHttp(): Promise<Opened> {
  const file = new URL('./http-limit.ts', import.meta.url)
  const child = fork(file, { execArgv: ['--import', 'tsx'] })
  const [url] = (await once(child, 'message')) as [string]
  const clients = createClients()
  const contender: Contender = async (load) => {
    const { bodies, spans } = createRound({ ...load, resent: undefined })
    const token = await bearer()
    const connections = clients.to(url, load.connections)
    const node = cpuOf(child.pid ?? 0)
    const request = { connections, token, contentType: PROTOBUF, bodies: bodies.flat() }
    const { seconds, latenciesMs } = await sendLoad(request)
    return {
      spansPerSecond: spans / seconds,
      p50Ms: quantile(latenciesMs, 0.5),
      p99Ms: quantile(latenciesMs, 0.99),
      nodeMicros: ((cpuOf(child.pid ?? 0) - node) / load.requests) * 1e6,
      postgresMicros: Number.NaN,
      rolledUpMicros: Number.NaN,
    }
  }
  const close = async (): Promise<void> => {
    clients.close()
    child.kill()
  }
  return { contender, close }
}

/** One connection of psql, into the tables of this checkout. */
function openCopy({ url, postgresPid, directory }: Address): Opened {
  const sql = connectDatabase(parseAddress(url), { name: 'bench', max: 1 })
  const copyAll = hasPsql() ? createPsqlCopy(url, directory) : createOwnCopy(url)
  const contender: Contender = async (load) => {
    const mean = (load.spans[0] + load.spans[1]) / 2
    const requests = Math.max(load.requests, Math.ceil(COPIED_SPANS / mean))
    const { bodies, spans } = createRound({ ...load, requests, resent: undefined })
    const data = toCopyData(bodies.flat())
    await empty(sql)
    const before = cpuOfFamily(postgresPid)
    const sessions = countChildren(postgresPid)
    const seconds = await copyAll(data, 1)
    // PostgreSQL knows what a session has used only once it has noticed its end.
    await until(async () => countChildren(postgresPid) <= sessions)
    return {
      spansPerSecond: spans / seconds,
      p50Ms: Number.NaN,
      p99Ms: Number.NaN,
      nodeMicros: Number.NaN,
      postgresMicros: ((cpuOfFamily(postgresPid) - before) / spans) * 1e6,
      rolledUpMicros: Number.NaN,
    }
  }
  return { contender, close: () => sql.end() }
}

/**
 * What a contender leaves behind must not slow the next one. The texts of model calls would take
 * longer than all rounds, so what is left of them is forgotten.
 */
async function rolledUp(sql: Database): Promise<void> {
  await until(async () => (await sql`select from touched_traces limit 1`).length === 0)
  await sql`truncate traces_to_extract`
}

async function empty(sql: Database): Promise<void> {
  await sql`truncate spans`
  await sql`checkpoint`
}
