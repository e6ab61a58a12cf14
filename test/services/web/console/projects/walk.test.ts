import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startModel } from '../../../../../services/local/model.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { definition } from '../../../../support/crew.ts'
import { startMcpServer, textResult } from '../../../../support/mcp-server.ts'
import { asks, says } from '../../../crew/fake-model.ts'
import { askAs } from '../../support/forms.ts'
import { BASE_URL, readObject } from '../../support/platform.ts'
import { openRunningPlatform } from '../../support/running-platform.ts'

const log = createLog({ name: 'test', level: 'silent' })
const WEATHER = {
  name: 'weather',
  description: 'The weather of a place.',
  inputSchema: { type: 'object' as const, properties: { place: { type: 'string' } } },
}

let platform: Awaited<ReturnType<typeof openRunningPlatform>>
let ada: ReturnType<typeof askAs>
let mcp: Awaited<ReturnType<typeof startMcpServer>>

beforeAll(async () => {
  mcp = await startMcpServer([WEATHER], { answer: () => textResult('11 °C, and rain') })
  const origins = { TOOL_PRIVATE_ORIGINS: mcp.origin }
  platform = await openRunningPlatform(origins)
  const app = platform.appAt(BASE_URL, origins)
  ada = askAs(app, await platform.signIn(platform.acme))
  const demo = await startModel({ port: 0, log, latencyMs: 1 })
  platform.own(mcp)
  platform.own(demo)
  await platform.bringOnline('assistant', { OPENAI_BASE_URL: `${demo.url}/v1` })
})

afterAll(() => platform.close())

const createProject = async (name: string): Promise<string> =>
  (await ada.post('/projects', { name })).headers.get('location') ?? ''
const page = async (path: string): Promise<string> => (await ada.get(path)).text()

describe('from the designer to the run', () => {
  it('a version with a tool of an MCP server is published, run and seen by its steps', async () => {
    const project = await createProject('Weather')
    const crew = {
      ...definition,
      tools: { sky: { type: 'mcp', url: mcp.url, tools: ['weather'] } },
      agents: [{ key: 'reporter', role: 'Reporter', goal: 'Tell of {topic}', tools: ['sky'] }],
      tasks: [{ key: 'report', agent: 'reporter', description: 'Tell.', expected_output: 'Text' }],
    }
    await ada.post(`${project}/versions`, { definition: JSON.stringify(crew) })
    const published = await ada.post(`${project}/versions/1/publish`)
    expect(published.headers.get('location')).toContain('version-published')

    const [, automation = ''] = /href="(\/automations\/[\w-]{36})"/.exec(await page(project)) ?? []
    platform.model.play(asks(['weather', { place: 'Oslo' }]), says('Rain, at **11 °C**.'))
    const started = await ada.post(`${automation}/executions`, { 'input.topic': 'Oslo' })
    const run = started.headers.get('location') ?? ''
    await expect.poll(() => page(run)).toContain('data-say="Run completed"')

    expect(mcp.calls).toMatchObject([{ name: 'weather', arguments: { place: 'Oslo' } }])
    const shown = await page(run)
    expect(shown).toContain('Rain, at <strong>11 °C</strong>.')
    expect(namesOf(shown)).toEqual(['Crew', 'Task', 'LLM call', 'Tool call', 'LLM call'])
    expect(shown).toContain('<strong>weather</strong>')
    expect(shown).toContain('11 °C, and rain')
    expect(shown).not.toContain('Not finished')
    const token = await platform.issueToken(platform.acme)
    const id = run.split('/').at(-1)
    const steps = await platform.app.request(
      `${BASE_URL}/platform/api/v1/crew/${automation.split('/').at(-1)}/runs/${id}/steps`,
      { headers: { authorization: `Bearer ${token}` } },
    )
    expect(await readObject(steps)).toMatchObject({
      steps: [
        { kind: 'task', name: 'report', state: 'finished' },
        { kind: 'llm', state: 'finished' },
        { kind: 'tool', name: 'weather', state: 'finished' },
        { kind: 'llm', state: 'finished' },
      ],
    })
  })

  it('a version is drafted by the Assistant, accepted, published and run', async () => {
    const project = await createProject('Drafted')
    const asked = await ada.post(`${project}/proposals`, { request: 'A note about {topic}' })
    const proposal = asked.headers.get('location') ?? ''
    const proposed = 'data-say="The Assistant proposes a version"'
    await expect.poll(() => page(proposal)).toContain(proposed)
    expect(await page(proposal)).toContain('Drafted crew')
    await ada.post(`${proposal}/accept`)
    expect(await page(project)).not.toContain('/automations/')
    await ada.post(`${project}/versions/1/publish`)
    const [, automation = ''] = /href="(\/automations\/[\w-]{36})"/.exec(await page(project)) ?? []
    platform.model.play(says('A note.'))
    const started = await ada.post(`${automation}/executions`, { 'input.topic': 'tides' })
    const run = started.headers.get('location') ?? ''
    await expect.poll(() => page(run)).toContain('data-say="Run completed"')
    expect(await page(run)).toContain('A note.')
  })
})

