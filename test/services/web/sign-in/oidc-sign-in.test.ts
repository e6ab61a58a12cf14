import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { countFailure } from '../../../../services/platform/people/sign-in-failures.ts'
import { grantRole } from '../../../../services/platform/people/users.ts'
import { openPlatformWithOidc } from '../support/platform-with-oidc.ts'
import type { PlatformWithOidc } from '../support/platform-with-oidc.ts'

const ADMINS = { email: 'ada@example.com', name: 'Ada Park', groups: ['staff', 'admins'] }

let platform: PlatformWithOidc

beforeAll(async () => {
  platform = await openPlatformWithOidc({
    env: {
      OIDC_ADMIN_CLAIM: 'groups',
      OIDC_ADMIN_VALUE: 'admins',
      OIDC_GROUPS_CLAIM: 'groups',
      OIDC_GROUPS: 'crews -> rival: editor',
    },
  })
})

beforeEach(async () => {
  await platform.sql`delete from sign_in_failures`
  await platform.sql`delete from sessions`
  await platform.sql`delete from used_sign_ins`
  await platform.sql`delete from users where issuer is not null`
  platform.lines.length = 0
  platform.claimsOf.clear()
  platform.claimsOf.set('ada', ADMINS)
})

afterAll(() => platform.close())

const pageText = async (response: Response) => (await response.text()).replace(/\s+/g, ' ')
const users = () => platform.sql<
  { id: number; email: string | null; name: string; subject: string }[]
>`
  select id, email, name, subject from users where issuer is not null order by id`
const memberships = async () =>
  (
    await platform.sql<{ text: string }[]>`
    select o.name || ': ' || m.role as text from memberships m
      join organizations o on o.id = m.organization_id join users u on u.id = m.user_id
    where u.issuer = ${platform.idp.issuer}`
  ).map(({ text }) => text)
const sessions = async () => (await platform.sql`select 1 from sessions`).length
const roles = async () =>
  (
    await platform.sql<{ role: string; source: string }[]>`
    select role, source from user_roles r join users u on u.id = r.user_id
    where u.issuer is not null order by source`
  ).map(({ role, source }) => `${source} ${role}`)

