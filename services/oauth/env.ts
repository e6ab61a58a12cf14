import * as v from 'valibot'
import { databaseEnv } from '../shared/postgres/address.ts'
import { flag, httpUrl, integer, logLevel, optional, origins, text } from '../shared/env.ts'
import type { EnvOf } from '../shared/env.ts'
import { proxyEnv } from '../shared/outgoing/forward-proxy.ts'

/** The variables of the OAuth service. */
export const oauthEnv = v.object({
  ...databaseEnv,
  PORT: v.optional(integer(0, 65_535), '3002'),
  HOST: v.optional(text(), '0.0.0.0'),
  ...proxyEnv,
  LOG_LEVEL: logLevel,
  /** The port of the metrics, which are not served without it. */
  METRICS_PORT: optional(integer(0, 65_535)),
  /** The bearer token of the API's callers. */
  PLATFORM_OAUTH_API_KEY: text(32),
  /** Tokens at rest are encrypted with a key that is derived from it. */
  OAUTH_ENCRYPTION_KEY: text(32),
  /** The one before, while it is rotated: still read, never written. */
  OAUTH_ENCRYPTION_KEY_PREVIOUS: optional(text(32)),
  /**
   * The address at which browsers reach this service; providers send them back to `/callback` under
   * it.
   */
  OAUTH_PUBLIC_URL: httpUrl(),
  /**
   * A JSON list: `provider-settings.ts` describes it. Parsed separately, because it may contain
   * secrets.
   */
  OAUTH_PROVIDERS: v.optional(v.string(), '[]'),
  /** Origins on private networks that connections of organizations may name. */
  CONNECTION_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** Allows plain http to other machines. For development only. */
  OAUTH_ALLOW_HTTP: v.optional(flag(), 'false'),
})

/** The variables as a manifest sets them. */
export type OauthEnv = EnvOf<typeof oauthEnv>
/** The variables as the service reads them. */
export type OauthConfig = v.InferOutput<typeof oauthEnv>
