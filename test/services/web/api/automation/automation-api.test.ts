import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { completeRun, failRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { recordEvent } from '../../../../support/record-event.ts'
import { countRuns } from '../../../../../services/platform/runs/run-list.ts'
import { stopRun } from '../../../../../services/platform/runs/runs.ts'
import type { Automation } from '../../../../../services/platform/automations/automations.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const UNKNOWN = '00000000-0000-4000-8000-000000000000'
const PAT = `pat_${'A'.repeat(43)}`
const METADATA = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource"`
const BODY = { inputs: { topic: 'whales' } }

let platform: Platform
let token: string
let wideToken: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme, platform.acme.research.id)
  wideToken = await platform.issueToken(platform.acme)
})

beforeEach(async () => {
  await platform.sql`delete from executions`
})

afterAll(() => platform.close())

const url = ({ automationId }: Pick<Automation, 'automationId'>, path: string): string =>
  `${BASE_URL}/platform/api/v1/crew/${automationId}/${path}`

interface Call {
  readonly method?: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Record<string, string>
}

const call = (automation: Pick<Automation, 'automationId'>, path: string, init: Call = {}) =>
  platform.app.request(url(automation, path), {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  })

type Kickoff = Omit<Call, 'method'>

const kickoff = ({ body = JSON.stringify(BODY), headers = {} }: Kickoff = {}) =>
  call(platform.acme.research, 'kickoff', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })

const queued = async () => (await countRuns(platform.sql, platform.acme)).queued

