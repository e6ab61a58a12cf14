import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLlmKeys } from '../../../../services/platform/connections/llm-keys.ts'
import { LLM_CONNECTIONS_MAX } from '../../../../services/platform/connections/llm-connections.ts'
import { createStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { TOKEN_SCOPES, UNLIMITED } from '../../../../services/platform/automations/token-limits.ts'
import type { TokenScope } from '../../../../services/platform/automations/token-limits.ts'
import { signInAs } from '../support/every-route.ts'
import { BASE_URL, openPlatform, readObject, SECRET } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

const PATH = '/designer/v2/llm-connections'
const KEY = 'sk-canary-0123456789abcdef'
const MAIN = { name: 'Main', provider: 'openai', model: 'gpt-4o-mini' }

let platform: Platform
let ours: string
let theirs: string

beforeAll(async () => {
  platform = await openPlatform()
  ours = await issue(platform.acme.organizationId)
  theirs = await issue(platform.rival.organizationId)
})

beforeEach(() => platform.sql`delete from llm_connections`)

afterAll(() => platform.close())

async function issue(organizationId: number, scopes: readonly TokenScope[] = TOKEN_SCOPES) {
  const owner = { organizationId, deploymentId: null, createdBy: null, name: 'CI' }
  return (await createStaticToken(platform.sql, { ...UNLIMITED, ...owner, scopes })).secret
}

/** Calls what a request such as `GET /1` names, below the address of the list. */
function call(request: string, body?: object, token = ours) {
  const [method = '', path = ''] = request.split(' ')
  return platform.app.request(BASE_URL + PATH + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body ? JSON.stringify(body) : null,
  })
}

async function create(change: object = {}): Promise<string> {
  const made = await call('POST', { ...MAIN, ...change })
  expect(made.status).toBe(201)
  return (made.headers.get('location') ?? '').replace(PATH, '')
}

const sealedKey = async (): Promise<Buffer | null> => {
  const [row] = await platform.sql<{ sealedKey: Buffer | null }[]>`
    select sealed_key from llm_connections`
  return row?.sealedKey ?? null
}

