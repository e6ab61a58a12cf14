import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'

/** What was over its limit. */
export type LimitKind = 'token' | 'organization' | 'queue'

/** Registers the counter of calls that were refused by a limit, and returns what counts them. */
export function createLimitMetrics(registry: Registry): (limit: LimitKind) => void {
  const refused = new Counter({
    name: 'web_limited_total',
    help:
      'Calls that got a 429: too many in a minute with one token or by one organization, or a ' +
      'full queue.',
    labelNames: ['limit'] as const,
    registers: [registry],
  })
  for (const limit of ['token', 'organization', 'queue']) refused.inc({ limit }, 0)
  return (limit) => refused.inc({ limit })
}
