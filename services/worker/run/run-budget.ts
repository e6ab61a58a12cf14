import type { Booking } from '../../platform/budgets/budget-booking.ts'
import { closeCalls } from '../../platform/budgets/budget-ledger.ts'
import type { BudgetWarning } from '../../platform/budgets/budget-ledger.ts'
import { findExhausted } from '../../platform/budgets/budget-room.ts'
import {
  BUDGET_EXCEEDED,
  describeStop,
  toWarningEvent,
} from '../../platform/budgets/budget-stops.ts'
import type { BudgetStop } from '../../platform/budgets/budget-stops.ts'
import { LEASE_SECONDS } from '../../platform/runs/run-queue.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { KeptEvent } from './call-crew.ts'
import { HANDED_OVER } from './ending.ts'
import type { Ending } from './ending.ts'
import type { JournalEntry } from './journal.ts'
import { followCalls } from './model-calls.ts'
import type { ModelCalls, PricedDeps } from './model-calls.ts'
import { retryStatement } from './retry-statement.ts'
import type { Patience } from './retry-statement.ts'

/** The time for giving back what an attempt still had reserved; a sweep does it later. */
const CLOSE_MS = 2000
/** How often, and how long apart, a run looks whether calls in flight have ended. */
const TRIES_MAX = 10
const RETRY_SECONDS = 5

/** The means of the budgets of runs. */
export interface BudgetDeps extends PricedDeps {
  readonly log: Log
  /** Whether an organization has budgets. @default each may have some */
  readonly isBudgeted?: (organizationId: number) => Promise<boolean>
}

/** The budgets of a run during one attempt. Raises when the database stays unavailable. */
export interface RunBudget {
  /**
   * Gives back what former attempts had reserved. Returns the ending of an attempt that may not
   * begin; `idle` is the number of attempts since a step finished.
   */
  open(idle: number): Promise<Ending | undefined>
  /**
   * Commits events, settles the calls of models that ended, and reserves for those that begin, if
   * it can in the same commit; all in the order of the calls of this, which need not wait for each
   * other.
   * Returns why the crew has to stop, if a call was refused.
   */
  follow(events: readonly KeptEvent[], means: Means): Promise<string | undefined>
  /** Returns the ending of an attempt that may have stopped for a budget. */
  conclude(ending: Ending, idle: number): Ending
  /** Gives back what is still reserved. */
  close(): Promise<void>
}

/** The means by which events are committed before calls are made. */
interface Means {
  readonly commit: (entry: JournalEntry, signal: AbortSignal) => Promise<Booking | undefined>
  readonly signal: AbortSignal
}

interface Committed extends Means {
  readonly patience: Patience
  /** What was booked with the events. */
  readonly booking: Booking | undefined
}

/** Opens the budgets of a run for one attempt. */
export function openRunBudget(deps: BudgetDeps, run: LeasedRun): RunBudget {
  const { sql, log, isBudgeted = async () => true } = deps
  const calls = followCalls(deps, run)
  const isLimited = (): Promise<boolean> => isBudgeted(run.organizationId)
  const bookings = bookInOrder(calls, isLimited)
  return {
    async open(idle) {
      if (!(await isLimited())) return undefined
      if (run.attempt > 1) await closeCalls(sql, run, 'former')
      const stop = await findExhausted(sql, run)
      return stop && endingOf(stop, idle)
    },
    follow: bookings.follow,
    conclude(ending, idle) {
      const stop = calls.stop()
      return stop && ending === HANDED_OVER ? endingOf(stop, idle) : ending
    },
    async close() {
      await bookings.settled()
      if (!calls.hasReserved()) return
      try {
        await retryStatement(() => closeCalls(sql, run, 'own'), { forMs: CLOSE_MS })
      } catch (thrown) {
        log.warn({ err: toError(thrown), kickoff_id: run.id }, 'reservations are given back later')
      }
    },
  }
}

/** Commits events and books their calls, in the order of the calls of `follow`. */
function bookInOrder(calls: ModelCalls, isLimited: () => Promise<boolean>) {
  /** Calls are booked in the order of their events; commits of these overlap. */
  let planned: Promise<unknown> = Promise.resolve()
  let booked: Promise<unknown> = Promise.resolve()
  /** What is booked after a commit may have warnings, which no run that ended takes. */
  let wasLimited = false

  /** Returns the calls to reserve for with the commit; undefined when no budget applies. */
  async function plan(events: readonly KeptEvent[], patience: Patience) {
    const hasCalls = events.some(concernsCalls)
    if (!hasCalls && !events.some(({ type }) => type === 'crew_completed')) return undefined
    const limited = await retryStatement(isLimited, patience)
    wasLimited ||= limited
    if (!hasCalls) return undefined
    const begun = limited ? calls.plan(events) : []
    return begun.length > 0 || calls.hasReserved() ? begun : undefined
  }

  async function book(events: readonly KeptEvent[], { booking, ...means }: Committed) {
    const { commit, signal, patience } = means
    const warnings: BudgetWarning[] = [...(booking?.warnings ?? [])]
    for (const event of events.filter(concernsCalls)) {
      if (calls.isBooked(event, booking)) continue
      const isOpen = event.type !== 'step_finished' && event.type !== 'step_failed'
      if (isOpen && !(await retryStatement(isLimited, patience))) continue
      warnings.push(...(await retryStatement(() => calls.follow(event), patience)))
    }
    const own = warnings.map((each) => ({ type: 'other', event: toWarningEvent(each) }) as const)
    if (own.length > 0) await commit({ events: own }, signal)
    return calls.stop() && 'budget'
  }

  async function follow(events: readonly KeptEvent[], { commit, signal }: Means) {
    const patience = { forMs: LEASE_SECONDS * 1000, signal }
    const planning = planned.then(() => plan(events, patience))
    planned = planning.catch(() => {})
    const entry = { events, calls: await planning, endsRun: !wasLimited }
    const committed = commit(entry, signal)
    const booking = Promise.all([committed, booked]).then(([each]) =>
      book(events, { commit, signal, patience, booking: each }),
    )
    booked = booking
    return booking
  }

  return {
    follow,
    /** Waits for what is being booked. */
    settled: () => booked.catch(() => {}),
  }
}

/** Where only calls in flight leave no room, the run tries again before it waits. */
function endingOf(stop: BudgetStop, idle: number): Ending {
  const { limit, max, spent, asked } = stop
  const isForNow = limit !== 'price' && spent + asked <= (max ?? 0)
  if (!isForNow || idle > TRIES_MAX) return { outcome: 'waiting', budget: stop }
  const failure = { code: BUDGET_EXCEEDED, message: describeStop(stop) }
  return { outcome: 'released', failure, delaySeconds: RETRY_SECONDS }
}

/** Starts and ends of steps, and what crews without a journal tell of their calls. */
const concernsCalls = ({ type }: KeptEvent): boolean =>
  type === 'step_started' ||
  type === 'step_finished' ||
  type === 'step_failed' ||
  type === 'llm_call'
