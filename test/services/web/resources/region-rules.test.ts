import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkRegions } from '../../../../services/web/diagnostics/checks/designer/regions.ts'
import { definition } from '../../../support/crew.ts'
import { signInAs } from '../support/every-route.ts'
import { readObject } from '../support/platform.ts'
import { openPlatformWithConnections } from '../support/platform-with-connections.ts'
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
beforeEach(async () => {
  await platform.sql`update organizations set allowed_regions = '{}'`
  for (const table of ['llm_connections', 'oauth_connections', 'webhooks']) {
    await platform.sql`delete from ${platform.sql(table)}`
  }
})

type Answer = Record<string, unknown>

async function call(request: string, body?: object, bearer = token): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ')
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const sent = body ? JSON.stringify(body) : null
  const answer = await platform.app.request(`/designer/v2${path}`, { method, headers, body: sent })
  return { status: answer.status, ...(answer.status === 204 ? {} : await readObject(answer)) }
}

const ruleOf = ({ organizationId } = platform.acme) => `/region-rules/${organizationId}`
const allow = (...regions: readonly string[]) =>
  call(`PUT ${ruleOf()}`, { allowed_regions: regions })

const LLM = { name: 'Main', provider: 'openai', model: definition.llm.model }
const KEYED = { name: 'crm', provider: 'token', kind: 'static_token', token: 'k-1' }
const HOOK = { url: 'https://crm.example.com/hook?key=secret', event_types: ['*'] }
/** What has a region, as it is created. */
const PLACED: readonly (readonly [string, () => string, object])[] = [
  ['LLM connection', () => '/llm-connections', LLM],
  ['connection', () => '/connections', KEYED],
  ['webhook', () => `/automations/${platform.acme.research.automationId}/webhooks`, HOOK],
]

/** Makes a draft with these tools, and returns its path. */
async function draft(tools: object = {}, bearer = token): Promise<string> {
  const { id } = await call('POST /projects', { name: randomUUID() }, bearer)
  const [agent, ...agents] = definition.agents
  const crew = {
    ...definition,
    tools,
    agents: [{ ...agent, tools: Object.keys(tools) }, ...agents],
  }
  const made = await call(`POST /projects/${String(id)}/versions`, { definition: crew }, bearer)
  expect(made).toMatchObject({ status: 'draft' })
  return `/projects/${String(id)}/versions/1`
}

describe('a rule on regions', () => {
  it('is there, empty, for each organization, and changes by admins with an entry', async () => {
    const { region_rules: rows } = await call('GET /region-rules')
    const { organizationId: id } = platform.acme
    expect(rows).toMatchObject([{ id, name: 'regions', allowed_regions: [] }])
    expect(await allow('us-east', 'eu', 'eu')).toMatchObject({ allowed_regions: ['eu', 'us-east'] })
    expect((await platform.audit()).at(-1)).toMatchObject({
      action: 'region_rule_changed',
      organizationId: id,
      before: { allowed_regions: [] },
      after: { allowed_regions: ['eu', 'us-east'] },
    })
    expect(await allow()).toMatchObject({ allowed_regions: [] })
  })

  it.each(['EU', 'eu west', 'eu;drop', '', 'é', 'eu\u0000', 'a'.repeat(41), '<b>', '{eu}'])(
    'refuses the region %j',
    async (region) => {
      const refused = { status: region.includes('\0') ? 400 : 422 }
      expect(await allow(region)).toMatchObject(refused)
      for (const [, list, body] of PLACED) {
        const answer = await call(`POST ${list()}`, { ...body, region })
        expect(answer).toMatchObject(refused)
      }
    },
  )

  it('refuses more regions than may be, and is not changed by editors or by others', async () => {
    const many = Array.from({ length: 51 }, (_, index) => `r${index}`)
    expect(await allow(...many)).toMatchObject({ status: 422 })
    expect(await call(`PUT ${ruleOf()}`, { allowed_regions: ['eu'] }, rivals)).toMatchObject({
      status: 404,
    })
    const editor = await signInAs(platform, 'regions-editor', 'editor')
    const page = `/region-rules/${platform.acme.organizationId}`
    const changed = await platform.post(page, editor, { allowed_regions: 'eu' })
    expect(changed.status).toBe(403)
    const read = await platform.get(page, editor)
    expect(read.status).toBe(200)
    const rows = await platform.sql`select from organizations where allowed_regions <> '{}'`
    expect(rows).toHaveLength(0)
  })
})

