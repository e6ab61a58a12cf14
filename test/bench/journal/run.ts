import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { markOnline } from '../../../services/platform/automations/automations.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { closeStage, openStage } from '../../faults/runs/stage.ts'
import { createRandom } from '../support/requests.ts'
import { quantile, toTable } from '../support/statistics.ts'
import { CREWS, doRuns, limit, nothingMeasured, perform, RUNS } from './loads.ts'
import type { Measured } from './loads.ts'

const ROUNDS = 5
/** Of the model, on average: a short answer of a fast one. */
const LATENCY_MS = 1000

/** Passes everything on to a crew but the question what it can do: so it keeps no journal. */
async function hideAbilities(url: string): Promise<{ url: string; server: Server }> {
  const server = createServer((incoming, outgoing) => {
    if (incoming.url === '/describe') return void outgoing.writeHead(404).end()
    const { method, headers } = incoming
    const onward = httpRequest(`${url}${incoming.url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** Commits one row as often as the runs end a step, and measures that, until the signal aborts. */
async function commitRows(sql: Database, pauseMs: () => number, signal: AbortSignal) {
  const taken: number[] = []
  async function commitNow(): Promise<void> {
    while (!signal.aborted) {
      await delay(pauseMs())
      const started = performance.now()
      await sql`insert into committed (at) values (now())`
      taken.push(performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: RUNS }, commitNow))
  return taken
}

/** What the runs of a load are performed with. */
interface Load {
  readonly crew: keyof typeof CREWS
  readonly isJournaled: boolean
  readonly isLimited?: boolean
  /** Rows are committed beside them. */
  readonly besideRows?: boolean
}

const LOADS: Readonly<Record<string, Load>> = {
  plain: { crew: 'short', isJournaled: false },
  journal: { crew: 'short', isJournaled: true },
  budget: { crew: 'short', isJournaled: true, isLimited: true },
  row: { crew: 'short', isJournaled: false, besideRows: true },
  'long-plain': { crew: 'long', isJournaled: false },
  'long-journal': { crew: 'long', isJournaled: true },
}

function chooseLoads(names: readonly string[]): [string, Load][] {
  const known = Object.keys(LOADS).join(', ')
  const unknown = names.find((name) => !Object.hasOwn(LOADS, name))
  if (unknown !== undefined) throw new Error(`There is no load ${unknown}. Loads: ${known}.`)
  return Object.entries(LOADS).filter(([name]) => names.length === 0 || names.includes(name))
}

type Results = ReadonlyMap<string, Measured>

/** Compares the time between two steps with a journal and without one, in turns. */
export async function run(parent?: string, ...names: string[]): Promise<void> {
  const loads = chooseLoads(names)
  const random = createRandom(1)
  const latencyMs = (): number => LATENCY_MS * (0.5 + random())
  const stage = await openStage(latencyMs, { parent })
  const own = connectDatabase(parseAddress(stage.server.url), { name: 'bench', max: 1 })
  await own`create table committed (at timestamptz not null)`
  const plain = await hideAbilities(stage.address.target())
  const results: Results = new Map(loads.map(([name]) => [name, nothingMeasured()]))
  // The first round warms everything up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, load] of loads) {
      const into = (round > 0 && results.get(name)) || nothingMeasured()
      const { isJournaled } = load
      const crew = CREWS[load.crew]
      await perform(stage, crew)
      await limit(stage, load.isLimited === true)
      const url = isJournaled ? stage.address.target() : plain.url
      await markOnline(stage.sql, stage.automation.id, url)
      const over = new AbortController()
      const committing = load.besideRows ? commitRows(own, latencyMs, over.signal) : undefined
      const ofRuns = committing ? nothingMeasured() : into
      await doRuns(stage, { name: `${name}-${round}`, crew, into: ofRuns })
      over.abort()
      into.gaps.push(...((await committing) ?? []))
    }
  }
  await own.end({ timeout: 5 })
  plain.server.closeAllConnections()
  plain.server.close()
  await closeStage(stage)
  console.log(describe(results))
}

function describe(results: Results): string {
  const head = ['ms', 'p50', 'p90', 'p99', 'PostgreSQL', 'worker', 'flushes']
  const rows = [...results].map(([name, { gaps, steps, postgresMs, workerMs, flushes }]) => [
    name,
    ...[0.5, 0.9, 0.99].map((share) => quantile(gaps, share).toFixed(1)),
    ...[postgresMs, workerMs, flushes].map((sum) => (steps ? (sum / steps).toFixed(2) : '')),
  ])
  return toTable(head, rows)
}
