import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../../services/platform/passwords.ts'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/serve.ts'
import { start } from '../../../services/web/start.ts'
import { expectCopyAccessible } from '../../support/axe.ts'
import { chromiumPath, launchBrowser } from '../../support/browser.ts'
import { freePort } from '../../support/free-port.ts'
import { createSigningKey, startKeyServer } from '../../support/key-server.ts'
import type { KeyServer } from '../../support/key-server.ts'
import { createWorld, environment } from './world.ts'
import type { World } from './world.ts'
import { mint } from './oauth-world.ts'

const PASSWORD = 'correct horse battery staple'
const chromium = chromiumPath()
if (!chromium) console.warn('browser tests skipped: no Chromium found; set CHROMIUM_PATH')

describe.skipIf(!chromium)('OAuth 2.0 for Automations in a browser without JavaScript', () => {
  const key = createSigningKey('2026-11')
  let world: World
  let service: Service
  let idp: KeyServer
  let browser: Browser

  beforeAll(async () => {
    world = await createWorld(await hashPassword(PASSWORD))
    idp = await startKeyServer([key])
    const port = String(await freePort())
    const log = createLog({ name: 'web', level: 'silent' })
    const env = {
      ...environment(world.url, `http://127.0.0.1:${port}`),
      PORT: port,
      AUTOMATION_OAUTH_PRIVATE_ORIGINS: idp.issuer,
    }
    service = await start(env, { log, lingerMs: 0 })
    browser = await launchBrowser(chromium ?? '')
  })

  afterAll(async () => {
    await browser.close()
    await service.stop()
    await idp.stop()
    await world.close()
  })

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${service.url}/settings`)
    await page.getByLabel('Email address').fill(world.acme.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  it('one tests a configuration, saves it, binds an automation, calls it, and has tokens explained', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await signIn(page)
    await page.getByRole('link', { name: 'Settings' }).first().click()
    expect(await page.getByLabel('Audiences').inputValue()).toBe(service.url)

    const accept = page.getByLabel('Accept access tokens from this authorization server')
    expect(await accept.isChecked()).toBe(false)
    await accept.check()
    await page.getByLabel('Issuer').fill(`${idp.issuer}/`)
    await page.getByRole('button', { name: 'Test configuration' }).click()
    const test = page.getByRole('region', { name: 'Test of the configuration' })
    expect(await test.innerText()).toContain('It names the issuer')
    await page.getByLabel('Issuer').fill(idp.issuer)
    await page.getByRole('button', { name: 'Test configuration' }).click()
    expect(await test.innerText()).toContain('1 of 1 signing keys fit')
    await expectCopyAccessible(page)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    expect(await page.getByRole('status').innerText()).toContain('saved')

    await page.getByRole('link', { name: 'Manage automations' }).click()
    await page.getByLabel('OAuth Client ID of acme research').fill('0oa1crm')
    await page.getByRole('button', { name: 'Save the client of acme research' }).click()
    const row = page.getByRole('row', { name: 'acme research' })
    expect(await row.innerText()).toContain('None yet')

    const { automationId } = world.acme.research
    const call = async (client: string) => {
      const token = mint({ key, idp }, { aud: service.url, cid: client })
      const url = `${service.url}/platform/api/v1/crew/${automationId}/inputs`
      return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status
    }
    expect(await call('0oa9other')).toBe(401)
    await page.reload()
    expect(await row.innerText()).toMatch(/0oa9other[\s\S]*No/)
    await page.getByLabel('OAuth Client ID of acme research').fill('0oa9other')
    await page.getByRole('button', { name: 'Save the client of acme research' }).click()
    expect(await row.innerText()).toMatch(/0oa9other[\s\S]*Yes/)
    expect(await call('0oa9other')).toBe(200)

    await page.getByRole('link', { name: 'OAuth 2.0 for Automations' }).click()
    const explain = page.getByRole('region', { name: 'Explain a token' })
    const paste = async (claims: Record<string, unknown>) => {
      await explain.getByLabel('Access token').fill(mint({ key, idp }, claims))
      await explain.getByRole('combobox', { name: 'Automation' }).selectOption('acme research')
      await explain.getByRole('button', { name: 'Explain' }).click()
      return explain.innerText()
    }
    expect(await paste({ aud: service.url, cid: '0oa9other' })).toContain('Accepted')
    const refused = await paste({
      iss: `${idp.issuer}/`,
      aud: 'account',
      cid: 'x',
      scp: ['openid'],
    })
    for (const reason of [
      'wrong_issuer',
      'wrong_audience',
      'client_mismatch',
      'insufficient_scope',
    ])
      expect(refused).toContain(reason)
    expect(refused).toContain('slash at the end')
    await expectCopyAccessible(page)
    expect(await explain.getByLabel('Access token').inputValue()).toBe('')

    await page.goto(`${service.url}/automations/${automationId}`)
    await page.getByText('OAuth with a private key, Node').click()
    expect(await page.getByLabel('OAuth with a private key, Node').innerText()).toContain(
      '0oa9other',
    )
    expect(complaints).toEqual([])
    await context.close()
  }, 60_000)

  it('no page is wider than a phone', async () => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 360, height: 760 },
    })
    const page = await context.newPage()
    await signIn(page)
    const paths = ['', '/clients'].map((path) => `/settings/organization/oauth${path}`)
    for (const path of [...paths, `/automations/${world.acme.research.automationId}`]) {
      await page.goto(service.url + path)
      const { width } = (await page.locator('html').boundingBox()) ?? { width: 0 }
      const content = await page.locator('main').evaluate((main) => main.scrollWidth)
      expect(Math.max(width, content)).toBeLessThanOrEqual(360)
    }
    await context.close()
  })
})
