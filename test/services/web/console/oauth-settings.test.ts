import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findAutomationOauth } from '../../../../services/platform/automations/automation-oauth.ts'
import { findAutomation } from '../../../../services/platform/automations/automations.ts'
import { BASE_URL } from '../support/platform.ts'
import type { SignedInUser, Tenant } from '../support/platform.ts'
import {
  bind,
  CLIENT,
  configure,
  openPlatformWithOauth,
  newCaller,
  settingsFor,
} from '../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../support/platform-with-oauth.ts'

let PATH: string
let oauth: PlatformWithOauth
let ada: SignedInUser

beforeAll(async () => {
  oauth = await openPlatformWithOauth()
  ada = await oauth.signIn(oauth.acme)
  PATH = pathOf(oauth.acme)
})

afterAll(() => oauth.close())

const pathOf = ({ organizationId }: Tenant) => `/oauth-settings/${organizationId}`

const get = (path: string, { cookie } = ada) =>
  fetch(oauth.service.url + path, { headers: { cookie }, redirect: 'manual' })

type Fields = Readonly<Record<string, string | readonly string[]>>

function post(path: string, fields: Fields, { cookie, csrfToken } = ada) {
  const body = new URLSearchParams({ csrf_token: csrfToken })
  for (const [name, values] of Object.entries(fields)) {
    for (const value of [values].flat()) body.append(name, value)
  }
  return fetch(oauth.service.url + path, {
    method: 'POST',
    body,
    headers: { cookie },
    redirect: 'manual',
  })
}

const form = (changes: Fields = {}): Fields => ({
  enabled: 'on',
  issuer: oauth.idp.issuer,
  audiences: `${BASE_URL}\r\n  api://second  \r\n\r\n`,
  scope: 'platform_automations',
  scope_claim: 'scope',
  algorithms: ['RS256', 'ES256'],
  skew_seconds: '10',
  lifetime_seconds_max: '3600',
  static_tokens_allowed: 'on',
  ...changes,
})

const stored = ({ organizationId }: Tenant = oauth.acme) =>
  findAutomationOauth(oauth.sql, organizationId)

describe('OAuth 2.0 for Automations (SPEC 5.2)', () => {
  it('is shown to people who are signed in, with the base URL as the audience', async () => {
    expect(
      (await get(PATH, { cookie: '', csrfToken: '', token: '' })).headers.get('location'),
    ).toBe(`/sign-in?next=${encodeURIComponent(PATH)}`)
    const bob = await oauth.signIn(oauth.rival)
    const page = await (await get(pathOf(oauth.rival), bob)).text()
    expect(page).toMatch(new RegExp(`name="audiences"[^>]*>\\s*${BASE_URL}</textarea`))
    expect(page).toContain('value="platform_automations"')
    for (const path of ['/settings', '/settings/organization/oauth'])
      expect((await get(path)).headers.get('location')).toBe('/oauth-settings')
    expect((await get('/oauth-settings')).headers.get('location')).toBe(PATH)
  })

  it('is saved for the own organization only, and audited', async () => {
    const saved = await post(PATH, form())
    expect(saved.status).toBe(303)
    expect(await stored()).toMatchObject({
      enabled: true,
      issuer: oauth.idp.issuer,
      audiences: [BASE_URL, 'api://second'],
      algorithms: ['RS256', 'ES256'],
      skewSeconds: 10,
      lifetimeSecondsMax: 3600,
    })
    expect(await stored(oauth.rival)).toBeUndefined()
    const [entry] = await oauth.sql`
      select action, before, after from audit_entries order by id desc limit 1`
    expect(entry).toMatchObject({
      action: 'oauth_setting_changed',
      before: { skew_seconds: 30 },
      after: { audiences: [BASE_URL, 'api://second'], skew_seconds: 10 },
    })
    expect(saved.headers.get('location')).toBe(`${PATH}?notice=oauth-setting-saved`)
    const off = await post(PATH, form({ enabled: [], static_tokens_allowed: [] }))
    expect(off.headers.get('location')).toBe(`${PATH}?notice=oauth-setting-saved-off`)
    expect(await (await get(off.headers.get('location') ?? '')).text()).toContain('OAuth is off')
    expect(await stored()).toMatchObject({ enabled: false, staticTokensAllowed: false })
    await configure(oauth.platform, oauth.acme, settingsFor(oauth.idp.issuer))
  })

  const refused: readonly [what: string, changes: Fields, problem: string][] = [
    ['no issuer', { issuer: '' }, 'Issuer:'],
    ['an issuer over http', { issuer: 'http://idp.test' }, 'only https:// is safe'],
    ['another port of an allowed host', { issuer: 'http://127.0.0.1:9' }, 'only https:// is safe'],
    ['an issuer with a query', { issuer: 'https://idp.test/?a' }, 'no query'],
    ['an issuer with a password', { issuer: 'https://a:b@idp.test' }, 'no user name'],
    ['a file', { jwks_url: 'file:///etc/passwd' }, 'JWKS URL:'],
    ['a script', { token_url: 'javascript:alert(1)' }, 'Token URL:'],
    ['no audience', { audiences: ' \r\n ' }, 'Audiences: enter at least one'],
    ['too many audiences', { audiences: Array(21).fill('a').join('\n') }, 'at most 20'],
    ['two scopes', { scope: 'a b' }, 'Scope:'],
    ['no algorithm', { algorithms: [] }, 'Algorithms:'],
    ['a symmetric algorithm', { algorithms: ['HS256'] }, 'Algorithms:'],
    ['a large skew', { skew_seconds: '121' }, 'Clock skew:'],
    ['a negative lifetime', { lifetime_seconds_max: '-1' }, 'Maximum lifetime in seconds must'],
    ['a short lifetime', { lifetime_seconds_max: '59' }, 'Maximum lifetime: enter a number'],
    ['markup', { issuer: 'https://idp.test/"><script>x</script>', scope: '' }, 'Scope:'],
  ]
  it.each(refused)('refuses %s, and shows what was typed', async (_, changes, problem) => {
    const before = await stored()
    for (const path of [PATH, `${PATH}/test`]) {
      const response = await post(path, form(changes))
      expect(response.status).toBe(422)
      const page = await response.text()
      expect(page).toContain(problem)
      expect(page).not.toMatch(/<script(?! type="module")/)
      if (!('audiences' in changes)) expect(page).toContain('api://second')
    }
    expect(await stored()).toEqual(before)
  })

  it('refuses a form that none of our pages sent', async () => {
    for (const path of [PATH, `${PATH}/test`, `${PATH}/explain`]) {
      expect((await post(path, form(), { ...ada, csrfToken: 'x' })).status).toBe(403)
    }
  })
})

