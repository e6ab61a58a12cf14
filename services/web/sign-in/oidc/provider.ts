import * as client from 'openid-client'
import { keepFresh } from '../../../shared/keep-fresh.ts'
import { createForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import type { ForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import { createProviderFetch } from '../../../shared/outgoing/provider-fetch.ts'
import type { WebConfig } from '../../env.ts'
import { toSignInError, wrongIssuer } from './sign-in-errors.ts'

/** Of each call to the provider; a sign-in makes four at the most. */
const TIMEOUT_MS = 5000
const DISCOVERY = { freshMs: 3_600_000, retryMs: 60_000 }

/** The secrets that an answer of the provider is checked against; good for one sign-in. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
}

/** The claims of an ID token or of the userinfo endpoint. */
export type Claims = Readonly<Record<string, unknown>>

/** A person, as the provider vouches. */
export interface Vouched {
  readonly issuer: string
  readonly subject: string
  readonly claims: Claims
  /** Sent again at the sign-out. */
  readonly idToken: string
}

/**
 * The identity provider of the platform. Every verb raises `unavailable` while it cannot be
 * reached.
 */
export interface IdentityProvider {
  /** The name for people. */
  readonly name: string
  /** Returns the page on which a person signs in; it leads back to our callback. */
  authorizationUrl(secrets: SignInSecrets): Promise<string>
  /**
   * Exchanges the code of a callback. Raises `forbidden` if the provider let nobody in,
   * `invalid_request` for a forged answer.
   */
  exchange(callback: URL, secrets: SignInSecrets): Promise<Vouched>
  /**
   * Returns the page that ends the session with the provider; undefined if it has none (OpenID
   * Connect RP-Initiated Logout).
   */
  signOutUrl(idToken: string, returnTo: string): Promise<string | undefined>
}

interface Settings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scope: string
  readonly redirectUri: string
  readonly proxy: ForwardProxy
  /** The claims that are read from the userinfo endpoint if the ID token lacks one. */
  readonly wantedClaims: readonly string[]
}

/** Creates the provider that is configured; undefined if people sign in with a password only. */
export function createIdentityProvider(config: WebConfig): IdentityProvider | undefined {
  const { AUTH_PROVIDER: kind, OIDC_ISSUER_URL: issuer } = config
  const claims = [config.OIDC_ADMIN_CLAIM, config.OIDC_GROUPS_CLAIM]
  const { OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = config
  if (kind === 'local' || !issuer || !clientId || !clientSecret) return undefined
  return openProvider(NAMES.get(kind) ?? 'single sign-on', {
    issuer,
    clientId,
    clientSecret,
    scope: config.OIDC_SCOPES,
    redirectUri: callbackUrl(config.PLATFORM_BASE_URL),
    proxy: createForwardProxy(config),
    wantedClaims: ['email', 'name', ...claims.filter((each) => each !== undefined)],
  })
}

/** Returns the address of our callback, which is registered with the provider. */
export const callbackUrl = (baseUrl: string): string => `${baseUrl}/sign-in/callback`

function openProvider(name: string, settings: Settings): IdentityProvider {
  const configuration = keepFresh(() => discover(name, settings), DISCOVERY)

  /** No error of openid-client leaves this file. */
  async function call<Result>(
    verb: (config: client.Configuration) => Result | Promise<Result>,
  ): Promise<Result> {
    try {
      return await verb(await configuration())
    } catch (thrown) {
      throw toSignInError(name, thrown)
    }
  }

  return {
    name,
    authorizationUrl: ({ state, nonce, codeVerifier }) =>
      call(async (config) => {
        const url = client.buildAuthorizationUrl(config, {
          scope: settings.scope,
          redirect_uri: settings.redirectUri,
          state,
          nonce,
          code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        })
        return url.href
      }),
    exchange: (callback, secrets) =>
      call((config) => exchange(config, callback, { settings, secrets })),
    signOutUrl: (idToken, returnTo) =>
      call((config) => {
        if (config.serverMetadata().end_session_endpoint === undefined) return undefined
        const parameters = { id_token_hint: idToken, post_logout_redirect_uri: returnTo }
        return client.buildEndSessionUrl(config, parameters).href
      }),
  }
}

async function exchange(
  config: client.Configuration,
  callback: URL,
  { settings, secrets }: { settings: Settings; secrets: SignInSecrets },
): Promise<Vouched> {
  const { state, nonce, codeVerifier } = secrets
  const answer = await client.authorizationCodeGrant(config, callback, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: codeVerifier,
    idTokenExpected: true,
  })
  const claims = answer.claims()
  if (!claims || answer.id_token === undefined) throw new Error('no ID token')
  const rest = await moreClaims(config, answer.access_token, { claims, settings })
  const { iss: issuer, sub: subject } = claims
  return { issuer, subject, claims: { ...rest, ...claims }, idToken: answer.id_token }
}

/**
 * Reads the claims that the ID token lacks: some providers put no more than the subject into it.
 */
async function moreClaims(
  config: client.Configuration,
  accessToken: string,
  { claims, settings }: { claims: client.IDToken; settings: Settings },
): Promise<Claims> {
  const isComplete = settings.wantedClaims.every((claim) => claim in claims)
  if (isComplete || config.serverMetadata().userinfo_endpoint === undefined) return {}
  return client.fetchUserInfo(config, accessToken, claims.sub)
}

async function discover(name: string, settings: Settings): Promise<client.Configuration> {
  const { issuer, clientId, clientSecret, proxy } = settings
  const document = new URL(`${issuer}/.well-known/openid-configuration`)
  const execute = [
    client.enableNonRepudiationChecks,
    // Plain http is what the operator wrote; with an https issuer nothing else is called.
    ...(document.protocol === 'http:' ? [client.allowInsecureRequests] : []),
  ]
  const config = await client.discovery(document, clientId, {}, authenticate(clientSecret), {
    [client.customFetch]: createProviderFetch({ name, timeoutMs: TIMEOUT_MS, proxy }),
    execute,
  })
  // Some write a slash at the end. A document for all tenants at once names none, and is not taken.
  const found = config.serverMetadata().issuer
  if (found.replace(/\/+$/, '') !== issuer) throw wrongIssuer(name, { found, issuer })
  return config
}

/**
 * Authenticates by a method that the provider lists; by HTTP Basic if it lists none (OpenID Connect
 * Discovery §3).
 */
function authenticate(clientSecret: string): client.ClientAuth {
  const basic = client.ClientSecretBasic(clientSecret)
  const post = client.ClientSecretPost(clientSecret)
  return function authenticateClient(server, ...rest) {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const method = methods.includes('client_secret_basic') ? basic : post
    method(server, ...rest)
  }
}

/** What people call an `AUTH_PROVIDER`. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['okta', 'Okta'],
  ['entra_id', 'Microsoft Entra ID'],
  ['auth0', 'Auth0'],
  ['keycloak', 'Keycloak'],
  ['google', 'Google'],
  ['authentik', 'authentik'],
  ['zitadel', 'ZITADEL'],
  ['ping', 'Ping Identity'],
])
