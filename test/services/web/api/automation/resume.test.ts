import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parkRun } from '../../../../../services/platform/runs/run-approvals.ts'
import type { ProposedCall } from '../../../../../services/platform/crew-contract/approval-request.ts'
import { takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { kickoff, stopRun } from '../../../../../services/platform/runs/runs.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, SignedInUser } from '../../support/platform.ts'

let platform: Platform
let token: string
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  ada = await platform.signIn(platform.acme)
})

beforeEach(async () => {
  await platform.sql`delete from executions`
})

afterAll(() => platform.close())

async function park(output = 'Whales <sing>.', asked?: ProposedCall): Promise<string> {
  const { sql, acme } = platform
  const id = await kickoff(sql, { deploymentId: acme.research.id, inputs: { topic: 'x' } })
  const [lease] = await takeRuns(sql, 1)
  if (!lease) throw new Error('nothing to take')
  await parkRun(sql, lease, { step: 'a'.repeat(32), task: 'write', output, call: asked })
  return id
}

const call = (path: string, body?: unknown, bearer = token) =>
  platform.app.request(
    `${BASE_URL}/platform/api/v1/crew/${platform.acme.research.automationId}/${path}`,
    {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    },
  )

const asRole = (role: string) =>
  platform.sql`
    update memberships set role = ${role} where user_id = ${platform.acme.userId}`

const statusOf = async (id: string) => readObject(await call(`status/${id}?wait=60`))