describe('the API of LLM connections', () => {
  it('stores a key that no answer, log or audit shows', async () => {
    const made = await call('POST', { ...MAIN, api_key: KEY })
    const { id = 0 } = await readObject(made.clone())
    const answers = [
      made,
      await call('GET'),
      await call(`GET /${String(id)}`),
      await call(`PUT /${String(id)}`, { ...MAIN, model: 'gpt-4o' }),
      await call(`PUT /${String(id)}`, { ...MAIN, name: '', api_key: KEY }),
    ]
    for (const answer of answers) expect(await answer.text()).not.toContain('canary')
    expect(JSON.stringify(platform.lines)).not.toContain('canary')
    const entries = await platform.audit()
    expect(JSON.stringify(entries)).not.toContain('canary')
    expect(entries.at(-2)?.after).toEqual({
      ...MAIN,
      base_url: null,
      api: 'auto',
      region: null,
      batch_tier: null,
      api_key: 'entered',
    })
    expect(entries.at(-1)?.after).not.toHaveProperty('api_key')
    const owner = { id: Number(id), organizationId: platform.acme.organizationId }
    expect(createLlmKeys(SECRET).open((await sealedKey()) ?? Buffer.alloc(0), owner)).toBe(KEY)
  })

  it('keeps a key until it is replaced, removed, or would go to another address', async () => {
    const one = await create({ api_key: KEY })
    const changed = await readObject(await call(`PUT ${one}`, { ...MAIN, model: 'gpt-4o' }))
    expect(changed).toMatchObject({ has_key: true, model: 'gpt-4o' })
    expect(await readObject(await call(`POST ${one}/forget`))).toMatchObject({ has_key: false })
    for (const elsewhere of [{ base_url: 'https://evil.test/v1' }, { provider: 'groq' }]) {
      await call(`PUT ${one}`, { ...MAIN, api_key: KEY })
      const moved = await readObject(await call(`PUT ${one}`, { ...MAIN, ...elsewhere }))
      expect(moved).toMatchObject({ ...elsewhere, has_key: false })
      expect(await sealedKey()).toBeNull()
    }
  })

  it.each([
    ['http://127.0.0.1:4000/v1', 'LLM_PRIVATE_ORIGINS'],
    ['http://[::ffff:10.0.0.1]/v1', 'The base URL must be written as http://[::ffff:a00:1]/v1:'],
    ['http://169.254.169.254/latest', 'LLM_PRIVATE_ORIGINS'],
    ['https://user:pw@x.test/v1', 'no user name, password'],
    ['https://x.test/v1?key=1', 'The base URL must have no query'],
    ['file:///etc/passwd', 'The base URL must be an absolute address'],
    [`https://x.test/${'a'.repeat(500)}`, 'The base URL must have at most 500'],
    [7, 'base_url must be a text'],
  ])('refuses the base URL %s', async (base_url, problem) => {
    const refused = await call('POST', { ...MAIN, base_url })
    expect(refused.status).toBe(422)
    expect(String((await readObject(refused))['message'])).toContain(problem)
    const one = await create()
    expect((await call(`PUT ${one}`, { ...MAIN, base_url })).status).toBe(422)
  })

  it('is that of the own organization only', async () => {
    const one = await create({ api_key: KEY })
    expect(await (await call('GET', undefined, theirs)).json()).toEqual({ llm_connections: [] })
    const attempts = [
      await call(`GET ${one}`, undefined, theirs),
      await call(`PUT ${one}`, { ...MAIN, base_url: 'https://evil.test/v1' }, theirs),
      await call(`POST ${one}/forget`, undefined, theirs),
      await call(`DELETE ${one}`, undefined, theirs),
    ]
    expect(attempts.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    expect(await sealedKey()).not.toBeNull()
    // The same name is free in another organization, and taken in one's own.
    expect((await call('POST', MAIN, theirs)).status).toBe(201)
    expect((await call('POST', MAIN)).status).toBe(409)
  })

  it('needs the scope settings of a token, and an administrator', async () => {
    const one = await create()
    const reader = await issue(platform.acme.organizationId, ['read', 'kickoff', 'upload'])
    const designer = await issue(platform.acme.organizationId, ['design'])
    for (const token of [reader, designer]) {
      expect((await call(`GET ${one}`, undefined, token)).status).toBe(200)
      const refused = await call(`PUT ${one}`, MAIN, token)
      expect(refused.status).toBe(403)
      expect((await readObject(refused))['message']).toContain('settings')
      expect((await call('POST', { ...MAIN, name: 'x' }, token)).status).toBe(403)
      expect((await call(`DELETE ${one}`, undefined, token)).status).toBe(403)
    }
    const { cookie, csrfToken } = await signInAs(platform, 'an-editor', 'editor')
    const asEditor = await platform.app.request(BASE_URL + PATH + one, {
      method: 'DELETE',
      headers: { cookie, 'x-csrf-token': csrfToken },
    })
    expect(asEditor.status).toBe(403)
    expect((await call(`GET ${one}`)).status).toBe(200)
  })

  it('takes as many as there may be', async () => {
    await platform.sql`
      insert into llm_connections (organization_id, name, provider, model)
      select ${platform.acme.organizationId}, 'Line ' || n, 'openai', 'm'
      from generate_series(1, ${LLM_CONNECTIONS_MAX}::int) n`
    const refused = await call('POST', MAIN)
    expect(refused.status).toBe(409)
    expect((await readObject(refused))['message']).toContain('at most 1000 LLM connections')
    const { llm_connections: rows } = await readObject(await call('GET'))
    expect(rows).toHaveLength(LLM_CONNECTIONS_MAX)
  })
})