describe('a test of a draft', () => {
  const versionOf = (project: string) => `${project}/versions/1`
  const sendDraft = (path: string, goal: string) =>
    ada.post(path, { definition: JSON.stringify({ ...definition, name: goal }) })

  it('runs the text of then, beside the editor, and callers do not reach it', async () => {
    const { sql, acme } = platform
    const project = await createProject('Tested')
    await sendDraft(`${project}/versions`, 'First')
    const version = versionOf(project)
    expect(await page(version)).toContain('Test the draft')
    platform.model.play(...definition.tasks.map(() => says('A **draft** speaks.')))
    const started = await ada.post(`${version}/tests`, { 'input.topic': 'Oslo' })
    expect(started.headers.get('location')).toBe(`${version}#test`)
    const [, run = ''] = /data-live="([^"]*)\/live"/.exec(await page(version)) ?? []
    await sendDraft(version, 'Second')
    await expect.poll(() => page(run)).toContain('data-say="Run completed"')
    const shown = await page(run)
    expect(shown).toContain('<strong>draft</strong>')
    expect(shown).toMatch(/>Test<\/span>[\s\S]*Test the draft again/)
    expect(shown).toContain(`href="${version}">Version 1</a>`)
    expect(shown).not.toMatch(/Run again|Run with curl|Continue from a step/)
    expect(await page('/executions')).toMatch(/Tested<\/a>[\s\S]{0,40}>Test</)
    // The budgets of an organization hold for all of its runs.
    const id = run.split('/').at(-1) ?? ''
    const [found] = await sql`select organization_id from executions where id = ${id}`
    expect(found).toEqual({ organizationId: acme.organizationId })

    const automation = run.replace(/\/executions.*/, '')
    for (const path of ['', '/integrate', '/static-tokens']) {
      expect((await ada.get(automation + path)).status).toBe(404)
    }
    expect((await ada.post(`${run}/again`)).status).toBe(409)
    expect((await ada.get(`${run}/continue`)).status).toBe(409)
    expect(await page('/automations')).not.toContain('Tested')
    expect(await page(project)).not.toContain('/automations/')
    const token = await platform.issueToken(acme)
    const api = `${BASE_URL}/platform/api/v1/crew/${automation.split('/').at(-1)}/kickoff`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ inputs: { topic: 'Oslo' } })
    const called = await platform.app.request(api, { method: 'POST', headers, body })
    expect(called.status).toBe(401)
  })

  it('keeps the same text once, and goes with its project', async () => {
    const { sql } = platform
    const project = await createProject('Tried')
    const version = versionOf(project)
    await sendDraft(`${project}/versions`, 'First')
    const test = () => ada.post(`${version}/tests`, { 'input.topic': 'x' })
    const stop = () => sql`update executions set status = 'stopped', finished_at = now(),
      lease_id = null, lease_expires_at = null where finished_at is null`
    const id = Number(project.split('/').at(-1))
    const copies = () =>
      sql`select from project_versions where project_id = ${id} and number is null`
    for (const goal of ['First', 'First', 'Second']) {
      await sendDraft(version, goal)
      expect((await test()).status).toBe(303)
    }
    expect((await copies()).count).toBe(2)
    await stop()
    expect((await ada.post(`${project}/delete`)).headers.get('location')).toContain('deleted')
    expect((await copies()).count).toBe(0)
  })

  it('says what it lacks, and is not for a published version', async () => {
    const project = await createProject('Refused')
    const version = versionOf(project)
    await sendDraft(`${project}/versions`, 'First')
    const refused = await ada.post(`${version}/tests`)
    expect(refused.status).toBe(422)
    expect(await refused.text()).toMatch(/role="alert"[\s\S]*topic/)
    await ada.post(`${version}/publish`)
    expect((await ada.post(`${version}/tests`, { 'input.topic': 'x' })).status).toBe(409)
    expect(await page(version)).not.toContain('Test the draft')
  })
})

/** The names of the steps on the page of a run, in the order of the tree. */
const namesOf = (shown: string): string[] =>
  [...shown.matchAll(/<span class="span-name[^>]*>[^]*?<\/svg>([^<]*)<\/span>/g)].map(
    ([, name = '']) => name,
  )