describe('POST resume', () => {
  it('decides for the run that waits, once', async () => {
    const id = await park()
    expect(await statusOf(id)).toMatchObject({
      status: 'waiting',
      state: 'STARTED',
      waiting_for: {
        task: 'write',
        output: 'Whales <sing>.',
        asked_at: expect.any(String),
        decide_by: expect.any(String),
        undecided: 'reject',
      },
    })
    const body = { task: 'write', decision: 'edit', text: 'Owls.' }
    const resumed = await call(`resume/${id}`, body)
    expect(resumed.status).toBe(200)
    expect(await resumed.json()).toEqual({ kickoff_id: id, status: 'queued', state: 'PENDING' })
    const again = await call(`resume/${id}`, { task: 'write', decision: 'reject' })
    expect(again.status).toBe(409)
    expect(await readObject(again)).toMatchObject({
      message: expect.stringContaining('This was decided already: edit, at '),
    })
    const [lease] = await takeRuns(platform.sql, 1)
    expect(lease?.id).toBe(id)
  })

  it('comes too late for a run that was stopped', async () => {
    const id = await park()
    await stopRun(platform.sql, id)
    const late = await call(`resume/${id}`, { task: 'write', decision: 'approve' })
    expect(late.status).toBe(409)
    expect(await readObject(late)).toMatchObject({
      message: 'The run does not wait any more: it is stopped.',
      details: { status: 'stopped' },
    })
  })

  const bad: [unknown, number, string][] = [
    [{ task: 'research', decision: 'approve' }, 404, 'asks nothing about a task \\"research\\"'],
    [{ task: 'write', decision: 'yes' }, 422, 'must be one of approve, edit, reject'],
    [{ task: 'write', decision: 'edit' }, 422, 'is required to edit'],
    [{ task: 'write' }, 422, 'decision is required'],
    [{ task: 'write', decision: 'approve', is_approve: true }, 422, 'is_approve is not known'],
    [[], 422, 'The decision is not valid'],
  ]
  it.each(bad)('refuses %j with %i', async (body, status, why) => {
    const response = await call(`resume/${await park()}`, body)
    expect(response.status).toBe(status)
    expect(await response.text()).toContain(why)
  })

  it('is not for others', async () => {
    const id = await park()
    const body = { task: 'write', decision: 'approve' }
    const rival = await platform.issueToken(platform.rival)
    expect((await call(`resume/${id}`, body, rival)).status).toBe(401)
    const digest = await platform.issueToken(platform.acme)
    const path = `/platform/api/v1/crew/${platform.acme.digest.automationId}/resume/${id}`
    const response = await platform.app.request(BASE_URL + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${digest}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(404)
    expect(await statusOf(id)).toMatchObject({ status: 'waiting' })
  })
})

const REFUND: ProposedCall = {
  name: 'refund',
  tool: 'shop',
  description: 'Pays <b>back</b>.',
  parameters: {
    type: 'object',
    properties: { amount: { type: 'number', maximum: 100 }, note: { type: 'string' } },
    required: ['amount'],
  },
}
const parkCall = (given: object = { amount: 50 }) => park(JSON.stringify(given), REFUND)
const idOfCall = async (): Promise<string> =>
  (await platform.sql<{ id: string }[]>`select call ->> 'id' as id from run_approvals`)[0]?.id ?? ''

describe('POST resume about a call of a tool', () => {
  it('names the call, and takes arguments that its schema takes', async () => {
    const id = await parkCall()
    const status = await statusOf(id)
    expect(status).toMatchObject({
      waiting_for: { output: '{"amount":50}', call: { ...REFUND, id: await idOfCall() } },
    })
    const decision = { task: 'write', call: await idOfCall(), decision: 'edit' }
    const wrong = await call(`resume/${id}`, { ...decision, text: '{"amount": 500}' })
    expect(wrong.status).toBe(422)
    expect(await wrong.text()).toContain('The arguments of refund are not valid')
    const text = '{"amount": 5}'
    expect((await call(`resume/${id}`, { ...decision, text })).status).toBe(200)
    expect((await call(`resume/${id}`, { ...decision, text })).status).toBe(409)
    const [step] = await platform.sql`
      select decision, answer from run_approvals where run_id = ${id}`
    expect(step).toEqual({ decision: 'edit', answer: text })
  })

  it('decides about no call but the one that it names', async () => {
    const id = await parkCall()
    const decision = { task: 'write', decision: 'approve' }
    const former = await idOfCall()
    expect((await call(`resume/${id}`, decision)).status).toBe(404)
    await platform.sql`delete from executions`
    const other = await parkCall({ amount: 51 })
    expect(await idOfCall()).not.toBe(former)
    expect((await call(`resume/${other}`, { ...decision, call: former })).status).toBe(404)
    expect(await statusOf(other)).toMatchObject({ status: 'waiting' })
  })
})

describe('the page of approvals', () => {
  const list = async (who = ada) => {
    const headers = { cookie: who.cookie }
    return (await platform.app.request(`${BASE_URL}/approvals`, { headers })).text()
  }
  const decide = (id: string, fields: Record<string, string>, who = ada) =>
    platform.app.request(
      `${BASE_URL}/automations/${platform.acme.research.automationId}/executions/${id}/approval`,
      {
        method: 'POST',
        headers: { cookie: who.cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ csrf_token: who.csrfToken, task: 'write', ...fields }),
      },
    )

  it('shows Markdown as a document, and how many wait in the menu of every page', async () => {
    const [first, second] = [await park('# Whales'), await park('Owls.')]
    const page = await list()
    expect(page).toContain('<h3>Whales</h3>')
    expect(page).toContain('>2<span class="unseen"> waiting</span>')
    // The places of a page have names of their own.
    const names = [...page.matchAll(/<section class="card" aria-labelledby="([^"]+)"/g)]
    expect(names.map(([, name]) => name)).toEqual(
      [first, second].map((id) => `approval-${id} run-${id}`),
    )
    const rival = await platform.signIn(platform.rival)
    const headers = { cookie: rival.cookie }
    const other = await platform.app.request(`${BASE_URL}/account`, { headers })
    expect(await other.text()).not.toContain('class="badge"')
  })

  it('is not the only place to decide: the page of the run is one, too', async () => {
    const id = await park('# Whales')
    const path = `/automations/${platform.acme.research.automationId}/executions/${id}`
    const headers = { cookie: ada.cookie }
    const page = await (await platform.app.request(`${BASE_URL}${path}`, { headers })).text()
    expect(page).toContain('<h3>Whales</h3>')
    for (const decision of ['approve', 'edit', 'reject']) {
      expect(page).toContain(`name="decision" value="${decision}"`)
    }
    const decided = await decide(id, { decision: 'reject', reason: 'No owls.', back: 'run' })
    expect(decided.headers.get('location')).toBe(`${path}?notice=approval-decided`)
    const after = await (await platform.app.request(`${BASE_URL}${path}`, { headers })).text()
    expect(after).not.toContain('name="decision"')
  })

  it('shows what waits for an organization, and takes the decisions of its people', async () => {
    const id = await park()
    expect(await list()).toContain('Whales &lt;sing&gt;.')
    const rival = await platform.signIn(platform.rival)
    expect(await list(rival)).toContain('Nothing waits')
    expect((await decide(id, { decision: 'approve' }, rival)).status).toBe(404)
    expect((await decide(id, { decision: 'approve', csrf_token: 'x' })).status).toBe(403)
    expect((await decide(id, { decision: 'maybe' })).status).toBe(422)
    const edited = await decide(id, { decision: 'edit', output: 'Owls.\r\nAnd bats.' })
    expect(edited.headers.get('location')).toBe('/approvals?notice=approval-decided')
    const late = await decide(id, { decision: 'approve' })
    expect(late.status).toBe(409)
    expect(await late.text()).toContain('This was decided already: edit')
    const [row] = await platform.sql`select decision, answer, decided_by from run_approvals`
    expect(row).toEqual({
      decision: 'edit',
      answer: 'Owls.\nAnd bats.',
      decidedBy: platform.acme.userId,
    })
  })

  it('shows the inputs of the run and what tasks before put out, where they fit', async () => {
    const { sql } = platform
    const [first, second] = [await park(), await park()]
    await sql`
      insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
        started_at, ended_at, result)
      select ${first}, name, position, kind, name, '["x"]', state, 1, now(),
        case when state = 'finished' then now() end, result::json
      from (values
        ('read', 1, 'task', 'finished', '{"output": "Two <b>pages</b>."}'),
        ('list', 2, 'task', 'finished', ${JSON.stringify({ output: 'y'.repeat(50_000) })}),
        ('gpt', 3, 'llm', 'finished', '{"output": "A call."}'),
        ('odd', 4, 'task', 'finished', '[1]'),
        ('write', 5, 'task', 'started', null)) as steps (name, position, kind, state, result)`
    await sql`
      update executions set inputs = ${sql.json({ topic: '<i>seas' })}
      where id = ${first}`
    await sql`
      update executions set inputs = ${sql.json({ topic: 'z'.repeat(30_000) })}
      where id = ${second}`
    const page = await list()
    expect(page).toMatch(/<h3>Inputs<\/h3>[^]*topic<\/dt>\s*<dd>&lt;i&gt;seas<\/dd>/)
    const [, tasks = ''] = /<h3>Previous tasks<\/h3>([^]*?)<\/dl>/.exec(page) ?? []
    expect([...tasks.matchAll(/<dt class="mono">(\w+)/g)].map(([, name]) => name)).toEqual([
      'read',
      'list',
    ])
    expect(tasks).toContain('Two &lt;b&gt;pages&lt;/b&gt;.')
    expect(tasks).toContain('20,000 characters')
    expect(page).toContain(`/executions/${second}#inputs">the run has them</a>`)
    expect(page).not.toContain('zzz')
  })

  it('shows a call, its long arguments in part, and takes one decision about it', async () => {
    const id = await parkCall({ amount: 50, note: `<i>${'x'.repeat(300_000)}` })
    const page = await list()
    expect(page).toContain('Pays &lt;b&gt;back&lt;/b&gt;.')
    expect(page).toContain('<td class="mono">amount</td>')
    expect(page).toContain('300,003 characters')
    expect(page.length).toBeLessThan(350_000)
    expect(page).not.toContain('name="output"')
    const path = `/automations/${platform.acme.research.automationId}/executions/${id}`
    const get = (who: SignedInUser) =>
      platform.app.request(`${BASE_URL}${path}/approval.json`, { headers: { cookie: who.cookie } })
    const file = await get(ada)
    expect(file.headers.get('content-disposition')).toContain('arguments.json')
    expect((await file.text()).length).toBeGreaterThan(300_000)
    const rival = await platform.signIn(platform.rival)
    expect((await get(rival)).status).toBe(404)
    const call = await idOfCall()
    expect((await decide(id, { decision: 'approve', call }, rival)).status).toBe(404)
    await asRole('viewer')
    expect((await decide(id, { decision: 'approve', call })).status).toBe(403)
    await asRole('admin')
    expect((await decide(id, { decision: 'approve' })).status).toBe(404)
    expect((await decide(id, { decision: 'edit', call, output: '[]' })).status).toBe(422)
    expect((await decide(id, { decision: 'reject', reason: 'No.', call })).status).toBe(303)
    expect((await decide(id, { decision: 'approve', call })).status).toBe(409)
  })

  describe('with what a server of MCP asks in the middle of a call', () => {
    const markup = '<script>alert(1)</script>\u202e'
    const RESERVE: ProposedCall = {
      name: 'reserve',
      tool: 'travel',
      description: 'Reserves.',
      parameters: {
        type: 'object',
        properties: {
          seats: {
            type: 'object',
            properties: {
              count: { type: 'integer', title: markup, description: markup, maximum: 9 },
              fare: { type: 'string', oneOf: [{ const: markup, title: markup }] },
              [markup]: { type: 'array', items: { type: 'string', enum: [markup, 'b'] } },
              flexible: { type: 'boolean', title: 'Flexible' },
              mail: { type: 'string', format: 'email', default: markup },
            },
            required: ['count'],
            additionalProperties: false,
          },
        },
        required: ['seats'],
        additionalProperties: false,
      },
      question: { server: 'travel.test', messages: { seats: `How many? ${markup}` } },
    }
    const parkQuestion = (call = RESERVE) => park('{"to":"Rome"}', call)
    const fields = { decision: 'answer', 'answer.0.0': '2', 'answer.0.2': '1' }

    it('shows the fields that it asks for, and nothing that it could do to the page', async () => {
      await parkQuestion()
      const page = await list()
      expect(page).toContain('<strong>travel.test</strong>')
      expect(page).not.toContain('<script>alert')
      expect(page).not.toContain('\u202e')
      expect(page).toMatch(/How many\? &lt;script&gt;/)
      expect(page).toMatch(/type="number"\s+name="answer.0.0"\s+step="1"\s+max="9"/)
      for (const name of ['answer.0.1', 'answer.0.2', 'answer.0.3', 'answer.0.4']) {
        expect(page).toContain(`name="${name}"`)
      }
      expect(page).not.toContain('value="approve"')
    })

    it('takes one answer, of those who may decide', async () => {
      const id = await parkQuestion()
      const call = await idOfCall()
      const answer = (more: object, who = ada) => decide(id, { ...fields, call, ...more }, who)
      expect((await answer({}, await platform.signIn(platform.rival))).status).toBe(404)
      await asRole('viewer')
      expect((await answer({})).status).toBe(403)
      await asRole('admin')
      expect((await answer({ decision: 'approve' })).status).toBe(422)
      const wrong = await answer({ 'answer.0.0': '10' })
      expect(wrong.status).toBe(422)
      expect(await wrong.text()).toContain('The answers to reserve are not valid')
      expect((await answer({ 'answer.0.0': 'two' })).status).toBe(422)
      expect((await answer({ call: 'other' })).status).toBe(404)
      const given = await answer({})
      expect(given.headers.get('location')).toBe('/approvals?notice=approval-decided')
      const [row] = await platform.sql`select decision, answer from run_approvals`
      expect(row).toEqual({
        decision: 'edit',
        answer: JSON.stringify({ seats: { count: 2, [markup]: ['b'], flexible: false } }),
      })
      expect((await answer({})).status).toBe(409)
      expect((await answer({ decision: 'reject' })).status).toBe(409)
    })

    it('is answered by a program as well, or declined when its time is over', async () => {
      const id = await parkQuestion()
      const body = { task: 'write', call: await idOfCall() }
      expect(await statusOf(id)).toMatchObject({
        waiting_for: { call: { question: RESERVE.question }, undecided: 'reject' },
      })
      const agreed = { ...body, decision: 'approve', text: '{"seats": {"count": 1}}' }
      const approve = await call(`resume/${id}`, agreed)
      expect(await approve.text()).toContain('a JSON object, in an edit; or decline by reject.')
      const more = { decision: 'edit', text: '{"seats": {"count": 1, "more": 2}}' }
      expect((await call(`resume/${id}`, { ...body, ...more })).status).toBe(422)
      const text = '{"seats": {"count": 1}}'
      const edit = await call(`resume/${id}`, { ...body, decision: 'edit', text })
      expect(edit.status).toBe(200)
    })

    it('is answered as JSON where its fields cannot be shown', async () => {
      const id = await parkQuestion({ ...RESERVE, parameters: { type: 'object' } })
      expect(await list()).toContain('Answers, as JSON')
      const given = { call: await idOfCall(), decision: 'edit', output: '{"any": 1}' }
      expect((await decide(id, given)).status).toBe(303)
    })
  })
})
