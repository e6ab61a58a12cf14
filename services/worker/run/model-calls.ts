import {
  INPUT_TOKENS_ASSUMED,
  OUTPUT_TOKENS_ASSUMED,
} from '../../platform/budgets/assumed-tokens.ts'
import type { Booking } from '../../platform/budgets/budget-booking.ts'
import { chargeCall, reserveCall, settleCalls } from '../../platform/budgets/budget-ledger.ts'
import type {
  BudgetWarning,
  PlainTokenPrice,
  PlannedCall,
  TokenPrice,
} from '../../platform/budgets/budget-ledger.ts'
import type { BudgetStop } from '../../platform/budgets/budget-stops.ts'
import type { CrewEvent, StepUsage } from '../../platform/crew-contract/crew-protocol.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { findPrice, perToken, pricesOfTiers } from '../../shared/prices/find-price.ts'
import type { Price, TokenPrices } from '../../shared/prices/price-table.ts'
import type { KeptEvent } from './call-crew.ts'

/** The database with the ledgers, and what models cost. */
export interface PricedDeps {
  readonly sql: Database
  /** Those that apply now; an organization's own come first. */
  readonly prices: () => readonly Price[]
}

/** The calls of models in one attempt, each of which may be tried again when it failed. */
export interface ModelCalls {
  /** Why a call was refused; the attempt may make no more. */
  stop(): BudgetStop | undefined
  hasReserved(): boolean
  /**
   * Returns the calls that may be reserved for with the commit of these events. One that is tried
   * again has to wait until the one before is settled.
   */
  plan(events: readonly KeptEvent[]): PlannedCall[]
  /** Returns true when the commit of an event has done what `follow` would do. */
  isBooked(event: KeptEvent, booking: Booking | undefined): boolean
  /** Reserves for a call that begins, and settles one that ended. */
  follow(event: KeptEvent): Promise<BudgetWarning[]>
}

/** What is known of the calls of an attempt. */
interface State {
  readonly reserved: Set<string>
  /** Those that were asked for with the commit of their start. */
  readonly asked: Set<string>
  /** The models of calls that were refused, by their steps. */
  readonly refused: Map<string, string>
  hasModelSteps: boolean
  stop: BudgetStop | undefined
}

type StepStarted = Extract<CrewEvent, { type: 'step_started' }>

/** Follows the calls of models in one attempt at a run. */
export function followCalls(deps: PricedDeps, run: LeasedRun): ModelCalls {
  const state: State = {
    reserved: new Set(),
    asked: new Set(),
    refused: new Map(),
    hasModelSteps: false,
    stop: undefined,
  }
  const priceOf = pricesOf(deps.prices, run.organizationId)
  const toCall = ({ step, name: model, estimate }: StepStarted): PlannedCall => {
    const { input_tokens: inputTokens, output_tokens: outputTokens } = estimate ?? ASSUMED
    return { step, inputTokens, outputTokens, price: priceOf(model) }
  }
  return {
    stop: () => state.stop,
    hasReserved: () => state.reserved.size > 0,
    plan(events) {
      if (state.stop) return []
      const begun = events.filter(isModelCall).filter(({ step }) => !state.asked.has(step))
      for (const { step } of begun) state.asked.add(step)
      return begun.map(toCall)
    },
    isBooked: (event, booking) => booking !== undefined && takeBooked(state, event, booking),
    follow: bookOneByOne({ ...deps, run, state, priceOf, toCall }),
  }
}

function takeBooked(state: State, event: KeptEvent, booking: Booking): boolean {
  if (isModelCall(event)) {
    state.hasModelSteps = true
    if (booking.reserved.has(event.step)) state.reserved.add(event.step)
    return booking.reserved.has(event.step) || booking.free.has(event.step)
  }
  if (event.type !== 'step_finished' && event.type !== 'step_failed') return false
  const isSettled = booking.settled.has(event.step)
  if (isSettled) state.reserved.delete(event.step)
  return isSettled
}

interface Booker extends PricedDeps {
  readonly run: LeasedRun
  readonly state: State
  readonly priceOf: (model: string) => TokenPrice | undefined
  readonly toCall: (event: StepStarted) => PlannedCall
}

/** What the commit of an event could not book. */
function bookOneByOne({ sql, run, state, priceOf, toCall }: Booker) {
  async function reserve(event: StepStarted): Promise<void> {
    const { step, name: model } = event
    const answer = state.stop ?? (await reserveCall(sql, run, toCall(event)))
    if (answer === true) state.reserved.add(step)
    if (typeof answer === 'boolean') return
    state.refused.set(step, model)
    state.stop ??= { ...answer, model }
  }

  const charge = (model: string, usage: Partial<StepUsage>): Promise<BudgetWarning[]> => {
    const { input_tokens: inputTokens = 0, output_tokens: outputTokens = 0 } = usage
    const { cached_input_tokens: cachedInputTokens = 0, service_tier: tier } = usage
    const tokens = { inputTokens, outputTokens, cachedInputTokens }
    const price = priceOf(model)
    return chargeCall(sql, run, { ...tokens, price: price?.tiers?.[tier ?? ''] ?? price })
  }

  /** A crew that does not stop is charged for what it did nevertheless. */
  async function settle(step: string, usage: StepUsage | undefined): Promise<BudgetWarning[]> {
    const model = state.refused.get(step)
    if (state.reserved.has(step)) {
      const warnings = await settleCalls(sql, run, [step])
      state.reserved.delete(step)
      return warnings
    }
    if (model === undefined || !usage) return []
    const warnings = await charge(model, usage)
    state.refused.delete(step)
    return warnings
  }

  return async (event: KeptEvent): Promise<BudgetWarning[]> => {
    if (event.type === 'step_finished' || event.type === 'step_failed') {
      return settle(event.step, event.usage)
    }
    if (isModelCall(event)) {
      state.hasModelSteps = true
      await reserve(event)
    }
    // A crew without a journal tells of its calls once they are made.
    if (event.type === 'llm_call' && !state.hasModelSteps) {
      return charge(event.request_model, event)
    }
    return []
  }
}

/** Returns what tells the price that a model has now; undefined when it has none. */
function pricesOf(prices: PricedDeps['prices'], organizationId: number) {
  const organization = String(organizationId)
  return (model: string): TokenPrice | undefined => {
    const call = { model, organization, at: new Date() }
    const found = findPrice(prices(), call)
    if (!found) return undefined
    const tiers = Object.entries(pricesOfTiers(prices(), call))
    if (tiers.length === 0) return toTokenPrice(found)
    const byName = tiers.map(([tier, price]) => [tier, toTokenPrice(price)])
    return { ...toTokenPrice(found), tiers: Object.fromEntries(byName) }
  }
}

function toTokenPrice({ input, output = 0, cached }: TokenPrices): PlainTokenPrice {
  const price = { input: perToken(input), output: perToken(output) }
  return cached === undefined ? price : { ...price, cached: perToken(cached) }
}

const isModelCall = (event: KeptEvent): event is StepStarted =>
  event.type === 'step_started' && event.kind === 'llm'

const ASSUMED: StepUsage = {
  input_tokens: INPUT_TOKENS_ASSUMED,
  output_tokens: OUTPUT_TOKENS_ASSUMED,
}
