import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import {
  finishCase,
  takeCases,
} from '../../../../services/platform/evaluations/evaluation-queue.ts'
import { closeEvaluations } from '../../../../services/platform/evaluations/scores.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform, Tenant } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let bob: ReturnType<typeof askAs>
let path: string
const tokens = { design: '', read: '', rival: '' }
const HOSTILE = '<script>alert(1)</script>\u202Egnp'

beforeAll(async () => {
  platform = await openPlatform()
  const { acme, rival } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  bob = askAs(platform.app, await signInAs(platform, 'bob', 'editor'))
  path = `/automations/${acme.research.automationId}`
  tokens.design = await tokenFor(acme, 'design')
  tokens.read = await tokenFor(acme, 'read')
  tokens.rival = await tokenFor(rival, 'design')
})

afterAll(() => platform.close())

beforeEach(async () => {
  for (const table of ['trace_notes', 'executions', 'evaluations']) {
    await platform.sql`delete from ${platform.sql(table)}`
  }
  await share(100)
})

const tokenFor = ({ organizationId, userId }: Tenant, scope: 'design' | 'read') =>
  issueStaticToken(platform.sql, {
    organizationId,
    deploymentId: null,
    name: `for ${scope} of ${organizationId}`,
    scopes: [scope],
    createdBy: userId,
  })

