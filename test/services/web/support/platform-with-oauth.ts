import type { AutomationOauth } from '../../../../services/platform/automations/automation-oauth.ts'
import { saveAutomationOauth } from '../../../../services/platform/automations/automation-oauth.ts'
import { bindOauthClient } from '../../../../services/platform/automations/automations.ts'
import { createLog } from '../../../../services/shared/log.ts'
import type { Service } from '../../../../services/shared/http/serve.ts'
import { start } from '../../../../services/web/start.ts'
import type { MeteredService } from '../../../../services/shared/http/metrics.ts'
import { createSigningKey, signToken, startKeyServer } from '../../../support/key-server.ts'
import type { KeyServer, SigningKey } from '../../../support/key-server.ts'
import { BASE_URL, openPlatform, environment, withMembers } from './platform.ts'
import type { Tenant, Platform } from './platform.ts'

export const CLIENT = 'crm-client'
export const SCOPE = 'platform_automations'

/** Settings as the form prefills them. */
export const settingsFor = (
  issuer: string,
  changes: Partial<AutomationOauth> = {},
): AutomationOauth => ({
  enabled: true,
  issuer,
  discoveryUrl: null,
  jwksUrl: null,
  tokenUrl: null,
  audiences: [BASE_URL],
  absentAudienceAllowed: false,
  scope: SCOPE,
  scopeClaim: 'scope',
  algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  skewSeconds: 30,
  lifetimeSecondsMax: 86_400,
  staticTokensAllowed: true,
  ...changes,
})

/** The claims of a good token, as Okta would write them. */
export const goodClaims = (issuer: string, client = CLIENT) => {
  const now = Math.floor(Date.now() / 1000)
  return {
    iss: issuer,
    aud: BASE_URL,
    sub: client,
    iat: now,
    exp: now + 3600,
    cid: client,
    scp: [SCOPE],
  }
}

export type PlatformWithOauth = Awaited<ReturnType<typeof openPlatformWithOauth>>

/**
 * A listening web service; acme's automation `research` is bound to a client of acme's own identity
 * provider.
 */
export async function openPlatformWithOauth(otherOrigins: readonly string[] = []) {
  const platform = await openPlatform()
  const key = createSigningKey('key-1')
  const idp = await startKeyServer([key])
  const destination = { write: (line: string) => void platform.lines.push(JSON.parse(line)) }
  const services: Service[] = []
  const serve = async (extra: Record<string, string> = {}): Promise<MeteredService> => {
    const config = {
      ...environment(platform.url),
      TRUSTED_PROXIES: '1',
      AUTOMATION_OAUTH_PRIVATE_ORIGINS: [idp.issuer, ...otherOrigins].join(','),
      ...extra,
    }
    const log = createLog({ name: 'web', destination })
    const service = await start(config, { log, lingerMs: 0 })
    services.push(service)
    return service
  }
  const service = await serve()
  await configure(platform, platform.acme, settingsFor(idp.issuer))
  await bind(platform, platform.acme, CLIENT)
  return withMembers(platform, {
    platform,
    idp,
    key,
    service,
    serve,
    api: (path: string, { automationId } = platform.acme.research) =>
      `${service.url}/platform/api/v1/crew/${automationId}/${path}`,
    token: (changes: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
      mint({ key, idp }, changes, header),
    async close() {
      await Promise.all(services.map((each) => each.stop()))
      await idp.stop()
      await platform.close()
    },
  })
}

/** A good token with some claims changed; `undefined` removes one. */
export function mint(
  { key, idp }: { key: SigningKey; idp: Pick<KeyServer, 'issuer'> },
  changes: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): string {
  const { kid } = key.jwk
  const claims = { ...goodClaims(idp.issuer), ...changes }
  return signToken({ alg: 'RS256', kid, typ: 'JWT', ...header }, claims, key)
}

export const configure = (platform: Platform, tenant: Tenant, settings: AutomationOauth) =>
  saveAutomationOauth(platform.sql, tenant.organizationId, settings)

export const bind = (
  platform: Platform,
  { organizationId, research }: Tenant,
  clientId: string | null,
) =>
  bindOauthClient(platform.sql, { organizationId, automationId: research.automationId }, clientId)

let callers = 0

/**
 * Headers of a caller whom nobody has seen before, so that failures of others do not count against
 * it.
 */
export function newCaller(token?: string): Record<string, string> {
  callers += 1
  const address = `198.51.${Math.floor(callers / 250)}.${callers % 250}`
  const forwarded = { 'x-forwarded-for': address }
  return token === undefined ? forwarded : { ...forwarded, authorization: `Bearer ${token}` }
}
