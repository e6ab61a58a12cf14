import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../../services/platform/passwords.ts'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/serve.ts'
import { start } from '../../../services/web/start.ts'
import { chromiumPath, launchBrowser } from '../../support/browser.ts'
import { freePort } from '../../support/free-port.ts'
import { createWorld, environment } from './world.ts'
import type { World } from './world.ts'

const PASSWORD = 'correct horse battery staple'
const chromium = chromiumPath()
if (!chromium) console.warn('browser tests skipped: no Chromium found; set CHROMIUM_PATH')

describe.skipIf(!chromium)('in a browser without JavaScript', () => {
  let world: World
  let service: Service
  let browser: Browser

  beforeAll(async () => {
    world = await createWorld(await hashPassword(PASSWORD))
    const port = String(await freePort())
    const log = createLog({ name: 'web', level: 'silent' })
    const env = { ...environment(world.url, `http://127.0.0.1:${port}`), PORT: port }
    service = await start(env, { log, lingerMs: 0 })
    browser = await launchBrowser(chromium ?? '')
  })

  afterAll(async () => {
    await browser.close()
    await service.stop()
    await world.close()
  })

  it('one signs in, issues a token, sees it once, uses it, revokes it and signs out', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    const automation = `${service.url}/automations/${world.acme.research.automationId}`

    await page.goto(automation)
    await page.getByLabel('Email address').fill(world.acme.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(page.url()).toBe(automation)

    await page.getByLabel('New token').fill('CRM')
    await page.getByRole('button', { name: 'Issue token' }).click()
    const token = await page.getByLabel('Token', { exact: true }).innerText()
    expect(token).toMatch(/^pat_[\w-]{43}$/)
    const api = `${service.url}/platform/api/v1/crew/${world.acme.research.automationId}/inputs`
    const call = () => fetch(api, { headers: { authorization: `Bearer ${token}` } })
    expect((await call()).status).toBe(200)

    await page.getByRole('link', { name: 'I have copied it' }).click()
    expect(await page.content()).not.toContain(token)
    expect(await page.getByRole('row', { name: 'CRM' }).innerText()).toContain(token.slice(-4))
    await page.getByRole('link', { name: 'Revoke CRM' }).click()
    expect(await page.getByRole('heading').innerText()).toBe('Revoke the token CRM?')
    await page.getByRole('button', { name: 'Revoke' }).click()
    expect(await page.getByRole('status').innerText()).toContain('The token is revoked.')
    expect((await call()).status).toBe(401)

    await page.getByLabel('topic').fill('whales')
    await page.getByRole('button', { name: 'Start' }).click()
    expect(page.url()).toMatch(/executions\/[0-9a-f-]{36}$/)
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toMatch(/^Execution/)

    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(page.url()).toBe(`${service.url}/sign-in`)
    await page.goto(automation)
    expect(page.url()).toContain('/sign-in?next=')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('nothing is wider than a small screen, in the light and in the dark', async () => {
    const { token } = await world.signIn(world.acme)
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width: 360, height: 740 }
      const context = await browser.newContext({ colorScheme, viewport })
      await context.addCookies([{ name: 'platform_session', value: token, url: service.url }])
      const page = await context.newPage()
      const automation = `/automations/${world.acme.research.automationId}`
      for (const path of ['/', '/automations', automation, '/nothing']) {
        await page.goto(service.url + path)
        const root = 'document.documentElement'
        expect(await page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`)).toBe(0)
      }
      await context.close()
    }
  })
})
