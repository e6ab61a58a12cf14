import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { cpuOf, cpuOfFamily } from '../support/processes.ts'
import { median, quantile, toTable } from '../support/statistics.ts'
import { startContenders } from './contenders.ts'
import type { Contender } from './contenders.ts'
import { end, openQueueStage } from './stage.ts'
import type { QueueStage } from './stage.ts'

const WORKERS = ['1', '10', '50']
const BACKLOG = 2000
const ROUNDS = 7
const WARM_UPS = 5
const TRICKLE = 200
/** Of the trickle: so that a machine with two cores is far from its limit. */
const KICKOFFS_A_SECOND = 20
const POLL_MS = 50

/** What a round of a backlog measured. */
interface Round {
  readonly runsPerSecond: number
  /** CPU milliseconds of a run. */
  readonly postgresMs: number
  readonly workerMs: number
  readonly crewMs: number
  /** What a run of two steps leaves in the database, with its indexes. */
  readonly bytes: number
  /** What the contenders did a second, by their names. */
  readonly contenders: Readonly<Record<string, number>>
}

interface Row {
  readonly workers: number
  readonly connections: number
  readonly rounds: readonly Round[]
  /** The time between kickoff and start of runs that find workers without work. */
  readonly startMs: readonly number[]
}

/** Kicks off runs of all automations in turn; `pauseMs` apart, or as fast as it goes. */
async function kickOff({ sql, automations }: QueueStage, count: number, pauseMs = 0) {
  const pending: Promise<unknown>[] = []
  for (let n = 0; n < count; n += 1) {
    const { id: deploymentId } = automations[n % automations.length] ?? { id: 0 }
    pending.push(kickoff(sql, { deploymentId, inputs: { topic: `x ${n}` } }))
    if (pauseMs > 0) await delay(pauseMs)
    else if (pending.length % 20 === 0) await Promise.all(pending.splice(0))
  }
  await Promise.all(pending)
}

/** Waits until no run is left, and throws if one failed. */
async function drain({ sql }: QueueStage): Promise<void> {
  for (;;) {
    const [row] = await sql<[{ live: number; failed: number }]>`
      select count(*) filter (where status in ('queued', 'running'))::int as live,
        count(*) filter (where status = 'failed')::int as failed from executions`
    if (row.failed > 0) throw new Error(`${row.failed} runs failed`)
    if (row.live === 0) return
    await delay(POLL_MS)
  }
}

const signalAll = (workers: readonly ChildProcess[], signal: NodeJS.Signals): void =>
  workers.forEach((worker) => void worker.kill(signal))

const pidOf = ({ pid = 0 }: ChildProcess): number => pid

/** The CPU seconds of PostgreSQL, of the workers and of the crew so far. */
const readCpu = ({ server, crew }: QueueStage, workers: readonly ChildProcess[]) => ({
  postgres: cpuOfFamily(server.pid),
  workers: workers.reduce((sum, worker) => sum + cpuOf(pidOf(worker)), 0),
  crew: cpuOf(pidOf(crew)),
})

/** The bytes of all tables and indexes. */
async function sizeOf({ sql }: QueueStage): Promise<number> {
  const [row] = await sql<[{ bytes: number }]>`
    select pg_database_size(current_database())::float8 as bytes`
  return row.bytes
}

/** Deletes all runs and vacuums what is left of them, so that no round slows the next one. */
async function empty({ sql }: QueueStage): Promise<void> {
  await sql`delete from executions`
  await sql`vacuum (analyze)`
}

/** Lets workers do a backlog, and contenders what they do. */
async function doRound(
  stage: QueueStage,
  workers: readonly ChildProcess[],
  contenders: readonly Contender[],
): Promise<Round> {
  signalAll(workers, 'SIGSTOP')
  await kickOff(stage, BACKLOG)
  const sizeBefore = await sizeOf(stage)
  const before = readCpu(stage, workers)
  const started = performance.now()
  signalAll(workers, 'SIGCONT')
  await drain(stage)
  const seconds = (performance.now() - started) / 1000
  const after = readCpu(stage, workers)
  const bytes = ((await sizeOf(stage)) - sizeBefore) / BACKLOG
  await empty(stage)
  const rates: Record<string, number> = {}
  for (const contender of contenders) rates[contender.name] = await contender.round()
  const perRun = (name: keyof typeof after): number =>
    ((after[name] - before[name]) * 1000) / BACKLOG
  return {
    runsPerSecond: BACKLOG / seconds,
    postgresMs: perRun('postgres'),
    workerMs: perRun('workers'),
    crewMs: perRun('crew'),
    bytes,
    contenders: rates,
  }
}

/** Lets so many workers do backlogs in turns with the contenders, and then a run at a time. */
async function measure(
  stage: QueueStage,
  contenders: readonly Contender[],
  count: number,
): Promise<Row> {
  const { sql } = stage
  const workers = await Promise.all(Array.from({ length: count }, stage.startWorker))
  const [{ connections }] = await sql<[{ connections: number }]>`
    select count(*)::int as connections from pg_stat_activity
    where application_name like 'worker%'`
  const rounds: Round[] = []
  // Workers run for weeks: what the first rounds compile and plan is not counted.
  for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
    const measured = await doRound(stage, workers, contenders)
    if (round >= 0) rounds.push(measured)
  }
  await kickOff(stage, TRICKLE, 1000 / KICKOFFS_A_SECOND)
  await drain(stage)
  const waits = await sql<{ ms: number }[]>`
    select extract(epoch from started_at - queued_at)::float8 * 1000 as ms from executions`
  await empty(stage)
  await Promise.all(workers.map(end))
  const ms = waits.map((wait) => wait.ms)
  return { workers: count, connections, rounds, startMs: [0.5, 0.99].map((at) => quantile(ms, at)) }
}

const HEAD = [
  'workers',
  'runs/s',
  'connections',
  'CPU ms a run: PostgreSQL',
  'workers',
  'crew',
  'bytes a run',
  'start p50 ms',
  'p99 ms',
]

/** Measures what the queue gives to 1, 10 and 50 workers, or so many, beside other queues. */
export async function run(workers: readonly string[]): Promise<void> {
  const stage = await openQueueStage()
  const contenders = await startContenders(stage.server.url)
  const names = contenders.map(({ name }) => name)
  const head = [...HEAD, ...names.flatMap((name) => [`${name}/s`, `x ${name}`])]
  const rows: string[][] = []
  try {
    for (const count of workers.length > 0 ? workers : WORKERS) {
      rows.push(describe(await measure(stage, contenders, Number(count)), names))
      console.log(toTable(head, rows))
    }
  } finally {
    for (const contender of contenders) await contender.stop()
    await stage.close()
  }
}

function describe({ workers, connections, rounds, startMs }: Row, names: readonly string[]) {
  const middle = (of: (round: Round) => number): number => median(rounds.map(of))
  const ms = [
    (round: Round) => round.postgresMs,
    (round: Round) => round.workerMs,
    (round: Round) => round.crewMs,
  ]
  const others = names.flatMap((name) => {
    const rateOf = ({ contenders }: Round): number => contenders[name] ?? Number.NaN
    const ratio = middle((round) => round.runsPerSecond / rateOf(round))
    return [middle(rateOf).toFixed(0), ratio.toFixed(2)]
  })
  return [
    String(workers),
    middle(({ runsPerSecond }) => runsPerSecond).toFixed(0),
    String(connections),
    ...ms.map((of) => middle(of).toFixed(1)),
    middle(({ bytes }) => bytes).toFixed(0),
    ...startMs.map((each) => each.toFixed(0)),
    ...others,
  ]
}
