import type { PendingQuery, Row } from 'postgres'
import {
  hasDueAlerts,
  hasDueTraceAlerts,
  lookAtAlerts,
  lookAtTraceAlerts,
} from '../platform/alerts/look-at-alerts.ts'
import { hasDueBatches, queueBatches } from '../platform/batches/queue-batches.ts'
import { hasDueReservations, releaseEnded } from '../platform/batches/reserve-batch.ts'
import { closeAbandonedCalls, hasAbandonedCalls } from '../platform/budgets/budget-ledger.ts'
import {
  deleteRemovedAutomation,
  hasRemovedAutomations,
} from '../platform/crews/automation-life.ts'
import { hasDueScoreRules, lineUpScores } from '../platform/evaluations/run-scores.ts'
import { hasEndedCalls, settleCalledRuns } from '../platform/runs/called-runs.ts'
import { appendLeaves, hasNewLeaves } from '../platform/receipts/append-leaves.ts'
import { hasUnsignedLeaves, signHead } from '../platform/receipts/sign-heads.ts'
import { hasDueReleases, watchReleases } from '../platform/projects/watch-releases.ts'
import { createQueueRoom } from '../platform/runs/queue-room.ts'
import { expireApprovals, hasExpiredApprovals } from '../platform/runs/run-approvals.ts'
import { hasSweptContents, sweepContents } from '../platform/runs/run-contents.ts'
import { giveUpLostRuns, hasLostRuns } from '../platform/runs/run-queue.ts'
import { forgetKickoffKeys, hasExpiredKeys } from '../platform/runs/runs.ts'
import { hasDueSchedules, runDueSchedules } from '../platform/schedules/run-schedules.ts'
import type { CollectorPlace } from '../shared/collector-call.ts'
import { deadline } from '../shared/deadline.ts'
import { toError } from '../shared/errors.ts'
import { keepTurning } from '../shared/keep-turning.ts'
import type { Log } from '../shared/log.ts'
import type { Database, Queryable } from '../shared/postgres/database.ts'
import type { Price } from '../shared/prices/price-table.ts'
import { askMeasures } from './ask-measures.ts'
import type { Tracing } from './run/run-trace.ts'

/** Within half a second after each full ten seconds: schedules are due at full minutes. */
const EVERY_MS = 10_000
const LATE_MS = 500
const TURN_MS = 30_000

/** Something that is done by the clock, whichever worker comes first. */
interface Chore {
  /** What is done, for the log: `looking at alerts`. */
  readonly name: string
  /** The condition, in SQL, under which there is something to do. */
  readonly isDue: (sql: Queryable) => PendingQuery<Row[]>
  /** Does a part of it, and returns how much. */
  readonly turn: () => Promise<number>
}

/** Work that has a loop of its own, which is told when something is due that it did not hear of. */
export interface Lane {
  readonly name: string
  readonly isDue: Chore['isDue']
  readonly wake: () => void
}

interface ChoreDeps {
  readonly sql: Database
  readonly log: Log
  readonly tracing: Pick<Tracing, 'giveUp'>
  readonly prices: readonly Price[]
  readonly lanes: readonly Lane[]
  /** Undefined: no trace is looked at. */
  readonly collector: CollectorPlace | undefined
  readonly config: {
    readonly QUEUED_RUNS_MAX: number
    readonly SECRET_KEY_BASE: string
    readonly SECRET_KEY_BASE_PREVIOUS?: string | undefined
  }
}

/** Lists what any worker does by the clock. */
export function listChores(deps: ChoreDeps): readonly Chore[] {
  const { sql, log, tracing, config, prices, lanes, collector } = deps
  const queue = createQueueRoom({ queuedRuns: config.QUEUED_RUNS_MAX })
  const chore = (name: string, isDue: Chore['isDue'], turn: Chore['turn']) => ({
    name,
    isDue,
    turn,
  })
  return [
    chore('looking for schedules', hasDueSchedules, () => runDueSchedules(sql, { queue })),
    chore('putting batches into the queue', hasDueBatches, () => queueBatches(sql, queue)),
    chore('releasing what batches reserved', hasDueReservations, () => releaseEnded(sql)),
    chore('looking at alerts', hasDueAlerts, () => lookAtAlerts(sql, { prices })),
    ...(collector
      ? [
          chore('looking at alerts over traces', hasDueTraceAlerts, () =>
            lookAtTraceAlerts(sql, { measure: askMeasures(collector) }),
          ),
        ]
      : []),
    chore('lining up runs to score', hasDueScoreRules, () => lineUpScores(sql)),
    chore('comparing versions', hasDueReleases, () => watchReleases(sql, prices)),
    chore('deciding what waited too long', hasExpiredApprovals, () => expireApprovals(sql)),
    chore('resuming runs that waited for others', hasEndedCalls, () => settleCalledRuns(sql)),
    chore('deleting automations', hasRemovedAutomations, () => deleteRemovedAutomation(sql)),
    chore('deleting what deleted runs asked', hasSweptContents, () => sweepContents(sql)),
    chore('forgetting keys of kickoffs', hasExpiredKeys, () => forgetKickoffKeys(sql)),
    chore('appending to receipts', hasNewLeaves, () => appendLeaves(sql, prices)),
    chore('signing the head of receipts', hasUnsignedLeaves, () => signAndLog(deps)),
    chore('closing abandoned calls', hasAbandonedCalls, async () => {
      await closeAbandonedCalls(sql)
      return 0
    }),
    chore('giving lost runs up', hasLostRuns, async () => {
      const lost = await giveUpLostRuns(sql)
      for (const run of lost) tracing.giveUp(run)
      if (lost.length > 0) {
        log.error({ runs: lost.length }, 'runs were given up: their workers were lost')
      }
      return lost.length
    }),
    ...lanes.map((lane) =>
      chore(`waking ${lane.name}`, lane.isDue, async () => {
        lane.wake()
        return 0
      }),
    ),
  ]
}

/** Whoever keeps the log can later show which heads were signed. */
async function signAndLog({ sql, log, config }: ChoreDeps): Promise<number> {
  const { SECRET_KEY_BASE: current, SECRET_KEY_BASE_PREVIOUS: previous } = config
  const signed = await signHead(sql, { current, previous })
  if (!signed) return 0
  const { isUnsigned, ...head } = signed
  if (isUnsigned) log.warn('the key that signed receipts cannot be opened: a new one signs')
  log.info({ receipt_head: head }, 'the head of the receipts was signed')
  return 1
}

/** Does what is due, every ten seconds. One statement asks for all of it. */
export function startChores(sql: Database, chores: readonly Chore[], log: Log) {
  async function act({ name, turn }: Chore): Promise<number> {
    try {
      return await deadline({ name, timeoutMs: TURN_MS }, turn)
    } catch (thrown) {
      log.warn({ reason: toError(thrown).message }, `${name} failed; trying again`)
      return 0
    }
  }
  return keepTurning({
    name: 'looking for what is due',
    async turn() {
      const done = await Promise.all((await listDue(sql, chores)).map(act))
      return done.reduce((sum, each) => sum + each, 0)
    },
    everyMs: () => EVERY_MS - (Date.now() % EVERY_MS) + LATE_MS * Math.random(),
    log,
  })
}

async function listDue(sql: Database, chores: readonly Chore[]): Promise<readonly Chore[]> {
  const conditions = chores
    .map(({ isDue }) => isDue(sql))
    .reduce((all, each) => sql`${all}, ${each}`)
  const [{ due }] = await sql<[{ due: boolean[] }]>`select json_build_array(${conditions}) as due`
  return chores.filter((_, index) => due[index])
}
