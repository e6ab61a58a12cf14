import * as client from 'openid-client'
import { AppError } from '../shared/errors.ts'
import type { Exchange } from '../platform/connections/oauth-connections.ts'
import { keepFresh } from '../shared/keep-fresh.ts'
import type { ForwardProxy } from '../shared/outgoing/forward-proxy.ts'
import type { GuardedCalls } from '../shared/outgoing/provider-fetch.ts'
import { exchangeJwt } from './exchange-jwt.ts'
import { isGrantRefused, toProviderError } from './provider-errors.ts'
import { createTolerantFetch } from './provider-fetch.ts'
import type { ProviderSettings } from './provider-settings.ts'

/** More than any token that a header could carry. */
const TOKEN_CHARACTERS_MAX = 32_768
const DISCOVERY = { freshMs: 3_600_000, retryMs: 60_000 }

/** The tokens that a provider issued. */
export interface Grant {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly scope?: string | undefined
  /** Undefined: the provider named no end. */
  readonly expiresInSeconds: number | undefined
}

/** The secrets that an authorization is checked against. */
interface AuthorizationSecrets {
  readonly state: string
  readonly codeVerifier: string
}

/**
 * One third-party provider. Every verb raises `bad_gateway` or `timeout` when the provider is in
 * trouble.
 */
export interface Provider {
  /** Returns the page on which a person authorizes, to be sent back to `redirectUri`. */
  authorizationUrl(secrets: AuthorizationSecrets, redirectUri: string): Promise<string>
  /**
   * Exchanges the code of a callback. Raises `forbidden` when the person refused, `invalid_request`
   * for a forged answer.
   */
  exchange(callback: URL, secrets: AuthorizationSecrets): Promise<Grant>
  /** Requests a token for the client itself. */
  authenticate(): Promise<Grant>
  /** Exchanges a signed JWT for a token. Raises `forbidden` when the provider does not take it. */
  exchangeJwt(jwt: string, how: Exchange): Promise<Grant>
  /** Returns undefined when the provider no longer accepts the refresh token. */
  refresh(refreshToken: string): Promise<Grant | undefined>
  /** Returns false when the provider has no way to revoke a token. */
  revoke(token: string, kind: 'access_token' | 'refresh_token'): Promise<boolean>
  /** Returns the address that tells of whom a token is, where there is one. */
  userInfoUrl(): Promise<string | undefined>
}

interface ProviderCalls {
  readonly timeoutMs: number
  /** Set: an organization chose its addresses. */
  readonly guarded?: GuardedCalls | undefined
  /** For the addresses of the operator's. @default no proxy */
  readonly proxy?: ForwardProxy | undefined
}

/** Creates the client of a provider; each of its calls ends after `timeoutMs`. */
export function createProvider(settings: ProviderSettings, calls: ProviderCalls): Provider {
  const configuration = createConfiguration(settings, calls)
  const scope = settings.scopes.length > 0 ? settings.scopes.join(' ') : undefined

  /** No error of openid-client leaves this file. */
  async function call<Result>(
    verb: (config: client.Configuration) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await verb(await configuration())
    } catch (thrown) {
      throw toProviderError(settings, thrown)
    }
  }

  return {
    authorizationUrl: ({ state, codeVerifier }, redirectUri) =>
      call(async (config) => {
        const url = client.buildAuthorizationUrl(config, {
          ...settings.parameters,
          ...(scope === undefined ? {} : { scope }),
          redirect_uri: redirectUri,
          state,
          code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        })
        return checkPage(url, settings).href
      }),
    exchange: (callback, { state, codeVerifier }) =>
      call(async (config) => {
        checkIssuer(callback, config, settings)
        const checks = { expectedState: state, pkceCodeVerifier: codeVerifier }
        try {
          const answer = await client.authorizationCodeGrant(config, callback, checks)
          // Left out, it is the one that was asked for (RFC 6749 §5.1).
          return { scope, ...toGrant(answer) }
        } catch (thrown) {
          throw isGrantRefused(thrown) ? codeRefused(settings.name) : thrown
        }
      }),
    authenticate: () =>
      call(async (config) => {
        const parameters = { ...settings.parameters, ...(scope === undefined ? {} : { scope }) }
        return { scope, ...toGrant(await client.clientCredentialsGrant(config, parameters)) }
      }),
    exchangeJwt: (jwt, how) =>
      call(async (config) => ({
        scope,
        ...toGrant(await exchangeJwt(config, settings, { jwt, how })),
      })),
    refresh: (refreshToken) => call((config) => refresh(config, refreshToken)),
    revoke: (token, kind) => call((config) => revokeToken(config, token, kind)),
    userInfoUrl: () =>
      call(async (config) =>
        settings.scopes.includes('openid') ? config.serverMetadata().userinfo_endpoint : undefined,
      ),
  }
}

