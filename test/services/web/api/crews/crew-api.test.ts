import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appendCrewLog } from '../../../../../services/platform/crews/crew-logs.ts'
import { tarGz } from '../../../../support/tar.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { zip } from '../../../../support/zip.ts'

let platform: Platform
let token: string
let rivalToken: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  rivalToken = await platform.issueToken(platform.rival)
})
afterAll(() => platform.close())

interface Call {
  readonly method?: string
  readonly json?: unknown
  readonly body?: Buffer | FormData
  readonly type?: string
  readonly as?: string
}

async function call(path: string, { method = 'GET', json, body, type, as = token }: Call = {}) {
  const contentType = json === undefined ? type : 'application/json'
  const response = await platform.app.request(`${BASE_URL}/designer/v2/automations${path}`, {
    method,
    headers: {
      authorization: `Bearer ${as}`,
      ...(contentType ? { 'content-type': contentType } : {}),
    },
    ...(json === undefined ? { body } : { body: JSON.stringify(json) }),
  })
  const answer = response.status === 204 ? {} : await readObject(response)
  return { ...answer, status: response.status, document: answer }
}

let made = 0
async function create(): Promise<string> {
  made += 1
  const { document } = await call('', { method: 'POST', json: { name: `Crew ${made}` } })
  return `/${String(document['automation_id'])}`
}

const project = (text = 'x = 1', ...more: { path: string }[]) =>
  tarGz([
    ...more,
    { path: 'crew/pyproject.toml', content: '[project]\nname = "crew"\n' },
    { path: 'crew/src/crew.py', content: `@CrewBase\nclass A:\n    pass\n# ${text}\n` },
  ])
const formOf = (archive: Buffer, field = 'source'): FormData => {
  const form = new FormData()
  form.append(field, new Blob([archive]), 'mine.tar.gz')
  return form
}
const deploy = (crew: string, body: Buffer | FormData, type?: string) =>
  call(`${crew}/deployments`, { method: 'POST', body, ...(type ? { type } : {}) })

it('the API lists the automations of an organization, in pages by name', async () => {
  const { digest, research } = platform.acme
  const shown = ({ automationId, name, slug }: typeof digest) => ({
    automation_id: automationId,
    name,
    slug,
    status: 'Crew is Online',
  })
  const { document: first } = await call('?limit=1')
  expect(first).toEqual({ automations: [shown(digest)], next_cursor: digest.automationId })
  const { document: second } = await call(`?limit=1&cursor=${String(first['next_cursor'])}`)
  expect(second).toEqual({ automations: [shown(research)], next_cursor: null })
  const { document: others } = await call(`?cursor=${digest.automationId}`, { as: rivalToken })
  expect(others).toEqual({ automations: [], next_cursor: null })
  expect((await call('?limit=0')).status).toBe(400)
})

