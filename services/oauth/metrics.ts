import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import { AppError } from '../shared/errors.ts'

/** What became of the refresh of a token. */
type RefreshResult = 'refreshed' | 'refused' | 'failed'

/** Counts the tokens that this service hands out and refreshes. */
export interface OauthMetrics {
  readonly tokenGiven: () => void
  readonly tokenMissing: (thrown: unknown) => void
  readonly refreshed: (result: RefreshResult) => void
}

/** Registers the metrics of the OAuth service. */
export function createOauthMetrics(registry: Registry): OauthMetrics {
  const registers = [registry]
  const tokens = new Counter({
    name: 'oauth_tokens_total',
    help: 'Access tokens that runs and pages asked for: given, or the code of the problem.',
    labelNames: ['result'] as const,
    registers,
  })
  const refreshes = new Counter({
    name: 'oauth_refreshes_total',
    help:
      'Refreshes of tokens: refreshed; refused by the provider, so that a person has to ' +
      'connect anew; or failed.',
    labelNames: ['result'] as const,
    registers,
  })
  tokens.inc({ result: 'given' }, 0)
  for (const result of ['refreshed', 'refused', 'failed']) refreshes.inc({ result }, 0)
  return {
    tokenGiven: () => tokens.inc({ result: 'given' }),
    tokenMissing: (thrown) => tokens.inc({ result: problemOf(thrown) }),
    refreshed: (result) => refreshes.inc({ result }),
  }
}

/** The codes are this service's own: a closed set. */
function problemOf(thrown: unknown): string {
  if (!(thrown instanceof AppError)) return 'internal'
  const { code } = thrown.details
  return typeof code === 'string' ? code : thrown.code
}
