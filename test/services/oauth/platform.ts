import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { start } from '../../../services/oauth/start.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import type { Decision, IdentityProvider } from '../../support/identity-provider.ts'
import { createDatabase } from '../../support/postgres.ts'

export const API_KEY = 'an-api-key-of-at-least-thirty-two-characters'
export const ENCRYPTION_KEY = 'an-encryption-key-of-at-least-thirty-two-characters'
export const PUBLIC_URL = 'https://oauth.platform.test'
export const CLIENT_SECRET = 'the-secret-of-the-client'

export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
  readonly headers: Headers
}

interface CallOptions {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly at?: Service
}

export type Platform = Awaited<ReturnType<typeof openPlatform>>

/** The providers of the tests: one discovered, one by its endpoints; extra ones may be added. */
const providersOf = ({ issuer }: IdentityProvider) => [
  {
    name: 'acme-id',
    issuer,
    client_id: 'crews',
    client_secret_env: 'ACME_ID_SECRET',
    scopes: ['openid', 'files'],
    authorization_params: { prompt: 'consent' },
  },
  {
    name: 'plain',
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    client_id: 'plain',
    client_secret: CLIENT_SECRET,
    token_endpoint_auth_method: 'client_secret_post',
    scopes: ['openid', 'files'],
  },
]

/** A database, a real identity provider, and the service over both; all calls go over HTTP. */
export async function openPlatform(extraProviders: readonly Record<string, unknown>[] = []) {
  const database = await createDatabase('platform')
  const sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  const client = { redirect_uris: [`${PUBLIC_URL}/callback`], client_secret: CLIENT_SECRET }
  const grants = { grant_types: ['authorization_code', 'refresh_token'] }
  const idp = await startIdentityProvider({
    clients: [
      { client_id: 'crews', ...client, ...grants },
      {
        client_id: 'plain',
        ...client,
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
      {
        client_id: 'robot',
        client_secret: CLIENT_SECRET,
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
    scopes: ['files'],
  })
  const { id: organizationId } = await ensureOrganization(sql, { name: 'Acme <b>' })
  const lines: string[] = []
  const log = createLog({
    name: 'oauth',
    level: 'debug',
    destination: { write: (line: string) => void lines.push(line) },
  })
  const environment = {
    DATABASE_URL: database.url,
    PORT: '0',
    HOST: '127.0.0.1',
    PLATFORM_OAUTH_API_KEY: API_KEY,
    OAUTH_ENCRYPTION_KEY: ENCRYPTION_KEY,
    OAUTH_PUBLIC_URL: PUBLIC_URL,
    CONNECTION_PRIVATE_ORIGINS: idp.issuer,
    OAUTH_PROVIDERS: JSON.stringify([...providersOf(idp), ...extraProviders]),
    ACME_ID_SECRET: CLIENT_SECRET,
  }
  const started: Service[] = []
  const startService = async (extra: Record<string, string> = {}, providerTimeoutMs = 8000) => {
    const options = { log, lingerMs: 0, providerTimeoutMs }
    const service = await start({ ...environment, ...extra }, options)
    started.push(service)
    return service
  }
  const service = await startService()

  async function call(
    method: string,
    path: string,
    { body, headers = { authorization: `Bearer ${API_KEY}` }, at = service }: CallOptions = {},
  ): Promise<Answer> {
    const all = new Headers(headers)
    if (body !== undefined) all.set('content-type', 'application/json')
    const response = await fetch(at.url + path, {
      method,
      headers: all,
      body: body === undefined ? null : JSON.stringify(body),
    })
    return { status: response.status, body: await readObject(response), headers: response.headers }
  }

  const begin = (name: string, provider = 'acme-id') =>
    call('POST', '/connections', { body: { organization_id: organizationId, provider, name } })

  /** Opens a callback as the browser would, at this service instead of its public address. */
  async function open(callback: string, at = service) {
    const response = await fetch(callback.replace(PUBLIC_URL, at.url))
    return { status: response.status, page: await response.text(), headers: response.headers }
  }

  async function connect(name: string, provider = 'acme-id', decision?: Decision) {
    const { body } = await begin(name, provider)
    const callback = await idp.authorize(String(body['authorization_url']), decision)
    return { id: String(body['connection_id']), callback, page: await open(callback) }
  }

  return {
    sql,
    idp,
    service,
    organizationId,
    /** The log, line by line. */
    lines,
    startService,
    call,
    begin,
    open,
    connect,
    token: (id: string, at = service) => call('POST', `/connections/${id}/token`, { at }),
    /** Lets a token come near its end, or past it. */
    async age(id: string, past: 'due' | 'expired') {
      const expires = past === 'due' ? '30 seconds' : '-1 seconds'
      await sql`
        update oauth_connections set refresh_at = now() - interval '1 minute',
          expires_at = now() + ${expires}::interval where id = ${id}`
    },
    async close() {
      await Promise.all(started.map((each) => each.stop()))
      await idp.stop()
      await sql.end()
      await database.drop()
    },
  }
}

async function readObject(response: Response): Promise<Record<string, unknown>> {
  const body: unknown = await response.json()
  if (typeof body !== 'object' || body === null) throw new Error('not an object')
  return { ...body }
}