describe('signing in through the identity provider (SPEC 5.1)', () => {
  it('asks for a code with PKCE, state and nonce, and opens a session with it', async () => {
    const visitor = platform.browse()
    const asked = new URL(await visitor.begin())
    expect(asked.origin).toBe(platform.idp.issuer)
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'platform',
      scope: 'openid profile email',
      redirect_uri: `${platform.baseUrl}/sign-in/callback`,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    })
    const response = await visitor.signIn()
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe('/')
    expect([...visitor.cookies.keys()]).toEqual(['platform_session'])
    expect(await (await visitor.go('/')).text()).toContain('Ada Park')
  })

  it('creates a user of the default organization, and finds them by issuer and sub', async () => {
    await platform.browse().signIn()
    platform.claimsOf.set('ada', { email: 'Ada.New@Example.com', name: 'Ada <New>' })
    await platform.browse().signIn()
    expect(await users()).toMatchObject([
      { email: 'ada.new@example.com', name: 'Ada <New>', subject: 'ada' },
    ])
    expect(await memberships()).toEqual(['acme: viewer'])
  })

  it('makes a member of those organizations that the groups of this moment lead to', async () => {
    platform.claimsOf.set('ada', { name: 'Ada', groups: ['staff', 'crews'] })
    await platform.browse().signIn()
    expect(await memberships()).toEqual(['rival: editor'])
    expect(platform.audit()).toContainEqual(
      expect.objectContaining({ audit: 'member_set', role: 'editor', source: 'claim' }),
    )
    platform.claimsOf.set('ada', { name: 'Ada', groups: [] })
    await platform.browse().signIn()
    expect(await memberships()).toEqual([])
    const entries = await platform.sql`
      select action, actor_name, address, request_id is not null as has_request
      from audit_entries where target_name = 'Ada' order by id`
    const at = { actorName: 'the identity provider', address: '127.0.0.1', hasRequest: true }
    expect(entries).toEqual(
      ['user_created', 'member_set', 'member_removed'].map((action) => ({ action, ...at })),
    )
  })

  it('has the rights of its end, whatever somebody changed meanwhile', async () => {
    const visitor = platform.browse()
    await visitor.signIn()
    const [user] = await users()
    const callback = await visitor.answer()
    await platform.sql`
      update memberships set role = 'admin' where user_id = ${user?.id ?? 0} and source = 'local'`
    expect((await visitor.go(callback)).status).toBe(303)
    const members = '/settings/organization/members'
    const page = await (await visitor.go(members)).text()
    expect(page).toContain('<h1>Members</h1>')
    // All that admins are offered.
    expect(page).not.toContain('<a hidden')
    const next = await visitor.answer()
    await platform.sql`update users set disabled_at = now() where id = ${user?.id ?? 0}`
    expect((await visitor.go(next)).status).toBe(403)
    expect((await visitor.go(members)).status).toBe(303)
  })

  it('is never the local account of the same address', async () => {
    platform.claimsOf.set('ada', {
      email: platform.acme.email,
      email_verified: true,
      name: 'Mallory',
    })
    const visitor = platform.browse()
    await visitor.signIn()
    expect(await (await visitor.go('/')).text()).toContain('Mallory')
    const [user] = await users()
    expect(user).toMatchObject({ email: platform.acme.email, name: 'Mallory' })
    expect(user?.id).not.toBe(platform.acme.userId)
  })

  it('takes people without an address and a name, and keeps hostile ones harmless', async () => {
    await platform.browse().signIn('bare')
    platform.claimsOf.set('odd', { email: 'no address', name: `<img>\0\u202e${'x'.repeat(500)}` })
    const visitor = platform.browse()
    await visitor.signIn('odd')
    expect(await users()).toMatchObject([
      { subject: 'bare', name: 'bare', email: null },
      { subject: 'odd', name: `<img>  ${'x'.repeat(193)}`, email: null },
    ])
    expect(await (await visitor.go('/')).text()).not.toContain('<img>')
  })

  it('asks the userinfo endpoint for what the ID token leaves out, and only then', async () => {
    const before = platform.idp.count('/me')
    await platform.browse().signIn()
    expect(platform.idp.count('/me')).toBe(before)
    platform.claimsOf.set('ada', { email: 'ada@example.com', name: 'Ada' })
    await platform.browse().signIn()
    expect(platform.idp.count('/me')).toBe(before + 1)
  })

  it('goes back to the page that was asked for, and never to another site', async () => {
    const asked = `/automations/${platform.acme.research.automationId}?notice=stopped`
    const response = await platform.browse().signIn('ada', asked)
    expect(response.headers.get('location')).toBe(asked)
    const hostile = [
      'https://evil.test/',
      '//evil.test',
      '/\\evil.test',
      '/.//evil.test',
      '/sign-out',
    ]
    for (const next of [...hostile, `/${'x'.repeat(2000)}`]) {
      expect((await platform.browse().signIn('ada', next)).headers.get('location')).toBe('/')
    }
  })

  it('opens a new session each time and ends the one before: none can be planted', async () => {
    const visitor = platform.browse()
    visitor.cookies.set('platform_session', 'A'.repeat(43))
    await visitor.signIn()
    const first = visitor.cookies.get('platform_session') ?? ''
    await visitor.signIn()
    expect(visitor.cookies.get('platform_session')).not.toBe(first)
    expect(await sessions()).toBe(1)
    visitor.cookies.set('platform_session', first)
    expect((await visitor.go('/')).headers.get('location')).toContain('/sign-in')
  })

  it('makes one user of two first sign-ins at once', async () => {
    const [one, two] = [platform.browse(), platform.browse()]
    const answers = [await one.answer(), await two.answer()]
    const statuses = await Promise.all([one.go(answers[0] ?? ''), two.go(answers[1] ?? '')])
    expect(statuses.map(({ status }) => status)).toEqual([303, 303])
    expect(await users()).toHaveLength(1)
  })

  it('binds the attempt to this host, and to https where the platform uses it', async () => {
    const app = platform.appAt('https://platform.test', {
      AUTH_PROVIDER: 'oidc',
      OIDC_ISSUER_URL: platform.idp.issuer,
      OIDC_CLIENT_ID: 'platform',
      OIDC_CLIENT_SECRET: 'x',
    })
    const response = await app.request('https://platform.test/sign-in/start')
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(
          '^__Host-platform_sign_in_attempt=[\\w.-]+; ' +
            'Max-Age=600; Path=/; HttpOnly; Secure; SameSite=Lax$',
        ),
      ),
    ])
  })

  it('leaves audit lines without a code, a token or a secret', async () => {
    const visitor = platform.browse()
    const callback = await visitor.answer()
    await visitor.go(callback)
    await visitor.go(callback)
    await visitor.signOut()
    const [user] = await users()
    expect(platform.audit()).toMatchObject([
      { audit: 'role_granted', user_id: user?.id, role: 'platform-admin', source: 'claim' },
      { audit: 'signed_in', method: 'oidc', user_id: user?.id, address: '127.0.0.1' },
      { audit: 'sign_in_failed', method: 'oidc', reason: 'not_begun_here', address: '127.0.0.1' },
      { audit: 'signed_out', user_id: user?.id },
    ])
    const log = JSON.stringify(platform.lines)
    const { searchParams } = new URL(callback)
    for (const name of ['code', 'state']) expect(log).not.toContain(searchParams.get(name))
    expect(log).not.toContain('the-secret')
  })
})

