import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ensureUser, grantRole } from '../../../../services/platform/people/users.ts'
import { expectCopyAccessible } from '../../../support/axe.ts'
import { chromiumPath, launchBrowser } from '../../../../scripts/pictures/browser.ts'
import { freePort } from '../../../support/free-port.ts'
import { cheapHash } from '../support/platform.ts'
import { serveWeb } from './support/web.ts'
import type { Web, WebOptions } from './support/web.ts'
import { closed } from './support/faults.ts'
import { startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'
import { isLong } from '../../../support/long.ts'

const PASSWORD = 'correct horse battery staple'
const EMAIL = 'ada@acme.test'
/** A busy machine is no failure of a component. */
const PATIENT = { abortMs: 20_000, checkMs: 25_000, totalMs: 30_000 }
const chromium = chromiumPath()
if (!chromium) console.warn('browser tests skipped: no Chromium found; set CHROMIUM_PATH')

describe.skipIf(!chromium)('the health page in a browser without JavaScript (SPEC 4.3)', () => {
  let dependencies: Dependencies
  let browser: Browser
  let web: Web | undefined

  beforeAll(async () => {
    dependencies = await startDependencies()
    const { sql, organizationId } = dependencies
    const passwordHash = cheapHash(PASSWORD)
    const user = { organizationId, email: EMAIL, name: 'Ada Park', passwordHash }
    await grantRole(sql, await ensureUser(sql, user), 'platform-admin')
    browser = await launchBrowser(chromium ?? '')
  })

  afterEach(async () => {
    await web?.close()
    web = undefined
  })

  afterAll(async () => {
    await browser.close()
    await dependencies.stop()
  })

  /** The health page of a service, after the sign-in that leads to it through the dashboard. */
  async function open(change: Partial<WebOptions> = {}, viewport = { width: 1280, height: 900 }) {
    const port = await freePort()
    const env = { ...change.env, PLATFORM_BASE_URL: `http://127.0.0.1:${port}` }
    const diagnostics = { limits: PATIENT, ...change.diagnostics }
    web = await serveWeb({ ...dependencies.options({ ...change, env, diagnostics }), port })
    const context = await browser.newContext({ javaScriptEnabled: false, viewport })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(web.url)
    await page.getByText('Use a password instead').click()
    await page.getByLabel('Email address').fill(EMAIL)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Platform health' }).click()
    return { page, complaints }
  }

  const pillOf = (page: Page, title: string) =>
    page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title }) })

  it('shows that everything is well, and gives the report as a file', async () => {
    const { page, complaints } = await open()
    await page.getByRole('heading', { name: 'Everything that is configured works' }).waitFor()
    for (const title of ['Database', 'Designer', 'Identity provider', 'Platform pods']) {
      expect(await pillOf(page, title).innerText()).toContain('OK')
    }
    expect(await page.getByRole('row', { name: /acme-worker/ }).innerText()).toMatch(/ready/i)
    expect(await page.getByText(/^Checking \d+ components$/).isVisible()).toBe(false)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download JSON' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^platform-health-web-1-.*\.json$/)
    const report: unknown = JSON.parse(await readFile(await download.path(), 'utf8'))
    expect(report).toMatchObject({ status: 'ok' })
    await page.getByRole('link', { name: 'Run again' }).click()
    await page.getByRole('heading', { name: 'Everything that is configured works' }).waitFor()
    expect(await page.getByRole('table', { name: 'Last runs' }).getByRole('row').count()).toBe(3)
    expect(complaints).toEqual([])
    if (isLong) await expectCopyAccessible(page)
  }, 180_000)

  it('shows what failed and what to do about it', async () => {
    const { url } = await closed()
    const { page, complaints } = await open({
      env: { COLLECTOR_URL: url, PLATFORM_OAUTH_API_KEY: '' },
    })
    await page.getByRole('heading', { name: 'The platform works, but not all of it' }).waitFor()
    const failure = page.getByRole('region', { name: 'Trace collector' })
    expect(await failure.innerText()).toMatch(/ECONNREFUSED[^]*What to do[^]*Check COLLECTOR_URL/)
    expect(await page.getByRole('region', { name: 'OAuth integration' }).innerText()).toContain(
      'PLATFORM_OAUTH_API_KEY is not set on this pod',
    )
    expect(complaints).toEqual([])
    await expectCopyAccessible(page)
  }, 180_000)

  it.runIf(isLong)(
    'leads to the dashboard where the provider has no report, and says so there',
    async () => {
      const { page } = await open({ env: { PLATFORM_PROVIDER: 'serverless' } })
      expect(new URL(page.url()).pathname).toBe('/')
      expect(await page.getByRole('status').innerText()).toContain('on Kubernetes only')
    },
  )

  it.runIf(isLong)('fits a small screen, in the light and in the dark', async () => {
    const { url } = await closed()
    const small = { width: 360, height: 740 }
    const { page } = await open({ env: { COLLECTOR_URL: url } }, small)
    await page.getByRole('heading', { name: 'Last runs' }).waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const { width } = (await page.locator('html').boundingBox()) ?? { width: 0 }
      const main = await page.locator('main').evaluate((element) => element.scrollWidth)
      expect(width).toBe(small.width)
      expect(main).toBeLessThanOrEqual(small.width)
    }
  })
})
