import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { countFailure } from '../../../../services/platform/people/sign-in-failures.ts'
import { BASE_URL, cheapHash, openPlatform } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

const PASSWORD = 'correct horse battery staple'
const SECURE_URL = 'https://platform.test'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform(cheapHash(PASSWORD))
})

beforeEach(async () => {
  await platform.sql`delete from sign_in_failures`
  await platform.sql`delete from sessions`
  platform.lines.length = 0
})

afterAll(() => platform.close())

type App = Platform['app']

interface SignIn {
  readonly email?: string
  readonly password?: string
  readonly next?: string
  readonly headers?: Record<string, string>
  readonly csrfToken?: string
  readonly cookie?: string
}

const cookiesOf = (response: Response): string[] => response.headers.getSetCookie()
const pairsOf = (response: Response): string =>
  cookiesOf(response)
    .map((cookie) => cookie.split(';')[0])
    .join('; ')

async function openForm(app: App = platform.app, base = BASE_URL) {
  const response = await app.request(`${base}/sign-in`)
  const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(await response.text())?.[1] ?? ''
  return { cookie: pairsOf(response), csrfToken, response }
}

async function signIn(given: SignIn = {}, app: App = platform.app, base = BASE_URL) {
  const form = await openForm(app, base)
  const body = new URLSearchParams({
    email: given.email ?? platform.acme.email,
    password: given.password ?? PASSWORD,
    csrf_token: given.csrfToken ?? form.csrfToken,
    ...(given.next === undefined ? {} : { next: given.next }),
  })
  const cookie = given.cookie ?? form.cookie
  const headers = { cookie, host: new URL(base).host, ...given.headers }
  return app.request(`${base}/sign-in`, { method: 'POST', body, headers })
}

const sessions = async () => (await platform.sql`select 1 from sessions`).length
const pageText = async (response: Response) => (await response.text()).replace(/\s+/g, ' ')

describe('signing in with a password (SPEC 5.1)', () => {
  it('opens a session that the pages accept', async () => {
    const response = await signIn()
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe('/')
    const dashboard = await platform.app.request('/', { headers: { cookie: pairsOf(response) } })
    expect(dashboard.status).toBe(200)
    expect(await dashboard.text()).toContain('Ada Park')
  })

  it('takes the address in any case, with spaces around it', async () => {
    expect((await signIn({ email: `  ${platform.acme.email.toUpperCase()} ` })).status).toBe(303)
  })

  it('returns the same for a wrong password, an unknown account and one without any', async () => {
    await platform.sql`
      insert into users (organization_id, email, name)
      values (${platform.acme.organizationId}, 'idp@acme.test', 'Idp') on conflict do nothing`
    const emails = [
      platform.acme.email,
      'nobody@acme.test',
      'idp@acme.test',
      'a\0b',
      'x'.repeat(5000),
    ]
    const answers: { status: number; body: string }[] = []
    for (const email of emails) {
      const response = await signIn({ email, password: 'wrong password' })
      const body = (await pageText(response))
        .replaceAll(/value="[^"]*"/g, '')
        .replaceAll(/autofocus/g, '')
      answers.push({ status: response.status, body })
    }
    expect(answers[0]?.status).toBe(401)
    expect(answers[0]?.body).toContain('The email address or the password is not right.')
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(await sessions()).toBe(0)
  })

  it('logs each attempt for the audit, without the password or address typed', async () => {
    await signIn()
    await signIn({ password: 'wrong password' })
    await signIn({ email: 'my-secret-password', password: 'x' })
    const lines = platform.lines.filter(({ audit }) => audit !== undefined)
    expect(lines).toMatchObject([
      { audit: 'signed_in', method: 'password', user_id: platform.acme.userId, address: 'unknown' },
      { audit: 'sign_in_failed', reason: 'refused', user_id: platform.acme.userId },
      { audit: 'sign_in_failed', reason: 'refused' },
    ])
    expect(lines[2]).not.toHaveProperty('user_id')
    const log = JSON.stringify(platform.lines)
    for (const secret of [PASSWORD, 'wrong password', 'my-secret-password']) {
      expect(log).not.toContain(secret)
    }
  })
})

