import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { chromiumPath, launchBrowser } from './browser.ts'
import { fillPlatform, MODEL_WITHOUT_KEY } from './fill-platform.ts'
import type { LocalPlatform } from './start-platform.ts'

const VIEWPORT = { width: 1280, height: 880 }

/** Writes `dashboard.png`, `platform-health.png` and `trace.png` into `directory`. */
export async function takePictures(platform: LocalPlatform, directory: string): Promise<void> {
  const executablePath = chromiumPath()
  if (!executablePath) throw new Error('no Chromium found; set CHROMIUM_PATH')
  const browser = await launchBrowser(executablePath)
  try {
    const page = await browser.newPage({ baseURL: platform.url, viewport: VIEWPORT })
    await signIn(page, platform)
    await addConnectionWithoutKey(page)
    await fillPlatform(platform)
    await page.goto('/')
    await page.screenshot({ path: join(directory, 'dashboard.png') })
    await page.goto('/admin/platform_health')
    await page.locator('.probe-report').first().waitFor()
    await page.screenshot({ path: join(directory, 'platform-health.png') })
    await openTrace(page)
    await page.screenshot({ path: join(directory, 'trace.png') })
  } finally {
    await browser.close()
  }
}

/** A trace with a conversation, at the call of a model. */
async function openTrace(page: Page): Promise<void> {
  await page.goto('/traces?crew=&model=gpt-4o-mini')
  await page.locator('table.list .lead a').last().click()
  await page.locator('.tree-row', { hasText: 'chat' }).first().click()
  await page.locator('.trace-span h2', { hasText: 'chat' }).waitFor()
}

async function signIn(page: Page, { email, password }: LocalPlatform): Promise<void> {
  await page.goto('/')
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', password)
  await page.press('[name=password]', 'Enter')
  await page.getByRole('heading', { name: 'Dashboard' }).waitFor()
}

/** Makes a run fail, and the health page show a failure with its remedy. */
async function addConnectionWithoutKey(page: Page): Promise<void> {
  await page.goto('/llm-connections')
  await page.fill('[name=name]', 'Claude')
  await page.fill('[name=provider]', 'anthropic')
  await page.fill('[name=model]', MODEL_WITHOUT_KEY)
  await page.press('[name=model]', 'Enter')
  await page.getByRole('heading', { name: 'Claude' }).waitFor()
}
