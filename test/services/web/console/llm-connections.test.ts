import dns from 'node:dns'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLlmKeys } from '../../../../services/platform/connections/llm-keys.ts'
import type { EnvSource } from '../../../../services/shared/env.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { createApp } from '../../../../services/web/app.ts'
import { webEnv } from '../../../../services/web/env.ts'
import { closed, httpServer, silent } from '../diagnostics/support/faults.ts'
import { startNameServer } from '../../../support/name-server.ts'
import { openPlatform, environment, SECRET } from '../support/platform.ts'
import type { SignedInUser, Platform } from '../support/platform.ts'

const KEY = 'sk-canary-0123456789abcdef'
let platform: Platform
let ada: SignedInUser
let eve: SignedInUser
const NONE: Record<string, string> = {}
let env = NONE
let providerUrls = NONE
let built: { env: typeof NONE; providerUrls: typeof NONE; app: Platform['app'] } | undefined
const lines: string[] = []

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  eve = await platform.signIn(platform.rival)
})

beforeEach(async () => {
  await platform.sql`delete from llm_connections`
  env = NONE
  providerUrls = NONE
  lines.length = 0
})

afterAll(() => platform.close())

/** Another one only for other surroundings: each takes longer to build than most of its answers. */
function app() {
  if (built?.env === env && built.providerUrls === providerUrls) return built.app
  const log = createLog({ name: 'web', destination: { write: (line) => void lines.push(line) } })
  const app = createApp({
    config: readEnv(webEnv, environment(platform.url)),
    sql: platform.sql,
    log,
    ping: async () => {},
    isDraining: () => false,
    diagnostics: { env: env satisfies EnvSource, providerUrls },
  })
  built = { env, providerUrls, app }
  return app
}

const get = (path: string, user = ada) =>
  app().request(`/llm-connections${path}`, { headers: { cookie: user.cookie } })

const post = (path: string, fields: Record<string, string>, user = ada) =>
  app().request(`/llm-connections${path}`, {
    method: 'POST',
    body: new URLSearchParams({ csrf_token: user.csrfToken, ...fields }),
    headers: { cookie: user.cookie },
  })

const main = { name: 'Main', provider: 'openai', model: 'gpt-4o-mini', base_url: '', api_key: '' }

async function create(change: Record<string, string> = {}, user = ada): Promise<string> {
  const response = await post('', { ...main, ...change }, user)
  expect(response.status).toBe(303)
  const [path = ''] = /\/\d+/.exec(response.headers.get('location') ?? '') ?? []
  return path
}

const show = async (path: string, user = ada) =>
  (await (await get(path, user)).text()).replace(/\s+/g, ' ')

const test = async (path: string, fields: Record<string, string> = {}) =>
  (await (await post(`${path}/test`, fields)).text()).replace(/\s+/g, ' ')

/** The findings of a test: each subject with its state. */
const findingsOf = (page: string) =>
  Object.fromEntries(
    [...page.matchAll(/<dt>(\w+) <span class="pill \w+">([^<]+)</g)].map(
      ([, subject = '', state = '']) => [subject, state],
    ),
  )

async function storedKey(): Promise<Buffer | null> {
  const [row] = await platform.sql<[{ sealedKey: Buffer | null }]>`
    select sealed_key from llm_connections`
  return row.sealedKey
}

interface ProviderOptions {
  /** @default every key is taken, and none is needed */
  readonly key?: string
  /** @default it has no list of models */
  readonly models?: readonly string[]
  readonly speaks?: readonly ('chat_completions' | 'responses')[]
}

/** A provider of models that notes what it is asked. */
async function startProvider({ key, models, speaks = [] }: ProviderOptions) {
  const seen: string[] = []
  const bodies: unknown[] = []
  const answer = (path: string): [number, unknown] => {
    const is = (form: 'chat_completions' | 'responses', ending: string) =>
      speaks.includes(form) && path.endsWith(ending)
    if (models && path.endsWith('/models')) return [200, { data: models.map((id) => ({ id })) }]
    if (is('chat_completions', '/chat/completions')) return [200, { choices: [{}] }]
    if (is('responses', '/responses')) return [200, { output: [] }]
    return [404, { error: { message: 'This model is only supported in v1/responses.' } }]
  }
  const server = await httpServer((request, response) => {
    const { method = '', url = '', headers } = request
    const sent = headers.authorization ?? headers['x-api-key'] ?? ''
    seen.push(`${method} ${url} ${String(sent)}`.trim())
    const wrong = { error: { message: `Incorrect API key provided: ${String(sent).slice(7)}` } }
    const isTaken = key === undefined || sent === `Bearer ${key}`
    const { pathname } = new URL(url, 'http://provider.test')
    const [status, answered] = isTaken ? answer(pathname) : [401, wrong]
    void text(request).then((body) => {
      if (isTaken && body) bodies.push(JSON.parse(body))
      response.writeHead(status).end(JSON.stringify(answered))
    })
  })
  return { ...server, seen, bodies }
}

