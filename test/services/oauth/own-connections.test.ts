import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { updateConnection } from '../../../services/platform/connections/oauth-connections.ts'
import { findTokenHolder } from '../../../services/platform/connections/oauth-tokens.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import type { Intercept } from '../../support/identity-provider.ts'
import { CLIENT_SECRET, ENCRYPTION_KEY, openPlatform } from './platform.ts'
import type { Answer, Platform } from './platform.ts'

const SESSION = 's'.repeat(43)
const RETURN_TO = 'https://console.platform.test/connect/callback'
let platform: Platform
let impatient: Service
let rival: number

beforeAll(async () => {
  platform = await openPlatform()
  impatient = await platform.startService({}, 500)
  rival = (await ensureOrganization(platform.sql, { name: 'Rival' })).id
})
afterAll(() => platform.close())
afterEach(() => {
  for (const path of ['/token', '/.well-known/openid-configuration']) platform.idp.intercept(path)
})

const settings = (more: object = {}) => ({
  provider: 'oidc',
  kind: 'authorization_code',
  issuer: platform.idp.issuer,
  client_id: 'crews',
  client_secret: CLIENT_SECRET,
  token_endpoint_auth_method: 'client_secret_basic',
  scopes: ['openid', 'files'],
  ...more,
})
const robot = (more: object = {}) =>
  settings({ kind: 'client_credentials', client_id: 'robot', scopes: [], ...more })

const pathOf = (id: string, organization = platform.organizationId) =>
  `/organizations/${organization}/connections/${id}`

async function create(name: string, body: object): Promise<string> {
  const path = `/organizations/${platform.organizationId}/connections`
  const answer = await platform.call('POST', path, { body: { ...body, name } })
  expect(answer).toMatchObject({ status: 201 })
  return String(answer.body['connection_id'])
}

const begin = (id: string, at?: Service): Promise<Answer> =>
  platform.call('POST', `${pathOf(id)}/authorization`, {
    body: { session: SESSION, return_to: RETURN_TO },
    ...(at ? { at } : {}),
  })

/** Walks to where the provider sends the browser; returns the query that the console gets. */
async function authorize(id: string): Promise<string> {
  const { body } = await begin(id)
  const callback = await platform.idp.authorize(String(body['authorization_url']))
  const url = new URL(callback)
  const sent = await fetch(`${platform.service.url}/callback${url.search}`, { redirect: 'manual' })
  expect(sent.status).toBe(303)
  const location = new URL(sent.headers.get('location') ?? '')
  expect(location.href.startsWith(`${RETURN_TO}?`)).toBe(true)
  return location.search
}

const complete = (query: string, session = SESSION) =>
  platform.call('POST', '/authorizations', { body: { query, session } })

async function connected(name: string): Promise<string> {
  const id = await create(name, settings())
  expect(await complete(await authorize(id))).toMatchObject({ status: 200 })
  return id
}

const failureOf = async (id: string) => {
  const [row] = await platform.sql<[{ failure: string | null }]>`
    select failure from oauth_connections where id = ${id}`
  return row.failure
}

