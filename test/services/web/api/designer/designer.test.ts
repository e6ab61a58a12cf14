import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appendLeaves } from '../../../../../services/platform/receipts/append-leaves.ts'
import { signHead } from '../../../../../services/platform/receipts/sign-heads.ts'
import { definition } from '../../../../support/crew.ts'
import { seedAutomation } from '../../../../support/platform.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { SignedInUser, Platform } from '../../support/platform.ts'

let platform: Platform
let token: string
let rivalToken: string
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  rivalToken = await platform.issueToken(platform.rival)
  ada = await platform.signIn(platform.acme)
})

afterAll(() => platform.close())

interface Call {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly as?: string
}

function call(method: string, path: string, { body, headers = {}, as = token }: Call = {}) {
  return platform.app.request(`${BASE_URL}/designer/v2${path}`, {
    method,
    headers: {
      ...(as ? { authorization: `Bearer ${as}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function answer(method: string, path: string, given: Call = {}) {
  const response = await call(method, path, given)
  return { status: response.status, ...(await readObject(response)) } as Record<string, unknown>
}

let names = 0
async function newProject(as = token): Promise<string> {
  names += 1
  const { id } = await answer('POST', '/projects', { body: { name: `Project ${names}` }, as })
  return `/projects/${String(id)}`
}

async function newDraft(project: string, as = token): Promise<string> {
  const { number } = await answer('POST', `${project}/versions`, { body: { definition }, as })
  return `${project}/versions/${String(number)}`
}

describe('the designer (SPEC 9): projects and versions', () => {
  it('goes from a project over a draft to a published version that never changes', async () => {
    const created = await call('POST', '/projects', { body: { name: 'Newsletter' } })
    expect(created.status).toBe(201)
    const project = await readObject(created)
    expect(project).toMatchObject({
      name: 'Newsletter',
      latest_version: null,
      published_version: null,
      automation_id: null,
    })
    const path = `/projects/${String(project['id'])}`
    expect(created.headers.get('location')).toBe(`/designer/v2${path}`)

    const draft = await call('POST', `${path}/versions`, { body: { definition } })
    expect(draft.status).toBe(201)
    expect(draft.headers.get('location')).toBe(`/designer/v2${path}/versions/1`)
    expect(await readObject(draft)).toMatchObject({
      number: 1,
      status: 'draft',
      inputs: ['topic'],
      definition,
      published_at: null,
    })
    const changed = { ...definition, name: 'Changed' }
    expect(
      await answer('PUT', `${path}/versions/1`, { body: { definition: changed } }),
    ).toMatchObject({ status: 'draft', definition: changed })

    expect(await answer('POST', `${path}/versions/1/publish`)).toMatchObject({
      status: 'published',
      definition: changed,
    })
    for (const [method, to] of [
      ['PUT', `${path}/versions/1`],
      ['POST', `${path}/versions/1/publish`],
    ] as const) {
      const refused = await answer(method, to, { body: { definition } })
      expect(refused).toMatchObject({ status: 409, error: 'conflict' })
      expect(refused['message']).toContain('Version 1 is published')
    }
    expect(await answer('GET', `${path}/versions/1`)).toMatchObject({ definition: changed })
    expect(await answer('GET', path)).toMatchObject({ latest_version: 1, published_version: 1 })
    expect(platform.lines.map(({ audit }) => audit)).toEqual(
      expect.arrayContaining(['project_created', 'version_created', 'version_published']),
    )
  })

  it('takes a name once in an organization, and again in another organization', async () => {
    const body = { name: 'Same name' }
    expect((await call('POST', '/projects', { body })).status).toBe(201)
    expect(await answer('POST', '/projects', { body })).toMatchObject({ error: 'conflict' })
    expect((await call('POST', '/projects', { body, as: rivalToken })).status).toBe(201)
  })

  it.each([
    ['no object', null, 'must be a JSON object'],
    ['a list', [], 'name is required'],
    ['no name', {}, 'name is required'],
    ['a stray key', { name: 'x', id: 7 }, 'id is not known'],
    ['an empty name', { name: '' }, '1 to 200 characters'],
    ['a name with a space at its end', { name: 'x ' }, 'no space at its ends'],
    ['a control character', { name: 'a\u001bb' }, 'no control characters'],
    ['a long name', { name: 'x'.repeat(201) }, '1 to 200 characters'],
    ['a number', { name: 7 }, 'must be a text'],
  ])('refuses a project with %s', async (_, body, message) => {
    const refused = await answer('POST', '/projects', { body })
    expect(refused).toMatchObject({ status: 422, error: 'unprocessable' })
    expect(refused['message']).toContain(message)
  })

  it.each([
    ['no definition', {}, 'definition'],
    ['a definition that is none', { definition: 7 }, 'not valid'],
    ['an agent that is not there', withAgent('nobody'), 'names an agent'],
    ['a stray key', { definition, published: true }, 'published is not known'],
  ])('refuses a version with %s', async (_, body, message) => {
    const project = await newProject()
    const refused = await answer('POST', `${project}/versions`, { body })
    expect(refused).toMatchObject({ status: 422 })
    expect(refused['message']).toContain(message)
    expect(await answer('GET', project)).toMatchObject({ latest_version: null })
  })

  it('refuses bodies that are no JSON, too large, or of another type', async () => {
    const send = (body: string, type = 'application/json') =>
      platform.app.request(`${BASE_URL}/designer/v2/projects`, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${token}`, 'content-type': type },
      })
    expect((await send('{')).status).toBe(400)
    expect((await send('{"name":"a","name":"b"}')).status).toBe(400)
    expect((await send('{"name":"a\\u0000b"}')).status).toBe(400)
    expect((await send('name=a', 'application/x-www-form-urlencoded')).status).toBe(415)
    expect((await send(JSON.stringify({ name: 'x'.repeat(300_000) }))).status).toBe(413)
  })

  it('takes a version with 1 MiB of knowledge, and gives it back', async () => {
    const [first, ...others] = definition.agents
    const crew = {
      ...definition,
      knowledge: { handbook: { text: '\n'.repeat(1_048_575) + 'x' } },
      agents: [{ ...first, knowledge: ['handbook'] }, ...others],
    }
    const project = await newProject()
    const draft = await answer('POST', `${project}/versions`, { body: { definition: crew } })
    expect(draft).toMatchObject({ status: 'draft', number: 1, definition: crew })
    const tooLong = { ...crew, name: 'x'.repeat(4 * 1024 * 1024) }
    const refused = await call('POST', `${project}/versions`, { body: { definition: tooLong } })
    expect(refused.status).toBe(413)
  })

  it('publishes a version once when many ask at the same time', async () => {
    const draft = await newDraft(await newProject())
    const statuses = await Promise.all(
      [1, 2, 3, 4, 5].map(async () => (await call('POST', `${draft}/publish`)).status),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(4)
  })
})