describe('LLM connections', () => {
  it('are created, shown, changed and deleted', async () => {
    const empty = await show('')
    expect(empty).toContain('No LLM connections yet')
    // The model that a crew names, and the providers that are known, are suggested.
    expect(empty).toMatch(/<datalist id="suggested-model"> <option value="test-model">/)
    expect(empty).toContain('<option value="anthropic">')
    const path = await create()
    expect(await show(path)).toContain('value="gpt-4o-mini"')
    const listed = await show('')
    expect(listed).toContain(`href="/llm-connections${path}"`)
    expect(listed).toContain('1 LLM connection of acme')
    const changed = {
      ...main,
      name: 'Other',
      provider: 'GROQ',
      base_url: 'https://x.test/v1/',
      api: 'responses',
    }
    const saved = await post(path, changed)
    expect(saved.headers.get('location')).toBe(
      `/llm-connections${path}?notice=llm-connection-saved`,
    )
    const page = await show(path)
    expect(page).toMatch(/value="responses" selected/)
    expect(page).toContain('value="groq"')
    expect(page).toContain('value="https://x.test/v1"')
    expect((await post(`${path}/delete`, {})).headers.get('location')).toContain('deleted')
    expect((await get(path)).status).toBe(404)
    const audits = lines.flatMap((line) => /"audit":"(\w+)"/.exec(line)?.[1] ?? [])
    expect(audits).toEqual([
      'llm_connection_created',
      'llm_connection_changed',
      'llm_connection_deleted',
    ])
  })

  it('never show a key again, nor store it as it is', async () => {
    providerUrls = { openai: (await closed()).url }
    const path = await create({ api_key: KEY })
    const pages = [
      await show(path),
      await show(''),
      await test(path),
      await (await post(path, { ...main, name: '', api_key: KEY })).text(),
      await (await post('', { ...main, api_key: KEY })).text(),
    ]
    for (const page of pages) {
      expect(page).not.toContain('canary')
      expect(page).not.toContain('cdef')
    }
    expect(pages[0]).toContain('The key of this connection.')
    expect(lines.join('')).not.toContain('canary')
    const sealed = await storedKey()
    expect(sealed?.toString('latin1')).not.toContain('canary')
    const connection = { id: Number(path.slice(1)), organizationId: platform.acme.organizationId }
    expect(createLlmKeys(SECRET).open(sealed ?? Buffer.alloc(0), connection)).toBe(KEY)
    const moved = { ...connection, organizationId: platform.rival.organizationId }
    expect(createLlmKeys(SECRET).open(sealed ?? Buffer.alloc(0), moved)).toBeUndefined()
    const other = createLlmKeys(`${SECRET}!`)
    expect(other.open(sealed ?? Buffer.alloc(0), connection)).toBeUndefined()
  })

  it('keep a key until it is replaced, removed, or would go to another address', async () => {
    const path = await create({ api_key: KEY })
    const first = await storedKey()
    await post(path, { ...main, model: 'gpt-4o' })
    expect(await storedKey()).toEqual(first)
    await post(path, { ...main, api_key: `${KEY}2` })
    expect(await storedKey()).not.toEqual(first)
    const removed = await post(`${path}/forget`, {})
    expect(removed.headers.get('location')).toContain('llm-connection-key-removed')
    expect(await storedKey()).toBeNull()
    for (const elsewhere of [{ base_url: 'https://evil.test/v1' }, { provider: 'groq' }]) {
      await post(path, { ...main, api_key: KEY })
      const moved = await post(path, { ...main, ...elsewhere })
      expect(moved.headers.get('location')).toContain('llm-connection-key-forgotten')
      expect(await storedKey()).toBeNull()
      expect(await show(`${path}?notice=llm-connection-key-forgotten`)).toContain('enter it again')
    }
    await post(path, { ...main, base_url: 'https://mine.test/v1', api_key: KEY })
    expect(await storedKey()).not.toBeNull()
  })

  it.each([
    [{ name: '' }, 'Fill in the name.'],
    [{ name: 'x'.repeat(101) }, 'at most 100 characters'],
    [{ name: 'a\u0000b' }, 'no control characters'],
    [{ provider: '' }, 'The provider must be one word'],
    [{ provider: '../x' }, 'The provider must be one word'],
    [{ provider: 'x'.repeat(61) }, 'The provider must be one word'],
    [{ model: ' ' }, 'Fill in the model.'],
    [{ model: 'x'.repeat(201) }, 'at most 200 characters'],
    [{ base_url: 'ftp://x' }, 'The base URL must be an absolute address'],
    [{ base_url: 'javascript:alert(1)' }, 'The base URL must be an absolute address'],
    [{ base_url: 'https://' }, 'The base URL must be an absolute address'],
    [{ base_url: 'https://a b' }, 'The base URL must be an absolute address'],
    [{ base_url: 'https://X.test' }, 'must be written as https://x.test/:'],
    [{ base_url: 'https://user:pw@x.test' }, 'no user name, password'],
    [{ base_url: 'https://x.test/?a=b' }, 'The base URL must have no query'],
    [{ base_url: `https://x.test/${'a'.repeat(500)}` }, 'The base URL must have at most 500'],
    [{ api: 'Responses' }, 'API must be one of auto, chat_completions, responses.'],
    [{ api_key: 'sk canary' }, 'visible ASCII characters only'],
    [{ api_key: 'x'.repeat(4001) }, 'at most 4000 characters'],
  ])('are refused with %j', async (change, problem) => {
    const refused = await post('', { ...main, ...change })
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain(problem)
    expect(await platform.sql`select 1 from llm_connections`).toHaveLength(0)
    const path = await create()
    expect((await post(path, { ...main, ...change })).status).toBe(422)
  })

  it('keep what was typed, escaped, and have a name once', async () => {
    await create()
    const again = await post('', { ...main, model: '"><script>x</script>' })
    expect(again.status).toBe(422)
    const page = await again.text()
    expect(page).toContain('has a connection of that name')
    expect(page).toContain('&quot;&gt;&lt;script&gt;')
    const path = await create({ name: 'Second' })
    expect((await post(path, main)).status).toBe(422)
  })

  it('are those of the own organization only', async () => {
    const path = await create({ api_key: KEY })
    expect(await show('', eve)).toContain('No LLM connections yet')
    expect((await get(path, eve)).status).toBe(404)
    for (const action of ['', '/test', '/forget', '/delete']) {
      expect((await post(`${path}${action}`, main, eve)).status).toBe(404)
    }
    for (const id of ['0', '-1', 'x', '1.5', '99999999999']) {
      expect((await get(`/${id}`)).status).toBe(404)
    }
    expect(await storedKey()).not.toBeNull()
    // The same name is free for somebody else.
    await create({}, eve)
  })

  it('take forms of our own pages only, from people who are signed in', async () => {
    const path = await create()
    for (const action of ['', path, `${path}/test`, `${path}/delete`]) {
      const forged = await post(action, { ...main, csrf_token: 'x' })
      expect(forged.status).toBe(403)
      const stranger = await app().request(`/llm-connections${action}`, { method: 'POST' })
      expect(stranger.headers.get('location')).toBe('/sign-in')
    }
    expect((await get(path)).status).toBe(200)
  })
})

