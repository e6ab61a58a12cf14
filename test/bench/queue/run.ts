import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { cpuOf, cpuOfFamily } from '../support/processes.ts'
import { quantile, toTable } from '../support/statistics.ts'
import { end, openQueueStage } from './stage.ts'
import type { QueueStage } from './stage.ts'

const WORKERS = [1, 10, 50]
const BACKLOG = 2000
const TRICKLE = 200
/** Of the trickle: so that a machine with two cores is far from its limit. */
const KICKOFFS_A_SECOND = 20
const POLL_MS = 50

interface Row {
  readonly workers: number
  readonly runsPerSecond: number
  readonly connections: number
  /** CPU milliseconds of a run. */
  readonly postgresMs: number
  readonly workerMs: number
  readonly crewMs: number
  /** What a run of two steps leaves in the database, with its indexes. */
  readonly bytes: number
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

/** Lets so many workers do a backlog, and then runs that come one after the other. */
async function measure(stage: QueueStage, count: number): Promise<Row> {
  const { sql } = stage
  const workers = await Promise.all(Array.from({ length: count }, stage.startWorker))
  const [{ connections }] = await sql<[{ connections: number }]>`
    select count(*)::int as connections from pg_stat_activity
    where application_name like 'worker%'`
  await kickOff(stage, 100)
  await drain(stage)
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
  await sql`delete from executions`
  await kickOff(stage, TRICKLE, 1000 / KICKOFFS_A_SECOND)
  await drain(stage)
  const waits = await sql<{ ms: number }[]>`
    select extract(epoch from started_at - queued_at)::float8 * 1000 as ms from executions`
  await sql`delete from executions`
  await Promise.all(workers.map(end))
  const perRun = (name: keyof typeof after): number =>
    ((after[name] - before[name]) * 1000) / BACKLOG
  return {
    workers: count,
    runsPerSecond: BACKLOG / seconds,
    connections,
    postgresMs: perRun('postgres'),
    workerMs: perRun('workers'),
    crewMs: perRun('crew'),
    bytes,
    startMs: [0.5, 0.99].map((share) =>
      quantile(
        waits.map(({ ms }) => ms),
        share,
      ),
    ),
  }
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

/** Measures what the queue gives to 1, 10 and 50 workers. */
export async function run(): Promise<void> {
  const stage = await openQueueStage()
  const rows: Row[] = []
  try {
    for (const count of WORKERS) rows.push(await measure(stage, count))
  } finally {
    await stage.close()
  }
  const cells = rows.map((row) => [
    String(row.workers),
    row.runsPerSecond.toFixed(0),
    String(row.connections),
    ...[row.postgresMs, row.workerMs, row.crewMs].map((ms) => ms.toFixed(1)),
    row.bytes.toFixed(0),
    ...row.startMs.map((ms) => ms.toFixed(0)),
  ])
  console.log(toTable(HEAD, cells))
}
