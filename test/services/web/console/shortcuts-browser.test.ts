import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible } from '../../../support/axe.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'
import { isLong } from '../../../support/long.ts'

describe.skipIf(hasNoBrowser)('the keys of the console', () => {
  let site: Console
  let page: Page

  beforeAll(async () => {
    site = await openConsole()
    page = await site.open(site.platform.acme, { viewport: { width: 1280, height: 900 } })
  })

  afterAll(() => site.close())

  it('open a palette that goes to pages, and finds automations by name', async () => {
    await page.goto(`${site.service.url}/`)
    await page.getByText('Ctrl K').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: 'Automations' }).waitFor()
    if (isLong) await expectAccessible(page)
    await page.keyboard.type('acme res')
    await page.getByRole('option', { name: 'acme research Automation' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'acme research' }).waitFor()
  })

  it('lead to pages and tabs, are listed, and can be switched off', async () => {
    // The script has run once it says its key.
    await page.getByText('Ctrl K').waitFor()
    await page.keyboard.press('4')
    await page.waitForURL('**/design')
    await page.getByText('Ctrl K').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await page.waitForURL('**/projects')
    await page.getByText('Ctrl K').waitFor()
    await page.keyboard.press('?')
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Keys without Ctrl or ⌘').uncheck()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.keyboard.press('?')
    expect(await page.locator('dialog[open]').count()).toBe(0)
    await page.getByTitle('Account and organization').click()
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    await page.getByLabel('Keys without Ctrl or ⌘').check()
    await page.getByRole('button', { name: 'Close' }).click()
  })

  it('say that nothing has the name, and look for it in runs', async () => {
    await page.goto(`${site.service.url}/`)
    await page.getByText('Ctrl K').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('whales & co')
    await page.getByText('Nothing has this name.').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/executions?text=whales%20%26%20co')
    expect(await page.getByRole('combobox', { name: 'Text' }).inputValue()).toBe('whales & co')
  })

  it('leave fields alone, and without a script the search is a page', async () => {
    await page.goto(`${site.service.url}/projects`)
    await page.getByLabel('Name').fill('')
    await page.getByLabel('Name').press('?')
    expect(await page.getByLabel('Name').inputValue()).toBe('?')
    const plain = await site.open(site.platform.acme, { javaScriptEnabled: false })
    await plain.goto(`${site.service.url}/`)
    await plain.getByRole('link', { name: 'Search', exact: true }).click()
    await plain.getByLabel('Name of an automation').fill('digest')
    await plain.getByRole('button', { name: 'Search' }).click()
    await plain.getByRole('link', { name: 'acme digest' }).click()
    expect(await plain.getByRole('heading', { level: 1 }).innerText()).toBe('acme digest')
  })
})
