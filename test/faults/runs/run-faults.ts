import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { LOST_ATTEMPTS_MAX } from '../../../services/platform/runs/run-queue.ts'
import { findRun, kickoff } from '../../../services/platform/runs/runs.ts'
import type { Run } from '../../../services/platform/runs/runs.ts'
import { retryStatement } from '../../../services/worker/run/retry-statement.ts'
import { createRandom } from '../../bench/support/requests.ts'
import {
  abandonStage,
  closeStage,
  ITEMS,
  killCrew,
  killPostgres,
  killWorker,
  openStage,
  PATIENCE,
  pauseCrew,
  pausePostgres,
  pauseWorker,
  readBudget,
  rollCrew,
  rollWorker,
  stopWorker,
  takeLease,
  TASKS,
} from './stage.ts'
import type { BudgetLedger, Stage } from './stage.ts'
import { noteCutCalls, readCutCalls } from './cut-calls.ts'
import type { CutCalls } from './cut-calls.ts'

interface RunFaultOptions {
  /** Kills and rollouts of worker, crew and PostgreSQL. */
  readonly kills: number
  readonly seed: number
  /** The directory of the bundles. @default some that are built first */
  readonly programs?: string
  /** After so many kills something stops for longer than a lease, and continues. @default never */
  readonly pauseAfter?: number
  /** Between two kills the model answers a random number up to this. @default 40 */
  readonly callsBetween?: number
  /** Runs that go on at a time. @default 20 */
  readonly runs?: number
  readonly onProgress?: (progress: { kills: number; runs: number; calls: number }) => void
}

export interface RunFaultReport {
  readonly seed: number
  readonly faults: Readonly<Record<string, number>>
  readonly runs: number
  /** The model calls of all runs, had nothing happened. */
  readonly steps: number
  readonly calls: number
  /** How many attempts ended without a hand-over, by how they lost their lease. */
  readonly attemptsCut: CutCalls['attempts']
  /** The calls that this cut off: started, and not finished. */
  readonly inFlight: number
  /** Steps that were called for more often than they were cut off, and once. */
  readonly paidTwice: readonly string[]
  /** Runs without the output of the undisturbed one. */
  readonly wrong: readonly string[]
  /** The ledger of the automation's budget has to say what was used, exactly. */
  readonly budget: BudgetLedger
  readonly exitCodes: readonly (number | null)[]
  readonly isRight: boolean
}

type Fault = (stage: Stage) => Promise<unknown>

const FAULTS: Readonly<Record<string, Fault>> = {
  'worker SIGKILL': killWorker,
  'crew SIGKILL': killCrew,
  'postgres SIGKILL': killPostgres,
  'worker rollout': rollWorker,
  'crew rollout': rollCrew,
  'lease lost': takeLease,
  'worker SIGSTOP': stopWorker,
}
/** By turns. */
const PAUSES: readonly (readonly [name: string, pause: Fault])[] = [
  ['worker stops for 35 s', pauseWorker],
  ['crew stops for 35 s', pauseCrew],
  ['postgres stops for 35 s', pausePostgres],
]
const TOPICS = 5
/** Of the model. */
const LATENCY_MS = 60
const PROGRESS_MS = 120_000

/** The kickoff ids, by the number that the prompts of a run name. */
interface Ledger {
  readonly ids: string[]
}

/** Kills worker, crew and PostgreSQL while runs go on, and then counts the calls of each step. */
export async function faultRuns(options: RunFaultOptions): Promise<RunFaultReport> {
  const random = createRandom(options.seed)
  const stage = await openStage(() => random() * LATENCY_MS, { bundles: options.programs })
  try {
    await noteCutCalls(stage.sql)
    const ledger: Ledger = { ids: [] }
    // Nothing happens to the first ones.
    while (ledger.ids.length < TOPICS) await startRun(stage, ledger)
    await untilLive(stage, 0)
    const faults = await causeFaults(stage, ledger, { ...options, random })
    await untilLive(stage, 0)
    const cut = await readCutCalls(stage.sql)
    const counts = { ...count(stage.model, ledger, cut), wrong: await findWrong(stage, ledger) }
    const budget = await readBudget(stage)
    const exitCodes = await closeStage(stage)
    const { paidTwice, wrong } = counts
    const isExact = budget.spent === budget.used && budget.reserved === 0
    const isRight = paidTwice.length === 0 && wrong.length === 0 && isExact
    return { seed: options.seed, faults, ...counts, budget, exitCodes, isRight }
  } catch (error) {
    abandonStage(stage)
    throw error
  }
}