describe('the designer: lists', () => {
  it('come in pages that are complete and never overlap', async () => {
    const project = await newProject()
    for (let each = 0; each < 5; each += 1) await newDraft(project)
    const numbers: unknown[] = []
    let next = `${project}/versions?limit=2`
    for (let pages = 0; next && pages < 10; pages += 1) {
      const { versions, next_cursor } = await answer('GET', next)
      numbers.push(...rowsOf(versions).map(({ number }) => number))
      next =
        typeof next_cursor === 'string' ? `${project}/versions?limit=2&cursor=${next_cursor}` : ''
    }
    expect(numbers).toEqual([5, 4, 3, 2, 1])
    const all = await answer('GET', '/projects?limit=100')
    const first = await answer('GET', '/projects?limit=1')
    expect(rowsOf(first['projects'])).toEqual(rowsOf(all['projects']).slice(0, 1))
    const second = await answer('GET', `/projects?limit=1&cursor=${String(first['next_cursor'])}`)
    expect(rowsOf(second['projects'])).toEqual(rowsOf(all['projects']).slice(1, 2))
    expect(all['next_cursor']).toBeNull()
  })

  it.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=',
    'limit=1&limit=2',
    'cursor=x',
    'cursor=',
    'cursor=-1',
    'cursor=99999999999',
    'cursor=1&cursor=2',
  ])('refuse %s', async (query) => {
    expect(await answer('GET', `/projects?${query}`)).toMatchObject({
      status: 400,
      error: 'invalid_request',
    })
  })

  it('refuse a cursor that is not an id, and show nothing after a foreign one', async () => {
    expect((await call('GET', '/executions?cursor=7')).status).toBe(400)
    const path = `/projects/${String(await projectOf(platform.rival.research.projectVersionId))}`
    const body = { inputs: { topic: 'x' } }
    const { kickoff_id } = await answer('POST', `${path}/executions`, { body, as: rivalToken })
    expect(await answer('GET', `/executions?cursor=${String(kickoff_id)}`)).toMatchObject({
      executions: [],
      next_cursor: null,
    })
  })
})

