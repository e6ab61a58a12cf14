import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '../../../../support/long.ts'
import { startMcpServer } from '../../../../support/mcp-server.ts'
import { fieldsOf } from '../../support/form-fields.ts'
import { askAs } from '../../support/forms.ts'
import { BASE_URL, openPlatform } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const TOOLS = Array.from({ length: isLong ? 5000 : 700 }, (_, index) => ({
  name: `tool_${String(index).padStart(4, '0')}`,
  description: index === 0 ? 'First <script>alert(1)</script>' : 'Another',
  inputSchema: { type: 'object' as const, properties: { q: { type: 'string' } } },
}))

const LAST = TOOLS.at(-1)?.name ?? ''

let platform: Platform
let server: Awaited<ReturnType<typeof startMcpServer>>
let ada: ReturnType<typeof askAs>
let project: string

beforeAll(async () => {
  platform = await openPlatform()
  server = await startMcpServer(TOOLS, { pageSize: 500 })
  const app = platform.appAt(BASE_URL, { TOOL_PRIVATE_ORIGINS: server.origin })
  ada = askAs(app, await platform.signIn(platform.acme))
  const response = await ada.post('/projects', { name: 'Offers' })
  project = response.headers.get('location') ?? ''
})

afterAll(async () => {
  await server.stop()
  await platform.close()
})

const definition = (tool: object) => ({
  name: 'Crew',
  llm: { model: 'm' },
  agents: [{ key: 'a', role: 'A', goal: 'g' }],
  tasks: [{ key: 't', agent: 'a', description: 'd', expected_output: 'e' }],
  tools: { mine: tool },
})

/** What the page without a script shows after its button was pressed. */
async function lookUp(tool: object, more: Record<string, string> = {}): Promise<string> {
  const base = JSON.stringify(definition(tool))
  const shown = await ada.post(`${project}/versions`, { act: 'show-text', definition: base })
  const fields = Object.fromEntries(fieldsOf(await shown.text()))
  const response = await ada.post(`${project}/versions`, {
    ...fields,
    base,
    act: 'look-up-tools.0',
    ...more,
  })
  expect(response.status).toBe(200)
  return response.text()
}

const mcp = (url: string, more: object = {}) => ({ type: 'mcp', url, tools: [], ...more })
const problemIn = (page: string): string =>
  /class="field-problem" role="alert">([^<]*)</.exec(page)?.[1] ?? ''

describe('what a tool offers', () => {
  it('is listed to tick without a script, as text alone, and bounded', async () => {
    const page = await lookUp(mcp(server.url, { tools: [LAST] }))
    expect(page).toContain('First &lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page.replace(/\s+/g, ' ')).toContain(
      `It offers ${TOOLS.length.toLocaleString('en')}; these are the first 300 by name.`,
    )
    const ticks = [...page.matchAll(/name="tools\.0\.ticked"\s+value="(\w+)"\s+(checked)?/g)]
    expect(ticks).toHaveLength(301)
    expect(ticks.filter(([, , checked]) => checked).map(([, name]) => name)).toEqual([LAST])
  })

  it('stays with the form until something else is looked up', async () => {
    const page = await lookUp(mcp(server.url))
    const sent = fieldsOf(page)
    sent.append('tools.0.ticked', 'tool_0007')
    const response = await ada.post(`${project}/versions`, {
      ...Object.fromEntries(sent),
      act: 'add-agents',
    })
    const after = await response.text()
    expect(after).toContain('<b class="mono">tool_0007</b> Another')
    expect(fieldsOf(after).get('definition')).toContain('"tool_0007"')
  })

  it('is not asked of addresses that no tool may use, and says why', async () => {
    for (const [url, problem] of [
      ['http://169.254.169.254/latest', /169\.254\.169\.254/],
      ['https://127.0.0.1:1/mcp', /127\.0\.0\.1/],
      ['ftp://files.example.com', /http/],
      ['', /empty|URL/],
    ] as const) {
      expect(problemIn(await lookUp(mcp(url)))).toMatch(problem)
    }
  })

  it('is not asked with the connection of another organization', async () => {
    const { sql, rival } = platform
    await sql`
      insert into oauth_connections (organization_id, provider, name)
      values (${rival.organizationId}, 'example', 'theirs')`
    const page = await lookUp(mcp(server.url, { connection: 'theirs' }))
    expect(problemIn(page)).toContain('there is no connection theirs')
    expect(problemIn(page)).toContain('There are none.')
  })

  it('says that a server is not there', async () => {
    const away = await startMcpServer([])
    await away.stop()
    expect(problemIn(await lookUp(mcp(away.url)))).toContain('127.0.0.1')
  })

  it('is what an automation takes, which is picked among those of the organization', async () => {
    const { sql, acme, rival } = platform
    await sql`update deployments set name = 'Research <b>' where id = ${acme.research.id}`
    await sql`update deployments set slug = 'theirs' where id = ${rival.digest.id}`
    const page = await lookUp({ type: 'automation', automation: acme.research.slug })
    const options = [...page.matchAll(/<option value="([\w-]+)"\s+(selected)?/g)]
    expect(options.map(([, slug, selected]) => [slug, selected])).toEqual(
      expect.arrayContaining([
        [acme.research.slug, 'selected'],
        [acme.digest.slug, undefined],
      ]),
    )
    expect(page).toContain(`Research &lt;b&gt; (${acme.research.slug})`)
    expect(page).toMatch(/<summary>Arguments<\/summary>\s*<pre[^>]*><code>\{[^<]*topic/)
    expect(page).not.toContain('theirs')
    const problem = problemIn(await lookUp({ type: 'automation', automation: 'theirs' }))
    expect(problem).toBe('there is no automation theirs in this organization')
    expect(problemIn(await lookUp({ type: 'automation', automation: '' }))).toMatch(/empty|slug/)
  })

  it('is not taken from a form that says nonsense of it', async () => {
    const page = await lookUp(mcp(server.url), {
      act: 'show-form',
      'tools.0.offered': '[{"name":7}]',
    })
    expect(page).not.toContain('tools.0.ticked')
    expect(
      (await ada.post(`${project}/versions`, { act: 'look-up-tools.99', base: '{}' })).status,
    ).toBe(200)
  })
})
