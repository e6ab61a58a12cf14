import type { CrewDefinition } from '../../platform/definitions/crew-definition.ts'
import type { Inputs } from '../../platform/definitions/input-declarations.ts'
import { crewTokens } from '../../shared/crew-token.ts'
import { deadline } from '../../shared/deadline.ts'
import type { Log } from '../../shared/log.ts'
import { costOf, findPrice } from '../../shared/prices/find-price.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { callCrew } from '../run/call-crew.ts'
import type { KeptEvent } from '../run/call-crew.ts'
import type { Ending } from '../run/ending.ts'
import type { LoopSignals } from '../run/loop.ts'
import type { HandFiles } from '../run/hand-files.ts'
import { hasFiles } from '../run/perform-run.ts'
import { keepTokens } from '../run/renew-tokens.ts'
import { resolveConnections } from '../run/resolve-connections.ts'
import type { ConnectionDeps } from '../run/resolve-connections.ts'
import { resolveModels } from '../run/resolve-models.ts'
import type { ModelDeps } from '../run/resolve-models.ts'

/** The means by which a worker performs crews without a run. */
export interface AloneDeps extends ModelDeps, ConnectionDeps {
  readonly log: Log
  readonly prices: readonly Price[]
  readonly handFiles: HandFiles
}

/** What is performed, for whom, and where. */
export interface Alone {
  readonly id: string
  readonly organizationId: number
  readonly definition: CrewDefinition
  readonly versionId: number
  readonly inputs: Inputs
  /** The case whose files it gets. */
  readonly caseId?: string
  readonly url: string
  readonly crewAutomationId: string
}

/** What was called, and what it took. */
export interface Spent {
  readonly tools: readonly string[]
  readonly inputTokens: number
  readonly outputTokens: number
  /** null: a model has no price. */
  readonly usd: number | null
  readonly seconds: number
}

/**
 * Performs a crew with its models and tools as they are, and keeps nothing of it: no run, no trace,
 * no webhook. Raises `timeout`, and the reason of the signal to drain.
 */
export async function performAlone(
  deps: AloneDeps,
  alone: Alone,
  { signals, timeoutMs }: { readonly signals: LoopSignals; readonly timeoutMs: number },
): Promise<{ readonly ending: Ending; readonly spent: Spent }> {
  const started = performance.now()
  const meter = openMeter(deps.prices, alone.organizationId)
  const limit = { name: 'The case', timeoutMs, signal: signals.drain }
  const ending = await deadline(limit, async (signal): Promise<Ending> => {
    const found = await resolveModels(deps, alone)
    if ('failure' in found) return { outcome: 'error', failure: found.failure }
    const resolved = await resolveConnections(deps, { ...alone, ...found }, signal)
    if ('failure' in resolved) return { outcome: 'error', failure: resolved.failure }
    const { id: kickoff_id, inputs, definition, versionId: version } = alone
    const given = { ...(found.models ? { models: found.models } : {}), inputs, definition }
    return callCrew({
      url: alone.url,
      request: {
        ...given,
        kickoff_id,
        connections: resolved.connections,
        version,
        journal: [],
      },
      tokens: crewTokens(deps, alone.crewAutomationId),
      withFiles: filesFor(deps, alone),
      patienceMs: deps.crewPatienceMs,
      pause: signals.pause,
      signal,
      onOpen: keepTokens(deps, alone, resolved),
      async onEvents(events) {
        for (const event of events) meter.hear(event)
        return undefined
      },
    })
  })
  return { ending, spent: { ...meter.spent(), seconds: (performance.now() - started) / 1000 } }
}

function filesFor({ handFiles }: AloneDeps, { definition, caseId }: Alone) {
  if (caseId === undefined || !hasFiles({ definition })) return undefined
  return <Result>(use: Parameters<typeof handFiles<Result>>[1]) => handFiles({ caseId }, use)
}

/** Sums up what calls took, by the prices of the day. */
function openMeter(prices: readonly Price[], organizationId: number) {
  const sums = { inputTokens: 0, outputTokens: 0 }
  const tools: string[] = []
  let usd: number | null = 0
  const organization = String(organizationId)
  return {
    hear(event: KeptEvent): void {
      if (event.type === 'tool_call') tools.push(event.tool ?? event.name)
      if (event.type !== 'llm_call') return
      sums.inputTokens += event.input_tokens ?? 0
      sums.outputTokens += event.output_tokens ?? 0
      const at = { organization, at: new Date() }
      const price = findPrice(prices, {
        model: event.request_model,
        tier: event.service_tier,
        ...at,
      })
      usd = usd === null || !price ? null : usd + costOf(event, price)
    },
    spent: () => ({ ...sums, usd, tools }),
  }
}