describe('Test configuration', () => {
  it('lists each request and each key, and stores nothing', async () => {
    const before = await stored()
    const page = await (await post(`${PATH}/test`, form({ scope: 'other' }))).text()
    expect(page).toContain('/.well-known/openid-configuration')
    expect(page).toContain('key-1')
    expect(page).toContain('1 of 1 signing keys fit')
    expect(await stored()).toEqual(before)
  })

  it('says what is wrong', async () => {
    const slash = await (
      await post(`${PATH}/test`, form({ issuer: `${oauth.idp.issuer}/` }))
    ).text()
    expect(slash).toContain('It names the issuer')
    const metadata = { jwks_url: 'https://169.254.169.254/keys' }
    expect(await (await post(`${PATH}/test`, form(metadata))).text()).toContain(
      'has no public address',
    )
    const algorithms = await (await post(`${PATH}/test`, form({ algorithms: ['ES256'] }))).text()
    expect(algorithms).toContain('every token would be refused')
    oauth.idp.answerWith((_, response) => void response.writeHead(302, { location: '/' }).end())
    expect(await (await post(`${PATH}/test`, form())).text()).toContain('redirect')
    oauth.idp.answerWith()
  })
})

describe('Explain a token', () => {
  const explain = async (token: string, automation = oauth.acme.research) => {
    const fields = { token, automation_id: automation.automationId }
    const response = await post(`${PATH}/explain`, fields)
    return { status: response.status, page: await response.text() }
  }

  it('shows that a good one passes each rule, and neither stores, logs nor shows it', async () => {
    oauth.lines.length = 0
    const token = oauth.token()
    const { page } = await explain(`Authorization: Bearer ${token}\n`)
    expect(page).toContain('Accepted')
    expect(page).not.toContain('Failed')
    for (const part of token.split('.')) {
      expect(page).not.toContain(part)
      expect(JSON.stringify(oauth.lines)).not.toContain(part)
    }
  })

  it('shows every rule that fails, with what it saw, as text', async () => {
    const { page } = await explain(
      oauth.token({ aud: 'account"><script>x</script>', cid: 'other' }),
    )
    expect(page).toContain('wrong_audience')
    expect(page).toContain('client_mismatch')
    expect(page).toContain('account\\&quot;&gt;&lt;script&gt;')
    expect(page).not.toMatch(/<script(?! type="module")/)
  })

  it('gives the reason that the API gives', async () => {
    const changes = [
      { exp: 1 },
      { aud: 'x' },
      { cid: undefined },
      { azp: 'x' },
      { scp: [] },
      { cnf: {} },
      { nonce: 'x' },
    ]
    for (const each of changes) {
      const token = oauth.token(each)
      oauth.lines.length = 0
      await fetch(oauth.api('inputs'), { headers: newCaller(token) })
      const reason = String(oauth.lines.find(({ msg }) => msg === 'request')?.['auth_refused'])
      const { page } = await explain(token)
      expect(/<span class="sub mono">(\w+)<\/span>/.exec(page)?.[1]).toBe(reason)
    }
  })

  const providers: readonly [what: string, claims: Record<string, unknown>, hint: string][] = [
    [
      'Entra v1',
      { iss: 'https://sts.windows.net/t/', appid: 'x', cid: undefined, ver: '1.0' },
      'requestedAccessTokenVersion',
    ],
    [
      'Entra v2',
      {
        iss: 'https://login.microsoftonline.com/t/v2.0',
        aud: 'guid',
        scp: undefined,
        roles: ['x'],
      },
      'GUID',
    ],
    [
      'Keycloak',
      { iss: 'https://sso.test/realms/main', aud: 'account' },
      'Included Custom Audience',
    ],
    ['Cognito', { aud: undefined, token_use: 'access' }, 'Allow tokens without an audience'],
    ['Cognito scopes', { scp: undefined, scope: 'api/platform_automations' }, 'whole scope'],
    ['the Okta org server', { iss: 'https://acme.okta.com' }, 'custom authorization server'],
    ['an ID token', { nonce: 'n' }, 'Send the access_token'],
  ]
  it.each(providers)('has a hint for %s', async (_, claims, hint) => {
    expect((await explain(oauth.token(claims))).page).toContain(hint)
  })

  it('has hints for a slash at the end, for HS256 and for opaque tokens', async () => {
    expect((await explain(oauth.token({ iss: `${oauth.idp.issuer}/` }))).page).toContain(
      'slash at the end',
    )
    expect((await explain(oauth.token({}, { alg: 'HS256' }))).page).toContain('RS256')
    expect((await explain('opaque-token-of-auth0')).page).toContain('names an audience')
  })

  it('takes no automation of others, and no empty token', async () => {
    expect((await explain(oauth.token(), oauth.rival.research)).status).toBe(422)
    expect((await explain(' ')).status).toBe(422)
  })
})