describe('a connection with a provider of the organization', () => {
  it('is completed by the session that began, once', async () => {
    const id = await create('code', settings())
    const query = await authorize(id)
    expect(await complete(query, 'x'.repeat(43))).toMatchObject({ status: 400 })
    expect((await complete(query)).body).toEqual({ connection_id: id })
    expect(await complete(query)).toMatchObject({ status: 400 })
    expect((await platform.token(id)).body).toMatchObject({
      access_token: expect.any(String),
      header: 'authorization',
      prefix: 'Bearer',
      hosts: [],
    })
  })

  it('belongs to its organization only', async () => {
    const id = await connected('mine')
    const body = settings()
    const session = { session: SESSION, return_to: RETURN_TO }
    const calls = [
      platform.call('PUT', pathOf(id, rival), { body }),
      platform.call('POST', `${pathOf(id, rival)}/authorization`, { body: session }),
      platform.call('POST', `${pathOf(id, rival)}/test`),
      platform.call('POST', `${pathOf(id, rival)}/revocation`),
    ]
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([404, 404, 404, 404])
    expect((await platform.token(id)).status).toBe(200)
    const headers = {}
    const path = `/organizations/${rival}/connections`
    expect((await platform.call('POST', path, { body, headers })).status).toBe(401)
    expect((await platform.call('POST', '/authorizations', { body, headers })).status).toBe(401)
  })

  it('gets one token of its client for ten callers at two replicas', async () => {
    const id = await create('robot', robot())
    expect(await begin(id)).toMatchObject({ status: 200, body: { authorization_url: null } })
    const replica = await platform.startService()
    await platform.age(id, 'expired')
    platform.idp.intercept('/token', (_, __, pass) => void setTimeout(pass, 300))
    const asked = platform.idp.count('/token')
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        platform.token(id, index % 2 === 0 ? platform.service : replica),
      ),
    )
    expect(new Set(answers.map(({ body }) => body['access_token'])).size).toBe(1)
    expect(platform.idp.count('/token')).toBe(asked + 1)
  })

  it('ends without tokens when it is revoked during a refresh', async () => {
    const id = await connected('revoked-meanwhile')
    await platform.age(id, 'expired')
    let arrived: () => void = () => {}
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    let goOn: () => void = () => {}
    platform.idp.intercept('/token', (_, __, pass) => {
      goOn = pass
      arrived()
    })
    const token = platform.token(id)
    await arrival
    const revocations = platform.idp.count('/token/revocation')
    const revoked = await platform.call('POST', `${pathOf(id)}/revocation`)
    expect(revoked.body).toEqual({ revocation: 'revoked' })
    goOn()
    expect(await token).toMatchObject({ status: 409, body: { details: { reason: 'revoked' } } })
    // The provider is told of both: of those that were stored, and of those that came too late.
    expect(platform.idp.count('/token/revocation')).toBeGreaterThanOrEqual(revocations + 1)
  })

  it('takes no tokens that were asked for with other settings', async () => {
    const id = await create('changed', settings())
    const query = await authorize(id)
    const holder = await findTokenHolder(platform.sql, id)
    if (!holder) throw new Error('no connection')
    const changed = { ...holder, keepsTokens: false }
    platform.idp.intercept('/token', (_, __, pass) => {
      void updateConnection(platform.sql, holder, changed).then(pass)
    })
    expect(await complete(query)).toMatchObject({ status: 404 })
    expect((await platform.token(id)).body).toMatchObject({ details: { reason: 'not_authorized' } })
  })

  it('opens its secret with the former key, and seals it with the one of now', async () => {
    const id = await create('sealed', robot())
    const rotated = await platform.startService({
      OAUTH_ENCRYPTION_KEY: 'another-encryption-key-of-at-least-32-characters',
      OAUTH_ENCRYPTION_KEY_PREVIOUS: ENCRYPTION_KEY,
    })
    expect((await begin(id, rotated)).status).toBe(200)
    const later = await platform.startService({
      OAUTH_ENCRYPTION_KEY: 'another-encryption-key-of-at-least-32-characters',
    })
    expect((await begin(id, later)).status).toBe(200)
  })

  it('notes why a refresh failed, and that it works again', async () => {
    const id = await connected('noted')
    await platform.age(id, 'expired')
    platform.idp.intercept('/token', (_, response) => void response.writeHead(503).end())
    expect((await platform.token(id)).status).toBe(502)
    expect(await failureOf(id)).toMatch(/Provider oidc/)
    platform.idp.intercept('/token')
    expect((await platform.token(id)).status).toBe(200)
    expect(await failureOf(id)).toBeNull()
  })

  it('keeps its tokens when only its secret is replaced', async () => {
    const id = await connected('rotated')
    const body = settings({ client_secret: 'another-secret' })
    const answer = await platform.call('PUT', pathOf(id), { body })
    expect(answer.body).toMatchObject({ keeps_tokens: true })
    const operators = await platform.connect('operators')
    expect(await platform.call('PUT', pathOf(operators.id), { body: settings() })).toMatchObject({
      status: 422,
    })
  })

  it('is changed in one version alone where that is said', async () => {
    const id = await create('versions', settings())
    const put = (version: number) =>
      platform.call('PUT', pathOf(id), { body: settings({ settings_version: version }) })
    expect(await put(2)).toMatchObject({ status: 409 })
    expect(await put(1)).toMatchObject({ status: 200 })
    expect(await put(1)).toMatchObject({ status: 409 })
  })

  it('is checked before it is there, without its secrets in the answer', async () => {
    const check = (more: object) =>
      platform.call('POST', `/organizations/${platform.organizationId}/connection-checks`, {
        body: settings({ name: 'checked', ...more }),
      })
    const { client_secret: _, kind, provider, ...kept } = settings()
    expect(await check({})).toMatchObject({
      status: 200,
      body: { name: 'checked', kind, provider, hosts: [], settings: kept },
    })
    expect(JSON.stringify(await check({}))).not.toContain(CLIENT_SECRET)
    expect(await check({ issuer: 'https://10.0.0.1' })).toMatchObject({ status: 422 })
    expect(await platform.sql`select from oauth_connections where name = 'checked'`).toEqual([])
  })

  it('is tested with its token where that is said', async () => {
    const id = await connected('tested')
    const test = async () => (await platform.call('POST', `${pathOf(id)}/test`)).body
    expect(await test()).toMatchObject({ ok: true, message: expect.stringContaining('works') })
    await platform.sql`
      update oauth_connections set settings = settings || jsonb_build_object('test_url',
        ${`${platform.idp.issuer}/nowhere`}::text) where id = ${id}`
    expect(await test()).toMatchObject({ ok: false })
    expect(await failureOf(id)).toContain('answers with HTTP 404')
  })
})

