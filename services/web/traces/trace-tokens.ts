import { signCollectorToken } from '../../shared/collector-token.ts'
import { deadline } from '../../shared/deadline.ts'
import type { TraceToken } from '../../platform/traces/trace-tokens.ts'
import { callCollector, COLLECTOR_MS } from '../../shared/collector-call.ts'
import type { CollectorPlace } from '../../shared/collector-call.ts'

/** A token that is recorded, and is to be signed. */
type RecordedToken = Pick<TraceToken, 'id' | 'expiresAt' | 'scope'> & {
  readonly organizationId: number
}

/** Signs tokens of the trace collector for organizations, and revokes them. */
export interface TraceTokens {
  /** The address that programs send to. */
  readonly endpoint: string
  sign(token: RecordedToken): Promise<string>
  /**
   * Resolves once the collector has the token on its list, which all of its replicas read within a
   * minute. Raises `unavailable`, `timeout` and `bad_gateway`.
   */
  revoke(token: Pick<TraceToken, 'id'>): Promise<void>
}

const REASON = 'revoked in the console'

/** Returns what signs and revokes; `endpoint` is for programs elsewhere. */
export function openTraceTokens(collector: CollectorPlace, endpoint: string): TraceTokens {
  return {
    endpoint: endpoint.replace(/\/+$/, ''),
    sign: ({ id, expiresAt, scope, organizationId }) =>
      signCollectorToken(collector.secret, 'console', {
        id,
        organization: String(organizationId),
        scopes: [scope],
        seconds: Math.floor((expiresAt.getTime() - Date.now()) / 1000),
      }),
    revoke: ({ id }) =>
      deadline({ name: 'The trace collector', timeoutMs: COLLECTOR_MS }, async (signal) => {
        const reason = new URLSearchParams({ reason: REASON }).toString()
        const path = `/revoked-tokens/${id}?${reason}`
        const claims = { scopes: ['tokens:revoke'] } as const
        await callCollector(collector, { path, method: 'PUT', claims, missing: OLD }, signal)
      }),
  }
}

const OLD = 'The trace collector is older than the console, and revokes no tokens. Upgrade it.'