describe('POST kickoff (SPEC 4.4)', () => {
  it('queues a run and tells where its status is', async () => {
    const response = await kickoff()
    expect(response.status).toBe(202)
    const body = await readObject(response)
    const statusUrl = url(platform.acme.research, `status/${String(body['kickoff_id'])}`)
    expect(body).toEqual({
      kickoff_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'queued',
      status_url: statusUrl,
    })
    expect(response.headers.get('location')).toBe(statusUrl)
    expect(response.headers.get('retry-after')).toBe('2')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const [taken] = await takeRuns(platform.sql, 1)
    expect(taken).toMatchObject({ id: body['kickoff_id'], inputs: { topic: 'whales' } })
  })

  it('takes any JSON value but null as an input, with odd names in it as data', async () => {
    const inputs =
      '{"topic":{"a":[1,null,true],"extra":"é🐳","__proto__":{"x":1},"constructor":{}}}'
    expect((await kickoff({ body: `{"inputs":${inputs}}` })).status).toBe(202)
    const [taken] = await takeRuns(platform.sql, 1)
    expect(JSON.parse(JSON.stringify(taken?.inputs))).toEqual(JSON.parse(inputs))
    expect(Object.keys(taken?.inputs['topic'] ?? {}).sort()).toEqual(
      ['__proto__', 'a', 'constructor', 'extra'].sort(),
    )
  })

  it('takes the automation id in capitals and answers with the canonical one', async () => {
    const automationId = platform.acme.research.automationId.toUpperCase()
    const response = await call({ automationId }, 'kickoff', {
      method: 'POST',
      body: JSON.stringify(BODY),
      headers: { 'content-type': 'application/json; charset=UTF-8' },
    })
    expect(response.status).toBe(202)
    expect(response.headers.get('location')).toContain(platform.acme.research.automationId)
  })

  const nested = (depth: number) => `{"inputs":{"topic":${'['.repeat(depth)}${']'.repeat(depth)}}}`
  const refused: [string, number, Kickoff & { details?: Record<string, unknown> }][] = [
    ['no content type', 415, { headers: { 'content-type': '' } }],
    ['text', 415, { headers: { 'content-type': 'text/plain' } }],
    ['a form', 415, { headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ['a look-alike type', 415, { headers: { 'content-type': 'application/jsonp' } }],
    ['another charset', 415, { headers: { 'content-type': 'application/json; charset=latin1' } }],
    ['a compressed body', 415, { headers: { 'content-encoding': 'gzip' } }],
    ['no body', 400, { body: '' }],
    ['half of a body', 400, { body: '{"inputs":{"topic":"x"}' }],
    ['two bodies', 400, { body: '{"inputs":{}}{}' }],
    ['a byte order mark', 400, { body: '\uFEFF{"inputs":{"topic":"x"}}' }],
    ['invalid UTF-8', 400, { body: Uint8Array.of(0x22, 0xff, 0x22) }],
    ['a key twice', 400, { body: '{"inputs":{},"inputs":{"topic":"x"}}' }],
    [
      'an input twice, once escaped',
      400,
      {
        body: '{"inputs":{"topic":1,"\\u0074opic":2}}',
        details: { duplicate_member: 'topic' },
      },
    ],
    ['the character U+0000', 400, { body: '{"inputs":{"topic":"\\u0000"}}' }],
    ['half of a surrogate pair', 400, { body: '{"inputs":{"topic":"\\ud800"}}' }],
    ['a number out of range', 400, { body: '{"inputs":{"topic":1e999}}' }],
    ['nesting without end', 400, { body: nested(10_000) }],
    ['an array', 422, { body: '[]' }],
    ['null', 422, { body: 'null' }],
    ['a text', 422, { body: '"inputs"' }],
    ['an empty object', 422, { body: '{}' }],
    ['inputs in an array', 422, { body: '{"inputs":[]}' }],
    ['inputs as text', 422, { body: '{"inputs":"topic"}' }],
    [
      'a stray key',
      422,
      { body: '{"inputs":{"topic":"x"},"input":1}', details: { stray_keys: ['input'] } },
    ],
    ['the key __proto__', 422, { body: '{"inputs":{"topic":1},"__proto__":{}}' }],
    [
      'no topic',
      422,
      {
        body: '{"inputs":{"Topic":"x"}}',
        details: { missing_inputs: ['topic'], unknown_inputs: ['Topic'] },
      },
    ],
    ['a topic by inheritance only', 422, { body: '{"inputs":{"__proto__":{"topic":1}}}' }],
    ['an empty key', 400, { headers: { 'idempotency-key': '' } }],
    ['a key with a space', 400, { headers: { 'idempotency-key': 'a b' } }],
    ['a key that is too long', 400, { headers: { 'idempotency-key': 'k'.repeat(256) } }],
  ]
  it.each(refused)('refuses %s with %i', async (_, status, { details, ...request }) => {
    const response = await kickoff(request)
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    const body = await readObject(response)
    expect(body).toMatchObject({ status, message: body['detail'], request_id: expect.any(String) })
    if (details) expect(body['details']).toEqual(details)
    expect(await queued()).toBe(0)
  })

  it('takes a body of 256 KiB and refuses one byte more with 413', async () => {
    const frame = '{"inputs":{"topic":""}}'.length
    const sized = (bytes: number) => `{"inputs":{"topic":"${'x'.repeat(bytes - frame)}"}}`
    expect((await kickoff({ body: sized(256 * 1024) })).status).toBe(202)
    expect((await kickoff({ body: sized(256 * 1024 + 1) })).status).toBe(413)
  })

  it('takes 32 levels of nesting and refuses 33', async () => {
    expect((await kickoff({ body: nested(30) })).status).toBe(202)
    expect((await kickoff({ body: nested(31) })).status).toBe(400)
  })

  it('returns the same run for a repeated Idempotency-Key, 422 for other inputs', async () => {
    const headers = { 'idempotency-key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' }
    const first = await kickoff({ headers })
    const again = await kickoff({ headers })
    expect(again.status).toBe(202)
    expect(await again.json()).toEqual(await first.json())
    expect(await queued()).toBe(1)
    const other = await kickoff({ headers, body: '{"inputs":{"topic":"owls"}}' })
    expect(other.status).toBe(422)
    expect(await queued()).toBe(1)
  })
})

describe('GET status (SPEC 4.4)', () => {
  const start = async () => String((await readObject(await kickoff()))['kickoff_id'])
  const status = async (id: string) =>
    readObject(await call(platform.acme.research, `status/${id}`))
  const take = async () => {
    const [taken] = await takeRuns(platform.sql, 1)
    if (!taken) throw new Error('nothing to take')
    return taken
  }

  it('tells of a queued run when to ask again', async () => {
    const response = await call(platform.acme.research, `status/${await start()}`)
    expect(response.headers.get('retry-after')).toBe('2')
    expect(await response.json()).toMatchObject({
      status: 'queued',
      state: 'PENDING',
      output: null,
      error: null,
      usage: null,
      progress: { completed_tasks: 0, total_tasks: 2 },
      current_task: null,
      tasks: [
        { task: 'research', status: 'pending', attempt: null, output: null },
        { task: 'write', status: 'pending' },
      ],
      queued_at: expect.stringMatching(/^\d{4}-.*Z$/),
      started_at: null,
      finished_at: null,
    })
  })

  it('shows how far each task has come, also those that only the crew knows', async () => {
    const id = await start()
    const lease = await take()
    const events = [
      { type: 'crew_started', crew: 'Research' },
      { type: 'task_started', task: 'research', agent: 'researcher' },
      { type: 'llm_call', task: 'research' },
      { type: 'task_completed', task: 'research', agent: 'researcher', output: 'Whales sing.' },
      { type: 'task_started', task: 'extra', agent: 'helper' },
    ]
    for (const [position, event] of events.entries()) {
      await recordEvent(platform.sql, lease, { position, event })
    }
    expect(await status(id)).toMatchObject({
      kickoff_id: id,
      status: 'running',
      state: 'STARTED',
      progress: { completed_tasks: 1, total_tasks: 3 },
      current_task: 'extra',
      tasks: [
        {
          task: 'research',
          agent: 'researcher',
          status: 'completed',
          attempt: 1,
          started_at: expect.any(String),
          finished_at: expect.any(String),
          output: 'Whales sing.',
        },
        { task: 'write', status: 'pending', started_at: null, output: null },
        { task: 'extra', agent: 'helper', status: 'running', finished_at: null, output: null },
      ],
    })
    await stopRun(platform.sql, id)
    expect(await status(id)).toMatchObject({
      status: 'stopped',
      current_task: null,
      tasks: [{ status: 'completed' }, { status: 'pending' }, { task: 'extra', status: 'stopped' }],
    })
  })

  it('counts a task that was skipped as one that is over', async () => {
    const id = await start()
    const lease = await take()
    const facts = { task: 'research', agent: 'researcher', at: new Date().toISOString() }
    const event = { type: 'task_completed', ...facts, output: '', skipped: 'No.' }
    await recordEvent(platform.sql, lease, { position: 0, event })
    expect(await status(id)).toMatchObject({
      progress: { completed_tasks: 1 },
      tasks: [{ task: 'research', status: 'skipped', output: '' }, { status: 'pending' }],
    })
  })

  it('gives the result of a completed one under both names', async () => {
    const id = await start()
    const usage = { inputTokens: 3, outputTokens: 4 }
    await completeRun(platform.sql, await take(), { output: 'Whales sing.', usage })
    const response = await call(platform.acme.research, `status/${id}`)
    expect(response.headers.has('retry-after')).toBe(false)
    expect(await response.json()).toMatchObject({
      status: 'completed',
      state: 'SUCCESS',
      output: 'Whales sing.',
      result: 'Whales sing.',
      usage: { input_tokens: 3, output_tokens: 4 },
      finished_at: expect.any(String),
    })
  })

  it('gives the error of a failed one and tells of a stopped one', async () => {
    const failed = await start()
    await failRun(platform.sql, await take(), { code: 'crew_unreachable', message: 'Away.' })
    expect(await status(failed)).toMatchObject({
      status: 'error',
      state: 'FAILED',
      error: { code: 'crew_unreachable', message: 'Away.' },
    })
    const stopped = await start()
    await stopRun(platform.sql, stopped)
    expect(await status(stopped)).toMatchObject({ status: 'stopped', state: 'REVOKED' })
  })

  it('returns 404 for a run of another automation, an unknown one, and no id', async () => {
    const id = await start()
    const digest = await call(platform.acme.digest, `status/${id}`, {
      headers: { authorization: `Bearer ${wideToken}` },
    })
    expect(digest.status).toBe(404)
    for (const bad of [UNKNOWN, 'x', '1', `${id}x`, '%00', '..%2f..']) {
      expect((await call(platform.acme.research, `status/${bad}`)).status).toBe(404)
    }
  })
})

describe('GET inputs (SPEC 4.4)', () => {
  it('names the inputs that the crew asks for', async () => {
    const response = await call(platform.acme.research, 'inputs')
    expect(await response.json()).toEqual({
      inputs: ['topic'],
      fields: [{ name: 'topic', required: true }],
    })
    const headers = { authorization: `Bearer ${wideToken}` }
    expect(await (await call(platform.acme.digest, 'inputs', { headers })).json()).toEqual({
      inputs: [],
      fields: [],
    })
  })
})

describe('authentication of the automation API (SPEC 5.2, 7)', () => {
  const withoutId = async (response: Response) => ({
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: { ...(await readObject(response)), request_id: '' },
  })

  const malformed = [
    ['', 'an empty header'],
    ['Bearer', 'no token'],
    ['Bearer ', 'an empty token'],
    [PAT, 'no scheme'],
    [`Basic ${PAT}`, 'another scheme'],
    [`Bearer\t${PAT}`, 'a tab'],
    [`Bearer ${PAT} ${PAT}`, 'two tokens'],
    [`Bearer ${PAT}, Bearer ${PAT}`, 'two joined headers'],
    [`Bearer "${PAT}"`, 'quotes'],
    [`Bearer ${'x'.repeat(8193)}`, 'more than 8 KiB'],
  ]
  it.each(malformed)('refuses %j (%s) without an error code', async (authorization) => {
    const response = await call(platform.acme.research, 'inputs', { headers: { authorization } })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(`Bearer realm="platform", ${METADATA}`)
    expect(await response.text()).not.toContain('AAAA')
  })

  it('refuses a request without the header, and tokens in the query', async () => {
    const response = await platform.app.request(
      `${url(platform.acme.research, 'inputs')}?access_token=${token}`,
    )
    expect(response.status).toBe(401)
  })

  const unknown: [string, string][] = [
    [PAT, 'a static token that nobody has'],
    [`${PAT}x`, 'one that is too long'],
    ['pat_short', 'one that is too short'],
    ['eyJhbGciOiJub25lIn0.e30.', 'a JWT'],
    ['opaque', 'an opaque token'],
  ]
  it.each(unknown)('refuses %s (%s) as invalid_token and never echoes it', async (bad) => {
    const headers = { authorization: `Bearer ${bad}` }
    const response = await call(platform.acme.research, 'inputs', { headers })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer realm="platform", error="invalid_token", ${METADATA}`,
    )
    expect(await response.text()).not.toContain(bad)
  })

  it('returns the same for an unknown or foreign automation, no UUID, a bad token', async () => {
    const bad = await withoutId(
      await call(platform.acme.research, 'inputs', { headers: { authorization: `Bearer ${PAT}` } }),
    )
    for (const automationId of [UNKNOWN, platform.rival.research.automationId, 'nonsense', '%00']) {
      const headers = { authorization: `Bearer ${wideToken}` }
      expect(await withoutId(await call({ automationId }, 'inputs', { headers }))).toEqual(bad)
    }
  })

  it('accepts the scheme in any case, and several spaces', async () => {
    for (const scheme of ['bearer ', 'BEARER  ']) {
      const headers = { authorization: scheme + token }
      expect((await call(platform.acme.research, 'inputs', { headers })).status).toBe(200)
    }
  })

  it('keeps a token to its automation, and lets one of the organization call all', async () => {
    const status = async (automation: Automation, bearer: string) => {
      const headers = { authorization: `Bearer ${bearer}` }
      return (await call(automation, 'inputs', { headers })).status
    }
    const { acme, rival } = platform
    expect(await status(acme.research, token)).toBe(200)
    expect(await status(acme.digest, token)).toBe(401)
    expect(await status(rival.research, token)).toBe(401)
    expect(await status(acme.research, wideToken)).toBe(200)
    expect(await status(acme.digest, wideToken)).toBe(200)
    expect(await status(rival.digest, wideToken)).toBe(401)
  })

  it('does not look at the body of a caller it refuses', async () => {
    const response = await call(platform.acme.research, 'kickoff', {
      method: 'POST',
      body: 'not json',
      headers: { authorization: `Bearer ${PAT}`, 'content-type': 'text/plain' },
    })
    expect(response.status).toBe(401)
  })

  it('answers 405 with Allow for another method, but only after authentication', async () => {
    const cases = [
      ['kickoff', 'GET', 'POST'],
      ['inputs', 'POST', 'GET, HEAD'],
      [`status/${UNKNOWN}`, 'DELETE', 'GET, HEAD'],
    ] as const
    for (const [path, method, allow] of cases) {
      const allowed = await call(platform.acme.research, path, { method })
      expect(allowed.status).toBe(405)
      expect(allowed.headers.get('allow')).toBe(allow)
      const headers = { authorization: `Bearer ${PAT}` }
      expect((await call(platform.acme.research, path, { method, headers })).status).toBe(401)
    }
  })

  it('logs the decision with its reason, and never a token', async () => {
    platform.lines.length = 0
    await call(platform.acme.research, 'inputs')
    await call(platform.acme.research, 'inputs', { headers: { authorization: `Bearer ${PAT}` } })
    await call(platform.acme.research, 'inputs', { headers: { authorization: 'Bearer a.b.c' } })
    await call(platform.acme.research, 'inputs', { headers: { authorization: 'Bearer opaque' } })
    expect(platform.lines).toMatchObject([
      { auth: 'static_token', automation_id: platform.acme.research.automationId, status: 200 },
      { auth_refused: 'unknown_static_token', error: 'invalid_token', status: 401 },
      { auth: 'oauth', auth_refused: 'oauth_off', status: 401 },
      { auth_refused: 'unsupported_token_kind', status: 401 },
    ])
    expect(JSON.stringify(platform.lines)).not.toContain('pat_')
  })

  it('serves the API under the configured prefix', async () => {
    const app = platform.appAt(BASE_URL, { PLATFORM_API_PREFIX: 'acme-api' })
    const path = `/api/v1/crew/${platform.acme.research.automationId}/inputs`
    const headers = { authorization: `Bearer ${token}` }
    expect((await app.request(`/acme-api${path}`, { headers })).status).toBe(200)
    expect((await app.request(`/platform${path}`, { headers })).status).toBe(404)
  })
})
