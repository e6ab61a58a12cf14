import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  createAttempt,
  openAttempt,
  sealAttempt,
} from '../../../../services/web/sign-in/oidc/attempt.ts'
import { webEnv } from '../../../../services/web/env.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { freePort } from '../../../support/free-port.ts'
import type { Intercept } from '../../../support/identity-provider.ts'
import { openPlatformWithOidc } from '../support/platform-with-oidc.ts'
import type { PlatformWithOidc } from '../support/platform-with-oidc.ts'
import { BASE_URL, cheapHash, environment, SECRET } from '../support/platform.ts'
import { startDuration } from '../../../support/duration.ts'

const PASSWORD = 'correct horse battery staple'
const DISCOVERY = '/.well-known/openid-configuration'

let platform: PlatformWithOidc

beforeAll(async () => {
  platform = await openPlatformWithOidc({ passwordHash: cheapHash(PASSWORD) })
})

afterEach(() => {
  for (const path of [DISCOVERY, '/token', '/jwks', '/me']) platform.idp.intercept(path)
  vi.useRealTimers()
})

afterAll(() => platform.close())

const pageText = async (response: Response) => (await response.text()).replace(/\s+/g, ' ')
const json =
  (body: unknown, status = 200): Intercept =>
  (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(body))

/** A platform that has not met its provider yet. */
const fresh = (extra: Record<string, string> = {}) =>
  platform.appAt(BASE_URL, {
    AUTH_PROVIDER: 'okta',
    OIDC_ISSUER_URL: platform.idp.issuer,
    OIDC_CLIENT_ID: 'platform',
    OIDC_CLIENT_SECRET: 'x',
    ...extra,
  })

describe('a provider that is unavailable when a sign-in begins', () => {
  const isAway = async (response: Response, detail: string) => {
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    const text = await pageText(response)
    expect(text).toContain(detail)
    expect(text).toContain('Use a password instead')
  }

  it('is told on the sign-in page: nobody listens', async () => {
    const host = `127.0.0.1:${await freePort()}`
    const app = fresh({ OIDC_ISSUER_URL: `http://${host}` })
    const told = `Okta at ${host} could not be reached (ECONNREFUSED). Try again.`
    await isAway(await app.request('/sign-in/start'), told)
  })

  it('is told within the deadline: it accepts and says nothing', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const app = fresh({ OIDC_ISSUER_URL: `http://127.0.0.1:${port}` })
    const waiting = startDuration('waiting for the provider')
    await isAway(await app.request('/sign-in/start'), 'did not answer within 5000 ms.')
    waiting.expectBelow(30_000)
    silent.closeAllConnections()
    silent.close()
  })

  it('is reported: a 500, something other than JSON, a redirect, or too long a body', async () => {
    const answers: [Intercept, string][] = [
      [json({ error: 'x' }, 500), 'unexpected HTTP response status code'],
      [(_, response) => void response.end('<h1>Login</h1>'), 'unexpected response content-type'],
      [(_, response) => void response.writeHead(302, { location: '/x' }).end(), 'redirect'],
      [json({ issuer: 'x'.repeat(300_000) }), 'more than 262144 bytes'],
    ]
    for (const [answer, detail] of answers) {
      platform.idp.intercept(DISCOVERY, answer)
      await isAway(await fresh().request('/sign-in/start'), detail)
    }
  })

  it('keeps nobody out who has a password, and is asked again at the next sign-in', async () => {
    const app = fresh()
    platform.idp.intercept(DISCOVERY, json({}, 500))
    const unavailable = await app.request('/sign-in/start')
    expect(unavailable.status).toBe(503)
    const [cookie = ''] = unavailable.headers.getSetCookie().map((line) => line.split(';')[0])
    const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(await unavailable.text())?.[1] ?? ''
    const body = new URLSearchParams({
      email: platform.acme.email,
      password: PASSWORD,
      csrf_token: csrfToken,
    })
    const signedIn = await app.request('/sign-in', { method: 'POST', body, headers: { cookie } })
    expect(signedIn.status).toBe(303)
    platform.idp.intercept(DISCOVERY)
    expect((await app.request('/sign-in/start')).status).toBe(303)
  })
})

describe('a provider that is misconfigured', () => {
  it('with another issuer in its document is not believed', async () => {
    const document = (await (await fetch(platform.idp.issuer + DISCOVERY)).json()) as object
    for (const issuer of [
      'https://evil.test',
      'https://login.microsoftonline.com/{tenantid}/v2.0',
    ]) {
      platform.idp.intercept(DISCOVERY, json({ ...document, issuer }))
      const response = await fresh().request('/sign-in/start')
      expect(response.status).toBe(502)
      expect(await pageText(response)).toContain(`its issuer is ${issuer}, but OIDC_ISSUER_URL is`)
    }
  })

  it('is taken with a slash at the end of its issuer, as some write it', async () => {
    const document = (await (await fetch(platform.idp.issuer + DISCOVERY)).json()) as object
    platform.idp.intercept(DISCOVERY, json({ ...document, issuer: `${platform.idp.issuer}/` }))
    const app = fresh({ OIDC_ISSUER_URL: `${platform.idp.issuer}/` })
    expect((await app.request('/sign-in/start')).status).toBe(303)
  })

  it('that refuses our client says what to look at', async () => {
    const visitor = platform.browse()
    const callback = await visitor.answer()
    platform.idp.intercept('/token', json({ error: 'invalid_client' }, 401))
    const response = await visitor.go(callback)
    expect(response.status).toBe(502)
    expect(await pageText(response)).toContain('OIDC_CLIENT_ID or OIDC_CLIENT_SECRET is wrong')
  })
})

