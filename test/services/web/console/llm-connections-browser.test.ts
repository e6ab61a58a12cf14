import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'
import { isLong } from '../../../support/long.ts'

const KEY = 'sk-canary-0123456789abcdef'
describe.skipIf(hasNoBrowser)('LLM connections in a browser without JavaScript', () => {
  let site: Console

  beforeAll(async () => {
    site = await openConsole()
  })

  afterAll(() => site.close())

  const open = (viewport = { width: 1280, height: 900 }): Promise<Page> =>
    site.open(site.platform.acme, { javaScriptEnabled: false, viewport })

  it('one creates a connection, tests it, changes it, and deletes it', async () => {
    const page = await open()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(`${site.service.url}/`)
    await page.getByRole('link', { name: 'LLM connections' }).click()
    await page.getByLabel(/^Name/).fill('Vault of models')
    await page.getByLabel(/^Provider/).fill('openai_compatible')
    await page.getByLabel(/^Model/).fill('llama-3.3-70b')
    await page.getByLabel(/^Base URL/).fill('https://llm.example.com/v1')
    await page.getByLabel(/^API key/).fill(KEY)
    await page.getByRole('button', { name: 'Create' }).click()
    expect(await page.getByRole('status').innerText()).toContain('The connection is created.')
    expect(await page.content()).not.toContain('canary')
    expect(await page.getByLabel(/^API key/).inputValue()).toBe('')

    await page.getByRole('button', { name: 'Test the connection' }).click()
    const section = page.getByRole('region', { name: 'Test' })
    expect(await section.innerText()).toContain('The key of this connection.')
    expect(await section.innerText()).toContain('Not proven')

    await page.getByLabel(/^Base URL/).fill('https://other.example.com/v1')
    await page.getByRole('button', { name: 'Save' }).click()
    expect(await page.getByRole('status').innerText()).toContain('enter it again')

    await page.getByRole('link', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    expect(await page.getByRole('status').innerText()).toContain('The connection is deleted.')
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it.runIf(isLong)('nothing is wider than a small screen', async () => {
    const row = { organization_id: site.platform.acme.organizationId, name: 'n'.repeat(100) }
    const long = {
      provider: 'openai',
      model: 'm'.repeat(200),
      base_url: `https://${'x'.repeat(200)}.test`,
    }
    const [{ id }] = await site.platform.sql<[{ id: number }]>`
      insert into llm_connections ${site.platform.sql({ ...row, ...long })} returning id`
    const page = await open({ width: 360, height: 740 })
    for (const path of ['', `/${id}`]) {
      await page.goto(`${site.service.url}/llm-connections${path}`)
      const root = await page.locator('html').boundingBox()
      const widest = await page.locator('main').boundingBox()
      expect(widest?.width).toBeLessThanOrEqual(root?.width ?? 0)
    }
    await page.context().close()
  })
})