describe('what is saved under a rule', () => {
  it.each(PLACED)(
    '%s: is refused outside and without a region, and names it',
    async (_, list, body) => {
      const made = await call(`POST ${list()}`, body)
      expect(made).toMatchObject({ region: null })
      const { id } = made
      await allow('eu', 'eu-west')
      for (const region of [null, 'us']) {
        const given = region === null ? 'None is given' : `Given: ${region}`
        const wanted = new RegExp(`region must be one of eu, eu-west, .*${given}`)
        for (const request of [`POST ${list()}`, `PUT ${list()}/${String(id)}`]) {
          const answer = await call(request, { ...body, region })
          expect(answer).toMatchObject({ status: 422 })
          expect(JSON.stringify(answer)).toMatch(wanted)
        }
        expect(await call(`POST ${list()}?dry_run=true`, { ...body, region })).toMatchObject({
          status: 422,
        })
      }
      const moved = await call(`PUT ${list()}/${String(id)}`, { ...body, region: 'eu' })
      expect(moved).toMatchObject({ region: 'eu' })
      await allow('us')
      expect(await call(`GET ${list()}/${String(id)}`)).toMatchObject({ region: 'eu' })
    },
  )

  it('holds the forms of connections, and links of the OAuth service, which say none', async () => {
    const user = await platform.signIn(platform.acme)
    await allow('eu')
    const fields = { provider: 'token', name: 'typed', token: 'k-1' }
    const refused = await platform.post('/connections', user, { ...fields, region: 'us' })
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('The region must be one of eu')
    const kept = await platform.post('/connections', user, { ...fields, region: 'eu' })
    expect(kept.status).toBe(303)
    const page = await platform.get(kept.headers.get('location') ?? '', user)
    expect(await page.text()).toMatch(/name="region"[^>]*value="eu"/)
    const hook = `/automations/${platform.acme.research.automationId}/webhooks`
    const typed = { url: HOOK.url, event: 'run_completed', format: 'standard' }
    expect((await platform.post(hook, user, typed)).status).toBe(422)
    expect((await platform.post(hook, user, { ...typed, region: 'eu' })).status).toBe(200)
  })
})

describe('publishing under a rule', () => {
  const TOOLS = {
    clock: { type: 'time' },
    pages: { type: 'fetch', allow: ['docs.example.com'] },
    search: { type: 'mcp', url: 'https://mcp.example.com/mcp', tools: ['find'], region: 'us' },
    crm: { type: 'mcp', url: 'https://crm.example.com/mcp', tools: ['find'], connection: 'crm' },
    lost: { type: 'mcp', url: 'https://lost.example.com/mcp', tools: ['find'], connection: 'lost' },
  }

  it('names all that is outside, by API and on the page, and asks no server before', async () => {
    await call('POST /connections', { ...KEYED, region: 'us' })
    const path = await draft(TOOLS)
    await allow('eu')
    const outside = [
      `the model ${definition.llm.model} has no LLM connection of an allowed region`,
      'the tool crm uses the connection crm, which is in us',
      'the tool lost uses the connection lost, which says no region',
      'the tool pages reads web pages, wherever they are',
      'the tool search is in us',
    ]
    const answer = await call(`POST ${path}/publish`)
    expect(answer).toMatchObject({
      status: 422,
      details: { allowed_regions: ['eu'], problems: outside },
    })
    const user = await platform.signIn(platform.acme)
    for (const way of ['/publish', '/publish/override']) {
      const page = await platform.post(path + way, user, { reason: 'It is urgent.' })
      expect(page.status).toBe(422)
      const text = await page.text()
      for (const each of outside) expect(text).toContain(each)
    }
    expect(await call(`GET ${path}`)).toMatchObject({ status: 'draft' })
  })

  it('publishes what is inside, with the connection inside of two for a model', async () => {
    await call('POST /llm-connections', { ...LLM, name: 'A first', region: 'us' })
    await call('POST /llm-connections', { ...LLM, name: 'B second', region: 'eu' })
    await allow('eu')
    const path = await draft({ clock: { type: 'time' } })
    expect(await call(`POST ${path}/publish`)).toMatchObject({ status: 'published' })
  })

  it('does not go back to a version that is outside', async () => {
    const { research } = platform.acme
    const [{ projectId }] = await platform.sql<[{ projectId: number }]>`
      select project_id from project_versions where id = ${research.projectVersionId}`
    await allow('eu')
    const answer = await call(`PUT /projects/${projectId}/release`, { version: 1, percent: 100 })
    expect(answer).toMatchObject({ status: 422 })
    expect(JSON.stringify(answer)).toContain('has no LLM connection of an allowed region')
  })

  it('holds one organization alone, and takes no region beside a connection', async () => {
    await allow('eu')
    const path = await draft({ pages: TOOLS.pages }, rivals)
    expect(await call(`POST ${path}/publish`, undefined, rivals)).toMatchObject({
      status: 'published',
    })
    await call('POST /llm-connections', { ...LLM, region: 'eu' }, rivals)
    await expect(draft({ crm: { ...TOOLS.crm, region: 'eu' } })).rejects.toThrow()
    const own = await draft()
    expect(await call(`POST ${own}/publish`)).toMatchObject({ status: 422 })
  })
})

describe('what is outside now', () => {
  const warned = async () => {
    const signal = new AbortController().signal
    return (await checkRegions({ signal, sql: platform.sql })).warnings
  }

  it('is listed on the page of the rule, and counted in the report', async () => {
    for (const [, list, body] of PLACED) await call(`POST ${list()}`, body)
    expect(await warned()).toBeUndefined()
    await allow('eu')
    const user = await platform.signIn(platform.acme)
    const page = await platform.get(`/region-rules/${platform.acme.organizationId}`, user)
    const text = await page.text()
    for (const each of ['Main', 'crm', 'https://crm.example.com', 'says no region']) {
      expect(text).toContain(each)
    }
    expect(text).not.toContain('key=secret')
    expect(text).toContain('acme research, version 1')
    expect(text).not.toContain('rival')
    const [warning] = (await warned()) ?? []
    expect(warning?.code).toBe('outside_of_regions')
    expect(warning?.message).toMatch(
      /acme \(1 of the webhooks, 1 of the LLM connections, 1 of the connections, \d+ of/,
    )
    expect(warning?.message).not.toContain('rival')
  })
})
