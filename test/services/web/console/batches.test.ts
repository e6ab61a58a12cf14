import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../services/platform/automations/token-limits.ts'
import { queueBatches } from '../../../../services/platform/batches/queue-batches.ts'
import { createQueueRoom } from '../../../../services/platform/runs/queue-room.ts'
import { askAs } from '../support/forms.ts'
import { signInAs } from '../support/every-route.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform, SignedInUser, Tenant } from '../support/platform.ts'

let platform: Platform
let path: string
let form: string
let user: SignedInUser
let ada: ReturnType<typeof askAs>
const tokens: Partial<Record<TokenScope | 'rival', string>> = {}
const queue = createQueueRoom({ queuedRuns: 0 })

beforeAll(async () => {
  platform = await openPlatform()
  const { acme, rival } = platform
  user = await platform.signIn(acme)
  ada = askAs(platform.app, user)
  path = `/automations/${acme.research.automationId}/batches`
  form = `/automations/${acme.research.automationId}/new-batch`
  for (const scope of ['kickoff', 'read', 'design'] as const) {
    tokens[scope] = await tokenFor(acme, scope)
  }
  tokens.rival = await tokenFor(rival, 'kickoff')
})
beforeEach(async () => {
  await platform.sql`delete from batches`
})
afterAll(() => platform.close())

const tokenFor = ({ organizationId, userId }: Tenant, scope: TokenScope) =>
  issueStaticToken(platform.sql, {
    organizationId,
    deploymentId: null,
    name: `for ${scope} of ${organizationId}`,
    scopes: [scope],
    createdBy: userId,
  })

