import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start as startOauth } from '../../../../services/oauth/start.ts'
import { createLog } from '../../../../services/shared/log.ts'
import type { Service } from '../../../../services/shared/http/serve.ts'
import { expectAccessible, inEveryLook } from '../../../support/axe.ts'
import { freePort } from '../../../support/free-port.ts'
import { startIdentityProvider } from '../../../support/identity-provider.ts'
import type { IdentityProvider } from '../../../support/identity-provider.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'
import { API_KEY, CLIENT_SECRET } from '../support/platform-with-connections.ts'
import { few } from '../../../support/long.ts'

describe.skipIf(hasNoBrowser)('the page Connections in a browser', () => {
  let site: Console
  let idp: IdentityProvider
  let oauth: Service

  beforeAll(async () => {
    const port = String(await freePort())
    const url = `http://127.0.0.1:${port}`
    site = await openConsole({
      variables: { PLATFORM_OAUTH_API_BASE_URL: url, PLATFORM_OAUTH_API_KEY: API_KEY },
    })
    idp = await startIdentityProvider({
      clients: [
        {
          client_id: 'crews',
          client_secret: CLIENT_SECRET,
          redirect_uris: [`${url}/callback`],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      scopes: ['files'],
    })
    oauth = await startOauth(
      {
        DATABASE_URL: site.platform.url,
        PORT: port,
        HOST: '127.0.0.1',
        PLATFORM_OAUTH_API_KEY: API_KEY,
        OAUTH_ENCRYPTION_KEY: 'an-encryption-key-of-at-least-thirty-two-characters',
        OAUTH_PUBLIC_URL: url,
        CONNECTION_PRIVATE_ORIGINS: idp.issuer,
      },
      { log: createLog({ name: 'oauth', level: 'silent' }), lingerMs: 0 },
    )
  })

  afterAll(async () => {
    await oauth.stop()
    await idp.stop()
    await site.close()
  })

  async function fillIn(page: Page, name: string, issuer: string): Promise<void> {
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('textbox', { name: 'Issuer' }).fill(issuer)
    await page.getByLabel('Client ID').fill('crews')
    await page.getByRole('textbox', { name: 'Client secret' }).fill(CLIENT_SECRET)
    await page.getByRole('textbox', { name: 'Scopes' }).fill('openid files')
    await page.getByRole('button', { name: 'Save and connect' }).click()
  }

  const ways = [
    ['without JavaScript', false, 390],
    ['with it', true, 1280],
  ] as const
  it.each(few(ways, 1))('connects an account %s', async (_, javaScriptEnabled, width) => {
    const page = await site.open(site.platform.acme, {
      javaScriptEnabled,
      viewport: { width, height: 900 },
    })
    const name = `files${width}`
    await page.goto(`${site.service.url}/connections`)
    await page.getByRole('link', { name: 'New connection' }).click()
    await page.getByRole('link', { name: /^OpenID Connect/ }).click()
    await fillIn(page, 'not a name', 'https://10.0.0.1')
    await page.locator('.field-problem').first().waitFor()
    expect(await page.locator('.field-problem').allTextContents()).toEqual([
      expect.stringContaining('The name must start with a letter'),
    ])
    await fillIn(page, name, idp.issuer)
    await page.getByText('Tools can use it from now on').waitFor()
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('the token works').waitFor()
    await page.goto(`${site.service.url}/connections`)
    expect(await page.getByRole('row', { name }).textContent()).toContain('Connected')
    await page.context().close()
  })

  it.runIf(inEveryLook)(
    'breaks no rule of accessibility',
    async () => {
      const page = await site.open(site.platform.acme, { viewport: { width: 1280, height: 900 } })
      await site.platform.sql`
      insert into oauth_connections (organization_id, provider, name, kind, settings)
      values (${site.platform.acme.organizationId}, 'token', 'waiting', 'static_token', '{}')`
      const paths = [
        '/connections',
        '/new-connection',
        '/new-connection?shape=github',
        '/new-connection?shape=token',
        '/new-connection?shape=identity',
      ]
      for (const path of paths) {
        await page.goto(site.service.url + path)
        await page.evaluate(
          "document.querySelectorAll('details').forEach((fold) => (fold.open = true))",
        )
        await expectAccessible(page)
      }
      await page.getByLabel('Token', { exact: true }).fill('x y')
      await page.getByLabel('Name', { exact: true }).fill('no name')
      await page.getByRole('button', { name: 'Save' }).click()
      await expectAccessible(page)
      await page.goto(`${site.service.url}/connections`)
      await page.getByRole('link', { name: 'files1280' }).click()
      await expectAccessible(page)
      await page.context().close()
    },
    180_000,
  )
})