const answers =
  (status: number, body: string, headers: Record<string, string> = {}): Intercept =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)

describe('a hostile provider of an organization', () => {
  it.each<[string, Intercept, [status: number, why: RegExp]]>([
    ['silence', () => {}, [504, /did not answer within 500 ms/]],
    ['HTML', answers(200, '<h1>Hi', { 'content-type': 'text/html' }), [502, /cannot be used/]],
    ['10 MB', answers(200, 'x'.repeat(10 << 20)), [502, /more than 262144 bytes/]],
    [
      'a redirect to a private address',
      answers(307, '', { location: 'http://169.254.169.254/latest/meta-data' }),
      [502, /redirect, which is not followed/],
    ],
    ['no JSON', answers(200, 'x'), [502, /cannot be used/]],
    [
      'a token with a line break',
      answers(200, JSON.stringify({ access_token: 'a\nb', token_type: 'bearer' })),
      [502, /no header can carry/],
    ],
    [
      'a token of 100 kB',
      answers(200, JSON.stringify({ access_token: 'a'.repeat(100_000), token_type: 'bearer' })),
      [502, /no header can carry/],
    ],
    [
      'a refusal with markup in it',
      answers(400, JSON.stringify({ error: '<script>', error_description: 'canary' })),
      [502, /an error without a code/],
    ],
  ])(
    'answers with %s, and is told about in plain words',
    async (what, intercept, [status, why]) => {
      const id = await create(`hostile ${what}`.replace(/\W/g, '-').slice(0, 60), robot())
      platform.idp.intercept('/token', intercept)
      // A busy machine needs its time for those that answer.
      const answer = await (status === 504 ? begin(id, impatient) : begin(id))
      expect([answer.status, answer.body['message']]).toEqual([status, expect.stringMatching(why)])
      expect(String(answer.body['message'])).not.toMatch(/canary|<script>/)
    },
  )

  it.each<[string, Record<string, string>, RegExp]>([
    ['its token endpoint', { token_endpoint: 'http://169.254.169.254/token' }, /no public address/],
    [
      'a page for the browser that is a script',
      { authorization_endpoint: 'javascript:alert(1)' },
      /cannot be used|not at an https/,
    ],
  ])('discovers %s in vain', async (what, endpoints, why) => {
    const id = await create(what.replace(/\W/g, '-'), settings())
    const issuer = platform.idp.issuer
    const document = {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      ...endpoints,
    }
    const path = '/.well-known/openid-configuration'
    platform.idp.intercept(path, answers(200, JSON.stringify(document)))
    const begun = await begin(id)
    if (begun.status !== 200) {
      expect(begun.body['message']).toMatch(why)
      return
    }
    platform.idp.intercept(path)
    const search = new URL(await platform.idp.authorize(String(begun.body['authorization_url'])))
      .search
    expect((await complete(search)).body['message']).toMatch(why)
  })

  it('refuses bodies that are none, each with its field', async () => {
    const path = `/organizations/${platform.organizationId}/connections`
    for (const body of [[], 'x', {}, { ...settings(), name: 'a', extra: 1 }]) {
      expect((await platform.call('POST', path, { body })).status).toBe(422)
    }
    const body = { ...settings({ token: 'x', test_url: 'nothing' }), name: 'a' }
    expect((await platform.call('POST', path, { body })).body).toMatchObject({
      details: { problems: [{ field: 'token' }, { field: 'test_url' }] },
    })
  })
})