describe('the role platform-admin (SPEC 4.1, 5.1)', () => {
  it('comes from the claim and is looked at again at each sign-in', async () => {
    await platform.browse().signIn()
    expect(await roles()).toEqual(['claim platform-admin'])
    platform.claimsOf.set('ada', { ...ADMINS, groups: ['staff'] })
    await platform.browse().signIn()
    expect(await roles()).toEqual([])
    expect(platform.audit()).toContainEqual(
      expect.objectContaining({ audit: 'role_withdrawn', role: 'platform-admin' }),
    )
  })

  it('is never taken from those who were granted it here', async () => {
    await platform.browse().signIn()
    const [user] = await users()
    await grantRole(platform.sql, user?.id ?? 0, 'platform-admin')
    platform.claimsOf.set('ada', { ...ADMINS, groups: [] })
    await platform.browse().signIn()
    expect(await roles()).toEqual(['local platform-admin'])
  })

  it('ends earlier sessions when it comes or goes: new rights have a new id', async () => {
    platform.claimsOf.set('ada', { ...ADMINS, groups: [] })
    const [laptop, phone] = [platform.browse(), platform.browse()]
    await laptop.signIn()
    await phone.signIn()
    expect((await laptop.go('/')).status).toBe(200)
    platform.claimsOf.set('ada', ADMINS)
    await phone.signIn()
    expect((await laptop.go('/')).status).toBe(303)
    expect((await phone.go('/')).status).toBe(200)
  })

  const given: [string, unknown, boolean][] = [
    ['the value itself', 'admins', true],
    ['a list with it', ['a', 'admins'], true],
    ['another case', 'Admins', false],
    ['a longer word', ['admins-ro'], false],
    ['a text that holds it', 'staff admins', false],
    ['a list in a list', [['admins']], false],
    ['an object with it', { admins: true }, false],
    ['true', true, false],
    ['nothing', undefined, false],
  ]
  it.each(given)('is given by exactly the value: %s', async (_, groups, isAdmin) => {
    platform.claimsOf.set('ada', { ...ADMINS, groups })
    await platform.browse().signIn()
    expect(await roles()).toEqual(isAdmin ? ['claim platform-admin'] : [])
  })
})