/** Sends rows, as CSV unless another type stands behind them, or reads. */
function send(as: keyof typeof tokens, at: string, sent?: string | readonly [string, string]) {
  const [rows, type] = typeof sent === 'string' ? [sent, 'text/csv'] : (sent ?? [])
  return platform.app.request(`${BASE_URL}/designer/v2${at}`, {
    method: rows === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${tokens[as]}`, 'content-type': type ?? '' },
    ...(rows === undefined ? {} : { body: rows }),
  })
}

const call = async (...given: Parameters<typeof send>) => {
  const response = await send(...given)
  return { status: response.status, body: await readObject(response) }
}

const create = async (rows = 'topic\na\nb\n'): Promise<string> =>
  String((await call('kickoff', path, rows)).body['id'])

const upload = (rows: string, fields: Record<string, string> = {}, who = user) => {
  const body = new FormData()
  body.append('csrf_token', who.csrfToken)
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  body.append('file', new Blob([rows]), 'rows.csv')
  const headers = { cookie: who.cookie }
  return platform.app.request(BASE_URL + path, { method: 'POST', headers, body })
}

const read = async (at: string): Promise<string> =>
  (await (await ada.get(at)).text()).replace(/\s+/g, ' ')

describe('the API of batches', () => {
  it('answers with a batch whose rows are put into the queue behind it', async () => {
    const { status, body } = await call('kickoff', `${path}?name=Tides`, 'topic\na\nb\n')
    expect([status, body]).toMatchObject([202, { rows: 2, repeated: false }])
    await queueBatches(platform.sql, queue)
    const found = await call('read', `${path}/${String(body['id'])}`)
    expect(found.body).toMatchObject({
      name: 'Tides',
      waiting: 0,
      queued: 2,
      completed: 0,
      paused: false,
    })
    const results = await send('read', `${path}/${String(body['id'])}/results?format=csv`)
    expect(results.headers.get('content-disposition')).toContain('.csv')
    expect(await results.text()).toMatch(/^row,key,status.*\r\n1,1,queued,/)
  })

  it('takes lines of JSON, pauses, resumes and stops', async () => {
    const rows = '{"topic":"a","id":"x"}\n{"topic":"b","id":"y"}\n'
    const made = await call('kickoff', `${path}?paused=true`, [rows, 'application/jsonl'])
    const at = `${path}/${String(made.body['id'])}`
    expect((await call('read', at)).body).toMatchObject({ paused: true, waiting: 2 })
    expect((await call('kickoff', `${at}/resume`, '')).body).toMatchObject({ paused: false })
    expect((await call('kickoff', `${at}/pause`, '')).body).toMatchObject({ paused: true })
    expect((await call('kickoff', `${at}/stop`, '')).body).toMatchObject({ stopped: 2, waiting: 0 })
    expect((await call('kickoff', `${at}/retry`, '')).status).toBe(409)
  })

  it('forecasts in place of starting, and refuses rows with their lines', async () => {
    const { body } = await call('kickoff', `${path}?dry_run=true`, 'topic\na\n')
    expect(body).toMatchObject({ rows: 1, tokens: null, cost_usd: null, time_ms: null })
    const wrong = await call('kickoff', path, 'topic\na\n" "\n')
    expect(wrong).toMatchObject({ status: 422, body: { details: { problems: [{ line: 3 }] } } })
    expect((await call('kickoff', `${path}?dry_run=true`, 'topic\n"a\n')).status).toBe(422)
    expect((await call('kickoff', path, ['topic\na\n', 'application/json'])).status).toBe(415)
    expect((await call('read', `${path}/${await create()}/results?format=xml`)).status).toBe(400)
    expect((await call('read', path)).body['batches']).toHaveLength(1)
  })

  it('shows nothing to another organization, and starts nothing for lesser callers', async () => {
    const id = await create()
    for (const at of [path, `${path}/${id}`, `${path}/${id}/results`]) {
      expect((await send('rival', at)).status).toBe(404)
    }
    const rivals = `/automations/${platform.rival.research.automationId}/batches`
    expect((await send('rival', `${rivals}/${id}`)).status).toBe(404)
    expect((await send('rival', `${rivals}/${id}/results`)).status).toBe(404)
    expect((await send('rival', `${rivals}/${id}/stop`, '')).status).toBe(404)
    expect((await send('rival', path, 'topic\na\n')).status).toBe(404)
    for (const scope of ['read', 'design'] as const) {
      expect((await send(scope, path, 'topic\na\n')).status).toBe(403)
      expect((await send(scope, `${path}/${id}/stop`, '')).status).toBe(403)
    }
    const vera = await signInAs(platform, 'vera', 'viewer')
    const asVera = askAs(platform.app, vera)
    expect((await asVera.get(`${path}/${id}`)).status).toBe(200)
    expect((await asVera.get(`${path}/${id}/results`)).status).toBe(200)
    expect((await asVera.get(form)).status).toBe(403)
    expect((await asVera.post(`${path}/${id}/stop`)).status).toBe(403)
    expect((await upload('topic\na\n', {}, vera)).status).toBe(403)
    const eve = askAs(platform.app, await platform.signIn(platform.rival))
    for (const at of [form, `${path}/${id}`, `${path}/${id}/results`]) {
      expect((await eve.get(at)).status).toBe(404)
    }
  })
})

describe('the pages of batches', () => {
  it('forecast first, start by a button, and show progress and what failed', async () => {
    expect(await read(path)).toContain('No batches yet')
    expect(await read(form)).toContain('Inputs: topic.')
    const fields = { start_once: '4be9d2b6-6f2f-4a55-a2f6-3f5ad8fb2d0c' }
    const made = await upload('topic,id\na,<b>\nb,2\n', fields)
    const at = made.headers.get('location') ?? ''
    expect((await upload('topic,id\na,<b>\nb,2\n', fields)).headers.get('location')).toBe(at)
    const before = await read(at)
    expect(before).toContain('Not started')
    expect(before).toContain('unknown')
    await ada.post(`${at}/resume`)
    await queueBatches(platform.sql, queue)
    await platform.sql`
      update executions set status = 'error', finished_at = now(),
        error = '{"code": "broken", "message": "<script>No."}'
      where inputs ->> 'topic' = 'a' and batch_id is not null and finished_at is null`
    const page = await read(at)
    expect(page).toContain('1 of 2 done')
    expect(page).toContain('&lt;script&gt;No.')
    expect(page).toContain('&lt;b&gt;')
    expect(page).not.toMatch(/<script>No|<b>/)
    await ada.post(`${at}/retry`)
    expect(await read(at)).not.toContain('Failed rows')
  })

  it('say what is wrong with the rows, and take what is pasted', async () => {
    const refused = await upload('topic\n" "\n')
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('Line 2 is refused: topic must not be empty.')
    const headers = { cookie: user.cookie }
    const body = new FormData()
    body.append('csrf_token', user.csrfToken)
    body.append('text', '{"topic": "a"}')
    const made = await platform.app.request(BASE_URL + path, { method: 'POST', headers, body })
    expect(made.status).toBe(303)
    body.set('csrf_token', 'x')
    const forged = await platform.app.request(BASE_URL + path, { method: 'POST', headers, body })
    expect(forged.status).toBe(403)
  })
})
