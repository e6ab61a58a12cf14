import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signInAs } from '../support/every-route.ts'
import { readObject } from '../support/platform.ts'
import { CLIENT_SECRET, openPlatformWithConnections } from '../support/platform-with-connections.ts'
import type { PlatformWithConnections } from '../support/platform-with-connections.ts'

let platform: PlatformWithConnections
let token: string
let rivals: string

beforeAll(async () => {
  platform = await openPlatformWithConnections()
  token = await platform.issueToken(platform.acme)
  rivals = await platform.issueToken(platform.rival)
})
afterAll(() => platform.close())

const LIST = '/designer/v2/connections'
const KEYED = {
  name: 'keyed',
  provider: 'token',
  kind: 'static_token',
  header: 'X-API-Key',
  prefix: '',
  hosts: ['api.example.com'],
  token: 'k-canary-1',
}

interface Ask {
  readonly body?: object
  readonly bearer?: string
  readonly headers?: Record<string, string>
  readonly app?: PlatformWithConnections['app']
}

const call = (request: string, { body, bearer = token, headers = {}, ...more }: Ask = {}) => {
  const [method = '', path = ''] = request.split(' ')
  return (more.app ?? platform.app).request(path, {
    method,
    headers: {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: body ? JSON.stringify(body) : null,
  })
}

async function create(changes: object = {}): Promise<string> {
  const answer = await call(`POST ${LIST}`, { body: { ...KEYED, ...changes } })
  expect(answer.status).toBe(201)
  return answer.headers.get('location') ?? ''
}

const actions = async (): Promise<string[]> =>
  (await platform.sql`select action from audit_entries order by id`).map(({ action }) => action)

describe('connections over the API', () => {
  it('are created, read, changed and deleted, with one entry in the audit for each', async () => {
    const before = (await actions()).length
    const at = await create()
    const row = await readObject(await call(`GET ${at}`))
    const { token: _, ...shown } = KEYED
    expect(row).toMatchObject({ ...shown, header: 'x-api-key', status: 'connected' })
    expect(await readObject(await call(`GET ${LIST}`))).toEqual({ connections: [row] })
    const moved = { ...KEYED, token: 'k-canary-2', hosts: ['api.example.org'] }
    expect(await readObject(await call(`PUT ${at}`, { body: moved }))).toMatchObject({
      hosts: ['api.example.org'],
      status: 'connected',
    })
    expect(await readObject(await call(`POST ${at}/revoke`))).toMatchObject({
      status: 'needs_authorization',
      problem: 'Its tokens were revoked here. Connect it again to use it.',
    })
    expect((await call(`DELETE ${at}`)).status).toBe(204)
    expect((await call(`GET ${at}`)).status).toBe(404)
    expect((await actions()).slice(before)).toEqual(
      ['created', 'changed', 'revoked', 'deleted'].map((past) => `connection_${past}`),
    )
    const entries = await platform.sql`
      select actor_kind, actor_name from audit_entries where action like 'connection_%'`
    expect(new Set(entries.map(({ actorKind, actorName }) => `${actorKind} ${actorName}`))).toEqual(
      new Set(['token test']),
    )
  })

  it('show, record and log no secret', async () => {
    const at = await create({ name: 'sealed', token: 'k-canary-3' })
    const texts = [
      await (await call(`GET ${at}`)).text(),
      await (await call(`GET ${LIST}`)).text(),
      JSON.stringify(await platform.sql`select * from audit_entries`),
      JSON.stringify(platform.lines),
      platform.oauthLines.join(),
    ]
    for (const each of texts) expect(each).not.toContain('k-canary')
  })

  it('keep their tokens when what was read is sent back, whoever created them', async () => {
    const { cookie, csrfToken, token: session } = await platform.signIn(platform.acme)
    const id = await platform.connect({ cookie, csrfToken, token: session }, { name: 'by-page' })
    for (const at of [`${LIST}/${id}`, await create({ name: 'by-api' })]) {
      const row = await readObject(await call(`GET ${at}`))
      const names = Object.keys(KEYED).concat(
        'issuer authorization_endpoint token_endpoint revocation_endpoint client_id scopes ' +
          'token_endpoint_auth_method parameters test_url',
      )
      const fields = names.flatMap((each) => each.split(' ')).filter((name) => name in row)
      const body = Object.fromEntries(fields.map((name) => [name, row[name]]))
      const answer = await call(`PUT ${at}`, { body })
      expect([at, answer.status]).toEqual([at, 200])
      expect(await readObject(answer)).toMatchObject({
        status: 'connected',
        version: row['version'],
      })
    }
  })

  it('connect a client for itself, and send a person to a browser for the rest', async () => {
    const { issuer } = platform.idp
    const client = {
      provider: 'oidc',
      issuer,
      client_secret: CLIENT_SECRET,
      hosts: [],
      token: undefined,
    }
    const ofClient = { header: undefined, prefix: undefined, ...client }
    const robot = await create({
      ...ofClient,
      name: 'robot',
      kind: 'client_credentials',
      client_id: 'robot',
    })
    expect(await readObject(await call(`GET ${robot}`))).toMatchObject({ status: 'pending' })
    expect(await readObject(await call(`POST ${robot}/connect`))).toMatchObject({
      status: 'connected',
      problem: null,
    })
    const person = await create({
      ...ofClient,
      name: 'person',
      kind: 'authorization_code',
      client_id: 'crews',
    })
    const refused = await call(`POST ${person}/connect`)
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('A person has to connect it, in a browser')
    const tested = await readObject(await call(`POST ${person}/test`))
    expect(tested).toMatchObject({ status: 'pending', problem: 'It is not connected yet.' })
  })

  it('are only checked with dry_run, as the platform would keep them', async () => {
    const body = { ...KEYED, name: 'checked' }
    const checked = await call(`POST ${LIST}?dry_run=true`, { body })
    expect(checked.status).toBe(200)
    const values = await readObject(checked)
    expect(values).toMatchObject({ name: 'checked', header: 'x-api-key' })
    expect(values).not.toHaveProperty('token')
    expect(await platform.idOf('checked')).toBe('none')
  })

  it('change in one version alone with If-Match, also of two programs at once', async () => {
    const at = await create({ name: 'versions' })
    const etag = (await call(`GET ${at}`)).headers.get('etag') ?? ''
    const put = (place: string) =>
      call(`PUT ${at}`, {
        body: { ...KEYED, name: 'versions', hosts: [place] },
        headers: { 'if-match': etag },
      })
    const both = await Promise.all([put('a.example.com'), put('b.example.com')])
    const statuses = both.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses[0]).toBe(200)
    expect([409, 412]).toContain(statuses[1])
    expect((await put('c.example.com')).status).toBe(412)
  })

  it.each([
    ['a name that is taken', { name: 'versions' }, /name is taken by another connection/],
    ['a name with spaces', { name: 'my files' }, /name must start with a letter/],
    ['no token', { token: undefined }, /token is needed/],
    ['another header of calls', { header: 'Host' }, /header must not be a header/],
    ['a private address', { test_url: 'https://10.0.0.1/' }, /test_url cannot be called/],
    ['the metadata of a cloud', { test_url: 'http://169.254.169.254/' }, /test_url cannot be/],
    ['plain http', { test_url: 'http://api.example.com/' }, /test_url must begin with https/],
    ['a test elsewhere', { test_url: 'https://b.example/' }, /test_url must be at one of the/],
    ['a client of a token', { client_id: 'x' }, /client_id does not belong to this kind/],
    ['scopes of a token', { scopes: ['a'] }, /scopes does not belong to this kind/],
    ['a provider of no operator', { kind: null, provider: 'nobody' }, /provider is none of the/],
    ['another kind', { kind: 'password' }, /kind must be one of authorization_code/],
    ['an unknown field', { status: 'connected' }, /status is not known/],
  ])('are refused with %s', async (_, changes, message) => {
    const refused = await call(`POST ${LIST}`, { body: { ...KEYED, name: 'bad', ...changes } })
    expect(refused.status).toBe(422)
    expect((await readObject(refused))['message']).toMatch(message)
    expect(await platform.idOf('bad')).toBe('none')
  })

  it('keep secrets only where they would go to the same addresses as before', async () => {
    const at = await create({ name: 'kept' })
    const { token: _, ...without } = KEYED
    const body = { ...without, name: 'kept', hosts: ['evil.example'] }
    const refused = await call(`PUT ${at}`, { body })
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('token is needed; enter it again after a change')
    const renamed = await call(`PUT ${at}`, { body: { ...KEYED, name: 'other' } })
    expect(await renamed.text()).toContain('name cannot change')
  })

  it('are those of the own organization, and no others', async () => {
    const at = await create({ name: 'mine' })
    for (const request of ['GET', 'DELETE', 'PUT']) {
      const body = request === 'PUT' ? { body: { ...KEYED, name: 'mine' } } : {}
      expect((await call(`${request} ${at}`, { bearer: rivals, ...body })).status).toBe(404)
    }
    for (const action of ['test', 'revoke', 'connect'])
      expect((await call(`POST ${at}/${action}`, { bearer: rivals })).status).toBe(404)
    expect(await readObject(await call(`GET ${LIST}`, { bearer: rivals }))).toEqual({
      connections: [],
    })
    expect(await readObject(await call(`GET ${at}`))).toMatchObject({ status: 'connected' })
  })

  it('are changed by administrators only', async () => {
    const at = await create({ name: 'roles' })
    for (const role of ['viewer', 'editor'] as const) {
      const { cookie, csrfToken } = await signInAs(platform, `of-connections-${role}`, role)
      const headers = { cookie, 'x-csrf-token': csrfToken, 'content-type': 'application/json' }
      const ask = (method: string, path: string) =>
        platform.app.request(path, { method, headers, body: method === 'PUT' ? '{}' : null })
      const tried = [
        ['PUT', at],
        ['DELETE', at],
        ['POST', `${at}/revoke`],
        ['POST', `${at}/test`],
        ['POST', `${at}/connect`],
      ] as const
      for (const [method, path] of tried) {
        expect([role, method, path, (await ask(method, path)).status]).toEqual([
          role,
          method,
          path,
          403,
        ])
      }
      const read = await platform.app.request(at, { headers: { cookie } })
      expect(read.status).toBe(200)
    }
  })

  it('say what is missing where the platform has no OAuth service', async () => {
    const app = platform.appAt('http://platform.test')
    const refused = await call(`POST ${LIST}`, { body: { ...KEYED, name: 'none' }, app })
    expect(refused.status).toBe(503)
    expect(await refused.text()).toContain('oauth.enabled')
    expect((await call(`GET ${LIST}`, { app })).status).toBe(200)
  })
})
