import { start as startOauth } from '../../../../services/oauth/start.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { startIdentityProvider } from '../../../support/identity-provider.ts'
import type { Decision } from '../../../support/identity-provider.ts'
import { openPlatform, withMembers } from './platform.ts'
import type { SignedInUser } from './platform.ts'

export const API_KEY = 'an-api-key-of-at-least-thirty-two-characters'
export const CLIENT_SECRET = 'the-secret-of-the-client'
export const PUBLIC_URL = 'https://oauth.platform.test'

export type PlatformWithConnections = Awaited<ReturnType<typeof openPlatformWithConnections>>

interface ConnectionsOptions {
  /** Other private origins that connections and tools may name. */
  readonly origins?: readonly string[]
  readonly accessTokenSeconds?: number
  /** The deadline of a call to a provider. @default 8_000 */
  readonly providerTimeoutMs?: number
}

/** A platform of two organizations, its OAuth service, and a real provider to connect to. */
export async function openPlatformWithConnections(options: ConnectionsOptions = {}) {
  const platform = await openPlatform()
  const { origins = [], accessTokenSeconds = 3600 } = options
  const client = { redirect_uris: [`${PUBLIC_URL}/callback`], client_secret: CLIENT_SECRET }
  const idp = await startIdentityProvider({
    clients: [
      { client_id: 'crews', ...client, grant_types: ['authorization_code', 'refresh_token'] },
      {
        client_id: 'robot',
        client_secret: CLIENT_SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['files'],
    accessTokenSeconds,
  })
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const oauth = await startOauth(
    {
      DATABASE_URL: platform.url,
      PORT: '0',
      HOST: '127.0.0.1',
      PLATFORM_OAUTH_API_KEY: API_KEY,
      OAUTH_ENCRYPTION_KEY: 'an-encryption-key-of-at-least-thirty-two-characters',
      OAUTH_PUBLIC_URL: PUBLIC_URL,
      CONNECTION_PRIVATE_ORIGINS: [idp.issuer, ...origins].join(','),
      OAUTH_PROVIDERS: JSON.stringify([
        {
          name: 'acme-id',
          issuer: idp.issuer,
          client_id: 'crews',
          client_secret: CLIENT_SECRET,
          scopes: ['openid', 'files'],
        },
      ]),
    },
    {
      log: createLog({ name: 'oauth', level: 'debug', destination }),
      lingerMs: 0,
      providerTimeoutMs: options.providerTimeoutMs ?? 8000,
    },
  )
  const variables = {
    PLATFORM_OAUTH_API_BASE_URL: oauth.url,
    PLATFORM_OAUTH_API_KEY: API_KEY,
    TOOL_PRIVATE_ORIGINS: origins.join(','),
  }
  const app = platform.appAt('http://platform.test', variables)

  const get = (path: string, user: SignedInUser) =>
    app.request(path, { headers: { cookie: user.cookie } })

  const post = (path: string, user: SignedInUser, fields: Readonly<Record<string, string>> = {}) =>
    app.request(path, {
      method: 'POST',
      body: new URLSearchParams({ csrf_token: user.csrfToken, ...fields }),
      headers: { cookie: user.cookie },
    })

  /** The text of a page, in one line. */
  const read = async (response: Response | Promise<Response>): Promise<string> =>
    (await (await response).text()).replace(/\s+/g, ' ')

  const idOf = async (name: string, organizationId = platform.acme.organizationId) => {
    const [found] = await platform.sql<{ id: string }[]>`
      select id from oauth_connections
      where name = ${name} and organization_id = ${organizationId}`
    return found?.id ?? 'none'
  }

  /** Follows a page that leads to the provider, back to the page that the browser ends at. */
  async function authorize(page: Response, decision?: Decision): Promise<string> {
    const text = await read(page)
    const url = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(text)?.[1]
    if (url === undefined) throw new Error(`no page that leads on: ${page.status} ${text}`)
    const callback = await idp.authorize(url.replaceAll('&amp;', '&'), decision)
    const answer = await fetch(callback.replace(PUBLIC_URL, oauth.url), { redirect: 'manual' })
    return answer.headers.get('location') ?? `no redirect: ${answer.status} ${await answer.text()}`
  }

  const oidc = (fields: Readonly<Record<string, string>> = {}) => ({
    provider: 'oidc',
    name: 'files',
    issuer: idp.issuer,
    client_id: 'crews',
    client_secret: CLIENT_SECRET,
    token_endpoint_auth_method: 'client_secret_basic',
    scopes: 'openid files',
    ...fields,
  })

  return withMembers(platform, {
    app,
    idp,
    oauth,
    variables,
    /** The log of the OAuth service, line by line. */
    oauthLines: lines,
    get,
    post,
    read,
    idOf,
    authorize,
    /** The fields of a connection to the provider. */
    oidc,
    /** Creates a connection to the provider and connects it. Returns its id. */
    async connect(user: SignedInUser, fields: Readonly<Record<string, string>> = {}) {
      const back = await authorize(await post('/connections', user, oidc(fields)))
      const { pathname, search } = new URL(back)
      const answer = await get(pathname + search, user)
      return /[0-9a-f-]{36}/.exec(answer.headers.get('location') ?? '')?.[0] ?? 'none'
    },
    /** Lets a token come near its end, or past it. */
    async age(id: string, past: 'due' | 'expired') {
      const expires = past === 'due' ? '30 seconds' : '-1 seconds'
      await platform.sql`
        update oauth_connections set refresh_at = now() - interval '1 minute',
          expires_at = now() + ${expires}::interval where id = ${id}`
    },
    async close() {
      await oauth.stop()
      await idp.stop()
      await platform.close()
    },
  })
}