describe('the API of crews from source', () => {
  it('creates an automation, and deploys what it is sent in each form', async () => {
    const crew = await create()
    expect((await call(crew)).document).toMatchObject({
      status: 'Crew is Offline',
      status_reason: 'Nothing is deployed yet.',
      settings: { way: null, replicas: 1, egress: [] },
      newest_deployment: null,
    })
    const folder = { path: 'crew/.venv/', type: '5' }
    const made = [folder, { path: 'crew/.venv/bin/python' }, { path: 'crew/.venv/pyvenv.cfg' }]
    const first = await deploy(crew, formOf(project('x = 1', ...made)))
    const source = { name: 'mine.tar.gz', files: 2, left_out: ['crew/.venv/'], left_out_more: 0 }
    expect(first).toMatchObject({
      status: 201,
      number: 1,
      state: 'Waiting',
      source: { ...source, is_kept: true },
    })
    const second = await deploy(crew, project('y'), 'application/gzip')
    const files = { 'requirements.txt': 'crewai', 'crew.jsonc': '{}' }
    const archive = zip(Object.entries(files).map(([name, content]) => ({ name, content })))
    const third = await deploy(crew, archive, 'application/zip')
    expect([second.status, third.status]).toEqual([201, 201])
    const { document } = await call(`${crew}/deployments?before=3`)
    expect(document['deployments']).toMatchObject([
      { number: 2, state: 'Replaced', reason: expect.stringContaining('Deployment 3') },
      { number: 1, state: 'Replaced' },
    ])
    // Pages name the token that deployed.
    const { cookie } = await platform.signIn(platform.acme)
    const page = await platform.app.request(`${BASE_URL}/automations${crew}/deployments`, {
      headers: { cookie },
    })
    expect(await page.text()).toContain('data-label="By">test<')
    // Others may be sending sources at the same time.
    const folders = async () =>
      (await readdir(tmpdir())).filter((name) => name.startsWith('source-'))
    await expect.poll(folders).toEqual([])
  })

  it('refuses what is no source, and says why', async () => {
    const crew = await create()
    const bad = await deploy(crew, formOf(tarGz([{ path: '../a' }])))
    expect(bad).toMatchObject({ status: 400, detail: expect.stringContaining('leads out') })
    expect(await deploy(crew, formOf(project(), 'file'))).toMatchObject({
      status: 400,
      detail: expect.stringContaining('no file in a field "source"'),
    })
    expect(await deploy(crew, Buffer.from('x'), 'text/plain')).toMatchObject({ status: 415 })
    expect(await deploy(crew, Buffer.alloc(0), 'application/zip')).toMatchObject({
      status: 400,
      detail: expect.stringContaining('is empty'),
    })
    const cut = Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="source"; filename="a"\r\n\r\nx',
    )
    expect(await deploy(crew, cut, 'multipart/form-data; boundary=b')).toMatchObject({
      status: 400,
    })
    const large = Buffer.alloc(64 * 1024 * 1024 + 1)
    expect(await deploy(crew, large, 'application/gzip')).toMatchObject({ status: 413 })
    const without = tarGz([{ path: 'pyproject.toml' }, { path: 'main.py' }])
    expect(await deploy(crew, without, 'application/gzip')).toMatchObject({
      status: 422,
      detail: expect.stringContaining('The project has no crew'),
    })
    const named = { method: 'PATCH', json: { entrypoint: 'main:run' } }
    expect((await call(`${crew}/settings`, named)).status).toBe(200)
    expect((await deploy(crew, without, 'application/gzip')).status).toBe(201)
  })

  it('rolls back, and deploys again', async () => {
    const crew = await create()
    const again = (json: unknown) => call(`${crew}/deployments`, { method: 'POST', json })
    expect(await again({})).toMatchObject({
      status: 409,
      detail: expect.stringContaining('Nothing is deployed'),
    })
    await deploy(crew, project('a'), 'application/gzip')
    await deploy(crew, project('b'), 'application/gzip')
    expect(await again({ roll_back_to: 1 })).toMatchObject({ number: 3, rolled_back_from: 1 })
    expect(await again({})).toMatchObject({ number: 4, rolled_back_from: null })
    expect((await again({ roll_back_to: 9 })).status).toBe(404)
    expect((await again({ roll_back_to: 'x' })).status).toBe(422)
  })

  it('keeps settings, and says which value is wrong', async () => {
    const crew = await create()
    const change = (json: unknown) => call(`${crew}/settings`, { method: 'PATCH', json })
    const good = {
      way: 'slim',
      python_version: '3.12',
      entrypoint: 'a.b:c',
      replicas: 2,
      cpu_limit: '500m',
      memory_limit: '1Gi',
      idle_minutes: 15,
      egress: ['api.example.com', '10.0.0.0/8', '*.internal.example', 'fd00::/8'],
    }
    expect(await change(good)).toMatchObject({ status: 200, settings: good })
    expect(await change({ replicas: 3 })).toMatchObject({ settings: { ...good, replicas: 3 } })
    for (const [wrong, problem] of [
      [{ way: 'vm' }, 'way must be one of process, slim, image, or null'],
      [{ replicas: 21 }, 'replicas must be a whole number from 0 to 20'],
      [{ cpu_limit: 'fast' }, 'cpu_limit must be processors such as 500m or 2, or null'],
      [{ memory_limit: '1 GB' }, 'memory_limit must be bytes such as 512Mi or 2Gi, or null'],
      [{ entrypoint: 'main.py' }, 'entrypoint must be module:name'],
      [{ egress: ['https://a.example'] }, 'must be a list of hosts such as api.example.com'],
      [{ python_version: '2.7' }, 'python_version must be one of 3.10'],
      [{ idle_minutes: 0 }, 'idle_minutes must be a whole number from 1 to 10080'],
      [{ color: 'red' }, 'color is not known'],
    ] as const) {
      const { status, document } = await change(wrong)
      expect([status, document['detail']]).toEqual([422, expect.stringContaining(problem)])
    }
  })

  it('takes no more than the operator allows, by the API and by the page', async () => {
    const crew = await create()
    const app = platform.appAt(BASE_URL, {
      CREW_CPU_MAX: '2',
      CREW_MEMORY_MAX: '4Gi',
      CREW_PRIVATE_RANGES: 'false',
      CREW_RANGES: '10.20.0.0/16',
      CREW_NAMESPACES: 'tools',
    })
    const patch = async (settings: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const request = { method: 'PATCH', headers, body: JSON.stringify(settings) }
      const response = await app.request(
        `${BASE_URL}/designer/v2/automations${crew}/settings`,
        request,
      )
      return [response.status, (await readObject(response))['detail']]
    }
    const allowed = 'and this platform allows 4Gi at the most'
    expect(await patch({ memory_limit: '5Gi' })).toEqual([422, expect.stringContaining(allowed)])
    expect(await patch({ cpu_request: '2500m' })).toEqual([
      422,
      expect.stringContaining('this platform allows 2 at the most'),
    ])
    expect((await patch({ cpu_limit: '2', memory_limit: '4Gi' }))[0]).toBe(200)
    for (const [entry, problem] of [
      ['169.254.169.254', '169.254.169.254 is not among the addresses that crews may reach'],
      ['10.96.0.0/12', 'the operator lists them in networkPolicy.crewRanges'],
      ['::ffff:10.0.0.1', '::ffff:10.0.0.1 is not among'],
      ['x.kube-system.svc', 'a Service of the namespace kube-system'],
    ]) {
      const list = { egress: ['api.example.com', entry] }
      expect(await patch(list)).toEqual([422, expect.stringContaining(problem ?? '')])
    }
    const open = ['internet', '0.0.0.0/0', '10.20.1.0/24', 'search.tools.svc']
    expect((await patch({ egress: open }))[0]).toBe(200)
    const ada = await platform.signIn(platform.acme)
    const form = { csrf_token: ada.csrfToken, replicas: '1', memory_limit: '4097Mi' }
    const response = await app.request(`${BASE_URL}/automations${crew}/crew-settings`, {
      method: 'POST',
      headers: { cookie: ada.cookie },
      body: new URLSearchParams(form),
    })
    expect(response.status).toBe(422)
    expect(await response.text()).toMatch(/id="memory_limit-problem">[^<]*allows 4Gi at the most/)
    const saved = { cpu_limit: '2', memory_limit: '4Gi' }
    expect(await call(crew)).toMatchObject({ settings: saved })
  })

  it('never shows a secret again', async () => {
    const crew = await create()
    const set = (name: string, json: unknown) =>
      call(`${crew}/variables/${name}`, { method: 'PUT', json })
    expect((await set('API_KEY', { value: 'very-secret', secret: true })).status).toBe(204)
    expect((await set('REGION', { value: 'north' })).status).toBe(204)
    const shown = await call(`${crew}/variables`)
    expect(shown.document['variables']).toMatchObject([
      { name: 'API_KEY', secret: true, value: null },
      { name: 'REGION', secret: false, value: 'north' },
    ])
    expect(await set('CREW_TOKEN', { value: 'x' })).toMatchObject({
      status: 422,
      detail: expect.stringContaining('the platform sets CREW_TOKEN itself'),
    })
    expect((await set('1A', { value: 'x' })).status).toBe(422)
    expect((await set('A', { value: 'x'.repeat(32_769) })).status).toBe(422)
    const remove = () => call(`${crew}/variables/REGION`, { method: 'DELETE' })
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 404])
    expect(JSON.stringify(platform.lines)).not.toContain('very-secret')
  })

  it('shows logs from where somebody has read them', async () => {
    const crew = await create()
    await deploy(crew, project(), 'application/gzip')
    const [{ id }] = await platform.sql<[{ id: number }]>`
      select max(id) as id from crew_deployments`
    await appendCrewLog(platform.sql, { crewDeploymentId: id, stream: 'build' }, 'Resolved\n')
    const log = `${crew}/deployments/1/logs`
    expect(await call(`${log}/build`)).toMatchObject({ text: 'Resolved\n', next: 1, is_cut: false })
    expect(await call(`${log}/build?from=1`)).toMatchObject({ text: '', next: 1 })
    expect((await call(`${log}/build?from=x`)).status).toBe(400)
    expect((await call(`${log}/other`)).status).toBe(404)
    expect((await call(`${crew}/deployments/2`)).status).toBe(404)
  })

  it('stops, starts, restarts and deletes', async () => {
    const crew = await create()
    const act = (action: string) => call(`${crew}/${action}`, { method: 'POST' })
    expect(await act('stop')).toMatchObject({ status: 202, stopped_at: expect.any(String) })
    expect(await act('start')).toMatchObject({ status: 202, stopped_at: null })
    expect((await act('restart')).status).toBe(202)
    const removed = await call(crew, { method: 'DELETE' })
    expect(removed).toMatchObject({ status: 202, removing_since: expect.any(String) })
    expect(await act('start')).toMatchObject({ status: 409 })
  })

  it('is for the own organization, and for automations that are made from sources', async () => {
    const crew = await create()
    expect((await call(crew, { as: rivalToken })).status).toBe(404)
    const upload = { method: 'POST', body: project(), type: 'application/gzip', as: rivalToken }
    expect((await call(`${crew}/deployments`, upload)).status).toBe(404)
    expect(await call(`/${platform.acme.research.automationId}/deployments`)).toMatchObject({
      status: 404,
      detail: expect.stringContaining('it is not made from a source'),
    })
    expect((await call('', { method: 'POST', json: { name: 'Crew 1' } })).status).toBe(409)
    expect((await call('', { method: 'POST', json: { name: ' ' } })).status).toBe(422)
  })
})