describe('Client ID Filtering (SPEC 5.3)', () => {
  const save = (clientId: string, automation = oauth.acme.research) =>
    post(`/oauth-clients/${automation.automationId}`, { client_id: clientId })
  const bound = async (automation = oauth.acme.research) =>
    (await findAutomation(oauth.sql, automation.automationId))?.oauthClientId

  it('binds an automation to one client, from the next call on', async () => {
    const call = async () =>
      (await fetch(oauth.api('inputs'), { headers: newCaller(oauth.token()) })).status
    expect(await call()).toBe(200)
    expect((await save('other')).status).toBe(303)
    expect(await call()).toBe(401)
    expect((await save('')).status).toBe(303)
    expect(await bound()).toBeNull()
    expect(await call()).toBe(401)
    await save(CLIENT)
    expect(await call()).toBe(200)
  })

  it.each([' crm', 'crm ', 'crm\u200b', 'crm\n', 'crm\u0301', '\u0421RM', 'c'.repeat(256), ' '])(
    'refuses the client id %j, and trims nothing',
    async (clientId) => {
      expect((await save(clientId)).status).toBe(422)
      expect(await bound()).toBe(CLIENT)
    },
  )

  it('shows the last client that was seen, and whether it would pass', async () => {
    await bind(oauth.platform, oauth.acme, 'new-client')
    await oauth.sql`update client_sightings set client_id = 'seen-client'`
    const page = await (await get('/oauth-clients')).text()
    expect(page).toContain('seen-client')
    expect(page).toMatch(/class="pill bad"[^>]*>Refused</)
    await save('seen-client')
    expect(await (await get('/oauth-clients')).text()).toMatch(/class="pill good"[^>]*>Accepted</)
    await bind(oauth.platform, oauth.acme, CLIENT)
  })

  it('does not know the automations of others', async () => {
    expect((await save('evil', oauth.rival.research)).status).toBe(404)
    expect(await bound(oauth.rival.research)).toBeNull()
    expect(await (await get('/oauth-clients')).text()).not.toContain('rival')
  })
})

describe('the limit of an automation', () => {
  const page = () => `/automations/${oauth.acme.research.automationId}`
  const save = (limit: string) => post(`${page()}/concurrency`, { concurrency_max: limit })
  const limit = async () =>
    (await findAutomation(oauth.sql, oauth.acme.research.automationId))?.concurrencyMax

  it('is a number of runs at a time, or none', async () => {
    expect((await save('3')).headers.get('location')).toBe(`${page()}/settings?notice=limit-saved`)
    expect(await limit()).toBe(3)
    for (const bad of ['0', '-1', '1001', 'x', '1.5']) expect((await save(bad)).status).toBe(422)
    expect(await limit()).toBe(3)
    await save('')
    expect(await limit()).toBeNull()
    const foreign = `/automations/${oauth.rival.research.automationId}/concurrency`
    expect((await post(foreign, { concurrency_max: '1' })).status).toBe(404)
  })
})
