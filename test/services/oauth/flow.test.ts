import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLIENT_SECRET, openPlatform, PUBLIC_URL } from './platform.ts'
import type { Platform } from './platform.ts'

let platform: Platform
beforeAll(async () => {
  platform = await openPlatform()
})
afterAll(() => platform.close())

describe('connecting to a provider', () => {
  it('leads a person to the provider and a crew to a token that works there', async () => {
    const begun = await platform.begin('files')
    expect(begun.status).toBe(201)
    const url = new URL(String(begun.body['authorization_url']))
    expect(url.origin + url.pathname).toBe(`${platform.idp.issuer}/auth`)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'crews',
      scope: 'openid files',
      prompt: 'consent',
      code_challenge_method: 'S256',
    })
    const minutes = (Date.parse(String(begun.body['expires_at'])) - Date.now()) / 60_000
    expect(minutes).toBeCloseTo(10, 0)
    const id = String(begun.body['connection_id'])
    expect((await platform.token(id)).body).toMatchObject({
      status: 409,
      details: { code: 'needs_authorization', reason: 'not_authorized' },
    })
    const page = await platform.open(await platform.idp.authorize(url.href))
    expect(page.status).toBe(200)
    expect(page.page).toContain('You may close this window')
    expect(page.page).toContain('Acme &lt;b&gt;')
    const token = await platform.token(id)
    expect(token.status).toBe(200)
    expect(token.headers.get('cache-control')).toBe('no-store')
    expect(token.body).toMatchObject({ token_type: 'Bearer', scope: 'openid files' })
    expect(Date.parse(String(token.body['expires_at']))).toBeGreaterThan(Date.now() + 3_500_000)
    const authorization = `Bearer ${String(token.body['access_token'])}`
    const me = await fetch(`${platform.idp.issuer}/me`, { headers: { authorization } })
    expect(await me.json()).toMatchObject({ sub: 'ada' })
  })

  it('works with a provider that is known by its endpoints only', async () => {
    const { id, page } = await platform.connect('plain files', 'plain')
    expect(page.status).toBe(200)
    expect(await platform.token(id)).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
  })

  it('shows and lists what is connected, and never a token', async () => {
    const { id } = await platform.connect('listed')
    const shown = await platform.call('GET', `/connections/${id}`)
    expect(shown.body).toMatchObject({
      connection_id: id,
      organization_id: platform.organizationId,
      provider: 'acme-id',
      name: 'listed',
      status: 'connected',
      status_reason: null,
      scope: 'openid files',
      refreshed_at: null,
    })
    const path = `/connections?organization_id=${platform.organizationId}`
    const { body } = await platform.call('GET', path)
    expect(body['connections']).toContainEqual(shown.body)
    expect(JSON.stringify(body)).not.toMatch(/access_token|refresh_token/)
    expect((await platform.call('GET', '/connections?organization_id=999')).body).toEqual({
      connections: [],
      next_cursor: null,
    })
    const first = await platform.call('GET', `${path}&limit=1`)
    const cursor = String(first.body['next_cursor'])
    const rest = await platform.call('GET', `${path}&cursor=${encodeURIComponent(cursor)}`)
    expect([first, rest].flatMap((page) => page.body['connections'])).toEqual(body['connections'])
    for (const wrong of ['limit=0', 'limit=501', 'limit=1&limit=2', 'cursor=', 'cursor=%00']) {
      expect((await platform.call('GET', `${path}&${wrong}`)).status).toBe(400)
    }
    expect((await platform.call('GET', '/providers')).body).toEqual({
      callback_url: `${PUBLIC_URL}/callback`,
      providers: [
        { name: 'acme-id', scopes: ['openid', 'files'] },
        { name: 'plain', scopes: ['openid', 'files'] },
      ],
    })
  })

  it('takes up a connection again by its name, and replaces its tokens', async () => {
    const first = await platform.connect('again')
    const before = await platform.token(first.id)
    const again = await platform.begin('again')
    expect(again).toMatchObject({ status: 200, body: { connection_id: first.id } })
    expect((await platform.token(first.id)).body).toEqual(before.body)
    const callback = await platform.idp.authorize(String(again.body['authorization_url']))
    expect((await platform.open(callback)).status).toBe(200)
    expect((await platform.token(first.id)).body).not.toEqual(before.body)
    expect(await platform.begin('again', 'plain')).toMatchObject({
      status: 409,
      body: { details: { code: 'name_taken' } },
    })
  })

  it('revokes at the provider what is deleted', async () => {
    const { id } = await platform.connect('short-lived')
    const { body: token } = await platform.token(id)
    const deleted = await platform.call('DELETE', `/connections/${id}`)
    expect(deleted).toMatchObject({ status: 200, body: { deleted: true, revocation: 'revoked' } })
    expect((await platform.token(id)).status).toBe(404)
    expect((await platform.call('DELETE', `/connections/${id}`)).status).toBe(404)
    const authorization = `Bearer ${String(token['access_token'])}`
    const me = await fetch(`${platform.idp.issuer}/me`, { headers: { authorization } })
    expect(me.status).toBe(401)
  })

  it('deletes also where nothing can be revoked', async () => {
    const plain = await platform.connect('no endpoint', 'plain')
    const { body: unsupported } = await platform.call('DELETE', `/connections/${plain.id}`)
    expect(unsupported).toMatchObject({ deleted: true, revocation: 'unsupported' })
    const { body } = await platform.begin('never used')
    const path = `/connections/${String(body['connection_id'])}`
    expect((await platform.call('DELETE', path)).body).toMatchObject({
      revocation: 'not_authorized',
    })
    const { id } = await platform.connect('provider fails')
    platform.idp.intercept('/token/revocation', (_, response) => void response.writeHead(500).end())
    expect((await platform.call('DELETE', `/connections/${id}`)).body).toMatchObject({
      deleted: true,
      revocation: 'failed',
    })
    platform.idp.intercept('/token/revocation')
  })

  it.each([
    ['nothing', {}, /organization_id is required; provider is required; name is required/],
    ['no object', [], /body/],
    ['an id that is a text', { organization_id: '1' }, /organization_id must be a number/],
    ['a name with a line break', { name: 'a\nb' }, /name must have 1 to 100 characters/],
    ['a stray key', { scope: 'all' }, /scope is not known/],
    ['an unknown provider', { provider: 'other' }, /Configured: acme-id, plain/],
    ['an unknown organization', { organization_id: 999 }, /no organization 999/],
  ])('refuses %s', async (_, change, message) => {
    const good = { organization_id: platform.organizationId, provider: 'acme-id', name: 'x' }
    const body =
      Object.keys(change).length > 0 && !Array.isArray(change) ? { ...good, ...change } : change
    const answer = await platform.call('POST', '/connections', { body })
    expect(answer).toMatchObject({ status: 422, body: { error: 'unprocessable' } })
    expect(answer.body['message']).toMatch(message)
  })

  it('answers what is not there with a problem', async () => {
    for (const path of ['/connections/7', '/connections/00000000-0000-4000-8000-000000000000']) {
      const answer = await platform.call('GET', path)
      expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } })
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
    }
    expect((await platform.call('GET', '/elsewhere')).status).toBe(404)
    for (const query of ['', '?organization_id=x', '?organization_id=1&organization_id=2'])
      expect((await platform.call('GET', `/connections${query}`)).status).toBe(400)
  })
})

