import type { WebDeps } from '../../context.ts'
import { createGate } from './gate.ts'
import type { Gate } from './gate.ts'
import { createKeyStore } from './key-store.ts'
import type { KeyStore } from './key-store.ts'
import { createVerifiedTokens } from './verified-tokens.ts'

const HOUR_MS = 3_600_000

/** The gate of this process, and the keys that it and the explain tool share. */
export function openGate({ config, log, authMetrics }: WebDeps): { judge: Gate; keys: KeyStore } {
  const keys = createKeyStore({
    privateOrigins: config.AUTOMATION_OAUTH_PRIVATE_ORIGINS,
    staleMs: config.AUTOMATION_OAUTH_STALE_HOURS * HOUR_MS,
    log,
    metrics: authMetrics,
    now: Date.now,
  })
  return { judge: createGate({ keys, verified: createVerifiedTokens(), now: Date.now }), keys }
}
