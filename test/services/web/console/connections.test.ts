import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPlatformWithConnections, PUBLIC_URL } from '../support/platform-with-connections.ts'
import type { PlatformWithConnections } from '../support/platform-with-connections.ts'
import type { SignedInUser } from '../support/platform.ts'

let platform: PlatformWithConnections
let ada: SignedInUser
let eve: SignedInUser

beforeAll(async () => {
  platform = await openPlatformWithConnections()
  ada = await platform.signIn(platform.acme)
  eve = await platform.signIn(platform.rival)
})
afterAll(() => platform.close())

const show = (path: string, user = ada) => platform.read(platform.get(path, user))

describe('the page Connections', () => {
  it('offers the providers of the operator, ready-made shapes, and the redirect URI', async () => {
    const choice = await show('/new-connection')
    expect(choice).toMatch(/acme-id.*GitHub.*GitLab.*Google.*Microsoft.*Slack.*Notion/)
    expect(choice).toMatch(/OpenID Connect.*OAuth 2.*Client credentials.*Token or API key/)
    expect(await show('/connections')).toContain('No connections yet')
    const form = await show('/new-connection?shape=github')
    expect(form).toContain('https://github.com/login/oauth/access_token')
    expect(form).toContain(`${PUBLIC_URL}/callback`)
    expect(await show('/new-connection?shape=nothing')).toContain('Ready to use')
  })

  it('connects an account, tests, revokes and deletes the connection', async () => {
    const id = await platform.connect(ada)
    const page = await show(`/connections/${id}?notice=connection-connected`)
    expect(page).toMatch(/Connected.*Renewed as needed.*openid files/)
    expect(page).not.toContain('the-secret-of-the-client')
    expect(await platform.read(platform.post(`/connections/${id}/test`, ada))).toContain(
      'the token works.',
    )
    expect(await show('/connections')).toMatch(/files.*OpenID Connect.*Connected/)
    const revoked = await platform.post(`/connections/${id}/revoke`, ada)
    expect(revoked.headers.get('location')).toBe(`/connections/${id}?notice=connection-revoked`)
    expect(await show(`/connections/${id}`)).toMatch(/Revoked.*Connect it again/)
    const deleted = await platform.post(`/connections/${id}/delete`, ada)
    expect(deleted.headers.get('location')).toBe('/connections?notice=connection-deleted')
    expect((await platform.get(`/connections/${id}`, ada)).status).toBe(404)
  })

  it('connects through a provider of the operator', async () => {
    const fields = { provider: 'acme-id', operator: 'yes', name: 'operators', hosts: '' }
    const back = await platform.authorize(await platform.post('/connections', ada, fields))
    const { pathname, search } = new URL(back)
    const answer = await platform.get(pathname + search, ada)
    expect(answer.headers.get('location')).toMatch(/notice=connection-connected$/)
  })

  it('connects a client for itself, and stores a token that somebody enters', async () => {
    const robot = await platform.post('/connections', ada, {
      ...platform.oidc({ provider: 'client-credentials', name: 'robot', client_id: 'robot' }),
      scopes: '',
    })
    expect(robot.headers.get('location')).toMatch(/notice=connection-connected$/)
    const entered = { provider: 'token', name: 'keyed', header: 'X-API-Key', prefix: '' }
    const keyed = await platform.post('/connections', ada, { ...entered, token: 'k-canary-1' })
    expect(keyed.headers.get('location')).toMatch(/notice=connection-created$/)
    expect(await show(`/connections/${await platform.idOf('keyed')}`)).not.toContain('k-canary-1')
  })

  it('takes the identity of a run as it is, or exchanged first, without a secret', async () => {
    const sts = 'https://sts.example.com'
    const plain = { provider: 'identity', audience: sts, hosts: 'api.example.com' }
    const form = await show('/new-connection?shape=identity')
    expect(form).toContain('Exchange it first')
    const sent = { ...plain, token_endpoint_auth_method: 'none', exchange: '' }
    const asIs = await platform.post('/connections', ada, { ...sent, name: 'as-it-is' })
    expect(asIs.headers.get('location')).toMatch(/notice=connection-created$/)
    const exchanged = { ...sent, name: 'exchanged', exchange: 'token_exchange' }
    const nowhere = await platform.post('/connections', ada, exchanged)
    expect(nowhere.status).toBe(422)
    expect(await platform.read(nowhere)).toContain('The token endpoint is needed')
    const parameters = 'audience=//iam.example.com/pool'
    const somewhere = { ...exchanged, token_endpoint: `${sts}/v1/token`, parameters }
    const made = await platform.post('/connections', ada, somewhere)
    expect(made.headers.get('location')).toMatch(/notice=connection-created$/)
    const page = await show(`/connections/${await platform.idOf('exchanged')}`)
    for (const text of [`${sts}/v1/token`, parameters, 'token_exchange']) {
      expect(page).toContain(text)
    }
  })

  it('lets only the session that began complete an authorization', async () => {
    const page = await platform.post('/connections', ada, platform.oidc({ name: 'stolen' }))
    const { pathname, search } = new URL(await platform.authorize(page))
    const again = await platform.signIn(platform.acme)
    for (const other of [eve, again]) {
      const refused = await platform.get(pathname + search, other)
      expect(refused.status).toBe(400)
      expect(await platform.read(refused)).toContain('belongs to another session')
    }
    const head = await platform.app.request(pathname + search, {
      method: 'HEAD',
      headers: { cookie: ada.cookie },
    })
    expect(head.status).toBe(405)
    const taken = await platform.get(pathname + search, ada)
    expect(taken.headers.get('location')).toMatch(/notice=connection-connected$/)
    expect((await platform.get(pathname + search, ada)).status).toBe(400)
  })

  it('says so when the person refuses', async () => {
    const page = await platform.post('/connections', ada, platform.oidc({ name: 'refused' }))
    const { pathname, search } = new URL(await platform.authorize(page, 'deny'))
    const answer = await platform.get(pathname + search, ada)
    expect(answer.status).toBe(403)
    expect(await platform.read(answer)).toContain('The authorization was not given')
    expect(await show(`/connections/${await platform.idOf('refused')}`)).toContain('Not connected')
  })

  it('keeps the connections of organizations apart', async () => {
    const id = await platform.connect(ada, { name: 'apart' })
    expect(await show('/connections', eve)).not.toContain('apart')
    expect((await platform.get(`/connections/${id}`, eve)).status).toBe(404)
    for (const path of ['', '/connect', '/test', '/revoke', '/delete']) {
      const answer = await platform.post(`/connections/${id}${path}`, eve, platform.oidc())
      expect([path, answer.status]).toEqual([path, 404])
    }
    // The same name is free for everybody.
    const own = await platform.connect(eve, { name: 'apart' })
    expect(own).not.toBe(id)
    expect(await show(`/connections/${id}`)).toContain('Connected')
  })

  it('keeps secrets only where they would go to the same addresses as before', async () => {
    const id = await platform.connect(ada, { name: 'kept', hosts: 'api.example.com' })
    const save = (fields: Record<string, string>) =>
      platform.post(`/connections/${id}`, ada, {
        ...platform.oidc({ client_secret: '', hosts: 'api.example.com' }),
        ...fields,
      })
    const same = await save({})
    expect(same.headers.get('location')).toMatch(/notice=connection-saved$/)
    const elsewhere = await save({
      issuer: '',
      token_endpoint: 'https://evil.example/token',
      authorization_endpoint: 'https://evil.example/auth',
    })
    expect(elsewhere.status).toBe(422)
    expect(await platform.read(elsewhere)).toContain('enter it again after a change of addresses')
    expect(await show(`/connections/${id}`)).toContain('Connected')
    const wider = await save({ hosts: 'api.example.com\nevil.example' })
    expect(wider.headers.get('location')).toMatch(/notice=connection-ended$/)
    expect(await show(`/connections/${id}`)).toContain('Not connected')
  })

  it('writes each change into the log, and no secret anywhere', async () => {
    await platform.connect(ada, { name: 'logged' })
    const events = platform.lines.flatMap(({ audit }) => (typeof audit === 'string' ? [audit] : []))
    expect(events).toEqual(expect.arrayContaining(['connection_begun', 'connection_connected']))
    const [stored] = await platform.sql<[{ all: string }]>`
      select json_agg(c)::text as all from oauth_connections c`
    for (const text of [JSON.stringify(platform.lines), platform.oauthLines.join(), stored.all]) {
      expect(text).not.toMatch(/the-secret-of-the-client|k-canary-1/)
    }
  })

  it.each<[string, Record<string, string>, [field: string, message: RegExp]]>([
    ['no name', { name: '' }, ['name', /The name must start with a letter/]],
    ['a name with spaces', { name: 'my files' }, ['name', /The name must start with a letter/]],
    ['a name that is taken', { name: 'logged' }, ['name', /is taken by another connection/]],
    ['no issuer', { issuer: '' }, ['issuer', /The issuer is needed, or the endpoints/]],
    ['an issuer that is no address', { issuer: 'acme' }, ['issuer', /must be an absolute address/]],
    [
      'one with a password',
      { issuer: 'https://a:b@c.example' },
      ['issuer', /must have no user name/],
    ],
    ['a private address', { issuer: 'https://10.0.0.1' }, ['issuer', /has no public address/]],
    ['the metadata of a cloud', { issuer: 'http://169.254.169.254' }, ['issuer', /no public/]],
    ['plain http', { issuer: 'http://idp.example' }, ['issuer', /must begin with https:/]],
    ['no client', { client_id: '' }, ['client_id', /The client ID is required/]],
    ['no secret', { client_secret: '' }, ['client_secret', /The client secret is needed/]],
    ['a scope with a quote', { scopes: 'a "b"' }, ['scopes', /must be one scope/]],
    ['a parameter of ours', { parameters: 'state=x' }, ['parameters', /set by this service/]],
    [
      'another method',
      { token_endpoint_auth_method: 'x' },
      ['token_endpoint_auth_method', /one of/],
    ],
    ['a place that is none', { hosts: 'not a host' }, ['hosts', /must be hosts such as/]],
    [
      'a test elsewhere than the token may go',
      { hosts: 'api.example.com', test_url: 'https://other.example/me' },
      ['test_url', /must be at one of the places/],
    ],
    [
      'a token with a line break',
      { provider: 'token', token: 'a\nb' },
      ['token', /visible ASCII characters only/],
    ],
    ['no token', { provider: 'token', token: '' }, ['token', /The token is needed/]],
    [
      'a header that calls set themselves',
      { provider: 'token', token: 'x', header: 'Host' },
      ['header', /must not be a header/],
    ],
    ['endless text', { client_id: 'x'.repeat(5000) }, ['client_id', /at most 500 characters/]],
  ])('refuses %s at its field', async (_, fields, [field, message]) => {
    const response = await platform.post(
      '/connections',
      ada,
      platform.oidc({ name: 'bad', ...fields }),
    )
    expect(response.status).toBe(422)
    const page = await platform.read(response)
    expect(page).toMatch(new RegExp(`name="${field}"[^>]*aria-invalid="true"`))
    expect(/id="[a-z_]+-problem">([^<]*)/.exec(page)?.[1]).toMatch(message)
    expect(await platform.idOf('bad')).toBe('none')
  })

  it('refuses a form that nobody was shown, and one for an unknown shape', async () => {
    const forged = { ...platform.oidc(), csrf_token: 'forged' }
    expect((await platform.post('/connections', ada, forged)).status).toBe(403)
    const unknown = platform.oidc({ provider: 'nothing' })
    expect((await platform.post('/connections', ada, unknown)).status).toBe(422)
    const operators = { provider: 'nobody', operator: 'yes', name: 'nobody' }
    const answer = await platform.post('/connections', ada, operators)
    expect(await platform.read(answer)).toContain('is none of the operator')
  })

  it('says what is missing where the platform has no OAuth service', async () => {
    const app = platform.appAt('http://platform.test')
    const ask = (path: string) => app.request(path, { headers: { cookie: eve.cookie } })
    const choice = await ask('/new-connection')
    expect(choice.status).toBe(503)
    expect(await choice.text()).toContain('oauth.enabled')
    expect((await ask('/connections')).status).toBe(200)
  })
})
