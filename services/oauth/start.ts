import type { HttpBindings } from '@hono/node-server'
import type { Registry } from 'prom-client'
import { connectDatabase } from '../shared/postgres/database.ts'
import { databaseAddress } from '../shared/postgres/address.ts'
import { openDatabasePing } from '../shared/postgres/ping.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'
import { createLog } from '../shared/log.ts'
import type { Log } from '../shared/log.ts'
import { createForwardProxy } from '../shared/outgoing/forward-proxy.ts'
import { createOutgoingGuard } from '../shared/outgoing/guard.ts'
import { createMetrics, serveWithMetrics } from '../shared/http/metrics.ts'
import type { MeteredService } from '../shared/http/metrics.ts'
import { createApp } from './app.ts'
import type { OauthDeps } from './context.ts'
import { oauthEnv } from './env.ts'
import type { OauthConfig } from './env.ts'
import { createIdentity } from './identity.ts'
import { createOauthMetrics } from './metrics.ts'
import { createProviders } from './providers.ts'
import { isAllowedUrl, readProviders } from './provider-settings.ts'
import { createVault } from './vault.ts'

/**
 * A refresh may take two calls, one to find the endpoints; both end before the service does when it
 * drains.
 */
const PROVIDER_TIMEOUT_MS = 8000
const DRAIN_MS = 17_000

interface StartOptions {
  readonly log?: Log
  /**
   * The time in which a stopping service still takes requests, with `/health` at 503.
   * @default 5_000
   */
  readonly lingerMs?: number
  /** The deadline of one call to a provider. @default 8_000 */
  readonly providerTimeoutMs?: number
}

/**
 * Starts the OAuth service. Raises `invalid_configuration`; an unavailable database only makes
 * `/health` fail.
 */
export async function start(
  source: EnvSource,
  options: StartOptions = {},
): Promise<MeteredService> {
  const config = readEnv(oauthEnv, source)
  const settings = readProviders(config.OAUTH_PROVIDERS, {
    source,
    allowHttp: config.OAUTH_ALLOW_HTTP,
  })
  checkPublicUrl(config)
  const log = options.log ?? createLog({ name: 'oauth', level: config.LOG_LEVEL })
  const timeoutMs = options.providerTimeoutMs ?? PROVIDER_TIMEOUT_MS
  const registry = createMetrics()
  const draining = new AbortController()
  const opened = openApp({ config, settings, log, timeoutMs, registry, draining: draining.signal })
  return serveWithMetrics({
    // The bindings are what @hono/node-server passes.
    fetch: (request, env) => opened.app.fetch(request, env as HttpBindings),
    port: config.PORT,
    host: config.HOST,
    metricsPort: config.METRICS_PORT,
    registry,
    log,
    lingerMs: options.lingerMs ?? 5000,
    drainMs: DRAIN_MS,
    onDrain: () => draining.abort(),
    close: opened.close,
  })
}

interface AppParts extends Pick<OauthDeps, 'settings' | 'log' | 'timeoutMs'> {
  readonly config: OauthConfig
  readonly registry: Registry
  /** Aborted once the service drains. */
  readonly draining: AbortSignal
}

function openApp({ config, settings, log, timeoutMs, registry, draining }: AppParts) {
  const address = databaseAddress(config)
  const sql = connectDatabase(address, { name: 'oauth' })
  const database = openDatabasePing(address, { name: 'oauth-ping', freshMs: 1000 })
  const { OAUTH_ENCRYPTION_KEY: current, OAUTH_ENCRYPTION_KEY_PREVIOUS: previous } = config
  const vault = createVault(current, previous)
  const issuer = config.OAUTH_PUBLIC_URL.replace(/\/$/, '')
  const proxy = createForwardProxy(config)
  const guard = createOutgoingGuard({
    privateOrigins: config.CONNECTION_PRIVATE_ORIGINS,
    proxy,
    setting: 'CONNECTION_PRIVATE_ORIGINS (chart: outgoing.connectionPrivateOrigins)',
  })
  const app = createApp({
    config,
    settings,
    sql,
    log,
    vault,
    identity: createIdentity({ sql, log, issuer, current, previous }),
    guard,
    proxy,
    timeoutMs,
    metrics: createOauthMetrics(registry),
    providers: createProviders({ settings, sql, vault, guard, proxy, timeoutMs }),
    ping: database.ping,
    isDraining: () => draining.aborted,
  })
  return { app, close: () => Promise.all([sql.end({ timeout: 5 }), database.close()]) }
}

/** The address carries authorization codes. */
function checkPublicUrl({ OAUTH_PUBLIC_URL, OAUTH_ALLOW_HTTP }: OauthConfig): void {
  if (isAllowedUrl(OAUTH_PUBLIC_URL, OAUTH_ALLOW_HTTP) && !OAUTH_PUBLIC_URL.includes('?')) return
  throw new AppError(
    'invalid_configuration',
    'OAUTH_PUBLIC_URL must be https:// without a user, query or fragment (http:// on ' +
      'loopback, or with OAUTH_ALLOW_HTTP=true).',
    { details: { variables: ['OAUTH_PUBLIC_URL'] } },
  )
}