describe('the designer: running a project', () => {
  it('starts the automation of the project, and shows the run with its version', async () => {
    const id = await projectOf(platform.acme.research.projectVersionId)
    const body = { inputs: { topic: 'whales' } }
    const started = await call('POST', `/projects/${id}/executions`, { body })
    expect(started.status).toBe(202)
    const run = await readObject(started)
    expect(run).toMatchObject({
      project_id: id,
      version: 1,
      automation_id: platform.acme.research.automationId,
      status: 'queued',
      inputs: { topic: 'whales' },
      output: null,
    })
    const path = `/executions/${String(run['kickoff_id'])}`
    expect(started.headers.get('location')).toBe(`/designer/v2${path}`)
    expect(await answer('GET', path)).toEqual({ ...run, status: run['status'] })
    const { executions } = await answer('GET', `/projects/${id}/executions`)
    expect(rowsOf(executions)[0]).toMatchObject({ kickoff_id: run['kickoff_id'], version: 1 })
    expect(JSON.stringify(executions)).not.toContain('whales')
  })

  it('is the same run when the request is repeated with its Idempotency-Key', async () => {
    const id = await projectOf(platform.acme.digest.projectVersionId)
    const given = { body: { inputs: {} }, headers: { 'idempotency-key': 'once' } }
    const [first, second] = await Promise.all([
      answer('POST', `/projects/${id}/executions`, given),
      answer('POST', `/projects/${id}/executions`, given),
    ])
    expect(first['kickoff_id']).toBe(second['kickoff_id'])
  })

  it('tells what is missing: an input, a published version, a crew', async () => {
    const id = await projectOf(platform.acme.research.projectVersionId)
    const run = (path: string, body: unknown) => answer('POST', `${path}/executions`, { body })
    expect(await run(`/projects/${id}`, { inputs: {} })).toMatchObject({
      status: 422,
      details: { missing_inputs: ['topic'] },
    })
    const project = await newProject()
    const draft = await newDraft(project)
    const inputs = { topic: 'x' }
    expect((await run(project, { inputs }))['message']).toContain('no published version')
    await call('POST', `${draft}/publish`)
    const undeployed = await run(project, { inputs })
    expect(undeployed).toMatchObject({ status: 409, error: 'conflict' })
    expect(undeployed['message']).toContain('designer:runner:install')
    expect(await answer('GET', project)).toMatchObject({ automation_id: null })
  })

  it('keeps each run at the version that was published when it was queued', async () => {
    const id = await projectOf(platform.acme.research.projectVersionId)
    const path = `/projects/${id}`
    const body = { inputs: { topic: 'x' } }
    const before = await answer('POST', `${path}/executions`, { body })
    await call('POST', `${await newDraft(path)}/publish`)
    const after = await answer('POST', `${path}/executions`, { body })
    expect([before['version'], after['version']]).toEqual([1, 2])
    expect(after['automation_id']).toBe(before['automation_id'])
    expect(await answer('GET', `/executions/${String(before['kickoff_id'])}`)).toMatchObject({
      version: 1,
    })
  })

  it('never goes back to an older version when drafts are published out of order', async () => {
    const path = `/projects/${await projectOf(platform.acme.digest.projectVersionId)}`
    const [second, third] = [await newDraft(path), await newDraft(path)]
    await call('POST', `${third}/publish`)
    await call('POST', `${second}/publish`)
    expect(await answer('GET', path)).toMatchObject({ published_version: 3 })
    const body = { inputs: { topic: 'x' } }
    expect(await answer('POST', `${path}/executions`, { body })).toMatchObject({ version: 3 })
  })

  it.each([
    ['نشرة الأخبار', /^project-\d+$/],
    ['Émile & Söhne!', /^mile-s-hne-\d+$/],
  ])('names the automation of %s so that a host name can hold it', async (name, slug) => {
    await installRunner()
    const { id } = await answer('POST', '/projects', { body: { name } })
    await call('POST', `${await newDraft(`/projects/${String(id)}`)}/publish`)
    const [made] = await platform.sql<{ slug: string }[]>`
      select slug from deployments where name = ${name}`
    expect(made?.slug).toMatch(slug)
  })

  it('gives a project without a crew an automation on the Runner', async () => {
    const late = await newProject()
    await call('POST', `${await newDraft(late)}/publish`)
    await installRunner()
    const project = await newProject()
    await call('POST', `${await newDraft(project)}/publish`)
    const { automation_id } = await answer('GET', project)
    expect(automation_id).toMatch(/^[0-9a-f-]{36}$/)
    const api = `${BASE_URL}/platform/api/v1/crew/${String(automation_id)}/inputs`
    const inputs = (as: string) =>
      platform.app.request(api, { headers: { authorization: `Bearer ${as}` } })
    expect(await readObject(await inputs(token))).toMatchObject({ inputs: ['topic'] })
    expect((await inputs(rivalToken)).status).toBe(401)
    // Published before there was a Runner: deployed when it is first run.
    const body = { inputs: { topic: 'x' } }
    expect((await call('POST', `${late}/executions`, { body })).status).toBe(202)
    const page = await platform.app.request(`/automations/${String(automation_id)}`, {
      headers: { cookie: ada.cookie },
    })
    expect(page.status).toBe(200)
    // In another organization a project of the same name is another automation.
    const theirs = await newProject(rivalToken)
    await call('POST', `${await newDraft(theirs, rivalToken)}/publish`, { as: rivalToken })
    const other = await answer('GET', theirs, { as: rivalToken })
    expect(other['automation_id']).not.toBe(automation_id)
  })
})

