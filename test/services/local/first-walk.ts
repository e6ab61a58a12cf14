import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { chromiumPath, launchBrowser } from '../../../scripts/pictures/browser.ts'
import type { Summary } from '../../../services/local/summary.ts'

/**
 * Walks through a fresh platform as somebody who has only what the terminal printed: designs a
 * crew, tests, publishes and runs it, and reads its trace. Nothing but clicks and typing into
 * fields; without a Chromium it does nothing.
 */
export async function walkAsFirstTimeUser(summary: Summary): Promise<void> {
  const chromium = chromiumPath()
  if (!chromium) return console.warn('the walk was skipped: no Chromium found; set CHROMIUM_PATH')
  const browser = await launchBrowser(chromium)
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(summary.web_url)
    await page.getByLabel('Email address').fill(summary.admin_email)
    await page.getByLabel('Password').fill(summary.admin_password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await designAndTest(page)
    await runAndReadTrace(page)
    expect(complaints).toEqual([])
  } finally {
    await browser.close()
  }
}

async function designAndTest(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'New automation' }).click()
  await page.getByRole('textbox', { name: 'Name' }).first().fill('Tide letter')
  await page.getByRole('button', { name: 'Design a crew' }).click()
  await page.getByRole('link', { name: 'Begin with an example' }).click()
  await page.getByRole('button', { name: 'Add the draft', exact: true }).click()
  await page.getByText('Open a file').waitFor()
  await page.getByLabel('Role').fill('Harbour master')
  await page.getByRole('textbox', { name: 'topic' }).fill('spring tides')
  await page.getByRole('button', { name: 'Test the draft' }).click()
  const test = page.getByRole('region', { name: 'Test' })
  await test.getByText('Completed', { exact: true }).waitFor()
  expect(await test.getByRole('region', { name: 'Output' }).innerText()).toContain('spring tides')
  await test.getByText('LLM call').waitFor()
  // What was typed is saved before it is tested.
  expect(await page.getByLabel('Role').inputValue()).toBe('Harbour master')
}

/** Makes a call of the run once more, by the connection that the platform begins with. */
async function tryAgain(page: Page): Promise<void> {
  const run = page.url()
  await page.getByRole('link', { name: 'Try this call again' }).first().click()
  await page.getByText('your organization has none for').waitFor()
  await page.getByLabel('Model').fill('demo')
  await page.getByRole('button', { name: 'Send it' }).click()
  const answer = page.getByRole('region', { name: 'New answer' })
  expect(await answer.innerText()).toContain('neap tides')
  await page.goto(run)
}

async function runAndReadTrace(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Publish' }).click()
  await page.getByRole('button', { name: 'Publish' }).click()
  await page.getByRole('link', { name: 'Run', exact: true }).click()
  await page.getByRole('textbox', { name: 'topic' }).fill('neap tides')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('button', { name: 'Run again' }).waitFor()
  expect(await page.getByRole('region', { name: 'Output' }).innerText()).toContain('neap tides')
  await tryAgain(page)
  await page.getByRole('link', { name: 'Trace', exact: true }).click()
  // The collector has what it acknowledged; the last spans may be on their way.
  const call = page.locator('.tree-row', { hasText: 'chat' }).first()
  const look = async (): Promise<boolean> => {
    if (await call.isVisible()) return true
    await page.reload()
    return call.isVisible()
  }
  await expect.poll(look).toBe(true)
  await call.click()
  await page.locator('.trace-span').getByText('Harbour master').first().waitFor()
}
