import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listBudgets, setBudget } from '../../../../services/platform/budgets/budgets.ts'
import { expectAccessible } from '../../../support/axe.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'
import { cheapHash } from '../support/platform.ts'
import { few } from '../../../support/long.ts'

const PASSWORD = 'correct horse battery staple'

/** Sets a budget over an automation whose runs have taken 1,000 tokens each. */
async function limitBudget({ platform: { sql, acme } }: Console) {
  const { id, organizationId } = acme.research
  const budget = { organizationId, deploymentId: id, period: 'day' } as const
  await setBudget(sql, budget, { tokensMax: 5000, usdMax: null, unpriced: 'free' })
  await sql`
    insert into executions (deployment_id, inputs, status, output, usage, started_at, finished_at)
    select ${id}, '{}', 'completed', '', '{"inputTokens": 900, "outputTokens": 100}', now(), now()
    from generate_series(1, 20)`
  return async () => (await listBudgets(sql, budget))[0]?.reservedTokens
}

describe.skipIf(hasNoBrowser)('in a browser without JavaScript', () => {
  let site: Console

  beforeAll(async () => {
    site = await openConsole({ passwordHash: cheapHash(PASSWORD) })
  })

  afterAll(() => site.close())

  it('one signs in, issues a token, sees it once, uses it, deletes it and signs out', async () => {
    const page = await site.open(undefined, { javaScriptEnabled: false })
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    const automation = `${site.service.url}/automations/${site.platform.acme.research.automationId}`

    await page.goto(automation)
    await page.getByLabel('Email address').fill(site.platform.acme.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(page.url()).toBe(automation)

    await page.getByRole('link', { name: 'Tokens' }).last().click()
    await page.getByLabel('Name', { exact: true }).fill('CRM')
    await page.getByRole('button', { name: 'Create' }).click()
    const token = await page.getByLabel('Token', { exact: true }).innerText()
    expect(token).toMatch(/^pat_[\w-]{43}$/)
    const { automationId } = site.platform.acme.research
    const api = `${site.service.url}/platform/api/v1/crew/${automationId}/inputs`
    const call = () => fetch(api, { headers: { authorization: `Bearer ${token}` } })
    expect((await call()).status).toBe(200)

    await page.getByRole('link', { name: 'I have copied it' }).click()
    expect(await page.content()).not.toContain(token)
    const shown = `CRM (pat_…${token.slice(-4)})`
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(shown)
    await page.getByRole('link', { name: 'Delete' }).click()
    expect(await page.getByRole('heading').innerText()).toBe(`Delete the static token ${shown}?`)
    await page.getByRole('button', { name: 'Delete' }).click()
    expect(await page.getByRole('status').innerText()).toContain('The token is deleted.')
    expect((await call()).status).toBe(401)

    const reserved = await limitBudget(site)
    await page.goto(automation)
    await page.getByLabel('topic').fill('whales')
    await page.getByLabel('Reserve what it takes').check()
    await page.getByRole('button', { name: 'Start' }).click()
    expect(await reserved()).toBe(1000)
    expect(page.url()).toMatch(/executions\/[0-9a-f-]{36}$/)
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toMatch(/^Run/)

    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(page.url()).toBe(`${site.service.url}/sign-in`)
    await page.goto(automation)
    expect(page.url()).toContain('/sign-in?next=')
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('nothing is wider than a small screen, in the light and in the dark', async () => {
    const viewport = { width: 360, height: 740 }
    const page = await site.open(site.platform.acme, { viewport })
    const automation = `/automations/${site.platform.acme.research.automationId}`
    const tabs = ['', '/integrate', '/static-tokens', '/design', '/deployments', '/settings']
    const paths = tabs.map((tab) => automation + tab)
    for (const path of few([...paths, '/', '/automations', '/nothing'], 3)) {
      await page.goto(site.service.url + path)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        const root = 'document.documentElement'
        expect(await page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`)).toBe(0)
      }
    }
    await page.context().close()
  })

  it('no column of the tokens covers another one on a small screen', async () => {
    const { acme, sql, issueToken } = site.platform
    await issueToken(acme)
    await sql`update static_tokens set last_used_at = now()`
    const page = await site.open(acme, { viewport: { width: 390, height: 740 } })
    await page.goto(`${site.service.url}/automations/${acme.research.automationId}/static-tokens`)
    const cells = "[...document.querySelectorAll('td')]"
    expect(await page.evaluate(`${cells}.length`)).toBeGreaterThan(4)
    const wider = '(cell) => cell.scrollWidth > cell.clientWidth'
    expect(await page.evaluate(`${cells}.filter(${wider}).map((cell) => cell.innerText)`)).toEqual(
      [],
    )
    await page.context().close()
  })

  it('the menu of a small screen opens over the page, without scripts as well', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const size = { viewport: { width: 390, height: 740 }, javaScriptEnabled }
      const page = await site.open(site.platform.acme, size)
      await page.goto(`${site.service.url}/executions`)
      const entry = page.getByRole('link', { name: 'Tool packages' })
      expect(await entry.isVisible()).toBe(false)
      await page.getByRole('button', { name: 'Menu' }).click()
      expect(await entry.isVisible()).toBe(true)
      if (javaScriptEnabled) await expectAccessible(page)
      await page.keyboard.press('Escape')
      expect(await entry.isVisible()).toBe(false)
      await page.getByRole('button', { name: 'Menu' }).click()
      await entry.click()
      await page.getByRole('heading', { name: 'Tool packages', level: 1 }).waitFor()
      await page.context().close()
    }
  })
})