async function call(
  at: string,
  {
    as = 'design',
    body,
    method,
  }: { as?: keyof typeof tokens; body?: object; method?: string } = {},
) {
  const response = await platform.app.request(`${BASE_URL}/designer/v2${at}`, {
    method: method ?? (body ? 'POST' : 'GET'),
    headers: { authorization: `Bearer ${tokens[as]}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const isEmpty = response.status === 204
  return { status: response.status, body: isEmpty ? {} : await readObject(response) }
}

const share = (reviewed: number) =>
  call(`${path}/score-rules/${platform.acme.research.automationId}`, {
    method: 'PUT',
    body: { reviewed_share: reviewed },
  })

async function insertRun(fields: object = {}): Promise<string> {
  const { sql, acme } = platform
  const inputs = sql.json({ topic: 'x' })
  const row = { deploymentId: acme.research.id, inputs, status: 'completed', output: 'Out.' }
  const [{ id }] = await sql<[{ id: string }]>`
    insert into executions ${sql({ ...row, finishedAt: new Date(), ...fields })} returning id`
  return id
}

type Listed = { reviews: { kind: string; id: string }[]; next_cursor: string | null }
const list = async (query = ''): Promise<Listed> =>
  (await call(`${path}/reviews${query}`)).body as unknown as Listed

const notes = () => platform.sql`
  select trace_id as id, rating, note, author_id is null as is_program
  from trace_notes order by id`

const rate = (who: typeof ada, fields: Record<string, string>) =>
  who.post(`${path}/reviews`, fields)

/** An evaluation of a set whose cases no check can judge: two of them put something out. */
async function evaluate(): Promise<string> {
  const name = `Set ${Math.random()}`
  const set = await call(`${path}/case-sets`, { body: { name, checks: [{ type: 'person' }] } })
  for (const topic of ['a', 'b', 'c']) {
    const body = { inputs: { topic }, expected: topic === 'a' ? `Expected ${HOSTILE}` : null }
    await call(`/case-sets/${String(set.body['id'])}/cases`, { body })
  }
  const begun = await call(`${path}/evaluations`, { body: { set: name, version: 1 } })
  for (const taken of await takeCases(platform.sql, 10)) {
    const reason = 'person: A person has to rate the output.'
    const output = taken.inputs['topic'] === 'c' ? undefined : 'Made of it.'
    await finishCase(platform.sql, taken, { state: 'error', reason, output })
  }
  await closeEvaluations(platform.sql)
  return String(begun.body['id'])
}

describe('the answers that wait for a person', () => {
  it('are a share of the completed runs that nobody rated, the same ones each time', async () => {
    const [first, second] = [await insertRun(), await insertRun()]
    await insertRun({ status: 'error', output: null, error: platform.sql.json({}) })
    await platform.sql`
      insert into trace_notes (organization_id, trace_id, rating, note)
      values (${platform.acme.organizationId}, ${second}, 1, ''),
        (${platform.rival.organizationId}, ${first}, 1, '')`
    expect((await list()).reviews.map(({ id }) => id)).toEqual([first])
    await share(0)
    expect((await list()).reviews).toEqual([])
    for (let run = 0; run < 200; run += 1) await insertRun()
    await share(30)
    const some = (await list('?limit=100')).reviews
    expect(some.length).toBeGreaterThan(30)
    expect(some.length).toBeLessThan(95)
    const page = await list('?limit=20')
    expect(page.reviews).toEqual(some.slice(0, 20))
    const next = await list(`?limit=20&cursor=${page.next_cursor}`)
    expect(next.reviews).toEqual(some.slice(20, 40))
  })

  it('are shown one at a time with their inputs, and the next one after a decision', async () => {
    const ids = [await insertRun({ output: HOSTILE }), await insertRun({ output: HOSTILE })]
    const page = await (await ada.get(`${path}/reviews`)).text()
    expect(page).toContain('2 answers waiting for a person')
    expect(page).toContain('&lt;script&gt;alert(1)')
    expect(page).not.toContain('<script>alert')
    const id = /name="id" value="([^"]+)"/.exec(page)?.[1] ?? ''
    expect(ids).toContain(id)
    const rated = await rate(ada, { kind: 'run', id, rating: 'bad', note: ` ${HOSTILE}\r\n` })
    expect(rated.headers.get('location')).toBe(`${path}/reviews?notice=answer-rated`)
    expect([...(await notes())]).toEqual([{ id, rating: -1, note: HOSTILE, isProgram: false }])
    const next = await (await ada.get(`${path}/reviews`)).text()
    expect(next).toContain('1 answer waiting')
    const skip = /href="([^"]+\?after=[^"]+)"/.exec(next)?.[1] ?? ''
    expect(await (await ada.get(skip)).text()).toContain('Show those that were skipped')
    expect((await ada.get(`${path}/reviews?after=';--`)).status).toBe(200)
  })

  it('are rated once: of two people at once the second one is told so', async () => {
    const id = await insertRun()
    const fields = { kind: 'run', id, rating: 'good', note: '' }
    const answers = await Promise.all([rate(ada, fields), rate(bob, { ...fields, rating: 'bad' })])
    expect(answers.map(({ headers }) => headers.get('location') ?? '').toSorted()).toEqual([
      `${path}/reviews?notice=answer-rated`,
      `${path}/reviews?notice=answer-was-rated`,
    ])
    expect(await notes()).toHaveLength(1)
    const { sql } = platform
    const entries = await sql`select from audit_entries where action = 'run_rated'
      and target_id = ${id}`
    expect(entries).toHaveLength(1)
    const body = { kind: 'run', id, rating: 'good' }
    expect((await call(`${path}/reviews`, { body })).status).toBe(409)
  })

  it('are results of evaluations that no check could judge: their scores follow', async () => {
    await share(0)
    const id = await evaluate()
    const scores = async () => (await call(`${path}/evaluations/${id}`)).body['scores']
    expect(await scores()).toMatchObject({ version: { cases: 3, passed: 0, errors: 3 } })
    const { reviews } = await list()
    expect(reviews).toHaveLength(2)
    expect(reviews[0]).toMatchObject({
      kind: 'result',
      evaluation_id: id,
      version: 1,
      reason: 'person: A person has to rate the output.',
      output: 'Made of it.',
    })
    const page = await (await ada.get(`${path}/reviews`)).text()
    expect(page).toContain(`${path}/evaluations/${id}`)
    expect(page).not.toContain('<script>alert')
    const rateResult = (at: 0 | 1, rating: string) =>
      call(`${path}/reviews`, {
        body: { kind: 'result', id: reviews[at]?.id, rating, note: HOSTILE },
      })
    const both = await Promise.all([rateResult(0, 'good'), rateResult(1, 'bad')])
    expect(both.map(({ status }) => status)).toEqual([204, 204])
    expect((await rateResult(0, 'bad')).status).toBe(409)
    expect(await scores()).toMatchObject({ version: { cases: 3, passed: 1, errors: 1 } })
    const passed = await call(`/evaluations/${id}/runs?state=passed`)
    expect(passed.body['runs']).toMatchObject([
      { findings: [{ type: 'person', state: 'passed', reason: HOSTILE }] },
    ])
    expect((await list()).reviews).toEqual([])
  })

  it.each([
    [{ rating: 'fine' }, 400, 422],
    [{ kind: 'trace' }, 400, 422],
    [{ note: 'x'.repeat(4001) }, 400, 422],
    [{ id: 'none' }, 404, 422],
    [{ id: '00000000-0000-4000-8000-000000000000' }, 404, 404],
  ])('refuse %o', async (changes, status, apiStatus) => {
    const given = { kind: 'run', id: await insertRun(), rating: 'good', note: '', ...changes }
    expect((await rate(ada, given)).status).toBe(status)
    expect((await call(`${path}/reviews`, { body: given })).status).toBe(apiStatus)
    expect(await notes()).toHaveLength(0)
  })

  it('belong to their organization, and viewers only look', async () => {
    const id = await insertRun()
    const body = { kind: 'run', id, rating: 'good' }
    const rivals = `/automations/${platform.rival.research.automationId}/reviews`
    for (const at of [`${path}/reviews`, rivals]) {
      const as = at === rivals ? 'design' : 'rival'
      expect((await call(at, { as })).status).toBe(404)
      expect((await call(at, { as, body })).status).toBe(404)
    }
    // The run of another automation is none of this one, whoever asks.
    expect((await call(rivals, { as: 'rival', body })).status).toBe(404)
    const digest = `/automations/${platform.acme.digest.automationId}/reviews`
    expect((await call(digest, { body })).status).toBe(404)
    expect((await call(`${path}/reviews`, { as: 'read', body })).status).toBe(403)
    const viewer = askAs(platform.app, await signInAs(platform, 'viewer', 'viewer'))
    const page = await (await viewer.get(`${path}/reviews`)).text()
    expect(page).toContain('1 answer waiting')
    expect(page).not.toContain('name="rating"')
    expect((await rate(viewer, { ...body, note: '' })).status).toBe(403)
    expect(await notes()).toHaveLength(0)
  })
})
