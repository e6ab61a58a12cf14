import { createForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import { createAutomationOauthGuard } from '../../../shared/outgoing/guards.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import type { WebDeps } from '../../context.ts'
import { createGate } from './gate.ts'
import type { Gate } from './gate.ts'
import { createKeyStore } from './key-store.ts'
import type { KeyStore } from './key-store.ts'
import { createVerifiedTokens } from './verified-tokens.ts'

const HOUR_MS = 3_600_000

/** The gate of this process with the parts that it shares with the pages of its settings. */
export interface OpenedGate {
  readonly gate: Gate
  readonly keys: KeyStore
  /** Checks every address of an authorization server. */
  readonly guard: OutgoingGuard
}

/** Opens the gate by the configuration. */
export function openGate({ config, log, authMetrics }: WebDeps): OpenedGate {
  const guard = createAutomationOauthGuard(
    config.AUTOMATION_OAUTH_PRIVATE_ORIGINS,
    createForwardProxy(config),
  )
  const keys = createKeyStore({
    guard,
    staleMs: config.AUTOMATION_OAUTH_STALE_HOURS * HOUR_MS,
    log,
    metrics: authMetrics,
    now: Date.now,
  })
  const gate = createGate({ keys, verified: createVerifiedTokens(), now: Date.now })
  return { gate, keys, guard }
}
