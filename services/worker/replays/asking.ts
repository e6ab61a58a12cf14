import { chargeOutside, hasRoom } from '../../platform/budgets/budget-outside.ts'
import { listOwnPrices } from '../../platform/budgets/model-prices.ts'
import type { CrewEvent, LlmCallEvent } from '../../platform/crew-contract/crew-protocol.ts'
import { stepKey } from '../../platform/crew-contract/step-key.ts'
import { modelsOf } from '../../platform/definitions/crew-definition.ts'
import { reserveAsked, settleAsked } from '../../platform/replays/replay-queue.ts'
import type { Asked, TakenReplay } from '../../platform/replays/replay-queue.ts'
import { isOwnCrew } from '../../platform/definitions/own-crew-definition.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { costOf, findPrice } from '../../shared/prices/find-price.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import type { KeptEvent } from '../run/call-crew.ts'

interface AskingDeps {
  readonly sql: Database
  readonly prices: readonly Price[]
}

type Diverged = Extract<CrewEvent, { type: 'replay_diverged' }>

/** The calls of models that a live replay of a run makes. */
export interface Asking {
  /** Returns why the crew has to end, if a call may not be made. */
  follow(events: readonly KeptEvent[]): Promise<string | undefined>
  /** Why a call was not made; undefined: each was. */
  refusal(): string | undefined
  /** What the calls took; undefined: none was made. */
  asked(): Asked | undefined
}

const ALL_TAKEN = 'The run ended there: the models of this replay may take no more tokens.'
const NO_ROOM =
  'The run ended there: a budget is used up, or limits money and a model has no price.'

/**
 * Lets models be asked while the replay has tokens of its own left and no budget of a day or a
 * month is used up, and charges these.
 */
export function openAsking({ sql, prices }: AskingDeps, taken: TakenReplay): Asking {
  const { organizationId, deploymentId } = taken
  const reserved = new Map<string, number>()
  const sums = { calls: 0, tokens: 0, usd: 0 as number | null }
  let refusal: string | undefined
  let own: Promise<readonly Price[]> | undefined

  const priceOf = async (model: string) => {
    own ??= listOwnPrices(sql, organizationId)
    const when = { organization: String(organizationId), at: new Date() }
    return findPrice([...(await own), ...prices], { model, ...when })
  }

  async function begin({ step, name, path, estimate }: Diverged): Promise<string | undefined> {
    const tokens = (estimate?.input_tokens ?? 0) + (estimate?.output_tokens ?? 0)
    // No one knows the models of a crew from a source before it asks them.
    const models = isOwnCrew(taken.definition) ? [name] : modelsOf(taken.definition)
    const priced = await Promise.all(models.map(priceOf))
    const isPriced = priced.every((each) => each !== undefined)
    if (!(await hasRoom(sql, { organizationId, deploymentId, isPriced, tokens }))) return NO_ROOM
    if (!(await reserveAsked(sql, taken, tokens))) return ALL_TAKEN
    reserved.set(step ?? stepKey('', path), tokens)
    return undefined
  }

  async function end(call: LlmCallEvent): Promise<void> {
    const tokens = (call.input_tokens ?? 0) + (call.output_tokens ?? 0)
    const kept = reserved.get(call.step ?? '') ?? 0
    reserved.delete(call.step ?? '')
    await settleAsked(sql, taken, tokens - kept)
    const price = await priceOf(call.request_model)
    const usd = price ? costOf(call, price) : null
    sums.calls += 1
    sums.tokens += tokens
    sums.usd = sums.usd === null || usd === null ? null : sums.usd + usd
    await chargeOutside(sql, { organizationId, deploymentId, tokens, usd: usd ?? 0 })
  }

  return {
    async follow(events) {
      for (const event of events) {
        if (event.type === 'llm_call') await end(event)
        if (event.type === 'replay_diverged' && event.asks) refusal ??= await begin(event)
      }
      return refusal
    },
    refusal: () => refusal,
    asked: () => (sums.calls > 0 ? { tokens: sums.tokens, usd: sums.usd } : undefined),
  }
}