describe('hostile callbacks', () => {
  const refusedAs = async (response: Response, reason: string, text: string) => {
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
    expect(await pageText(response)).toContain(text)
    expect(platform.audit()).toContainEqual(
      expect.objectContaining({ audit: 'sign_in_failed', method: 'oidc', reason }),
    )
    expect(await sessions()).toBe(0)
  }

  it('without a state, or with a foreign one, are refused without a request', async () => {
    const before = platform.idp.count('/token')
    const visitor = platform.browse()
    const url = new URL(await visitor.answer())
    url.searchParams.delete('state')
    await refusedAs(await visitor.go(url.href), 'not_begun_here', 'Start again.')
    const foreign = await platform.browse().answer()
    const victim = platform.browse()
    await victim.begin()
    await refusedAs(await victim.go(foreign), 'not_begun_here', 'not started in this browser')
    expect(platform.idp.count('/token')).toBe(before)
  })

  it('are good for once: the answer and its cookie together open no second session', async () => {
    const visitor = platform.browse()
    const callback = await visitor.answer()
    const kept = new Map(visitor.cookies)
    expect((await visitor.go(callback)).status).toBe(303)
    await platform.sql`delete from sessions`
    for (const [name, value] of kept) visitor.cookies.set(name, value)
    const before = platform.idp.count('/token')
    await refusedAs(await visitor.go(callback), 'used_before', 'was already used')
    expect(platform.idp.count('/token')).toBe(before)
  })

  it('with a code that was used before are refused by the provider', async () => {
    const thief = platform.browse()
    const stolen = new URL(await platform.browse().answer())
    const own = new URL(await thief.answer())
    own.searchParams.set('code', stolen.searchParams.get('code') ?? '')
    // PKCE: the code goes with the verifier of the browser that began.
    await refusedAs(await thief.go(own.href), 'code_refused', 'did not accept its own answer')
  })

  it('with an ID token for another nonce are refused', async () => {
    const visitor = platform.browse()
    const asked = new URL(await visitor.begin())
    asked.searchParams.set('nonce', 'of-another-sign-in')
    const callback = await platform.idp.authorize(asked.href)
    await refusedAs(await visitor.go(callback), 'bad_answer', 'cannot be used')
  })

  it('with another issuer, or none where one is announced, are refused (RFC 9207)', async () => {
    const visitor = platform.browse()
    const wrong = new URL(await visitor.answer())
    wrong.searchParams.set('iss', 'https://evil.test')
    await refusedAs(await visitor.go(wrong.href), 'bad_answer', 'cannot be used')
    const silent = new URL(await visitor.answer())
    silent.searchParams.delete('iss')
    await refusedAs(await visitor.go(silent.href), 'bad_answer', 'cannot be used')
  })

  it('with an error say so, escaped and cut, and only to whom they are meant for', async () => {
    const visitor = platform.browse()
    await refusedAs(
      await visitor.go(await visitor.answer('deny')),
      'provider_refused',
      'No, thank you',
    )
    const url = new URL(await visitor.answer())
    const callback = (query: Record<string, string>) => {
      const { searchParams } = new URL(url)
      const iss = searchParams.get('iss') ?? ''
      return `/sign-in/callback?${new URLSearchParams({ iss, ...query }).toString()}`
    }
    const state = url.searchParams.get('state') ?? ''
    const text = `<script>alert(1)</script>${'y'.repeat(1000)}`
    const shown = await visitor.go(callback({ state, error: 'x"><b>', error_description: text }))
    const page = await shown.text()
    expect(shown.status).toBe(403)
    expect(page).toContain('&lt;script&gt;alert(1)')
    expect(page).not.toContain('<script>')
    expect(page).not.toContain('<b>')
    expect(page).not.toContain('y'.repeat(400))
    const planted = await visitor.go(callback({ error: 'x', error_description: 'Call 555-1234' }))
    expect(await planted.text()).not.toContain('555-1234')
  })

  it('that are no answer, two answers at once, or too long are refused', async () => {
    const changes: ((query: URLSearchParams) => void)[] = [
      (query) => query.delete('code'),
      (query) => query.append('code', 'another'),
      (query) => query.append('state', 'another'),
      (query) => query.set('error', 'access_denied'),
      (query) => query.set('x', 'y'.repeat(9000)),
    ]
    for (const change of changes) {
      const visitor = platform.browse()
      const url = new URL(await visitor.answer())
      change(url.searchParams)
      await refusedAs(await visitor.go(url.href), 'bad_callback', 'incomplete answer')
    }
  })

  it('with a cookie that is not ours, or too old, open nothing', async () => {
    const visitor = platform.browse()
    const callback = await visitor.answer()
    const [name = '', value = ''] = [...visitor.cookies][0] ?? []
    visitor.cookies.set(name, `${value.slice(0, -4)}AAAA`)
    await refusedAs(await visitor.go(callback), 'not_begun_here', 'Start again.')
  })

  it('that only look are no sign-in: HEAD begins none and uses none up', async () => {
    const visitor = platform.browse()
    expect((await visitor.go('/sign-in/start', { method: 'HEAD' })).status).toBe(405)
    const callback = await visitor.answer()
    expect((await visitor.go(callback, { method: 'HEAD' })).status).toBe(405)
    expect((await visitor.go(callback)).status).toBe(303)
  })

  it('are throttled by address, and a throttled one does not reach the provider', async () => {
    const subject = 'address:127.0.0.1'
    for (let i = 0; i < 99; i += 1)
      await countFailure(platform.sql, { subject, limit: 0, windowSeconds: 900 })
    const visitor = platform.browse()
    expect((await visitor.go('/sign-in/callback?code=x&state=y')).status).toBe(400)
    const before = platform.idp.count('/token')
    const response = await visitor.signIn()
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(800)
    expect(platform.idp.count('/token')).toBe(before)
  })
})

describe('signing out', () => {
  it('ends the session here and leads on to the one with the provider', async () => {
    const visitor = platform.browse()
    await visitor.signIn()
    const response = await visitor.signOut()
    expect(response.status).toBe(200)
    expect(await sessions()).toBe(0)
    const page = await response.text()
    const link = /href="([^"]+session\/end[^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const { origin, searchParams } = new URL(link)
    expect(origin).toBe(platform.idp.issuer)
    expect(searchParams.get('post_logout_redirect_uri')).toBe(`${platform.baseUrl}/sign-in`)
    expect(searchParams.get('id_token_hint')?.split('.')).toHaveLength(3)
    // The provider takes the hint and the address, and asks the person.
    expect((await fetch(link)).status).toBe(200)
    expect(page).toContain('http-equiv="refresh"')
  })

  it('keeps the ID token where the database alone cannot read it', async () => {
    const visitor = platform.browse()
    await visitor.signIn()
    const [row] = await platform.sql<
      { sealedIdToken: string }[]
    >`select sealed_id_token from sessions`
    expect(row?.sealedIdToken.split('.')).toHaveLength(5)
  })
})
