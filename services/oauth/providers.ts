import type { ConnectionSettings } from '../platform/connections/oauth-connections.ts'
import { resealClientSecret } from '../platform/connections/oauth-tokens.ts'
import type { ProviderOfConnection } from '../platform/connections/oauth-tokens.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import { addressProblem } from '../shared/outgoing/address.ts'
import type { ForwardProxy } from '../shared/outgoing/forward-proxy.ts'
import type { OutgoingGuard } from '../shared/outgoing/guard.ts'
import { createProvider } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderSettings } from './provider-settings.ts'
import type { Vault } from './vault.ts'

/** The clients that are kept, each with what it discovered. */
const KEPT_MAX = 500

/** The clients of providers. */
export interface Providers {
  /** Returns the client of a provider of the operator's. Raises `conflict` for an unknown one. */
  named(name: string): Provider
  /** Returns the client of a connection's provider. Raises `conflict` where there is none. */
  of(connection: ProviderOfConnection): Promise<Provider>
}

interface ProvidersOptions {
  readonly settings: ReadonlyMap<string, ProviderSettings>
  readonly sql: Database
  readonly vault: Vault
  readonly guard: OutgoingGuard
  /** For the operator's providers. @default no proxy */
  readonly proxy?: ForwardProxy | undefined
  readonly timeoutMs: number
}

/** Creates the clients of providers as they are needed. */
export function createProviders(options: ProvidersOptions): Providers {
  const { settings, sql, vault, guard, proxy, timeoutMs } = options
  const operators = new Map(
    [...settings].map(([name, each]) => [name, createProvider(each, { timeoutMs, proxy })]),
  )
  const kept = new Map<string, Provider>()

  function named(name: string): Provider {
    return operators.get(name) ?? refuseUnknown(name)
  }

  async function openSecret(connection: ProviderOfConnection): Promise<string | undefined> {
    const { id: connectionId, clientSecret } = connection
    if (clientSecret === null) return undefined
    const context = { connectionId, field: 'client_secret' } as const
    const { secret, isCurrent } = vault.open(clientSecret, context)
    if (!isCurrent) await resealClientSecret(sql, connection, vault.seal(secret, context))
    return secret
  }

  return {
    named,
    async of(connection) {
      const { id, organizationId, provider, settings: own, settingsVersion } = connection
      if (own === null) return named(provider)
      const isAsked = connection.kind !== 'identity' || own.exchange !== undefined
      if (connection.kind === 'static_token' || !isAsked) throw noProvider()
      const key = `${id}/${settingsVersion}`
      const known = kept.get(key)
      if (known) return known
      const secret = await openSecret(connection)
      const created = createProvider(toProviderSettings(provider, own, secret), {
        timeoutMs,
        guarded: { guard, subject: `organization ${organizationId}` },
      })
      const [oldest] = kept.keys()
      if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest)
      kept.set(key, created)
      return created
    },
  }
}

function toProviderSettings(
  name: string,
  given: ConnectionSettings,
  clientSecret: string | undefined,
): ProviderSettings {
  const { issuer, authorization_endpoint: authorization, token_endpoint: token } = given
  const { revocation_endpoint: revocation, token_endpoint_auth_method: authMethod } = given
  const urls = [issuer, authorization, token, revocation]
  refuseSpellings({
    issuer: issuer,
    'authorization endpoint': authorization,
    'token endpoint': token,
    'revocation endpoint': revocation,
  })
  return {
    name,
    place: 'the settings of the connection',
    issuer,
    endpoints: token === undefined ? undefined : { authorization, token, revocation },
    clientId: given.client_id ?? '',
    clientSecret,
    authMethod: authMethod ?? (given.exchange ? 'none' : 'client_secret_basic'),
    scopes: given.scopes ?? [],
    parameters: given.parameters ?? {},
    isInsecure: urls.some((url) => url?.startsWith('http:')),
  }
}

/** The client's secret goes to these addresses. */
function refuseSpellings(urls: Readonly<Record<string, string | undefined>>): void {
  for (const [name, url] of Object.entries(urls)) {
    const problem = url === undefined ? undefined : addressProblem(url)
    if (problem === undefined) continue
    const message = `The ${name} of the connection ${problem}. Save it in that form.`
    throw new AppError('conflict', message, { details: { code: 'address_not_canonical' } })
  }
}

function refuseUnknown(name: string): never {
  throw new AppError(
    'conflict',
    `Provider ${name} is no longer configured. Put it back into OAUTH_PROVIDERS, or delete ` +
      'the connection.',
    { details: { code: 'provider_not_configured', provider: name } },
  )
}

const noProvider = (): AppError =>
  new AppError('conflict', 'A connection with a token of its own has no provider to ask.', {
    details: { code: 'no_provider' },
  })
