import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible, inEveryLook } from '../../../../support/axe.ts'
import { hasNoBrowser } from '../../support/console.ts'
import type { Console } from '../../support/console.ts'
import { openTracedConsole } from '../../support/traces.ts'
import type { TracedConsole } from '../../support/traces.ts'

const WIDE = { viewport: { width: 1440, height: 1000 } }

describe.skipIf(hasNoBrowser)('the page Send traces', () => {
  let traced: TracedConsole
  let site: Console
  beforeAll(async () => {
    traced = await openTracedConsole()
    ;({ site } = traced)
  })
  afterAll(() => traced.close())

  const open = async (path: string, options: object = WIDE): Promise<Page> => {
    const page = await site.open(site.platform.acme, options)
    await page.goto(site.service.url + path)
    return page
  }
  const issue = async (page: Page, name: string, days = '90'): Promise<void> => {
    await page.goto(`${site.service.url}/trace-tokens`)
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Days').fill(days)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Your new token' }).waitFor()
  }

  it('leads without JavaScript from an empty list to a token, and to its end', async () => {
    const page = await open('/traces', { ...WIDE, javaScriptEnabled: false })
    await page.getByRole('link', { name: 'send traces', exact: true }).click()
    await page.getByRole('link', { name: 'LangChain' }).click()
    expect(await page.getByLabel('File weather.py').textContent()).toContain('create_agent')
    await page.getByRole('link', { name: 'Trace tokens' }).click()
    await page.getByText('No trace tokens yet').waitFor()
    await issue(page, 'billing')
    await page.getByRole('link', { name: 'I have copied it' }).click()
    await page.getByRole('link', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No trace tokens yet').waitFor()
    await page.context().close()
  }, 180_000)

  it.runIf(inEveryLook)(
    'breaks no rule of accessibility, in any state',
    async () => {
      const filler = await open('/send-traces?q=nothing')
      await expectAccessible(filler)
      await issue(filler, 'a program with a name that is rather long for a table', '3')
      await issue(filler, 'reports', '365')
      await filler.context().close()
      const java = await open('/send-traces?for=java', { viewport: { width: 1440, height: 900 } })
      await expectAccessible(java, [1024, 390])
      await issue(java, 'again', '7')
      await expectAccessible(java, [1024, 390])
      await java.context().close()
      const page = await open('/trace-tokens')
      await expectAccessible(page)
      await page.getByRole('link', { name: /^reports/ }).click()
      await expectAccessible(page)
      await page.context().close()
    },
    180_000,
  )
})
