import type { AuditEntry } from '../../platform/audit/audit.ts'
import { estimateCall } from '../../platform/budgets/assumed-tokens.ts'
import { chargeOutside, hasRoom } from '../../platform/budgets/budget-outside.ts'
import { listOwnPrices } from '../../platform/budgets/model-prices.ts'
import { endpointOf, nameConnection } from '../../platform/connections/connection-endpoint.ts'
import { listConnectionsForModels } from '../../platform/connections/llm-connections.ts'
import { isInside, modelsOutside, outsideFailure } from '../../platform/connections/regions.ts'
import { originsOf, readerOf } from '../../platform/connections/llm-usage.ts'
import type { StepUsage } from '../../platform/crew-contract/crew-protocol.ts'
import { inTry } from '../../platform/model-calls/model-tries.ts'
import type { CallAnswer } from '../../platform/model-calls/recorded-call.ts'
import type { Failure } from '../../platform/runs/runs.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError } from '../../shared/errors.ts'
import { createHabits } from '../../shared/models/habits.ts'
import type { LlmCall } from '../../shared/models/llm-call.ts'
import { createLlm } from '../../shared/models/llm.ts'
import type { Llm, LlmResult } from '../../shared/models/llm.ts'
import { createForwardProxy } from '../../shared/outgoing/forward-proxy.ts'
import { createLlmGuard } from '../../shared/outgoing/guards.ts'
import { costOf, findPrice } from '../../shared/prices/find-price.ts'
import type { WebDeps } from '../context.ts'
import { createAudited } from '../gate/callers/audited.ts'
import type { Acting } from '../gate/callers/audited.ts'

/** Shorter than proxies wait for an answer of web. */
const CALL_MS = 55_000

/** A call, whoever made it before. */
interface Sending {
  readonly organizationId: number
  /** The automation whose budgets apply beside the organization's. */
  readonly deploymentId: number | null
  readonly call: LlmCall
  /** What the audit says that the call was of. */
  readonly target: AuditEntry['target']
}

/** What became of a call that was made again. */
export interface TriedCall {
  readonly answer: CallAnswer | null
  readonly error: Failure | null
  readonly usage: StepUsage | null
  /** null: nothing was used, or the model has no price. */
  readonly usd: number | null
  readonly ms: number
}

/**
 * Creates the verb that makes a call by the organization's LLM connection for its model. What the
 * model refuses is a result. Raises `unprocessable` for a model without a connection, `conflict`
 * for a connection that cannot be used and for budgets without room, and `rate_limited`.
 */
