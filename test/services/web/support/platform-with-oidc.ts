import { createLog } from '../../../../services/shared/log.ts'
import { start } from '../../../../services/web/start.ts'
import { freePort } from '../../../support/free-port.ts'
import { startIdentityProvider } from '../../../support/identity-provider.ts'
import type { Decision } from '../../../support/identity-provider.ts'
import { openPlatform, environment, withMembers } from './platform.ts'

export const CLIENT_SECRET = 'the-secret-of-the-platform'

export type PlatformWithOidc = Awaited<ReturnType<typeof openPlatformWithOidc>>

/** Claims of each account; what a test puts here the provider says at the next sign-in. */
type ClaimsOf = Map<string, Record<string, unknown>>

interface PlatformWithOidcOptions {
  readonly passwordHash?: string
  /** @default '127.0.0.1' */
  readonly host?: string
  readonly env?: Readonly<Record<string, string>>
}

/** A web service on a port, and a real identity provider that it signs people in with. */
export async function openPlatformWithOidc(options: PlatformWithOidcOptions = {}) {
  const { passwordHash = null, host = '127.0.0.1' } = options
  const platform = await openPlatform(passwordHash)
  const port = String(await freePort())
  const baseUrl = `http://${host}:${port}`
  const claimsOf: ClaimsOf = new Map()
  const idp = await startIdentityProvider({
    clients: [
      {
        client_id: 'platform',
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${baseUrl}/sign-in/callback`],
        post_logout_redirect_uris: [`${baseUrl}/sign-in`],
      },
    ],
    scopes: ['profile', 'email'],
    claims: (account) =>
      account === ''
        ? { email: '', name: '', groups: [], 'https://acme.test/role': '', realm_access: {} }
        : { ...claimsOf.get(account) },
  })
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const env = {
    ...environment(platform.url, baseUrl),
    PORT: port,
    AUTH_PROVIDER: 'keycloak',
    OIDC_ISSUER_URL: idp.issuer,
    OIDC_CLIENT_ID: 'platform',
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
    ...options.env,
  }
  const log = createLog({ name: 'web', destination })
  const service = await start(env, { log, lingerMs: 0 })
  return withMembers(platform, {
    baseUrl,
    idp,
    claimsOf,
    lines,
    /** The audit log. */
    audit: () => lines.filter(({ audit }) => audit !== undefined),
    browse: () => createBrowser(baseUrl, (url, decision) => idp.authorize(url, decision)),
    async close() {
      await service.stop()
      await idp.stop()
      await platform.close()
    },
  })
}

/**
 * The little of a browser that a sign-in takes: cookies, and redirects that are looked at one by
 * one.
 */
function createBrowser(
  baseUrl: string,
  authorize: (url: string, decision?: Decision) => Promise<string>,
) {
  const cookies = new Map<string, string>()

  async function go(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...Object.fromEntries(new Headers(init.headers)), cookie }
    const response = await fetch(new URL(url, baseUrl), { ...init, redirect: 'manual', headers })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  /** Begins a sign-in; resolves to the provider's page that it leads to. */
  async function begin(next?: string): Promise<string> {
    const query = next === undefined ? '' : `?next=${encodeURIComponent(next)}`
    const response = await go(`/sign-in/start${query}`)
    const location = response.headers.get('location')
    if (location === null) throw new Error(`no redirect: ${response.status}`)
    return location
  }

  return {
    cookies,
    go,
    begin,
    /** Signs in at the provider; resolves to the callback that it sends the browser to. */
    answer: async (decision?: Decision, next?: string) => authorize(await begin(next), decision),
    /** All of a sign-in; resolves to the answer to the callback. */
    signIn: async (account = 'ada', next?: string) =>
      go(await authorize(await begin(next), { account })),
    /** Posts the sign-out form of the dashboard. */
    async signOut(): Promise<Response> {
      const page = await (await go('/')).text()
      const token = /name="csrf_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
      return go('/sign-out', { method: 'POST', body: new URLSearchParams({ csrf_token: token }) })
    },
  }
}
