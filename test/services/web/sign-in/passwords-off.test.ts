import { afterAll, beforeAll, expect, it } from 'vitest'
import { webEnv } from '../../../../services/web/env.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { openPlatformWithOidc } from '../support/platform-with-oidc.ts'
import type { PlatformWithOidc } from '../support/platform-with-oidc.ts'
import { cheapHash, environment } from '../support/platform.ts'

const PASSWORD = 'correct horse battery staple'
let platform: PlatformWithOidc

beforeAll(async () => {
  const env = { AUTH_PASSWORDS: 'off' }
  platform = await openPlatformWithOidc({ passwordHash: cheapHash(PASSWORD), env })
  platform.claimsOf.set('ada', { email: 'ada@idp.test', name: 'Ada' })
})

afterAll(() => platform.close())

it('AUTH_PASSWORDS=off leaves the identity provider only', async () => {
  const browser = platform.browse()
  const page = await (await browser.go('/sign-in')).text()
  expect(page).toContain('Sign in with')
  expect(page).not.toContain('type="password"')
  const body = new URLSearchParams({
    email: platform.acme.email,
    password: PASSWORD,
    csrf_token: 'x',
  })
  expect((await browser.go('/sign-in', { method: 'POST', body })).status).toBe(404)
  const failed = await (await browser.go('/sign-in/callback?error=access_denied&state=x')).text()
  expect(failed).not.toContain('type="password"')
  expect((await browser.signIn()).status).toBe(303)
})

it('a disabled user of the identity provider is told so and let in nowhere', async () => {
  await platform.sql`update users set disabled_at = now() where subject = 'ada'`
  const browser = platform.browse()
  const refused = await browser.signIn()
  expect(refused.status).toBe(403)
  expect(await refused.text()).toContain('Your account is disabled on this platform.')
  expect(browser.cookies.has('platform_session')).toBe(false)
  expect(platform.audit().at(-1)).toMatchObject({ reason: 'account_disabled', method: 'oidc' })
  await platform.sql`update users set disabled_at = null where subject = 'ada'`
  expect((await browser.signIn()).status).toBe(303)
})

it('nobody can switch the only way in off', () => {
  const env = { ...environment('postgres://u@h/d'), AUTH_PASSWORDS: 'off' }
  expect(() => readEnv(webEnv, env)).toThrow(
    'AUTH_PASSWORDS must be "on" while AUTH_PROVIDER is "local": no one could sign in',
  )
})
