import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findAutomationOauth } from '../../../../services/platform/automations/automation-oauth.ts'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../services/platform/automations/token-limits.ts'
import { signInAs } from '../support/every-route.ts'
import { openPlatform, readObject } from '../support/platform.ts'
import type { Platform, Tenant } from '../support/platform.ts'

let platform: Platform
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
})
afterAll(() => platform.close())
beforeEach(() => platform.sql`delete from automation_oauth`)

const GOOD = {
  enabled: true,
  issuer: 'https://idp.example.com/',
  token_url: 'https://idp.example.com/token',
  audiences: ['https://platform.test', 'an audience, with spaces'],
}

const LIST = '/designer/v2/oauth-settings'
const oneOf = ({ organizationId }: Tenant) => `${LIST}/${organizationId}`

const call = (
  method: string,
  path: string,
  { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
) =>
  platform.app.request(path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: body ? JSON.stringify(body) : null,
  })
const put = (changes: object = {}, headers: Record<string, string> = {}) =>
  call('PUT', oneOf(platform.acme), { body: { ...GOOD, ...changes }, headers })
const stored = (tenant = platform.acme) => findAutomationOauth(platform.sql, tenant.organizationId)

describe('the OAuth settings of an organization over the API', () => {
  it('are there before any are saved, off and as forms propose them', async () => {
    const { oauth_settings: rows } = await readObject(await call('GET', LIST))
    expect(rows).toEqual([await readObject(await call('GET', oneOf(platform.acme)))])
    expect(rows).toMatchObject([
      { id: platform.acme.organizationId, name: 'automations', enabled: false, issuer: '' },
    ])
    expect(await stored()).toBeUndefined()
  })

  it('are saved whole, with the usual value for what is left out', async () => {
    const answer = await put({ skew_seconds: 0 })
    expect(answer.status).toBe(200)
    expect(await stored()).toEqual({
      enabled: true,
      issuer: 'https://idp.example.com/',
      discoveryUrl: null,
      jwksUrl: null,
      tokenUrl: 'https://idp.example.com/token',
      audiences: GOOD.audiences,
      absentAudienceAllowed: false,
      scope: 'platform_automations',
      scopeClaim: 'scope',
      algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
      skewSeconds: 0,
      lifetimeSecondsMax: 86_400,
      staticTokensAllowed: true,
    })
    const [entry] = await platform.sql`
      select action, target_id, before, after from audit_entries order by id desc limit 1`
    expect(entry).toMatchObject({
      action: 'oauth_setting_changed',
      before: { enabled: false, issuer: '' },
      after: { enabled: true, issuer: 'https://idp.example.com/', skew_seconds: 0 },
    })
  })

  it('are only checked with dry_run, and change in one version alone with If-Match', async () => {
    const checked = await call('PUT', `${oneOf(platform.acme)}?dry_run=true`, { body: GOOD })
    expect(await readObject(checked)).toMatchObject({ ...GOOD, scope: 'platform_automations' })
    expect(await stored()).toBeUndefined()
    const etag = (await call('GET', oneOf(platform.acme))).headers.get('etag') ?? ''
    expect((await put({}, { 'if-match': etag })).status).toBe(200)
    expect((await put({ enabled: false }, { 'if-match': etag })).status).toBe(412)
    expect(await stored()).toMatchObject({ enabled: true })
  })

  it.each([
    ['plain http', { issuer: 'http://idp.example.com' }, /Issuer: only https:\/\/ is safe/],
    ['the metadata of a cloud', { jwks_url: 'http://169.254.169.254/' }, /JWKS URL: only https/],
    ['no issuer', { issuer: '' }, /Issuer: the address must/],
    ['an issuer with a space', { issuer: ' https://idp.test' }, /Issuer: the address must/],
    ['an issuer with a query', { issuer: 'https://idp.test/?a' }, /no query and no fragment/],
    ['a file', { discovery_url: 'file:///etc/passwd' }, /Discovery URL: the address must/],
    ['a script', { token_url: 'javascript:alert(1)' }, /Token URL: the address must/],
    ['no audience', { audiences: [' '] }, /Audiences: enter at least one/],
    ['a text as audiences', { audiences: 'x' }, /audiences must be a list of texts/],
    ['a symmetric algorithm', { algorithms: ['HS256'] }, /algorithms.0 must be one of RS256/],
    ['none', { algorithms: ['none'] }, /algorithms.0 must be one of RS256/],
    ['no algorithm', { algorithms: [] }, /Algorithms: allow at least one/],
    ['two scopes', { scope: 'a b' }, /Scope: enter one scope/],
    ['another claim', { scope_claim: 'permissions' }, /scope_claim must be scope or roles/],
    ['a large skew', { skew_seconds: 121 }, /Clock skew: enter a number between 0 and 120/],
    ['half a second', { skew_seconds: 0.5 }, /skew_seconds must be a whole number/],
    ['a year', { lifetime_seconds_max: 31_536_000 }, /Maximum lifetime: enter a number between/],
    ['a text for a truth', { enabled: 'no' }, /enabled must be true or false/],
    ['an unknown field', { issuers: [] }, /issuers is not known/],
  ])('are refused with %s, dry run or not', async (_, changes, message) => {
    const body = { ...GOOD, ...changes }
    for (const query of ['', '?dry_run=true']) {
      const refused = await call('PUT', oneOf(platform.acme) + query, { body })
      expect(refused.status).toBe(422)
      expect((await readObject(refused))['message']).toMatch(message)
    }
    expect(await stored()).toBeUndefined()
  })

  it('are those of the own organization, and no others', async () => {
    expect((await call('GET', oneOf(platform.rival))).status).toBe(404)
    expect((await call('PUT', oneOf(platform.rival), { body: GOOD })).status).toBe(404)
    for (const id of ['0', '1e3', '%2e', '99999999999'])
      expect((await call('GET', `${LIST}/${id}`)).status).toBe(404)
    expect(await stored(platform.rival)).toBeUndefined()
  })

  it('are neither created nor deleted', async () => {
    expect((await call('POST', LIST, { body: GOOD })).status).toBe(405)
    expect((await call('DELETE', oneOf(platform.acme))).status).toBe(405)
  })

  it('are changed by administrators, and by tokens with the scope settings', async () => {
    const { sql, acme } = platform
    const issue = (...scopes: TokenScope[]) =>
      issueStaticToken(sql, {
        organizationId: acme.organizationId,
        deploymentId: null,
        name: 'CI',
        createdBy: null,
        scopes,
      })
    const others = await issue('kickoff', 'read', 'design', 'upload')
    const refused = await put({}, { authorization: `Bearer ${others}` })
    expect(refused.status).toBe(403)
    expect((await readObject(refused))['message']).toContain('lacks the scope settings')
    const ofAutomation = await platform.issueToken(acme, acme.research.id)
    expect((await put({}, { authorization: `Bearer ${ofAutomation}` })).status).toBe(401)
    for (const role of ['viewer', 'editor'] as const) {
      const { cookie, csrfToken } = await signInAs(platform, role, role)
      const headers = { cookie, 'x-csrf-token': csrfToken, 'content-type': 'application/json' }
      const body = JSON.stringify(GOOD)
      const at = oneOf(acme)
      const denied = await platform.app.request(at, { method: 'PUT', headers, body })
      expect([role, denied.status]).toEqual([role, 403])
      expect((await platform.app.request(at, { headers: { cookie } })).status).toBe(200)
    }
    expect(await stored()).toBeUndefined()
    const settings = await issue('settings')
    expect((await put({}, { authorization: `Bearer ${settings}` })).status).toBe(200)
  })

  it('reach no private address when the token URL is discovered', async () => {
    const saved = await put({ issuer: 'https://169.254.169.254', token_url: null })
    expect(saved.status).toBe(200)
    expect(await stored()).toMatchObject({ tokenUrl: null })
  })
})
