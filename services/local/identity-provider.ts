import { randomBytes } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { join, resolve } from 'node:path'
import { writeEnvFile } from './env-file.ts'
import type { Stoppable } from './owner.ts'
import { makeKeyPair } from '../shared/key-pair.ts'

/** The scope of the local identity provider's tokens. */
export const SCOPE = 'platform_automations'
const KEY_ID = 'local-client-key'

/** The OAuth clients of the local identity provider. */
export interface LocalClients {
  readonly issuer: string
  readonly tokenUrl: string
  /** Proves itself with a secret. */
  readonly secretClient: { readonly id: string; readonly secret: string }
  /** Proves itself with a private key. */
  readonly keyClient: { readonly id: string; readonly keyId: string; readonly keyFile: string }
}

interface LocalProviderOptions {
  readonly host: string
  readonly port: number
  /** The base URL of the platform. */
  readonly audience: string
  /** The file that gets the private key of a client. */
  readonly directory: string
}

interface Provider {
  callback(): RequestListener
}

/**
 * A real identity provider on this machine, with a client for each way to authenticate (SPEC 4.5).
 * Forgets all when it stops.
 */
export async function startLocalProvider(
  options: LocalProviderOptions,
): Promise<Stoppable & LocalClients> {
  const { host, port, directory } = options
  const issuer = `http://${host}:${port}`
  const keyFile = resolve(directory, 'oauth-client.pem')
  const client = await makeKeyPair('RS256')
  await writeFile(keyFile, client.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  await chmod(keyFile, 0o600)
  const clients: LocalClients = {
    issuer,
    tokenUrl: `${issuer}/token`,
    secretClient: { id: 'local-secret-client', secret: randomBytes(24).toString('hex') },
    keyClient: { id: 'local-key-client', keyId: KEY_ID, keyFile },
  }
  const publicJwk = { ...client.publicKey.export({ format: 'jwk' }), kid: KEY_ID, use: 'sig' }
  // @ts-expect-error: the package has no types. Only this option needs it, so only this option
  // loads it.
  const { default: OidcProvider } = await import('oidc-provider')
  const provider: Provider = new OidcProvider(
    issuer,
    await configuration(options, clients, publicJwk),
  )
  const server = createServer(provider.callback()).listen(port, host)
  await once(server, 'listening')
  return {
    ...clients,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function configuration(
  { audience }: LocalProviderOptions,
  { secretClient, keyClient }: LocalClients,
  publicJwk: Record<string, unknown>,
) {
  const { privateKey } = await makeKeyPair('RS256')
  const signingKey = {
    ...privateKey.export({ format: 'jwk' }),
    // A new one at each start: the platform then knows that it has to ask for the keys again.
    kid: randomBytes(8).toString('hex'),
    alg: 'RS256',
    use: 'sig',
  }
  const grant = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }
  return {
    clients: [
      { ...grant, client_id: secretClient.id, client_secret: secretClient.secret },
      {
        ...grant,
        client_id: keyClient.id,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [publicJwk] },
      },
    ],
    scopes: [SCOPE],
    jwks: { keys: [signingKey] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    clientAuthMethods: ['client_secret_basic', 'private_key_jwt'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPE,
          audience,
          accessTokenTTL: 3600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  }
}

/** Writes what a shell needs to call the automations with OAuth. Returns the file. */
export async function writeOauthEnv(
  directory: string,
  { tokenUrl, secretClient, keyClient }: LocalClients,
  apiUrls: { readonly secret: string; readonly key: string },
): Promise<string> {
  return writeEnvFile(join(directory, 'oauth.env'), {
    TOKEN_URL: tokenUrl,
    CLIENT_ID: secretClient.id,
    CLIENT_SECRET: secretClient.secret,
    API: apiUrls.secret,
    KEY_CLIENT_ID: keyClient.id,
    KEY_ID: keyClient.keyId,
    PRIVATE_KEY_FILE: keyClient.keyFile,
    KEY_API: apiUrls.key,
  })
}
