import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectCopyAccessible } from '../../../support/axe.ts'
import { createSigningKey, startKeyServer } from '../../../support/key-server.ts'
import type { KeyServer } from '../../../support/key-server.ts'
import { mint } from '../support/platform-with-oauth.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'
import { cheapHash } from '../support/platform.ts'
import { isLong } from '../../../support/long.ts'

const PASSWORD = 'correct horse battery staple'
describe.skipIf(hasNoBrowser)('OAuth 2.0 for Automations in a browser without JavaScript', () => {
  const key = createSigningKey('2026-11')
  let site: Console
  let idp: KeyServer

  beforeAll(async () => {
    idp = await startKeyServer([key])
    const variables = { AUTOMATION_OAUTH_PRIVATE_ORIGINS: idp.issuer }
    site = await openConsole({ passwordHash: cheapHash(PASSWORD), variables })
  })

  afterAll(async () => {
    await site.close()
    await idp.stop()
  })

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${site.service.url}/settings`)
    await page.getByLabel('Email address').fill(site.platform.acme.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  it('one tests and saves a configuration, binds and calls an automation', async () => {
    const page = await site.open(undefined, { javaScriptEnabled: false })
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await signIn(page)
    await page.getByRole('link', { name: 'Settings' }).first().click()
    expect(await page.getByLabel('Audiences').inputValue()).toBe(site.service.url)

    const accept = page.getByLabel('Accept access tokens from this authorization server')
    expect(await accept.isChecked()).toBe(false)
    await accept.check()
    await page.getByLabel(/^Issuer/).fill(`${idp.issuer}/`)
    await page.getByRole('button', { name: 'Test configuration' }).click()
    const test = page.getByRole('region', { name: 'Test of the configuration' })
    expect(await test.innerText()).toContain('It names the issuer')
    await page.getByLabel(/^Issuer/).fill(idp.issuer)
    await page.getByRole('button', { name: 'Test configuration' }).click()
    expect(await test.innerText()).toContain('1 of 1 signing keys fit')
    await expectCopyAccessible(page)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    expect(await page.getByRole('status').innerText()).toContain('saved')

    await page.getByRole('link', { name: 'Manage automations' }).click()
    const row = page.getByRole('row', { name: 'acme research' })
    const bindTo = async (client: string): Promise<void> => {
      await row.getByRole('link').click()
      await page.getByLabel('OAuth Client ID').fill(client)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('link', { name: 'OAuth clients' }).click()
    }
    await bindTo('0oa1crm')
    expect(await row.innerText()).toContain('None yet')

    const { automationId } = site.platform.acme.research
    const call = async (client: string) => {
      const token = mint({ key, idp }, { aud: site.service.url, cid: client })
      const url = `${site.service.url}/platform/api/v1/crew/${automationId}/inputs`
      return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status
    }
    expect(await call('0oa9other')).toBe(401)
    await page.reload()
    expect(await row.innerText()).toMatch(/Refused[\s\S]*0oa9other/)
    await bindTo('0oa9other')
    expect(await row.innerText()).toMatch(/Accepted[\s\S]*0oa9other/)
    expect(await call('0oa9other')).toBe(200)

    await page.getByRole('link', { name: 'OAuth 2.0 for Automations' }).click()
    const explain = page.getByRole('region', { name: 'Explain a token' })
    const paste = async (claims: Record<string, unknown>) => {
      await explain.getByLabel('Access token').fill(mint({ key, idp }, claims))
      await explain.getByRole('combobox', { name: 'Automation' }).selectOption('acme research')
      await explain.getByRole('button', { name: 'Explain' }).click()
      return explain.innerText()
    }
    expect(await paste({ aud: site.service.url, cid: '0oa9other' })).toContain('Accepted')
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
    if (isLong) await expectCopyAccessible(page)
    expect(await explain.getByLabel('Access token').inputValue()).toBe('')

    await page.goto(`${site.service.url}/automations/${automationId}/integrate`)
    await page.getByText('OAuth with a private key, Node').click()
    expect(await page.getByLabel('OAuth with a private key, Node').innerText()).toContain(
      '0oa9other',
    )
    expect(complaints).toEqual([])
    await page.context().close()
  }, 180_000)

  it.runIf(isLong)('no page is wider than a phone', async () => {
    const viewport = { width: 360, height: 760 }
    const page = await site.open(undefined, { javaScriptEnabled: false, viewport })
    await signIn(page)
    const paths = ['/settings', '/oauth-clients']
    const automation = `/automations/${site.platform.acme.research.automationId}`
    for (const path of [...paths, automation, `${automation}/integrate`]) {
      await page.goto(site.service.url + path)
      const { width } = (await page.locator('html').boundingBox()) ?? { width: 0 }
      const content = await page.locator('main').evaluate((main) => main.scrollWidth)
      expect(Math.max(width, content)).toBeLessThanOrEqual(360)
    }
    await page.context().close()
  })
})