describe('testing an LLM connection', () => {
  it('names each missing variable, and finds those of the platform', async () => {
    const path = await create({ provider: 'gemini' })
    providerUrls = { gemini: (await closed()).url }
    expect(await test(path)).toContain('<code>GEMINI_API_KEY</code> or <code>GOOGLE_API_KEY</code>')
    expect(await show('')).toContain('>Missing<')
    env = { GOOGLE_API_KEY: KEY }
    const found = await test(path)
    expect(found).toContain('A variable of the platform.')
    expect(found).not.toContain('canary')
    env = NONE
    await post(path, { ...main, provider: 'gemini', api_key: KEY })
    expect(await test(path)).toContain('The key of this connection.')
  })

  it('sends the key, and never calls a connection usable whose key is refused', async () => {
    const provider = await startProvider({ key: 'sk-right', models: ['gpt-4o-mini'] })
    providerUrls = { openai: provider.url }
    env = { OPENAI_API_KEY: KEY }
    const path = await create({ api_key: 'sk-wrong-canary' })
    const page = await test(path)
    expect(provider.seen).toEqual(['GET /models Bearer sk-wrong-canary'])
    expect(findingsOf(page)).toMatchObject({
      Provider: 'Reachable',
      Key: 'Refused',
      Model: 'Not checked',
      Crews: 'Not usable',
    })
    expect(page).toContain('HTTP 401: Incorrect API key provided: [key]. Enter the key again')
    expect(page).not.toContain('canary')
    await provider.stop()
  })

  it('calls a connection usable whose key is accepted and whose model is listed', async () => {
    const provider = await startProvider({ key: KEY, models: ['gpt-4o-mini'] })
    providerUrls = { openai: provider.url }
    const path = await create({ api_key: KEY })
    const page = await test(path)
    expect(findingsOf(page)).toMatchObject({ Key: 'Accepted', Model: 'Listed', Crews: 'Usable' })
    expect(page).toContain('https://api.openai.com/v1')
    await post(path, { ...main, model: 'gpt-9' })
    const unknown = await test(path)
    expect(findingsOf(unknown)).toMatchObject({ Model: 'Not listed', Crews: 'Not proven' })
    await provider.stop()
  })

  it('sends the key of the platform where the connection has none', async () => {
    const provider = await startProvider({ key: KEY, models: ['gpt-4o-mini'] })
    providerUrls = { openai: provider.url }
    env = { OPENAI_API_KEY: KEY }
    const page = await test(await create())
    expect(findingsOf(page)).toMatchObject({ Credentials: 'Platform key', Crews: 'Usable' })
    expect(page).not.toContain('canary')
    await provider.stop()
  })

  it('takes a list that everybody gets for no proof of the key', async () => {
    const provider = await startProvider({ models: ['gpt-4o-mini'] })
    providerUrls = { openai: provider.url }
    const path = await create({ api_key: 'sk-wrong' })
    const page = await test(path)
    expect(findingsOf(page)).toMatchObject({ Key: 'Not proven', Crews: 'Not proven' })
    expect(page).toContain('lists its models without a key, too')
    await provider.stop()
  })

  it('does not judge a model where none are listed', async () => {
    const provider = await startProvider({ key: KEY })
    providerUrls = { openai: provider.url }
    const page = await test(await create({ api_key: KEY }))
    expect(findingsOf(page)).toMatchObject({
      Key: 'Not proven',
      Model: 'Not checked',
      Crews: 'Not proven',
    })
    await provider.stop()
  })

  it('sends a key in the header that the provider takes', async () => {
    const provider = await startProvider({ models: ['claude-sonnet-4-5'] })
    providerUrls = { anthropic: provider.url }
    await test(await create({ provider: 'anthropic', model: 'claude-sonnet-4-5', api_key: KEY }))
    expect(provider.seen[0]).toBe(`GET /models?limit=1000 ${KEY}`)
    await provider.stop()
  })

  it('follows no redirect with the key', async () => {
    const other = await startProvider({ key: KEY, models: ['gpt-4o-mini'] })
    const provider = await httpServer((_request, response) => {
      response.writeHead(307, { location: `${other.url}/models` }).end()
    })
    providerUrls = { openai: provider.url }
    const path = await create({ api_key: KEY })
    for (const call of ['', 'yes']) {
      expect(findingsOf(await test(path, { call }))['Crews']).not.toBe('Usable')
    }
    expect(other.seen).toEqual([])
    await Promise.all([provider.stop(), other.stop()])
  })

  it('calls the model where a person asks for it, in the form of the connection', async () => {
    const provider = await startProvider({ key: KEY, speaks: ['chat_completions', 'responses'] })
    providerUrls = { openai: provider.url }
    const path = await create({ api_key: KEY })
    const page = await test(path, { call: 'yes' })
    expect(findingsOf(page)).toMatchObject({ Key: 'Accepted', Model: 'Answers', Crews: 'Usable' })
    expect(provider.bodies).toMatchObject([{ model: 'gpt-4o-mini', max_tokens: 16 }])
    await post(path, { ...main, api: 'responses' })
    expect(findingsOf(await test(path, { call: 'yes' }))['Crews']).toBe('Usable')
    expect(provider.bodies[1]).toMatchObject({ max_output_tokens: 16, store: false })
    await provider.stop()
  })

  it('calls the model at responses where chat/completions says so', async () => {
    const provider = await startProvider({ key: KEY, speaks: ['responses'] })
    providerUrls = { openai: provider.url }
    const path = await create({ api_key: KEY })
    expect(findingsOf(await test(path, { call: 'yes' }))['Crews']).toBe('Usable')
    await post(path, { ...main, api: 'chat_completions' })
    const page = await test(path, { call: 'yes' })
    expect(findingsOf(page)).toMatchObject({ Model: 'Refused', Crews: 'Not usable' })
    expect(page).toContain('HTTP 404: This model is only supported in v1/responses.')
    await post(path, { ...main, api_key: 'sk-wrong-canary' })
    const refused = await test(path, { call: 'yes' })
    expect(findingsOf(refused)).toMatchObject({ Key: 'Refused', Crews: 'Not usable' })
    expect(refused).not.toContain('canary')
    await provider.stop()
  })

  it('asks for a key that is sealed with another SECRET_KEY_BASE', async () => {
    const path = await create({ api_key: KEY })
    await platform.sql`update llm_connections set sealed_key = ${Buffer.alloc(60)}`
    expect(await test(path)).toContain('Enter the key again.')
  })

  it('says within its deadline that the provider cannot be reached', async () => {
    const path = await create({ provider: 'groq' })
    const refusing = await closed()
    providerUrls = { groq: refusing.url }
    expect(await test(path)).toContain('ConnectionFailed: ')
    const hanging = await silent()
    providerUrls = { groq: hanging.url }
    expect(await test(path)).toMatch(/TimeoutError: |did not answer within 3000 ms/)
    await hanging.stop()
  })

  it('asks an address of the organization where crews may call it', async () => {
    const provider = await startProvider({ key: KEY, models: ['llama'] })
    env = { OPENAI_BASE_URL: `${new URL(provider.url).origin}/v1`, OPENAI_API_KEY: 'sk-platform' }
    const path = await create({ base_url: `${provider.url}/v1`, api_key: KEY, model: 'llama' })
    const page = await test(path)
    expect(findingsOf(page)).toMatchObject({ Key: 'Accepted', Crews: 'Usable' })
    expect(page).toContain(`${provider.url}/v1`)
    expect(provider.seen).toEqual([`GET /v1/models Bearer ${KEY}`, 'GET /v1/models'])
    await post(path, { ...main, base_url: `${provider.url}/v1` })
    await post(`${path}/forget`, {})
    expect(findingsOf(await test(path))).toMatchObject({ Key: 'Required', Crews: 'Not usable' })
    await provider.stop()
    expect(await test(path)).toContain('>Not proven</span>')
  })

  it('refuses a private address as it is typed, and names the setting that allows it', async () => {
    for (const inside of ['http://127.0.0.1:4000/v1', 'http://localhost/v1', 'http://[::1]/v1']) {
      const response = await post('', { ...main, base_url: inside })
      expect(response.status).toBe(422)
      const page = (await response.text()).replace(/\s+/g, ' ')
      expect(page).toContain(`listing ${new URL(inside).origin} in LLM_PRIVATE_ORIGINS`)
    }
  })

  it('says in the test that a name leads to a private address, before a run fails', async () => {
    const server = await startNameServer(() => ['10.1.2.3'])
    const usual = dns.getServers()
    dns.setServers([server.address])
    const path = await create({ base_url: 'https://models.corp.test/v1' })
    expect(await test(path)).toContain('models.corp.test has no public address')
    dns.setServers(usual)
    await server.close()
  })

  it('says when crews cannot call a provider at all', async () => {
    const path = await create({ provider: 'replicate' })
    const refusing = await closed()
    providerUrls = { replicate: refusing.url }
    expect(await test(path)).toContain('no known OpenAI-compatible address')
    const unknown = await create({ name: 'Unknown', provider: 'acme-llm' })
    const page = await test(unknown)
    expect(page).toContain('<code>ACME_LLM_API_KEY</code>')
    expect(page).toContain('The public address of this provider is not known.')
  })
})