export function createTries(deps: WebDeps) {
  const { sql, config } = deps
  const habits = createHabits()
  const audited = createAudited(sql)
  const readVariable = readerOf(deps.diagnostics?.env ?? {})
  const origins = [...config.LLM_PRIVATE_ORIGINS, ...originsOf(readVariable)]
  const guard = createLlmGuard(origins, createForwardProxy(config))
  const opening = {
    secretKeyBase: config.SECRET_KEY_BASE,
    previousSecretKeyBase: config.SECRET_KEY_BASE_PREVIOUS,
    readVariable,
  }

  async function openModel({ organizationId, call: { model } }: Sending) {
    const { allowedRegions, connections } = await listConnectionsForModels(sql, organizationId)
    const all = connections.filter((each) => isInside(allowedRegions, each))
    const [outside] = modelsOutside(allowedRegions, [model], connections)
    if (outside !== undefined) {
      throw new AppError('conflict', outsideFailure(allowedRegions, [outside]).message)
    }
    const connection = all.find((each) => each.model === model)
    if (!connection) throw unconnected(model, all)
    const endpoint = endpointOf(opening, connection)
    if (typeof endpoint === 'string') {
      const { name } = connection
      throw new AppError('conflict', `The LLM connection "${name}" cannot be used: ${endpoint}`)
    }
    const { base_url: baseUrl, api_key: apiKey, api } = endpoint
    const options = { baseUrl, apiKey, api, guard, habits, timeoutMs: 2 * CALL_MS }
    return { llm: createLlm(options), connection }
  }

  return async function tryCall(acting: Acting, sending: Sending): Promise<TriedCall> {
    const { organizationId, call, target } = sending
    const { llm, connection } = await openModel(sending)
    const costs = await createCosts(deps, organizationId)
    const estimate = estimateCall(call)
    const price = costs(call.model, estimate)
    const wanted = { tokens: tokensOf(estimate), usd: price ?? 0, isPriced: price !== null }
    if (!(await hasRoom(sql, { ...sending, ...wanted }))) throw withoutRoom(wanted)
    return inTry(sql, { organizationId, timeoutMs: 2 * CALL_MS }, async () => {
      const started = performance.now()
      const result = await complete(llm, call)
      const ms = Math.round(performance.now() - started)
      const usage = usageOf(result, estimate)
      const usd = usage && costs(call.model, usage)
      const error = result.ok ? null : nameConnection(result.failure, connection.name)
      const spent = { model: call.model, tokens: usage ? tokensOf(usage) : 0, usd: usd ?? 0 }
      await audited(acting, (tx) => chargeOutside(tx, { ...sending, ...spent }), {
        action: 'model_called',
        target,
        after: { ...spent, error: error?.code },
      })
      const answer = result.ok ? { text: result.text, toolCalls: result.toolCalls ?? [] } : null
      return { answer, error, usage, usd, ms }
    })
  }
}

/** Returns what tells the cost of a call in an organization; null: the model has no price. */
export async function createCosts(
  { sql, prices = [] }: Pick<WebDeps, 'sql' | 'prices'>,
  organizationId: number,
): Promise<(model: string, usage: StepUsage) => number | null> {
  const all = [...prices, ...(await listOwnPrices(sql, organizationId))]
  const at = { organization: String(organizationId), at: new Date() }
  return (model, usage) => {
    const price = findPrice(all, { model, ...at })
    return price ? costOf(usage, price) : null
  }
}

async function complete(llm: Llm, call: LlmCall): Promise<LlmResult> {
  try {
    const limit = { name: `The model ${call.model}`, timeoutMs: CALL_MS }
    return await deadline(limit, (signal) => llm.complete(call, signal))
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== 'timeout') throw thrown
    const message = `${thrown.message} From here, no longer is waited: runs wait longer.`
    return { ok: false, attempts: 1, failure: { code: 'llm_timeout', message } }
  }
}

/** A provider that does not say what it used is taken to have used all that was expected. */
function usageOf(result: LlmResult, estimate: StepUsage): StepUsage | null {
  if (!result.ok) return null
  const { inputTokens, outputTokens, cachedInputTokens } = result
  return {
    input_tokens: inputTokens ?? estimate.input_tokens,
    output_tokens: outputTokens ?? estimate.output_tokens,
    ...(cachedInputTokens === undefined ? {} : { cached_input_tokens: cachedInputTokens }),
  }
}

const tokensOf = (usage: StepUsage): number => usage.input_tokens + usage.output_tokens

function unconnected(model: string, all: readonly { readonly model: string }[]): AppError {
  const names = all.slice(0, 20).map((each) => each.model)
  const others = names.length === 0 ? 'It has none yet.' : `It has some for ${names.join(', ')}.`
  return new AppError(
    'unprocessable',
    `Your organization has no LLM connection for the model ${JSON.stringify(model)}. ${others} ` +
      'An admin creates connections under LLM connections.',
  )
}

function withoutRoom({
  tokens,
  isPriced,
}: {
  readonly tokens: number
  readonly isPriced: boolean
}) {
  const unpriced = isPriced ? '' : ', or it limits money and the model has no price'
  return new AppError(
    'conflict',
    `A budget has no room for the call, which may need ${tokens} tokens${unpriced}. Raise the ` +
      'limit under Budgets, wait for the next day or month, or set a lower max_tokens.',
  )
}