describe('the callback', () => {
  const changed = (callback: string, change: (query: URLSearchParams) => void): string => {
    const url = new URL(callback)
    change(url.searchParams)
    return url.href
  }

  /** A callback that would do, as long as nobody has used it. */
  async function callbackOf(name: string, provider = 'acme-id') {
    const { body } = await platform.begin(name, provider)
    const callback = await platform.idp.authorize(String(body['authorization_url']))
    return { id: String(body['connection_id']), callback }
  }

  const statusOf = async (id: string) =>
    (await platform.call('GET', `/connections/${id}`)).body['status']

  it.each<[string, (query: URLSearchParams) => void]>([
    ['an unknown state', (query) => query.set('state', 'A'.repeat(43))],
    ['a state that cannot be one', (query) => query.set('state', "'; drop table x")],
    ['no state', (query) => query.delete('state')],
    ['two states', (query) => query.append('state', 'x')],
    ['no code', (query) => query.delete('code')],
    ['an empty code', (query) => query.set('code', '')],
    ['two codes', (query) => query.append('code', 'x')],
    ['a code and an error', (query) => query.set('error', 'access_denied')],
    ['endless text', (query) => query.set('session_state', 'x'.repeat(9000))],
  ])('refuses %s, and leaves the link as it is', async (name, change) => {
    const { id, callback } = await callbackOf(`before ${name}`)
    const refused = await platform.open(changed(callback, change))
    expect(refused.status).toBe(400)
    expect(refused.page).toContain('Not connected')
    expect(await statusOf(id)).toBe('pending')
    expect((await platform.open(callback)).status).toBe(200)
  })

  it.each<[string, (query: URLSearchParams) => void, number, string]>([
    ['the issuer of another', (q) => q.set('iss', 'https://evil.test'), 400, 'did not come from'],
    ['no issuer', (query) => query.delete('iss'), 400, 'issuer is missing'],
    ['a code of another', (query) => query.set('code', 'stolen'), 400, 'authorization code'],
    [
      'an error of another issuer',
      (query) => {
        query.delete('code')
        query.set('error', 'access_denied')
        query.set('iss', 'https://evil.test')
      },
      400,
      'did not come from',
    ],
    [
      'an error with markup for a code',
      (query) => {
        query.delete('code')
        query.set('error', '<script>alert(1)</script>')
      },
      502,
      'an error without a code',
    ],
  ])('refuses %s, and the link is used up', async (name, change, ...[status, text]) => {
    const { id, callback } = await callbackOf(`with ${name}`)
    const refused = await platform.open(changed(callback, change))
    expect(refused.status).toBe(status)
    expect(refused.page).toContain(text)
    expect(refused.page).not.toContain('<script')
    expect((await platform.open(callback)).page).toContain('This link was used already')
    expect(await statusOf(id)).toBe('pending')
  })

  it('says so when the person refuses', async () => {
    const { id, page } = await platform.connect('refused', 'acme-id', 'deny')
    expect(page.status).toBe(403)
    expect(page.page).toContain('The authorization was not given at acme-id.')
    expect(await statusOf(id)).toBe('pending')
  })

  it('works once, within ten minutes, for the newest link', async () => {
    const used = await platform.connect('once')
    const token = await platform.token(used.id)
    expect((await platform.open(used.callback)).status).toBe(400)
    expect((await platform.token(used.id)).body).toEqual(token.body)

    const old = await callbackOf('too late')
    await platform.sql`
      update oauth_authorizations set expires_at = now() where connection_id = ${old.id}`
    expect((await platform.open(old.callback)).page).toContain('older than ten minutes')

    const first = await callbackOf('twice begun')
    const second = await callbackOf('twice begun')
    expect((await platform.open(first.callback)).status).toBe(400)
    expect((await platform.open(second.callback)).status).toBe(200)
  })

  it('lets one of two that come at the same time through', async () => {
    const { callback } = await callbackOf('doubled')
    const opened = await Promise.all([platform.open(callback), platform.open(callback)])
    expect(new Set(opened.map(({ status }) => status))).toEqual(new Set([200, 400]))
  })

  it('is not used up by a program that looks at links', async () => {
    const { callback } = await callbackOf('previewed')
    const head = await fetch(callback.replace(PUBLIC_URL, platform.service.url), { method: 'HEAD' })
    expect(head.status).toBe(405)
    expect((await platform.open(callback)).status).toBe(200)
  })

  it('goes to nobody when the connection was deleted in the meantime', async () => {
    const { id, callback } = await callbackOf('deleted')
    expect((await platform.call('DELETE', `/connections/${id}`)).status).toBe(200)
    expect((await platform.open(callback)).status).toBe(400)
  })

  it('shows pages without a script, under a policy that allows none', async () => {
    const { page } = await platform.connect('policy')
    const policy = page.headers.get('content-security-policy')
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/]+='; base-uri 'none';/)
    const [, style = ''] = /<style>([^]*)<\/style>/.exec(page.page) ?? []
    expect(policy).toContain(createHash('sha256').update(style).digest('base64'))
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.page).not.toMatch(/<script|onload=|style="/)
  })

  it('may arrive under the path of the public URL', async () => {
    const service = await platform.startService({ OAUTH_PUBLIC_URL: `${PUBLIC_URL}/integrations` })
    const query = `state=${'A'.repeat(43)}&code=x`
    for (const path of ['/integrations/callback', '/callback']) {
      const response = await fetch(`${service.url}${path}?${query}`)
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('This link was used already')
    }
  })

  it('leaves no secret in the log and none in the database', async () => {
    const { id, callback } = await platform.connect('quiet')
    const { body } = await platform.token(id)
    const { code, state } = Object.fromEntries(new URL(callback).searchParams)
    const secrets = [code, state, body['access_token'], CLIENT_SECRET].map(String)
    const log = platform.lines.join('')
    expect(secrets.filter((secret) => log.includes(secret))).toEqual([])
    const rows = await platform.sql`
      select c::text, a::text from oauth_connections c left join oauth_authorizations a on true`
    const stored = JSON.stringify(rows)
    const hex = (text: string) => Buffer.from(text).toString('hex')
    expect(secrets.filter((each) => stored.includes(each) || stored.includes(hex(each)))).toEqual(
      [],
    )
  })
})
