import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/serve.ts'
import { start } from '../../../services/web/start.ts'
import { expectAccessible } from '../../support/axe.ts'
import { chromiumPath, launchBrowser } from '../../support/browser.ts'
import { freePort } from '../../support/free-port.ts'
import { pathsOf, seedSettings, startRuns } from './support/console-states.ts'
import { createWorld, environment } from './world.ts'
import type { Tenant, World } from './world.ts'

const chromium = chromiumPath()
if (!chromium) console.warn('browser tests skipped: no Chromium found; set CHROMIUM_PATH')

describe.skipIf(!chromium)('every page, held against the rules of accessibility', () => {
  let world: World
  let service: Service
  let browser: Browser

  beforeAll(async () => {
    world = await createWorld()
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

  async function open(tenant: Pick<Tenant, 'userId'> | undefined): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
    if (tenant) {
      const { token } = await world.signIn({ ...world.acme, ...tenant })
      await context.addCookies([{ name: 'platform_session', value: token, url: service.url }])
    }
    return context.newPage()
  }

  it('breaks none with an organization that uses all of it, with folds closed and open', async () => {
    const runs = await startRuns(world)
    const ids = await seedSettings(world)
    const page = await open(world.acme)
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    for (const [, path] of pathsOf(world, runs, ids)) {
      await page.goto(service.url + path)
      await page.evaluate(
        "document.querySelectorAll('details').forEach((fold) => (fold.open = true))",
      )
      await expectAccessible(page)
    }
    expect(complaints.filter((each) => !/404|^\[DOM\]/.test(each))).toEqual([])
    await page.context().close()
  }, 180_000)

  it('breaks none with forms that were answered', async () => {
    const page = await open(world.acme)
    const automation = `${service.url}/automations/${world.acme.digest.automationId}`
    await page.goto(automation)
    await page.getByLabel('New token').fill('CRM')
    await page.getByRole('button', { name: 'Issue token' }).click()
    await page.getByRole('heading', { name: 'Your new token' }).waitFor()
    await expectAccessible(page)
    await page.goto(automation)
    await page.getByLabel('Runs at a time').fill('many')
    await page.getByRole('button', { name: 'Save the limit' }).click()
    await page.getByRole('alert').waitFor()
    await expectAccessible(page)
    await page.goto(`${service.url}/llm-connections`)
    await page.getByRole('link', { name: 'Own models' }).click()
    await page.getByRole('button', { name: 'Test the connection' }).click()
    await page.getByRole('button', { name: 'Test again' }).waitFor()
    await expectAccessible(page)
    await page.goto(automation)
    await page.evaluate(
      "document.querySelectorAll('[name=csrf_token]').forEach((each) => { each.value = '' })",
    )
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('heading', { name: 'This form has expired' }).waitFor()
    await expectAccessible(page)
    await world.sql`alter table llm_connections rename to gone`
    await page.goto(`${service.url}/llm-connections`)
    await page.getByRole('heading', { name: 'Something went wrong' }).waitFor()
    await expectAccessible(page)
    await world.sql`alter table gone rename to llm_connections`
    await page.context().close()
  }, 60_000)

  it('breaks none for those who have nothing yet, and for those who are not signed in', async () => {
    const [{ id }] = await world.sql<[{ id: number }]>`
      insert into organizations (name) values ('empty') returning id`
    const [{ id: userId }] = await world.sql<[{ id: number }]>`
      insert into users (organization_id, email, name) values (${id}, 'e@empty.test', 'E') returning id`
    const page = await open({ userId })
    const paths = [
      '/',
      '/automations',
      '/executions',
      '/llm-connections',
      '/settings/organization/oauth/clients',
    ]
    for (const path of paths) {
      await page.goto(service.url + path)
      await expectAccessible(page)
    }
    const stranger = await open(undefined)
    for (const path of ['/sign-in', '/nothing', '/automations']) {
      await stranger.goto(service.url + path)
      await expectAccessible(stranger)
    }
    await Promise.all([page.context().close(), stranger.context().close()])
  }, 60_000)
})