describe('a provider that becomes unavailable in the middle', () => {
  it.each(['/token', '/jwks', '/me'])('is told, and opens no session: %s', async (path) => {
    const own = await openPlatformWithOidc()
    const visitor = own.browse()
    const callback = await visitor.answer()
    own.idp.intercept(path, (_, response) => void response.destroy())
    const response = await visitor.go(callback)
    expect(response.status).toBe(503)
    expect(await pageText(response)).toMatch(/Keycloak at 127\.0\.0\.1:\d+ could not be reached/)
    expect(own.audit()).toMatchObject([{ audit: 'sign_in_failed', reason: 'provider_away' }])
    expect(await own.sql`select 1 from sessions`).toHaveLength(0)
    // It is not the visitor's failure.
    expect(await own.sql`select 1 from sign_in_failures`).toHaveLength(0)
    await own.close()
  })

  it('does not keep anybody from signing out', async () => {
    const visitor = platform.browse()
    await visitor.signIn()
    const [cookie = ''] = [...visitor.cookies].map((pair) => pair.join('='))
    const page = await (await visitor.go('/')).text()
    const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
    platform.idp.intercept(DISCOVERY, (_, response) => void response.destroy())
    const response = await fresh().request('/sign-out', {
      method: 'POST',
      body: new URLSearchParams({ csrf_token: csrfToken }),
      headers: { cookie },
    })
    expect(response.headers.get('location')).toBe('/sign-in')
    expect((await visitor.go('/')).status).toBe(303)
  })
})

describe('an ID token that the provider did not sign', () => {
  it('is refused, although it came from the provider itself', async () => {
    const own = await openPlatformWithOidc()
    const visitor = own.browse()
    const callback = await visitor.answer()
    const { keys } = (await (await fetch(`${own.idp.issuer}/jwks`)).json()) as { keys: object[] }
    const other = await openPlatformWithOidc()
    const foreign = (await (await fetch(`${other.idp.issuer}/jwks`)).json()) as { keys: object[] }
    expect(foreign.keys).not.toEqual(keys)
    own.idp.intercept('/jwks', json(foreign))
    const response = await visitor.go(callback)
    expect(response.status).toBe(400)
    expect(await own.sql`select 1 from sessions`).toHaveLength(0)
    await own.close()
    await other.close()
  })
})

describe('a sign-in that was begun', () => {
  it('is forgotten after ten minutes, and opens under no other key', async () => {
    const attempt = createAttempt('/')
    const sealed = await sealAttempt(attempt, SECRET)
    expect(await openAttempt(sealed, SECRET)).toEqual(attempt)
    expect(await openAttempt(sealed, `${SECRET}!`)).toBeUndefined()
    vi.useFakeTimers({ now: Date.now() + 601_000, toFake: ['Date'] })
    expect(await openAttempt(sealed, SECRET)).toBeUndefined()
  })
})

describe('the settings of the identity provider', () => {
  const problemsOf = (extra: Record<string, string>): string => {
    try {
      readEnv(webEnv, { ...environment(platform.url), ...extra })
      return ''
    } catch (thrown) {
      return String(thrown)
    }
  }

  it('are all required unless AUTH_PROVIDER is local, and reported with other mistakes', () => {
    const problems = problemsOf({ AUTH_PROVIDER: 'okta', OIDC_CLIENT_ID: '', PORT: 'x' })
    expect(problems).toContain('PORT must be a whole number')
    for (const name of ['OIDC_ISSUER_URL', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET']) {
      expect(problems).toContain(`${name} is required unless AUTH_PROVIDER is "local"`)
    }
    expect(problemsOf({})).toBe('')
    expect(problemsOf({ AUTH_PROVIDER: 'local' })).toBe('')
  })

  it('name a claim and its value together', () => {
    expect(problemsOf({ OIDC_ADMIN_CLAIM: 'groups' })).toContain(
      'OIDC_ADMIN_VALUE is required with OIDC_ADMIN_CLAIM',
    )
    expect(problemsOf({ OIDC_ADMIN_VALUE: 'admins' })).toContain(
      'OIDC_ADMIN_CLAIM is required with OIDC_ADMIN_VALUE',
    )
  })

  it('map groups by rules that name an organization and a role', () => {
    const rules = (text: string) => ({ OIDC_GROUPS_CLAIM: 'groups', OIDC_GROUPS: text })
    expect(problemsOf(rules('CN=crew,DC=corp -> Acme: admin;\n/team/x -> A: B: viewer;'))).toBe('')
    for (const wrong of ['crew', 'crew -> Acme', 'crew -> Acme: owner', '-> Acme: admin']) {
      expect(problemsOf(rules(wrong))).toContain('OIDC_GROUPS must be rules such as')
    }
  })

  it('are words, URLs and scopes', () => {
    const problems = problemsOf({
      AUTH_PROVIDER: 'Okta!',
      OIDC_ISSUER_URL: 'idp.example.com',
      OIDC_SCOPES: 'email',
      OIDC_CLIENT_SECRET: 'hunter2',
    })
    expect(problems).toContain('AUTH_PROVIDER must be a word such as local, oidc or okta')
    expect(problems).toContain('OIDC_ISSUER_URL must be an absolute http:// or https:// URL')
    expect(problems).toContain('OIDC_SCOPES must name the scope openid')
    expect(problems).not.toContain('hunter2')
  })

  it('leave no way to the provider while people sign in with a password only', async () => {
    expect((await platform.app.request('/sign-in/start')).status).toBe(404)
    expect((await platform.app.request('/sign-in/callback?code=x')).status).toBe(404)
    expect(await (await platform.app.request('/sign-in')).text()).not.toContain('Sign in with')
  })
})
