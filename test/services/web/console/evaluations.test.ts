import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../services/platform/automations/token-limits.ts'
import {
  finishCase,
  takeCases,
} from '../../../../services/platform/evaluations/evaluation-queue.ts'
import type { CaseResult } from '../../../../services/platform/evaluations/evaluation-queue.ts'
import { closeEvaluations } from '../../../../services/platform/evaluations/scores.ts'
import { definition } from '../../../support/crew.ts'
import { isLong } from '../../../support/long.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform, Tenant } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let path: string
const tokens: Partial<Record<TokenScope | 'rival', string>> = {}
const HOSTILE = '<script>alert(1)</script>\u202Egnp'

beforeAll(async () => {
  platform = await openPlatform()
  const { acme, rival } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  path = `/automations/${acme.research.automationId}`
  for (const scope of ['design', 'read'] as const) tokens[scope] = await tokenFor(acme, scope)
  tokens.rival = await tokenFor(rival, 'design')
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

interface Sent {
  readonly as?: keyof typeof tokens
  readonly method?: string
  readonly type?: string
  readonly body?: object | string
}

async function call(at: string, { as = 'design', body, method, type }: Sent = {}) {
  const response = await platform.app.request(`${BASE_URL}/designer/v2${at}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${tokens[as]}`,
      'content-type': type ?? 'application/json',
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const isJson = /^application\/(problem\+)?json\b/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    text: isJson ? '' : await response.text(),
    body: isJson ? await readObject(response) : {},
  }
}

let sets = 0

async function createSet(checks: readonly object[] = []): Promise<string> {
  sets += 1
  const { body } = await call(`${path}/case-sets`, { body: { name: `Set ${sets}`, checks } })
  return String(body['id'])
}

const importTo = (id: string, text: string, type = 'application/jsonl') =>
  call(`/case-sets/${id}/import`, { body: text, type })

const insertRun = async (fields: object): Promise<string> => {
  const { id: deploymentId } = platform.acme.research
  const inputs = platform.sql.json({ topic: 'x' })
  const row = { deploymentId, inputs, status: 'completed', output: 'Out.', ...fields }
  const [{ id }] = await platform.sql<[{ id: string }]>`
    insert into executions ${platform.sql({ ...row, finishedAt: new Date() })}
    returning id`
  return id
}

describe('cases', () => {
  it('are read as JSON lines and CSV, and written so that they are read again', async () => {
    const id = await createSet()
    const lines = [
      { name: null, inputs: { depth: 2, topic: '=1+1' }, expected: null },
      { name: 'Moon', inputs: { topic: 'a,"b"\nc' }, expected: "'-x" },
    ]
    const jsonl = lines.map((each) => `${JSON.stringify(each)}\n`).join('\n')
    expect(await importTo(id, jsonl)).toMatchObject({ status: 201, body: { added: 2 } })
    expect((await call(`/case-sets/${id}/cases.jsonl`)).text).toBe(jsonl.replaceAll('\n\n', '\n'))
    const { text } = await call(`/case-sets/${id}/cases.csv`)
    expect(text).toBe('name,expected,depth,topic\r\n,,2,\'=1+1\r\nMoon,\'\'-x,,"a,""b""\nc"\r\n')
    const other = await createSet()
    expect((await importTo(other, text, 'text/csv')).body).toEqual({ added: 2 })
    const { body } = await call(`/case-sets/${other}/cases?limit=1`)
    expect(body).toMatchObject({ cases: [{ inputs: { topic: '=1+1', depth: '2' } }] })
    const next = await call(`/case-sets/${other}/cases?cursor=${String(body['next_cursor'])}`)
    expect(next.body).toMatchObject({ cases: [{ name: 'Moon', expected: "'-x" }] })
    const [first] = body['cases'] as [{ id: string }]
    const gone = `/case-sets/${other}/cases/${first.id}`
    expect((await call(gone, { method: 'DELETE' })).status).toBe(204)
    expect((await call(gone, { method: 'DELETE' })).status).toBe(404)
    expect((await call(`${path}/case-sets/${other}`)).body).toMatchObject({ size: 1, revision: 2 })
  })

  it.each([
    ['Line 2: inputs: must be an object', '{"inputs":{}}\n{"inputs":[]}', 'application/jsonl', 422],
    ['Line 1', '{"inputs":{"a":1,"a":2}}', 'application/jsonl', 400],
    ['Line 1', '{"inputs":{"a":"\\u0000"}}', 'application/jsonl', 400],
    ['odd is not known', '{"inputs":{},"odd":1}', 'application/jsonl', 422],
    ['Line 1', '['.repeat(100), 'application/jsonl', 400],
    ['at most 262144', `{"inputs":{"a":"${'x'.repeat(262_144)}"}}`, 'application/jsonl', 422],
    ['name each column', 'topic,topic\na,b', 'text/csv', 400],
    ['Line 2 of the CSV has 2 cells', 'topic\na,b', 'text/csv', 400],
    ['quotation mark', 'topic\n"a', 'text/csv', 400],
    ['not text', 'topic\n\0', 'text/csv', 400],
    ['name each column', '', 'text/csv', 400],
    ['Send the cases as', '{}', 'text/plain', 415],
  ])('are all refused with a bad one: %s', async (why, ...[text, type, status]) => {
    const id = await createSet()
    const answer = await importTo(id, text, type)
    expect([answer.status, answer.body['message']]).toEqual([status, expect.stringContaining(why)])
    expect((await call(`${path}/case-sets/${id}`)).body).toMatchObject({ size: 0, revision: 0 })
  })

  it('are made of runs: of one by its page, and of those that are rated bad', async () => {
    const id = await createSet()
    const [bad, good] = [await insertRun({ output: HOSTILE }), await insertRun({ output: 'Fine.' })]
    const { organizationId } = platform.acme
    await platform.sql`
      insert into trace_notes (organization_id, trace_id, rating, note)
      values (${organizationId}, ${bad}, -1, ''), (${organizationId}, ${good}, 1, '')`
    const at = `/case-sets/${id}/from-runs`
    expect((await call(at, { body: { rated: 'bad' } })).body).toEqual({ added: 1 })
    expect((await call(at, { body: { rated: 'bad' } })).body).toEqual({ added: 0 })
    const page = await ada.get(`${path}/executions/${good}/case`)
    expect(await page.text()).toContain(`<option value="${id}">`)
    const made = await ada.post(`${path}/executions/${good}/case`, {
      set: id,
      with_expected: 'yes',
    })
    const to = made.headers.get('location') ?? ''
    expect(to).toBe(`${path}/case-sets/${id}?notice=cases-added`)
    const text = await (await ada.get(to)).text()
    expect(text).toContain('Fine.')
    const { body } = await call(`/case-sets/${id}/cases`)
    expect(body).toMatchObject({
      cases: [
        { kickoff_id: bad, expected: null, inputs: { topic: 'x' } },
        { kickoff_id: good, expected: 'Fine.' },
      ],
    })
    await ada.post(`${path}/case-sets/${id}/from-runs`, { last: '5', which: 'error' })
    await ada.post(`${path}/case-sets/${id}/import`, {
      format: 'jsonl',
      cases: JSON.stringify({ name: HOSTILE, inputs: { topic: HOSTILE } }),
    })
    const shown = await (await ada.get(`${path}/case-sets/${id}`)).text()
    expect(shown).toContain('&lt;script&gt;')
    expect(shown).not.toContain('<script>alert')
  })

  it('are 100,000 in a set at the most', async () => {
    const id = await createSet()
    await platform.sql`update case_sets set size = 99999 where id = ${id}`
    const two = '{"inputs":{}}\n{"inputs":{}}'
    expect((await importTo(id, two)).status).toBe(409)
    expect((await importTo(id, '{"inputs":{}}')).status).toBe(201)
    const [{ kept }] = await platform.sql<[{ kept: number }]>`
      select count(*)::int as kept from cases where set_id = ${id}`
    expect(kept).toBe(1)
  })
})

describe('a set that is as large as one may be', () => {
  const LONG = { timeout: isLong ? 600_000 : 60_000 }

  it(
    'is read, listed, written and performed in parts, and says what is too much',
    LONG,
    async () => {
      const count = isLong ? 100_000 : 2000
      const id = await createSet([{ type: 'contains', text: 'x' }])
      const text = Array.from({ length: count }, (_, nr) =>
        JSON.stringify({ name: `Case ${nr}`, inputs: { topic: `${'t'.repeat(60)} ${nr}` } }),
      ).join('\n')
      const [began, before] = [performance.now(), process.memoryUsage.rss()]
      expect(await importTo(id, text)).toMatchObject({ status: 201, body: { added: count } })
      const [ms, grown] = [performance.now() - began, process.memoryUsage.rss() - before]
      const pages: number[] = []
      let [cursor, listed] = ['', 0]
      do {
        const asked = performance.now()
        const { body } = await call(`/case-sets/${id}/cases?limit=100${cursor}`)
        pages.push(performance.now() - asked)
        listed += (body['cases'] as unknown[]).length
        const { next_cursor: next } = body
        cursor = typeof next === 'string' ? `&cursor=${next}` : ''
      } while (cursor !== '')
      expect(listed).toBe(count)
      const shown = await ada.get(`${path}/case-sets/${id}`)
      const page = await shown.text()
      expect([shown.status, page.length < 400_000]).toEqual([200, true])
      const written = await call(`/case-sets/${id}/cases.jsonl`)
      expect(written.text.match(/\n/g)).toHaveLength(count)
      const body = { set: `Set ${sets}`, version: 1 }
      const evaluation = await call(`${path}/evaluations`, { body })
      expect(evaluation).toMatchObject({ status: 201, body: { cases: count, waiting: count } })
      await platform.sql`delete from evaluations where id = ${String(evaluation.body['id'])}`
      if (!isLong) return
      const twice = await call(`${path}/evaluations`, { body: { ...body, repeat: 2 } })
      expect([twice.status, twice.body['message']]).toEqual([
        422,
        expect.stringContaining('These are 200000 runs, and an evaluation has at most 100000.'),
      ])
      const more = await importTo(id, '{"inputs":{}}')
      expect([more.status, more.body['message']]).toEqual([
        409,
        'A set has at most 100000 cases. Make another one.',
      ])
      const newest = await call(`${path}/evaluations`, { body: { ...body, newest: 50, repeat: 2 } })
      expect(newest.body).toMatchObject({ cases: 50, waiting: 100 })
      await platform.sql`delete from evaluations where finished_at is null`
      console.log(
        `${count} cases: read in ${(ms / 1000).toFixed(1)} s with ` +
          `${(grown / 2 ** 20).toFixed(0)} MiB more, the first page in ${pages[0]?.toFixed(0)} ` +
          `ms, the slowest of ${pages.length} in ${Math.max(...pages).toFixed(0)} ms, the last ` +
          `in ${pages.at(-1)?.toFixed(0)} ms`,
      )
    },
  )

  it('is refused as a file of more than 16 MiB', async () => {
    const id = await createSet()
    const answer = await importTo(id, `{"inputs":{}}\n`.repeat((16 * 2 ** 20) / 14 + 1))
    expect([answer.status, answer.body['message']]).toEqual([
      413,
      expect.stringContaining('16777216'),
    ])
    expect((await call(`${path}/case-sets/${id}`)).body).toMatchObject({ size: 0 })
  })
})

/** Performs what is queued as a worker does. */
async function work(resultOf: (topic: unknown, versionId: number) => CaseResult): Promise<void> {
  for (const taken of await takeCases(platform.sql, 100)) {
    await finishCase(platform.sql, taken, resultOf(taken.inputs['topic'], taken.versionId))
  }
  await closeEvaluations(platform.sql)
}

async function begin(fields: object = {}): Promise<string> {
  const id = await createSet([{ type: 'contains', text: 'x' }])
  await importTo(id, '{"inputs":{"topic":"a"}}\n{"inputs":{"topic":"b"}}')
  const body = { set: `Set ${sets}`, version: 1, ...fields }
  const begun = await call(`${path}/evaluations`, { body })
  expect(begun.status).toBe(201)
  return String(begun.body['id'])
}

describe('an evaluation', () => {
  it('says what was found, in JSON, CSV and a page', async () => {
    const id = await begin({ repeat: 2 })
    const before = await call(`${path}/evaluations/${id}`)
    expect(before.body).toMatchObject({ runs: 4, waiting: 4, scores: null, finished_at: null })
    const page = await (await ada.get(`${path}/evaluations/${id}`)).text()
    expect(page).toContain(`data-live="${path}/evaluations/${id}/live"`)
    await work((topic) =>
      topic === 'a'
        ? { state: 'passed', output: '=x', inputTokens: 10, outputTokens: 5, usd: 0.25 }
        : { state: 'failed', reason: HOSTILE, output: HOSTILE, usd: 0.25 },
    )
    const { body } = await call(`${path}/evaluations/${id}`)
    expect(body).toMatchObject({
      waiting: 0,
      scores: {
        version: { cases: 2, passed: 1, share: { value: 0.5 }, usd: 1, tokens: 30 },
        against: null,
      },
    })
    const runs = await call(`/evaluations/${id}/runs?state=passed`)
    expect(runs.body).toMatchObject({ runs: [{ state: 'passed', tokens: 15 }, {}] })
    const { text } = await call(`/evaluations/${id}/runs.csv`)
    expect(text.split('\r\n')).toHaveLength(6)
    expect(text).toContain(",'=x,")
    const done = await (await ada.get(`${path}/evaluations/${id}`)).text()
    expect(done.replace(/\s+/g, ' ')).toContain('1 of 2')
    expect(done).not.toContain('<script>alert')
    expect((await ada.get(`${path}/evaluations/${id}/runs.csv`)).status).toBe(200)
    const live = await ada.get(`${path}/evaluations/${id}/live`)
    expect(live.headers.get('etag')).toBe('W/"0-false"')
  })

  it('names the cases that changed side', async () => {
    await platform.sql`
      insert into project_versions (project_id, organization_id, number, definition, published_at)
      select project_id, organization_id, 77, definition, now() from project_versions
      where id = ${platform.acme.research.projectVersionId}`
    const id = await begin({ version: 77, against: 1 })
    const { projectVersionId } = platform.acme.research
    await work((topic, versionId) => ({
      state: (topic === 'a') === (versionId === projectVersionId) ? 'passed' : 'failed',
      reason: 'Not good.',
    }))
    const { body } = await call(`/evaluations/${id}/changes`)
    expect(body).toMatchObject({
      changes: [
        { inputs: { topic: 'a' }, change: 'worse', reason: 'Not good.' },
        { inputs: { topic: 'b' }, change: 'better' },
      ],
    })
    const page = await (await ada.get(`${path}/evaluations/${id}`)).text()
    expect(page).toContain('Cases that changed side')
    expect((await call(`${path}/evaluations/${id}`)).body).toMatchObject({
      scores: { difference: { better: 1, worse: 1, of: 2, share: { value: 0 } } },
    })
  })

  it.each([
    [{ set: 'None' }, 422, 'no set of cases'],
    [{ version: 99 }, 422, 'no version 99'],
    [{ against: 98 }, 422, 'no version 98'],
    [{ repeat: 11 }, 422, 'repeat'],
  ])('is refused with %j', async (fields, status, why) => {
    const id = await createSet()
    await importTo(id, '{"inputs":{}}')
    const body = { set: `Set ${sets}`, version: 1, ...fields }
    const answer = await call(`${path}/evaluations`, { body })
    expect([answer.status, answer.body['message']]).toEqual([status, expect.stringContaining(why)])
  })

  it('has a set with cases, a bound, and four others beside it in progress', async () => {
    await createSet()
    const empty = await call(`${path}/evaluations`, { body: { set: `Set ${sets}`, version: 1 } })
    expect(empty.body['message']).toContain('has no cases')
    await platform.sql`update case_sets set size = 60000 where name = ${`Set ${sets}`}`
    const body = { set: `Set ${sets}`, version: 1, repeat: 2 }
    const many = await call(`${path}/evaluations`, { body })
    expect(many.body['message']).toContain('120000 runs')
    for (let count = 0; count < 5; count += 1) await begin()
    const sixth = await call(`${path}/evaluations`, { body: { ...body, set: 'Set 1' } })
    expect([sixth.status, sixth.body['message']]).toEqual([409, expect.stringContaining('5')])
    await platform.sql`delete from evaluations where finished_at is null`
  })

  it('ends when all of its cases are deleted, and says so', async () => {
    const id = await begin()
    await platform.sql`delete from cases where id in (
      select case_id from evaluation_runs where evaluation_id = ${id})`
    await closeEvaluations(platform.sql)
    expect((await call(`${path}/evaluations/${id}`)).body).toMatchObject({
      scores: null,
      given_up: 'All of its cases were deleted.',
    })
  })
})

describe('other callers', () => {
  it('find nothing of another organization, and lesser roles change nothing', async () => {
    const id = await begin()
    const [set] = await platform.sql<[{ id: string }]>`
      select set_id as id from evaluations where id = ${id}`
    const cases = `/case-sets/${set.id}/cases`
    const reads = [
      `${path}/case-sets`,
      `${path}/case-sets/${set.id}`,
      `${path}/evaluations/${id}`,
      cases,
      `${cases}.csv`,
      `${cases}.jsonl`,
      ...['runs', 'runs.csv', 'changes'].map((each) => `/evaluations/${id}/${each}`),
    ]
    const writes: readonly (readonly [string, Sent])[] = [
      [`${path}/case-sets`, { body: { name: 'x' } }],
      [`${path}/evaluations`, { body: { set: 'x', version: 1 } }],
      [cases, { body: { inputs: {} } }],
      [`/case-sets/${set.id}/import`, { body: '{"inputs":{}}', type: 'application/jsonl' }],
      [`/case-sets/${set.id}/from-runs`, { body: {} }],
      [`${cases}/00000000-0000-4000-8000-000000000000`, { method: 'DELETE' }],
    ]
    for (const at of reads) {
      expect([at, (await call(at, { as: 'rival' })).status]).toEqual([at, 404])
      expect([at, (await call(at, { as: 'read' })).status]).toEqual([at, 200])
    }
    for (const [at, sent] of writes) {
      expect([at, (await call(at, { ...sent, as: 'rival' })).status]).toEqual([at, 404])
      expect([at, (await call(at, { ...sent, as: 'read' })).status]).toEqual([at, 403])
    }
    const run = await insertRun({})
    const rivals = `/automations/${platform.rival.research.automationId}`
    await call(`${rivals}/case-sets`, { as: 'rival', body: { name: 'Theirs' } })
    const [theirs] = await platform.sql<[{ id: string }]>`
      select id from case_sets where name = 'Theirs'`
    const stolen = await call(`/case-sets/${theirs.id}/from-runs`, {
      as: 'rival',
      body: { kickoff_ids: [run] },
    })
    expect(stolen.body).toEqual({ added: 0 })
    const vera = askAs(platform.app, await signInAs(platform, 'vera', 'viewer'))
    const eve = askAs(platform.app, await platform.signIn(platform.rival))
    expect((await vera.get(`${path}/evaluations/${id}`)).status).toBe(200)
    for (const at of [
      `${path}/case-sets/${set.id}/import`,
      `${path}/case-sets/${set.id}/from-runs`,
      `${path}/executions/${run}/case`,
    ]) {
      expect([at, (await vera.post(at, { set: set.id })).status]).toEqual([at, 403])
      expect([at, (await eve.post(at, { set: set.id })).status]).toEqual([at, 404])
    }
    expect((await eve.get(`${path}/evaluations/${id}/live`)).status).toBe(404)
  })
})

describe('a gate', () => {
  let projectId = 0
  let viewer: ReturnType<typeof askAs>
  let editor: ReturnType<typeof askAs>
  const versions = () => `/projects/${projectId}/versions`

  /** A set of two cases with a gate, and a draft; returns the number of the draft. */
  async function prepare(fields: object = {}): Promise<number> {
    await platform.sql`delete from gates`
    await platform.sql`delete from evaluations`
    const set = await createSet([{ type: 'contains', text: 'x' }])
    await importTo(set, '{"inputs":{"topic":"a"}}\n{"name":"Moon","inputs":{"topic":"b"}}')
    const rule = { set: `Set ${sets}`, at_least: 50, within_minutes: 5, ...fields }
    const made = await call(`${path}/gates`, { body: rule, as: 'settings' })
    expect(made.status).toBe(201)
    const name = `Draft ${sets}`
    const draft = await call(versions(), { body: { definition: { ...definition, name } } })
    return Number(draft.body['number'])
  }

  /** The version that runs passes all, and the draft what is said. */
  async function workSo(passes: (topic: unknown) => boolean): Promise<void> {
    const [{ running }] = await platform.sql<[{ running: number }]>`
      select project_version_id as running from deployments where id = ${platform.acme.research.id}`
    await work((topic, versionId) =>
      versionId === running || passes(topic)
        ? { state: 'passed' }
        : { state: 'failed', reason: 'Not good.' },
    )
  }

  const publish = (number: number) =>
    call(`${versions()}/${number}/publish`, { method: 'POST', body: {} })

  beforeAll(async () => {
    tokens.settings = await tokenFor(platform.acme, 'settings')
    const [found] = await platform.sql<[{ projectId: number }]>`
      select project_id from project_versions where id = ${platform.acme.research.projectVersionId}`
    projectId = found.projectId
    viewer = askAs(platform.app, await signInAs(platform, 'vic', 'viewer'))
    editor = askAs(platform.app, await signInAs(platform, 'edda', 'editor'))
  })

  it('starts what is missing once, waits, and lets a good version through', async () => {
    const number = await prepare()
    const [first, second] = await Promise.all([publish(number), publish(number)])
    expect([first?.status, second?.status]).toEqual([202, 202])
    expect(first?.body).toMatchObject({ state: 'pending', gates: [{ state: 'pending' }] })
    const begun = await platform.sql<{ id: string }[]>`select id from evaluations`
    expect(begun).toHaveLength(1)
    await workSo((topic) => topic === 'a')
    const refused = await publish(number)
    expect([refused.status, refused.body['message']]).toEqual([
      409,
      expect.stringContaining('1 fail that the running version passes'),
    ])
    expect(refused.body['details']).toMatchObject({
      gates: [{ state: 'refused', evaluation_id: begun[0]?.id, cases: [{ name: 'Moon' }] }],
    })
    const better = await call(versions(), { body: { definition: { ...definition, name: 'B' } } })
    const next = Number(better.body['number'])
    expect((await publish(next)).status).toBe(202)
    await workSo(() => true)
    const both = await Promise.all([publish(next), publish(next)])
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
    expect((await call(`${versions()}/${next}`)).body['published_at']).toBeTruthy()
  })

  it('is walked through on pages: started, refused, and overridden by an admin alone', async () => {
    const number = await prepare({ at_least: 90, keeps_passing: false })
    const at = `${versions()}/${number}`
    const waits = await editor.post(`${at}/publish`, {})
    expect([waits.status, await waits.text()]).toEqual([
      409,
      expect.stringContaining('It waits for its gates'),
    ])
    await workSo((topic) => topic === 'a')
    const page = await (await editor.post(`${at}/publish`, {})).text()
    expect(page).toContain('1 of 2 cases pass, and 90 of 100 have to.')
    expect(page).not.toContain('publish/override')
    const reason = 'The cases are out of date.'
    for (const who of [viewer, editor]) {
      expect((await who.post(`${at}/publish/override`, { reason })).status).toBe(403)
    }
    const byToken = await call(`${at}/publish/override`, { body: { reason } })
    expect(byToken.status).toBe(403)
    expect(await (await ada.post(`${at}/publish`, {})).text()).toContain('publish/override')
    expect((await ada.post(`${at}/publish/override`, { reason: ' ' })).status).toBe(422)
    expect((await ada.post(`${at}/publish/override`, { reason })).status).toBe(303)
    const [entry] = await platform.sql`
      select after from audit_entries where action = 'version_published'
      order by id desc limit 1`
    expect(entry).toMatchObject({ after: { gates_overridden: reason } })
  })

  it('asks anew when the draft, the cases or the running version change', async () => {
    const number = await prepare({ keeps_passing: false })
    await publish(number)
    await workSo(() => true)
    await importTo(await setId(), '{"inputs":{"topic":"c"}}')
    expect((await publish(number)).status).toBe(202)
    await workSo(() => true)
    const changed = { definition: { ...definition, name: 'Changed' } }
    await call(`${versions()}/${number}`, { method: 'PUT', body: changed })
    expect((await publish(number)).status).toBe(202)
    await workSo(() => true)
    expect((await publish(number)).status).toBe(200)
  })

  it('refuses what is not done in time, says so, and starts anew after that', async () => {
    const number = await prepare()
    await publish(number)
    await platform.sql`update evaluations set created_at = now() - interval '6 minutes'`
    const late = await publish(number)
    expect([late.status, late.body['message']]).toEqual([
      409,
      expect.stringContaining('not done within 5 min'),
    ])
    expect((await publish(number)).status).toBe(202)
    const [{ open }] = await platform.sql<[{ open: number }]>`
      select count(*)::int as open from evaluations where finished_at is null`
    expect(open).toBe(1)
  })

  it('refuses with a set without cases, keeps its set, and is of its organization', async () => {
    const number = await prepare()
    await platform.sql`delete from cases`
    await platform.sql`update case_sets set size = 0`
    expect((await publish(number)).body['message']).toContain('has no cases')
    const kept = await call(`${path}/case-sets/${await setId()}`, { method: 'DELETE' })
    expect([kept.status, kept.body['message']]).toEqual([409, expect.stringContaining('gate')])
    const body = { set: `Set ${sets}`, at_least: 1 }
    expect((await call(`${path}/gates`, { body })).status).toBe(403)
    expect((await call(`${path}/gates`, { as: 'rival' })).status).toBe(404)
    expect((await editor.post(`${path}/gates`, { set: 'x', at_least: '1' })).status).toBe(403)
    const none = { set: 'None', at_least: 1 }
    expect((await call(`${path}/gates`, { body: none, as: 'settings' })).status).toBe(422)
  })

  const setId = async (): Promise<string> => {
    const [found] = await platform.sql<[{ id: string }]>`
      select id from case_sets where name = ${`Set ${sets}`}`
    return found.id
  }
})
