import { chargeCall, closeCalls, reserveCall, settleCalls } from '../platform/budget-ledger.ts'
import type { BudgetWarning, TokenPrice } from '../platform/budget-ledger.ts'
import { findExhausted } from '../platform/budget-room.ts'
import { BUDGET_EXCEEDED, describeStop, toWarningEvent } from '../platform/budget-stops.ts'
import type { BudgetStop } from '../platform/budget-stops.ts'
import { INPUT_TOKENS_ASSUMED, OUTPUT_TOKENS_ASSUMED } from '../platform/assumed-tokens.ts'
import type { CrewEvent, StepUsage } from '../platform/crew-protocol.ts'
import { LEASE_SECONDS } from '../platform/run-queue.ts'
import type { LeasedRun } from '../platform/run-queue.ts'
import { toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Database } from '../shared/postgres/database.ts'
import { findPrice, perToken } from '../shared/prices/find-price.ts'
import type { Price } from '../shared/prices/price-table.ts'
import type { KeptEvent } from './call-crew.ts'
import { HANDED_OVER } from './ending.ts'
import type { Ending } from './ending.ts'
import { retryStatement } from './retry-statement.ts'

/** The time for giving back what an attempt still had reserved; a sweep does it later. */
const CLOSE_MS = 2000
/** How often, and how long apart, a run looks whether calls in flight have ended. */
const TRIES_MAX = 10
const RETRY_SECONDS = 5

/** The database with the ledgers, and what models cost. */
export interface BudgetDeps {
  readonly sql: Database
  readonly log: Log
  readonly prices: readonly Price[]
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
   * Commits events, settles the calls of models that ended, and reserves for those that begin, in
   * the order of the calls of this, which need not wait for each other.
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
  readonly commit: (events: readonly KeptEvent[], signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
}

type StepStarted = Extract<CrewEvent, { type: 'step_started' }>

/** Opens the budgets of a run for one attempt. */
export function openRunBudget(deps: BudgetDeps, run: LeasedRun): RunBudget {
  const { sql, log, isBudgeted = async () => true } = deps
  const calls = followCalls(deps, run)
  const isLimited = (): Promise<boolean> => isBudgeted(run.organizationId)
  /** Calls are booked in the order of their events; commits of these overlap. */
  let booked: Promise<unknown> = Promise.resolve()

  async function book(events: readonly KeptEvent[], { commit, signal }: Means) {
    const patience = { forMs: LEASE_SECONDS * 1000, signal }
    const warnings: BudgetWarning[] = []
    for (const event of events.filter(concernsCalls)) {
      const isOpen = event.type !== 'step_finished' && event.type !== 'step_failed'
      if (isOpen && !(await retryStatement(isLimited, patience))) continue
      warnings.push(...(await retryStatement(() => calls.follow(event), patience)))
    }
    const own = warnings.map((each) => ({ type: 'other', event: toWarningEvent(each) }) as const)
    if (own.length > 0) await commit(own, signal)
    return calls.stop() && 'budget'
  }

  return {
    async open(idle) {
      if (!(await isLimited())) return undefined
      if (run.attempt > 1) await closeCalls(sql, run, 'former')
      const stop = await findExhausted(sql, run)
      return stop && endingOf(stop, idle)
    },
    async follow(events, means) {
      const committed = means.commit(events, means.signal)
      const booking = Promise.all([booked, committed]).then(() => book(events, means))
      booked = booking
      return booking
    },
    conclude(ending, idle) {
      const stop = calls.stop()
      return stop && ending === HANDED_OVER ? endingOf(stop, idle) : ending
    },
    async close() {
      await booked.catch(() => {})
      if (!calls.hasReserved()) return
      try {
        await retryStatement(() => closeCalls(sql, run, 'own'), { forMs: CLOSE_MS })
      } catch (thrown) {
        log.warn({ err: toError(thrown), kickoff_id: run.id }, 'reservations are given back later')
      }
    },
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

/** Follows the calls of models in one attempt, each of which may be tried again when it failed. */
function followCalls({ sql, prices }: BudgetDeps, run: LeasedRun) {
  const reserved = new Set<string>()
  /** The models of calls that were refused, by their steps. */
  const refused = new Map<string, string>()
  let hasModelSteps = false
  let stop: BudgetStop | undefined

  const priceOf = pricesOf(prices, run.organizationId)

  async function reserve({ step, name: model, estimate }: StepStarted): Promise<void> {
    const { input_tokens: inputTokens, output_tokens: outputTokens } = estimate ?? ASSUMED
    const call = { step, inputTokens, outputTokens, price: priceOf(model) }
    const answer = stop ?? (await reserveCall(sql, run, call))
    if (answer === true) reserved.add(step)
    if (typeof answer === 'boolean') return
    refused.set(step, model)
    stop ??= { ...answer, model }
  }

  const charge = (model: string, usage: Partial<StepUsage>): Promise<BudgetWarning[]> => {
    const { input_tokens: inputTokens = 0, output_tokens: outputTokens = 0 } = usage
    const { cached_input_tokens: cachedInputTokens = 0 } = usage
    const tokens = { inputTokens, outputTokens, cachedInputTokens }
    return chargeCall(sql, run, { ...tokens, price: priceOf(model) })
  }

  /** A crew that does not stop is charged for what it did nevertheless. */
  async function settle(step: string, usage: StepUsage | undefined): Promise<BudgetWarning[]> {
    const model = refused.get(step)
    if (reserved.has(step)) {
      const warnings = await settleCalls(sql, run, [step])
      reserved.delete(step)
      return warnings
    }
    if (model === undefined || !usage) return []
    const warnings = await charge(model, usage)
    refused.delete(step)
    return warnings
  }

  return {
    stop: () => stop,
    hasReserved: () => reserved.size > 0,
    async follow(event: KeptEvent): Promise<BudgetWarning[]> {
      if (event.type === 'step_finished' || event.type === 'step_failed') {
        return settle(event.step, event.usage)
      }
      if (event.type === 'step_started' && event.kind === 'llm') {
        hasModelSteps = true
        await reserve(event)
      }
      // A crew without a journal tells of its calls once they are made.
      if (event.type === 'llm_call' && !hasModelSteps) return charge(event.request_model, event)
      return []
    },
  }
}

/** Returns what tells the price that a model has now; undefined when it has none. */
function pricesOf(prices: readonly Price[], organizationId: number) {
  const organization = String(organizationId)
  return (model: string): TokenPrice | undefined => {
    const found = findPrice(prices, { model, organization, at: new Date() })
    if (!found) return undefined
    const { input, output = 0, cached } = found
    const price = { input: perToken(input), output: perToken(output) }
    return cached === undefined ? price : { ...price, cached: perToken(cached) }
  }
}

/** Starts and ends of steps, and what crews without a journal tell of their calls. */
const concernsCalls = ({ type }: KeptEvent): boolean =>
  type === 'step_started' ||
  type === 'step_finished' ||
  type === 'step_failed' ||
  type === 'llm_call'

const ASSUMED: StepUsage = {
  input_tokens: INPUT_TOKENS_ASSUMED,
  output_tokens: OUTPUT_TOKENS_ASSUMED,
}
