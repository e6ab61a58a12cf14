import type { HttpBindings } from '@hono/node-server'
import type { Actor } from '../platform/audit/audit.ts'
import type { Database } from '../shared/postgres/database.ts'
import type { Log, RequestVariables } from '../shared/log.ts'
import type { ForwardProxy } from '../shared/outgoing/forward-proxy.ts'
import type { OutgoingGuard } from '../shared/outgoing/guard.ts'
import type { OauthConfig } from './env.ts'
import type { OauthMetrics } from './metrics.ts'
import type { ProviderSettings } from './provider-settings.ts'
import type { Providers } from './providers.ts'
import type { Vault } from './vault.ts'

/** The dependencies of this service's verbs. */
export interface TokenDeps {
  readonly sql: Database
  readonly vault: Vault
  readonly providers: Providers
  readonly log: Log
  readonly metrics: OauthMetrics
}

/** The dependencies of verbs that change something, and who asked for the change. */
export interface ActingDeps extends TokenDeps {
  readonly actor: Actor
}

/** The dependencies of the routes. */
export interface OauthDeps extends TokenDeps {
  readonly config: Pick<OauthConfig, 'PLATFORM_OAUTH_API_KEY' | 'OAUTH_PUBLIC_URL'>
  readonly settings: ReadonlyMap<string, ProviderSettings>
  /** Stands before every address that an organization chose. */
  readonly guard: OutgoingGuard
  /** For the addresses that are the operator's. @default no proxy */
  readonly proxy?: ForwardProxy | undefined
  /** The deadline of one call to a provider. */
  readonly timeoutMs: number
  /** Resolves when the database answers. */
  readonly ping: () => Promise<void>
  readonly isDraining: () => boolean
}

/** Every request. The bindings are absent when a test calls the app without a socket. */
export interface OauthApp {
  Bindings: Partial<HttpBindings>
  Variables: RequestVariables & { actor: Actor }
}