async function refresh(
  config: client.Configuration,
  refreshToken: string,
): Promise<Grant | undefined> {
  try {
    return toGrant(await client.refreshTokenGrant(config, refreshToken))
  } catch (thrown) {
    if (isGrantRefused(thrown)) return undefined
    throw thrown
  }
}

async function revokeToken(
  config: client.Configuration,
  token: string,
  kind: 'access_token' | 'refresh_token',
): Promise<boolean> {
  if (config.serverMetadata().revocation_endpoint === undefined) return false
  await client.tokenRevocation(config, token, { token_type_hint: kind })
  return true
}

/** The page is opened by a browser: a discovery document must not turn it into a script. */
function checkPage(url: URL, { name, isInsecure }: ProviderSettings): URL {
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isInsecure)) return url
  throw new AppError(
    'bad_gateway',
    `Provider ${name} names a page for authorizations that is not at an https:// address.`,
    { details: { code: 'provider_bad_answer' } },
  )
}

/** A token with other characters would not go into the header that it is for. */
const isToken = (text: string | undefined): boolean =>
  text === undefined || (/^[\x20-\x7e]+$/.test(text) && text.length <= TOKEN_CHARACTERS_MAX)

function toGrant(answer: client.TokenEndpointResponse): Grant {
  if (!isToken(answer.access_token) || !isToken(answer.refresh_token)) {
    throw new AppError('bad_gateway', 'The provider issued a token that no header can carry.', {
      details: { code: 'provider_bad_answer' },
    })
  }
  return {
    accessToken: answer.access_token,
    refreshToken: answer.refresh_token,
    ...(answer.scope === undefined ? {} : { scope: answer.scope }),
    expiresInSeconds: answer.expires_in,
  }
}

/**
 * RFC 9207: the answer must come from the server that was asked. Checked before anything else in it
 * is believed.
 */
function checkIssuer(
  callback: URL,
  config: client.Configuration,
  { name, issuer, place }: ProviderSettings,
): void {
  const given = callback.searchParams.get('iss')
  const metadata = config.serverMetadata()
  if (given === metadata.issuer) return
  if (given === null && metadata.authorization_response_iss_parameter_supported !== true) return
  const hint =
    issuer === undefined
      ? ` No issuer is configured for ${name}: set \`issuer\` in ${place} to the one that it ` +
        'documents.'
      : ''
  throw new AppError(
    'invalid_request',
    `This answer did not come from ${name}, or was changed on the way: its issuer is ` +
      `${given === null ? 'missing' : 'another one'}.${hint}`,
    { details: { code: 'issuer_mismatch' } },
  )
}

function codeRefused(name: string): AppError {
  return new AppError(
    'invalid_request',
    `Provider ${name} did not accept its own authorization code: it is too old, or was used ` +
      'before. Ask for a new link.',
    { details: { code: 'code_refused' } },
  )
}

/**
 * Returns the configuration of a provider: its endpoints, or its discovery document, which is kept
 * for an hour.
 */
function createConfiguration(
  settings: ProviderSettings,
  calls: ProviderCalls,
): () => Promise<client.Configuration> {
  const fetch = createTolerantFetch({ name: `Provider ${settings.name}`, ...calls })
  const execute = settings.isInsecure ? [client.allowInsecureRequests] : []
  const { endpoints, issuer } = settings
  // Where the identity of a run says all, there is no client; the library wants a name of one.
  const clientId = settings.clientId === '' ? 'none' : settings.clientId

  async function load(): Promise<client.Configuration> {
    if (endpoints === undefined) {
      const options = { [client.customFetch]: fetch, execute }
      const server = new URL(issuer ?? '')
      return client.discovery(server, clientId, {}, clientAuth(settings), options)
    }
    const metadata: client.ServerMetadata = {
      issuer: issuer ?? new URL(endpoints.authorization ?? endpoints.token).origin,
      token_endpoint: endpoints.token,
      ...(endpoints.authorization ? { authorization_endpoint: endpoints.authorization } : {}),
      ...(endpoints.revocation ? { revocation_endpoint: endpoints.revocation } : {}),
    }
    const config = new client.Configuration(metadata, clientId, {}, clientAuth(settings))
    config[client.customFetch] = fetch
    for (const extension of execute) extension(config)
    return config
  }

  return keepFresh(load, DISCOVERY)
}

function clientAuth({ authMethod, clientId, clientSecret }: ProviderSettings): client.ClientAuth {
  if (clientId === '') return () => undefined
  switch (authMethod) {
    case 'client_secret_basic':
      return client.ClientSecretBasic(clientSecret)
    case 'client_secret_post':
      return client.ClientSecretPost(clientSecret)
    case 'none':
      return client.None()
  }
}