describe('the designer: who may call it', () => {
  it('two organizations never see, change or run what the other has', async () => {
    const project = await newProject()
    const draft = await newDraft(project)
    const { projectVersionId } = platform.acme.research
    const published = `/projects/${String(await projectOf(projectVersionId))}`
    const { kickoff_id } = await answer('POST', `${published}/executions`, {
      body: { inputs: { topic: 'secret topic' } },
    })
    const as = rivalToken
    const attempts: [string, string, unknown?][] = [
      ['GET', project],
      ['GET', `${project}/versions`],
      ['GET', draft],
      ['PUT', draft, { definition }],
      ['POST', `${draft}/publish`],
      ['POST', `${project}/versions`, { definition }],
      ['GET', `${published}/executions`],
      ['POST', `${published}/executions`, { inputs: { topic: 'x' } }],
      ['GET', `/executions/${String(kickoff_id)}`],
    ]
    for (const [method, path, body] of attempts) {
      const given = body === undefined ? { as } : { as, body }
      const refused = await answer(method, path, given)
      expect(refused, `${method} ${path}`).toMatchObject({ status: 404, error: 'not_found' })
      // The same as for what nobody has.
      const nothing = path
        .replace(/\d+(?=\/|$)/, '2147483647')
        .replace(/[0-9a-f]{8}-/, '0'.repeat(8) + '-')
      const missing = await answer(method, nothing, given)
      expect({ ...refused, request_id: '' }).toEqual({ ...missing, request_id: '' })
    }
    for (const path of ['/projects?limit=100', '/executions?limit=100']) {
      const listed = await (await call('GET', path, { as })).text()
      expect(listed).not.toContain(String(kickoff_id))
      expect(listed).not.toContain(`"id":${project.split('/')[2]},`)
    }
    expect(await answer('GET', draft)).toMatchObject({ status: 'draft', definition })
  })

  it('gives the receipt of a run to its organization, and signed heads to any', async () => {
    const { sql, acme } = platform
    const published = `/projects/${String(await projectOf(acme.research.projectVersionId))}`
    const { kickoff_id } = await answer('POST', `${published}/executions`, {
      body: { inputs: { topic: 'tides' } },
    })
    const run = String(kickoff_id)
    const path = `/executions/${run}/receipt`
    await sql`update executions set status = 'stopped', finished_at = now() where id = ${run}`
    while ((await appendLeaves(sql)) > 0);
    expect(await answer('GET', path)).toMatchObject({ status: 404 })
    const signed = await signHead(sql, { current: 'k'.repeat(32) })
    const size = signed?.head.size ?? 0
    expect(await answer('GET', path)).toMatchObject({
      status: 200,
      leaf: { id: run },
      head: { size },
    })
    expect(await answer('GET', `${path}?size=${size + 1}`)).toMatchObject({ status: 404 })
    expect(await answer('GET', `${path}?size=0`)).toMatchObject({ status: 400 })
    const page = `${BASE_URL}/automations/${await automationOf(run)}/executions/${run}`
    const shown = await platform.app.request(page, { headers: { cookie: ada.cookie } })
    expect(await shown.text()).toContain('Download receipt')
    const file = await platform.app.request(`${page}/receipt`, { headers: { cookie: ada.cookie } })
    expect(file.headers.get('content-disposition')).toContain(`receipt-${run}.json`)
    expect(await readObject(file)).toMatchObject({ leaf: { id: run } })

    const as = rivalToken
    expect(await answer('GET', path, { as })).toMatchObject({ status: 404 })
    const heads = await answer('GET', '/receipt-heads', { as })
    expect(heads).toMatchObject({ status: 200, heads: [{ head: { size } }], next_cursor: null })
    expect(JSON.stringify(heads)).not.toContain(run)
    const same = `/receipt-heads/${size}/consistency`
    expect(await answer('GET', same, { as })).toMatchObject({ status: 200, proof: [] })
    expect((await call('GET', `${same}?with=x`)).status).toBe(400)
    expect((await call('GET', `${same}?with=${size + 1}`)).status).toBe(404)
    expect((await call('GET', '/receipt-heads', { as: '' })).status).toBe(401)
  })

  it('takes a token of the whole organization only', async () => {
    const narrow = await platform.issueToken(platform.acme, platform.acme.research.id)
    const { sql } = platform
    const revoked = await platform.issueToken(platform.acme)
    await sql`update static_tokens set revoked_at = now() where last_four = ${revoked.slice(-4)}`
    for (const as of [narrow, revoked, 'x', 'pat_', `${token}x`, 'eyJ.eyJ.x']) {
      const refused = await call('GET', '/projects', { as })
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="platform"')
      expect(await readObject(refused)).toMatchObject({ error: 'invalid_token' })
    }
    expect((await call('GET', '/projects', { as: '' })).status).toBe(401)
    // A bad token is not made good by a cookie.
    const headers = { cookie: ada.cookie }
    expect((await call('GET', '/projects', { as: 'x', headers })).status).toBe(401)
  })

  it('takes a session, and to change something the proof that our own page sent it', async () => {
    const { cookie, csrfToken } = ada
    const send = (headers: Record<string, string>) => {
      names += 1
      const body = { name: `By session ${names}` }
      return call('POST', '/projects', { as: '', body, headers: { cookie, ...headers } })
    }
    expect((await call('GET', '/projects', { as: '', headers: { cookie } })).status).toBe(200)
    expect((await send({ 'x-csrf-token': csrfToken })).status).toBe(201)
    const own = { 'x-csrf-token': csrfToken, 'sec-fetch-site': 'same-origin' }
    expect((await send(own)).status).toBe(201)
    const refused: Record<string, string>[] = [
      {},
      { 'x-csrf-token': '' },
      { 'x-csrf-token': (await platform.signIn(platform.acme)).csrfToken },
      { 'x-csrf-token': csrfToken, 'sec-fetch-site': 'cross-site' },
      { 'x-csrf-token': csrfToken, 'sec-fetch-site': 'same-site' },
      { 'x-csrf-token': csrfToken, origin: 'https://evil.test' },
    ]
    for (const headers of refused) {
      const response = await send(headers)
      expect(response.status).toBe(403)
      expect(await readObject(response)).toMatchObject({ error: 'csrf_failed' })
    }
  })

  it('knows its addresses only: the rest is the 404 of the whole service', async () => {
    const unknown = await (await platform.app.request(`${BASE_URL}/nothing`)).text()
    for (const path of ['', '/', '/nothing', '/projects/1/nothing', '/projects/1/versions/1/x']) {
      const response = await call('GET', path)
      expect(response.status).toBe(404)
      expect(await response.text()).toBe(unknown)
    }
    for (const id of ['0', '-1', '1.5', 'x', '99999999999', '2147483648', '01', '%00']) {
      expect((await call('GET', `/projects/${id}`)).status).toBe(404)
      expect((await call('GET', `/executions/${id}`)).status).toBe(404)
    }
    const refused = await call('DELETE', '/projects')
    expect(refused.status).toBe(405)
    expect(refused.headers.get('allow')).toBe('GET, HEAD, POST')
    expect((await call('DELETE', '/projects', { as: '' })).status).toBe(401)
  })
})

function withAgent(agent: string) {
  return {
    definition: { ...definition, tasks: definition.tasks.map((task) => ({ ...task, agent })) },
  }
}

function rowsOf(list: unknown): Record<string, unknown>[] {
  if (!Array.isArray(list)) throw new Error('not a list')
  return list as Record<string, unknown>[]
}

async function automationOf(run: string): Promise<string> {
  const [row] = await platform.sql<[{ automationId: string }]>`
    select automation_id from deployments
    where id = (select deployment_id from executions where id = ${run})`
  return row.automationId
}

async function projectOf(versionId: number): Promise<number> {
  const [row] = await platform.sql<[{ projectId: number }]>`
    select project_id from project_versions where id = ${versionId}`
  return row.projectId
}

const installRunner = () =>
  seedAutomation(platform.sql, {
    organization: 'Platform',
    internal: true,
    name: 'Runner',
    slug: 'runner',
  })
