import { deadline } from '../../shared/deadline.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { callCollector, COLLECTOR_MS } from '../../shared/collector-call.ts'
import type { CollectorPlace } from '../../shared/collector-call.ts'

/**
 * Replaces what the trace collector knows of the own prices of an organization. Raises
 * `unavailable`, `timeout` and `bad_gateway`.
 */
export type SendPrices = (organizationId: number, prices: readonly Price[]) => Promise<void>

/** Returns what sends own prices to the collector. */
export const openOwnPrices =
  (collector: CollectorPlace): SendPrices =>
  (organizationId, prices) =>
    deadline({ name: 'The trace collector', timeoutMs: COLLECTOR_MS }, async (signal) => {
      const claims = { scopes: ['prices:write'], organization: String(organizationId) } as const
      const body = JSON.stringify({
        prices: prices.map(({ models, from, until, perMillion: per_million }) => ({
          models,
          from,
          until,
          per_million,
        })),
      })
      const call = { path: '/prices', method: 'PUT', claims, missing: OLD, body } as const
      await callCollector(collector, call, signal)
    })

const OLD = 'The trace collector is older than the console, and takes no prices. Upgrade it.'