async function startRun({ sql, automation }: Stage, { ids }: Ledger): Promise<void> {
  const number = ids.length
  const inputs = { topic: `topic ${number % TOPICS}`, number: String(number), items: ITEMS }
  const request = { deploymentId: automation.id, inputs, idempotencyKey: `run ${number}` }
  ids.push(await retryStatement(() => kickoff(sql, request), PATIENCE))
}

interface Causing extends RunFaultOptions {
  readonly random: () => number
}

async function causeFaults(
  stage: Stage,
  ledger: Ledger,
  { kills, random, callsBetween = 40, runs = 20, pauseAfter = Infinity, onProgress }: Causing,
): Promise<Record<string, number>> {
  const names = Object.keys(FAULTS)
  const counts: Record<string, number> = {}
  const keepBusy = async (): Promise<void> => {
    const live = await countLive(stage)
    for (let more = live; more < runs; more += 1) await startRun(stage, ledger)
  }
  const cause = async (name: string, fault: Fault | undefined): Promise<void> => {
    const goal = stage.model.answered() + Math.floor(random() * callsBetween)
    await until(async () => {
      await keepBusy()
      return stage.model.answered() >= goal && (await isHittable(stage))
    })
    await fault?.(stage)
    counts[name] = (counts[name] ?? 0) + 1
  }
  for (let done = 1; done <= kills; done += 1) {
    const name = names[Math.floor(random() * names.length)] ?? ''
    await cause(name, FAULTS[name])
    const [pauseName, pause] = PAUSES[(done / pauseAfter - 1) % PAUSES.length] ?? []
    if (pauseName !== undefined) await cause(pauseName, pause)
    onProgress?.({ kills: done, runs: ledger.ids.length, calls: stage.model.answered() })
  }
  return counts
}

/** A run that is killed three times without getting on is given up, as it should be. */
export async function isHittable({ sql }: Stage): Promise<boolean> {
  const [row] = await retryStatement(
    () => sql<[{ lost: number }]>`
      select coalesce(max(lost_attempts), 0) as lost from executions
      where status in ('queued', 'running')`,
    PATIENCE,
  )
  return row.lost < LOST_ATTEMPTS_MAX - 1
}

async function countLive({ sql }: Stage): Promise<number> {
  const [row] = await retryStatement(
    () => sql<[{ live: number }]>`
      select count(*)::int as live from executions where status in ('queued', 'running')`,
    PATIENCE,
  )
  return row.live
}

const untilLive = (stage: Stage, runs: number): Promise<void> =>
  until(async () => (await countLive(stage)) <= runs)

/** Waits for runs to get on; that they do is half of what is tested. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  const started = performance.now()
  while (!(await isSo())) {
    if (performance.now() - started > PROGRESS_MS) {
      throw new Error(`the runs did not get on for ${PROGRESS_MS / 1000} s`)
    }
    await delay(20)
  }
}

function count({ calls }: Stage['model'], { ids }: Ledger, { calls: cut, attempts }: CutCalls) {
  const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0)
  const paidTwice = [...calls]
    .filter(([call, times]) => times > 1 + (cut.get(call) ?? 0))
    .map(([call, times]) => `${call}: ${times} calls, ${cut.get(call) ?? 0} cut off`)
  return {
    runs: ids.length,
    steps: ids.length * (TASKS.length - 1 + ITEMS.length),
    calls: sum(calls.values()),
    attemptsCut: attempts,
    inFlight: sum(cut.values()),
    paidTwice,
  }
}

/** Compares each run with the undisturbed one of its topic. */
async function findWrong(stage: Stage, { ids }: Ledger): Promise<string[]> {
  const runs = await Promise.all(ids.map((id) => findRun(stage.sql, stage.automation.id, id)))
  const facts = (run: Run | undefined) => ({
    status: run?.status,
    output: run?.output,
    usage: run?.usage,
    error: run?.error,
  })
  return runs.flatMap((run, number) => {
    const isSame = isDeepStrictEqual(facts(run), facts(runs[number % TOPICS]))
    return isSame && run?.status === 'completed' ? [] : [JSON.stringify({ number, ...facts(run) })]
  })
}
