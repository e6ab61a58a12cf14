import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { markOnline } from '../../../services/platform/automations.ts'
import { kickoff } from '../../../services/platform/runs.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { closeStage, openStage, TASKS } from '../../faults/runs/stage.ts'
import type { Stage } from '../../faults/runs/stage.ts'
import { createRandom } from '../support/requests.ts'

const RUNS = 50
const ROUNDS = 5
/** Of the model, on average: a short answer of a fast one. */
const LATENCY_MS = 1000
const POLL_MS = 50

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

/** The ms between the answer of one step and the question of the next, by the former's length. */
interface Gaps {
  readonly short: number[]
  readonly long: number[]
}

const noGaps = (): Gaps => ({ short: [], long: [] })

/** Does 50 runs at a time, and measures their gaps. */
async function doRuns({ sql, automation, model }: Stage, name: string, gaps: Gaps): Promise<void> {
  const numbers = Array.from({ length: RUNS }, (_, index) => `${name}-${index}`)
  for (const number of numbers) {
    await kickoff(sql, { deploymentId: automation.id, inputs: { topic: 'x', number } })
  }
  for (;;) {
    const [row] = await sql<[{ live: number }]>`
      select count(*)::int as live from executions where status in ('queued', 'running')`
    if (row.live === 0) break
    await delay(POLL_MS)
  }
  for (const number of numbers) {
    TASKS.slice(1).forEach((task, index) => {
      const former = TASKS[index]
      const before = model.times.get(`${number}/${former}`)
      const after = model.times.get(`${number}/${task}`)
      const gap = (after?.askedAt ?? Number.NaN) - (before?.answeredAt ?? Number.NaN)
      gaps[former === 'long' ? 'long' : 'short'].push(gap)
    })
  }
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

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN
}

const SHARES = [0.5, 0.9, 0.99]

function print(name: string, values: readonly number[]): void {
  console.log(`${name.padEnd(40)}${values.map((ms) => ms.toFixed(1).padStart(8)).join('')}`)
}

function printGaps(name: keyof Gaps, { plain, journal }: { plain: Gaps; journal: Gaps }): void {
  const [without, withJournal] = [plain, journal].map((gaps) =>
    SHARES.map((share) => quantile(gaps[name], share)),
  )
  print(`after a ${name} answer, without a journal`, without ?? [])
  print(`after a ${name} answer, with a journal`, withJournal ?? [])
  print('  added', withJournal?.map((ms, at) => ms - (without?.[at] ?? Number.NaN)) ?? [])
}

/** Compares the time between two steps with a journal and without one, in turns. */
export async function run(): Promise<void> {
  const random = createRandom(1)
  const latencyMs = (): number => LATENCY_MS * (0.5 + random())
  const stage = await openStage(latencyMs)
  const { sql, automation } = stage
  const own = connectDatabase(parseAddress(stage.server.url), { name: 'bench', max: 1 })
  await own`create table committed (at timestamptz not null)`
  const [crew] = await sql<
    [{ url: string }]
  >`select url from deployments where id = ${automation.id}`
  const plain = await hideAbilities(crew.url)
  const gaps = { plain: noGaps(), journal: noGaps() }
  const commits: number[] = []
  // The first round warms everything up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, { url }] of [
      ['plain', plain],
      ['journal', crew],
    ] as const) {
      await markOnline(sql, automation.id, url)
      await doRuns(stage, `${name}-${round}`, round > 0 ? gaps[name] : noGaps())
    }
    await markOnline(sql, automation.id, plain.url)
    const over = new AbortController()
    const committing = commitRows(own, latencyMs, over.signal)
    await doRuns(stage, `commits-${round}`, noGaps())
    over.abort()
    const taken = await committing
    if (round > 0) commits.push(...taken)
  }
  await own.end({ timeout: 5 })
  plain.server.closeAllConnections()
  plain.server.close()
  await closeStage(stage)
  console.log(`${`ms, ${RUNS} runs at a time`.padEnd(40)}     p50     p90     p99`)
  printGaps('short', gaps)
  printGaps('long', gaps)
  print(
    'one row and its commit, beside the same',
    SHARES.map((share) => quantile(commits, share)),
  )
}