describe('throttling of sign-ins', () => {
  const throttle = async (subject: string, failures: number) => {
    for (let i = 0; i < failures; i += 1) {
      await countFailure(platform.sql, { subject, limit: 0, windowSeconds: 900 })
    }
  }

  it('refuses the right password after ten attempts, and says when to come back', async () => {
    await throttle(`account:${platform.acme.email}`, 9)
    expect((await signIn({ password: 'wrong password' })).status).toBe(401)
    const response = await signIn()
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(800)
    expect(await pageText(response)).toContain('Too many attempts. Try again in 15 minutes.')
    expect((await signIn({ email: platform.rival.email })).status).toBe(303)
  })

  it('answers unknown accounts the same way', async () => {
    await throttle('account:nobody@acme.test', 10)
    expect((await signIn({ email: 'nobody@acme.test' })).status).toBe(429)
  })

  it('does not let attempts through that are sent all at once', async () => {
    await throttle(`account:${platform.acme.email}`, 8)
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => signIn({ password: 'wrong password' })),
    )
    const statuses = answers.map(({ status }) => status).sort((a, b) => a - b)
    expect(statuses).toEqual([401, 401, 429, 429, 429, 429])
  })

  it('counts by address too, and believes X-Forwarded-For only from proxies of ours', async () => {
    await throttle('address:203.0.113.7', 100)
    const headers = { 'x-forwarded-for': '203.0.113.7' }
    expect((await signIn({ headers })).status).toBe(303)
    const behindProxy = platform.appAt(BASE_URL, { TRUSTED_PROXIES: '1' })
    expect((await signIn({ headers }, behindProxy)).status).toBe(429)
    const spoofed = { 'x-forwarded-for': '203.0.113.7, 198.51.100.1' }
    expect((await signIn({ headers: spoofed }, behindProxy)).status).toBe(303)
  })

  it('forgets the failures of an account that signs in', async () => {
    await throttle(`account:${platform.acme.email}`, 9)
    expect((await signIn()).status).toBe(303)
    expect(await platform.sql`select 1 from sign_in_failures`).toHaveLength(0)
  })
})

