import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProject } from '../../../../../services/platform/projects/projects.ts'
import { expectAccessible } from '../../../../support/axe.ts'
import { hasNoBrowser, openConsole } from '../../support/console.ts'
import type { Console } from '../../support/console.ts'

describe.skipIf(hasNoBrowser)('the editor of a version in a browser', () => {
  let site: Console
  let page: Page

  beforeAll(async () => {
    site = await openConsole()
    const { organizationId } = site.platform.acme
    const { id } = await createProject(site.platform.sql, { organizationId, name: 'Edited' })
    page = await site.open(site.platform.acme, { viewport: { width: 1280, height: 900 } })
    await page.goto(`${site.service.url}/projects/${id}/new-version`)
    // The script has run once it offers to open a file.
    await page.getByText('Open a file').waitFor()
  })

  afterAll(() => site.close())

  const text = () => page.getByLabel('Definition (JSON)')

  it('shows on each side what is typed on the other, and what is wrong', async () => {
    await page.getByLabel('Role').fill('')
    await page.getByText('agents[0].role: must not be empty').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Role').fill('Poet')
    await page.getByText('Valid', { exact: true }).waitFor()
    const given = JSON.parse(await text().inputValue())
    expect(given.agents[0].role).toBe('Poet')
    await text().fill(JSON.stringify({ ...given, llm: { model: 'from-the-text' } }))
    await page.locator('[name="llm.model"][value="from-the-text"]').waitFor()
  })

  it('adds and removes entries in place, and saves the draft', async () => {
    await page.getByRole('button', { name: 'Add an agent' }).click()
    await page.locator('[name="agents.1.role"]:focus').waitFor()
    await page.getByRole('button', { name: 'Remove New agent' }).click()
    await page.locator('[name="agents.1.role"]').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('[name="agents.1.role"]').waitFor({ state: 'attached' })
    await page.locator('[data-fold="agents.1"] > summary').click()
    await page.getByRole('button', { name: 'Remove New agent' }).click()
    await page.locator('[name="agents.1.role"]').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Add the draft', exact: true }).click()
    await page.getByText('The draft is added.').waitFor()
    expect(await page.locator('[name="llm.model"]').inputValue()).toBe('from-the-text')
  })
})
