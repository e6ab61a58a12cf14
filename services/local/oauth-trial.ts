import { saveAutomationOauth } from '../platform/automations/automation-oauth.ts'
import { bindOauthClient } from '../platform/automations/automations.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import { SCOPE, startLocalProvider, writeOauthEnv } from './identity-provider.ts'
import type { LocalClients } from './identity-provider.ts'
import type { Owner } from './owner.ts'
import type { Seeded } from './seed.ts'

const DAY_SECONDS = 86_400

/** The identity provider for trying OAuth, and what a client needs to use it. */
export interface OauthTrial {
  readonly owner: Owner
  readonly sql: Database
  readonly seeded: Seeded
  readonly host: string
  readonly port: number
  /** The base URL of the platform. */
  readonly baseUrl: string
  readonly apiPrefix: string
  readonly directory: string
}

/**
 * Starts an identity provider and sets OAuth up with it: one client for each of two automations
 * (SPEC 5.3). Returns the file with all that a shell needs to call them.
 */
export async function startOauthTrial(trial: OauthTrial): Promise<string> {
  const { owner, sql, seeded, host, port, baseUrl, apiPrefix, directory } = trial
  const [first, second] = seeded.crews.map(({ automation }) => automation)
  if (!first || !second) throw new AppError('internal', 'Two automations are needed.')
  const clients = await owner.own(startLocalProvider({ host, port, audience: baseUrl, directory }))
  await saveAutomationOauth(sql, seeded.organizationId, settingsFor(clients, baseUrl))
  await bindOauthClient(sql, first, clients.secretClient.id)
  await bindOauthClient(sql, second, clients.keyClient.id)
  const api = ({ automationId }: { automationId: string }): string =>
    `${baseUrl}/${apiPrefix}/api/v1/crew/${automationId}`
  return writeOauthEnv(directory, clients, { secret: api(first), key: api(second) })
}

const settingsFor = ({ issuer, tokenUrl }: LocalClients, audience: string) => ({
  enabled: true,
  issuer,
  discoveryUrl: null,
  jwksUrl: null,
  tokenUrl,
  audiences: [audience],
  absentAudienceAllowed: false,
  scope: SCOPE,
  scopeClaim: 'scope' as const,
  algorithms: ['RS256' as const],
  skewSeconds: 30,
  lifetimeSecondsMax: DAY_SECONDS,
  staticTokensAllowed: true,
})
