import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProject } from '../../../../../services/platform/projects/projects.ts'
import { expectAccessible } from '../../../../support/axe.ts'
import { startHttpServer } from '../../../../support/http-server.ts'
import { startMcpServer } from '../../../../support/mcp-server.ts'
import { hasNoBrowser, openConsole } from '../../support/console.ts'
import type { Console } from '../../support/console.ts'

const input = (name: string) => ({
  type: 'object' as const,
  properties: { [name]: { type: 'string' } },
})
const TOOLS = [
  { name: 'search_tickets', description: 'Finds tickets by words.', inputSchema: input('words') },
  { name: 'delete_ticket', description: 'Deletes a ticket for good.', inputSchema: input('id') },
]
const API = {
  openapi: '3.1.0',
  info: { title: 'Stock', version: '1' },
  servers: [{ url: '/' }],
  paths: {
    '/stock/{sku}': {
      get: {
        operationId: 'getStock',
        summary: 'How many there are.',
        parameters: [{ name: 'sku', in: 'path', required: true, schema: { type: 'string' } }],
        responses: {},
      },
    },
    '/stock': { put: { operationId: 'orderMore', responses: {} } },
  },
}

describe.skipIf(hasNoBrowser)('a crew that is designed by clicks', () => {
  let site: Console
  let page: Page
  let tickets: Awaited<ReturnType<typeof startMcpServer>>
  let stock: Awaited<ReturnType<typeof startHttpServer>>
  const done = { clicks: 0, fields: 0 }

  beforeAll(async () => {
    tickets = await startMcpServer(TOOLS)
    stock = await startHttpServer((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(API)),
    )
    const variables = { TOOL_PRIVATE_ORIGINS: `${tickets.origin},${stock.url}` }
    site = await openConsole({ variables })
    const { organizationId } = site.platform.acme
    const { id } = await createProject(site.platform.sql, { organizationId, name: 'Support' })
    page = await site.open(site.platform.acme, { viewport: { width: 1440, height: 900 } })
    await page.goto(`${site.service.url}/projects/${id}/new-version`)
    await page.getByText('Open a file').waitFor()
  })

  afterAll(async () => {
    await site.close()
    await tickets.stop()
    await stock.stop()
  })

  const fill = async (name: string, value: string): Promise<void> => {
    done.fields += 1
    await page.locator(`[name="${name}"]`).fill(value)
  }
  /** Clicks, and waits for the answer of the editor if the form is changed by it. */
  const click = async (name: string | RegExp, role: 'button' | 'checkbox' | 'radio' = 'button') => {
    done.clicks += 1
    await page
      .locator('.editor-form')
      .getByRole(role, { name })
      .filter({ visible: true })
      .first()
      .click()
  }
  const open = async (fold: string): Promise<void> => {
    done.clicks += 1
    await page.locator(`[data-fold="${fold}"] > summary`).click()
  }

  it('takes 16 fields and 20 clicks at most, with tools of two kinds', async () => {
    await fill('agents.0.role', 'Researcher')
    await fill('agents.0.goal', 'Find out what {customer} asked')
    await click('Add an agent')
    await fill('agents.1.role', 'Writer')
    await fill('agents.1.goal', 'Answer {customer} kindly')
    await click('Add: MCP server')
    await fill('tools.0.url', tickets.url)
    await click(/^Show what it offers/)
    await page.getByText('Finds tickets by words.').waitFor()
    await click(/search_tickets/, 'checkbox')
    await expectAccessible(page)
    await click('Add: OpenAPI document')
    await fill('tools.1.openapi_url', stock.url)
    await click(/^Show what it offers/)
    await page.getByText('How many there are.').waitFor()
    await click(/getStock/, 'checkbox')
    await open('agents.0')
    await click('mcp', 'checkbox')
    await open('agents.1')
    await click('http', 'checkbox')
    await open('tasks.0')
    await fill('tasks.0.description', 'Look up tickets of {customer}')
    await fill('tasks.0.expected_output', 'A list of tickets')
    await click('Add a task')
    await fill('tasks.1.description', 'Check the stock of what is asked for')
    await fill('tasks.1.expected_output', 'A table')
    await click('editor', 'radio')
    await click('Add a task')
    await fill('tasks.2.description', 'Write the answer')
    await fill('tasks.2.expected_output', 'A letter')
    await click('writer', 'radio')
    await page.getByText('Valid', { exact: true }).waitFor()
    await click('Add the draft')
    await page.getByText('The draft is added.').waitFor()
    expect(done).toEqual({
      fields: expect.toSatisfy((n: number) => n <= 16),
      clicks: expect.toSatisfy((n: number) => n <= 20),
    })
    const saved = JSON.parse(await page.getByLabel('Definition (JSON)').inputValue())
    expect(saved).toMatchObject({
      agents: [
        { key: 'editor', role: 'Researcher', tools: ['mcp'] },
        { key: 'writer', role: 'Writer', tools: ['http'] },
      ],
      tasks: [
        { agent: 'editor', description: 'Look up tickets of {customer}' },
        { key: 'check_the_stock', agent: 'editor' },
        { key: 'write_the_answer', agent: 'writer' },
      ],
      tools: {
        mcp: { type: 'mcp', url: tickets.url, tools: ['search_tickets'] },
        http: { type: 'http', openapi_url: stock.url, operations: ['getStock'] },
      },
    })
  })
})
