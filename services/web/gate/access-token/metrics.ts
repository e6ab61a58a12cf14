import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'

/** Counts what the automation API decides about tokens. */
export interface AuthMetrics {
  /** `result` is `accepted` or the reason of the refusal. */
  readonly decided: (scheme: string, result: string) => void
  readonly keysFetched: (result: 'ok' | 'error') => void
  /** Called when keys that are no longer fresh served a call, because new ones cannot be had. */
  readonly staleKeysServed: () => void
}

/**
 * Registers the metrics of the decisions about tokens, and of the identity providers that they
 * depend on.
 */
export function createAuthMetrics(registry: Registry): AuthMetrics {
  const registers = [registry]
  const decisions = new Counter({
    name: 'web_api_auth_total',
    help: 'Decisions about the tokens of the automation API: accepted, or why not.',
    labelNames: ['scheme', 'result'] as const,
    registers,
  })
  const fetches = new Counter({
    name: 'web_idp_key_fetches_total',
    help: 'Fetches of the keys of identity providers.',
    labelNames: ['result'] as const,
    registers,
  })
  const stale = new Counter({
    name: 'web_idp_stale_keys_total',
    help:
      'Calls that were checked with keys older than ten minutes, because the provider was ' +
      'unavailable.',
    registers,
  })
  for (const result of ['ok', 'error']) fetches.inc({ result }, 0)
  return {
    decided: (scheme, result) => decisions.inc({ scheme, result }),
    keysFetched: (result) => fetches.inc({ result }),
    staleKeysServed: () => stale.inc(),
  }
}