describe('the session cookie (SPEC 5.1)', () => {
  it('is bound to the host and to https where the platform is reached by https', async () => {
    const app = platform.appAt(SECURE_URL)
    const response = await signIn({}, app, SECURE_URL)
    const cookie = cookiesOf(response).find((each) => each.includes('session'))
    expect(cookie).toMatch(
      /^__Host-platform_session=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    expect(response.headers.get('strict-transport-security')).toBe(
      'max-age=31536000; includeSubDomains',
    )
  })

  it('has a plain name and no Secure on http', async () => {
    const response = await signIn()
    const cookie = cookiesOf(response).find((each) => each.includes('session'))
    expect(cookie).toMatch(/^platform_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(response.headers.has('strict-transport-security')).toBe(false)
  })

  it('is a new one at each sign-in, and the one before ends: none can be planted', async () => {
    const planted = `platform_session=${'A'.repeat(43)}`
    const form = await openForm()
    const first = await signIn({ cookie: `${form.cookie}; ${planted}`, csrfToken: form.csrfToken })
    const again = await openForm()
    const second = await signIn({
      cookie: `${again.cookie}; ${pairsOf(first)}`,
      csrfToken: again.csrfToken,
    })
    const ofFirst = pairsOf(first)
    const ofSecond = pairsOf(second)
    expect(new Set([planted, ofFirst, ofSecond]).size).toBe(3)
    const open = async (cookie: string) =>
      (await platform.app.request('/', { headers: { cookie } })).status
    expect(await open(planted)).toBe(303)
    expect(await open(ofFirst)).toBe(303)
    expect(await open(ofSecond)).toBe(200)
    expect(await sessions()).toBe(1)
  })

  it('ends after two hours without a request, and after twelve with them', async () => {
    const open = async (cookie: string) =>
      (await platform.app.request('/', { headers: { cookie } })).status
    const [idle, busy] = [pairsOf(await signIn()), pairsOf(await signIn())]
    await platform.sql`update sessions set last_seen_at = now() - interval '119 minutes'`
    expect(await open(busy)).toBe(200)
    await platform.sql`update sessions set last_seen_at = last_seen_at - interval '2 minutes'`
    expect([await open(idle), await open(busy)]).toEqual([303, 200])
    await platform.sql`
      update sessions set last_seen_at = now(), expires_at = expires_at - interval '719 minutes'`
    expect(await open(busy)).toBe(200)
    await platform.sql`update sessions set expires_at = expires_at - interval '2 minutes'`
    expect(await open(busy)).toBe(303)
  })

  it('ends with the sign-out, which takes a form of the session', async () => {
    const { cookie, csrfToken } = await platform.signIn(platform.acme)
    const signOut = (token: string) =>
      platform.app.request('/sign-out', {
        method: 'POST',
        body: new URLSearchParams({ csrf_token: token }),
        headers: { cookie },
      })
    expect((await signOut('')).status).toBe(403)
    expect(await sessions()).toBe(1)
    const response = await signOut(csrfToken)
    expect(response.headers.get('location')).toBe('/sign-in')
    expect(cookiesOf(response)[0]).toMatch(/^platform_session=; Max-Age=0/)
    expect(await sessions()).toBe(0)
    expect((await platform.app.request('/', { headers: { cookie } })).status).toBe(303)
    expect((await platform.app.request('/sign-out')).status).toBe(404)
  })
})

describe('forged sign-in forms', () => {
  const forged: [string, SignIn][] = [
    ['no cookie of ours', { cookie: '' }],
    ['no token', { csrfToken: '' }],
    ['a token of another browser', { csrfToken: 'A'.repeat(43) }],
    ['another site, as the browser tells', { headers: { 'sec-fetch-site': 'cross-site' } }],
    ['a sister site', { headers: { 'sec-fetch-site': 'same-site' } }],
    ['another origin', { headers: { origin: 'https://evil.test' } }],
    ['an opaque origin', { headers: { origin: 'null' } }],
  ]
  it.each(forged)('are refused: %s', async (_, given) => {
    const response = await signIn(given)
    expect(response.status).toBe(403)
    expect(await pageText(response)).toContain('This form is no longer valid.')
    expect(await sessions()).toBe(0)
    expect(await platform.sql`select 1 from sign_in_failures`).toHaveLength(0)
  })

  it('are no more when they come from our own origin', async () => {
    expect((await signIn({ headers: { origin: BASE_URL } })).status).toBe(303)
    expect((await signIn({ headers: { 'sec-fetch-site': 'same-origin' } })).status).toBe(303)
  })

  it('may be sent from two tabs', async () => {
    const first = await openForm()
    const second = await platform.app.request('/sign-in', { headers: { cookie: first.cookie } })
    expect(pairsOf(second)).toBe(first.cookie)
  })

  it('that are no form or too large are refused', async () => {
    const post = (body: string, type: string) =>
      platform.app.request('/sign-in', {
        method: 'POST',
        body,
        headers: { 'content-type': type },
      })
    expect((await post('{}', 'application/json')).status).toBe(415)
    const large = `email=${'x'.repeat(300_000)}`
    expect((await post(large, 'application/x-www-form-urlencoded')).status).toBe(413)
  })
})

describe('the page after the sign-in', () => {
  it('is the one that was asked for', async () => {
    const asked = `/automations/${platform.acme.research.automationId}?notice=stopped`
    const response = await platform.app.request(asked)
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe(`/sign-in?next=${encodeURIComponent(asked)}`)
    expect((await signIn({ next: asked })).headers.get('location')).toBe(asked)
  })

  const hostile = [
    'https://evil.test/',
    '//evil.test',
    '/\\evil.test',
    '/\t/evil.test',
    '/\n//evil.test',
    '/.//evil.test',
    '/a/..//evil.test',
    'javascript:alert(1)',
    '\\\\evil.test',
    'evil.test',
    '/sign-out',
    '/é',
    '',
  ]
  it.each(hostile)('is never another site: %j', async (next) => {
    const { cookie } = await platform.signIn(platform.acme)
    const response = await platform.app.request(`/sign-in?next=${encodeURIComponent(next)}`, {
      headers: { cookie },
    })
    expect(response.headers.get('location')).toBe('/')
  })
})
