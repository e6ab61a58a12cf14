import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, launchBrowser } from '../../../../scripts/pictures/browser.ts'
import { openPlatformWithOidc } from '../support/platform-with-oidc.ts'
import type { PlatformWithOidc } from '../support/platform-with-oidc.ts'

const chromium = chromiumPath()
if (!chromium) console.warn('browser tests skipped: no Chromium found; set CHROMIUM_PATH')

describe.skipIf(!chromium)('in a browser without JavaScript, with an identity provider', () => {
  let platform: PlatformWithOidc
  let browser: Browser

  beforeAll(async () => {
    // Another host than the provider's: what crosses between the two crosses between sites.
    platform = await openPlatformWithOidc({
      host: 'localhost',
      env: { OIDC_ADMIN_CLAIM: 'realm_access.roles', OIDC_ADMIN_VALUE: 'admin' },
    })
    platform.claimsOf.set('ada', { name: 'Ada Park', realm_access: { roles: ['admin'] } })
    browser = await launchBrowser(chromium ?? '')
  })

  afterAll(async () => {
    await browser.close()
    await platform.close()
  })

  it('a person signs in, reaches the requested page, and signs out in both places', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    const automation = `${platform.baseUrl}/automations`

    await page.goto(automation)
    await page.getByRole('link', { name: 'Sign in with Keycloak' }).click()
    expect(page.url()).toBe(automation)
    expect(await page.getByText('Ada Park').count()).toBe(1)
    const [row] = await platform.sql`
      select role, source from user_roles r join users u on u.id = r.user_id
      where u.subject = 'ada'`
    expect(row).toEqual({ role: 'platform-admin', source: 'claim' })
    const cookies = await context.cookies(platform.baseUrl)
    expect(cookies.map(({ name }) => name)).toEqual(['platform_session'])

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL((url) => url.origin === platform.idp.issuer)
    // The provider's own page; its button is the only one that says yes.
    await page.getByRole('button', { name: /yes/i }).click()
    expect(page.url()).toBe(`${platform.baseUrl}/sign-in`)
    await page.goto(automation)
    expect(page.url()).toContain('/sign-in?next=')
    expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([])
    await context.close()
  })

  it('the sign-in page fits a small screen, light and dark, with a problem or not', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width: 360, height: 740 }
      const context = await browser.newContext({ colorScheme, viewport })
      const page = await context.newPage()
      for (const path of ['/sign-in', '/sign-in/callback?state=x&code=y']) {
        await page.goto(platform.baseUrl + path)
        const root = 'document.documentElement'
        expect(await page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`)).toBe(0)
      }
      await context.close()
    }
  })
})
