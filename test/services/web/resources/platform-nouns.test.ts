import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isEnabled } from '../../../../services/platform/feature-flags.ts'
import { isObject } from '../../../../services/shared/is-object.ts'
import { TOKEN_SCOPES } from '../../../../services/platform/automations/token-limits.ts'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { disableUser } from '../../../../services/platform/people/accounts.ts'
import { ensureOrganization } from '../../../../services/platform/people/organizations.ts'
import { until } from '../../../support/until.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'

const API = '/designer/v2/admin'
const FLAG = 'k8s_namespace_isolation'
const FLAG_PATH = `/admin/feature-flags/${FLAG}`
type Person = SignedInUser & { readonly userId: number }

let platform: Platform
let operator: Person
let member: SignedInUser
let acme: string

beforeAll(async () => {
  platform = await openPlatform()
  operator = await signInAs(platform, 'operator', 'platform-admin')
  member = await platform.signIn(platform.rival)
  acme = `/admin/organizations/${platform.acme.organizationId}`
})

afterAll(() => platform.close())

beforeEach(async () => {
  await platform.sql`delete from feature_flags`
})

const ask = (who: SignedInUser) => askAs(platform.app, who)
const textOf = async (response: Response) => (await response.text()).replace(/\s+/g, ' ')
const read = async (path: string) => textOf(await ask(operator).get(path))

const callAs = (headers: Record<string, string>) => (request: string, body?: unknown) => {
  const [method = '', path = ''] = request.split(' ')
  return platform.app.request(BASE_URL + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: body === undefined ? null : JSON.stringify(body),
  })
}

/** Calls the API as a page of the administrator would. */
const call = (request: string, body?: unknown) => callAs(sessionOf(operator))(request, body)

const sessionOf = ({ cookie, csrfToken }: SignedInUser) => ({
  cookie,
  origin: BASE_URL,
  'x-csrf-token': csrfToken,
})

const states = () =>
  Promise.all(
    [platform.acme, platform.rival].map((each) =>
      isEnabled(platform.sql, FLAG, each.organizationId),
    ),
  )
const lastEntry = async () => (await platform.audit()).filter((row) => !row['refused']).at(-1)

describe('a feature flag', () => {
  it('is switched for the whole platform, and it is audited', async () => {
    expect(await read('/admin/feature-flags')).toContain('<span class="pill idle">Off</span>')
    const saved = await ask(operator).post(FLAG_PATH, { enabled: 'on' })
    expect(saved.status).toBe(303)
    expect(await states()).toEqual([true, true])
    const shown = await read(saved.headers.get('location') ?? '')
    expect(shown).toContain('The flag is saved.')
    expect(shown).toContain('<span class="pill good">On</span>')
    expect(await lastEntry()).toMatchObject({
      action: 'feature_flag_changed',
      targetId: FLAG,
      before: { enabled: false },
      after: { enabled: true },
      organizationId: null,
      actorId: String(operator.userId),
    })
    await call(`PUT ${API}/feature-flags/${FLAG}`, { enabled: false })
    expect(await states()).toEqual([false, false])
  })

  it('has a state of its own in an organization, until that is taken back', async () => {
    const path = `/admin/organizations/${platform.rival.organizationId}`
    expect((await ask(operator).post(path, { [`flag_${FLAG}`]: 'on' })).status).toBe(303)
    expect(await states()).toEqual([false, true])
    expect(await lastEntry()).toMatchObject({
      action: 'organization_changed',
      organizationId: platform.rival.organizationId,
      after: { feature_flags: { [FLAG]: true } },
    })
    expect(await read(FLAG_PATH)).toContain('rival</a> <span class="pill good">On</span>')
    expect(await readObject(await call(`GET ${API}/feature-flags/${FLAG}`))).toMatchObject({
      enabled: false,
      organizations: [{ name: 'rival', enabled: true }],
    })
    await ask(operator).post(FLAG_PATH, { enabled: 'on' })
    await ask(operator).post(path, { [`flag_${FLAG}`]: 'off' })
    expect(await states()).toEqual([true, false])
    const { name, feature_flags: flags } = await readObject(
      await call(`GET ${API}/organizations/${platform.rival.organizationId}`),
    )
    expect(flags).toEqual({ [FLAG]: false })
    const back = await call(`PUT ${API}/organizations/${platform.rival.organizationId}`, { name })
    expect(back.status).toBe(200)
    expect(await states()).toEqual([true, true])
  })

  it.each([
    ['another state', { enabled: 'maybe' }],
    ['no state', {}],
    ['a state with a NUL', { enabled: 'on\0' }],
  ])('refuses %s in words', async (_, fields) => {
    const answer = await ask(operator).post(FLAG_PATH, fields)
    expect(answer.status).toBe(422)
    expect(await answer.text()).toContain('State must be on or off')
    expect(await states()).toEqual([false, false])
  })

  it('is changed by a form of ours only, and only one that exists', async () => {
    const forged = { enabled: 'on', csrf_token: 'x' }
    expect((await ask(operator).post(FLAG_PATH, forged)).status).toBe(403)
    for (const id of ['everything', '__proto__', '%27', 'x'.repeat(1000)]) {
      const { status } = await ask(operator).post(`/admin/feature-flags/${id}`, { enabled: 'on' })
      expect(status).toBe(404)
    }
    const strange = { name: 'acme', feature_flags: { everything: true } }
    expect((await call(`PUT /designer/v2${acme}`, strange)).status).toBe(422)
    expect(await states()).toEqual([false, false])
  })
})

describe('an organization', () => {
  it('is created with limits of its own, and gets an admin by a link', async () => {
    const made = await call(`POST ${API}/organizations`, { name: 'Globex', queued_runs: 0 })
    expect(made.status).toBe(201)
    const { id, queued_runs: queued, internal } = await readObject(made)
    expect([queued, internal]).toEqual([0, false])
    expect(await lastEntry()).toMatchObject({ action: 'organization_created', organizationId: id })
    expect((await call(`POST ${API}/organizations`, { name: 'Globex' })).status).toBe(409)
    const { link } = await readObject(await call(`POST ${API}/organizations/${String(id)}/invite`))
    expect(link).toMatch(/^http:\/\/platform\.test\/invitations\/[\w-]{43}$/)
    const entry = await lastEntry()
    expect(entry).toMatchObject({ action: 'organization_admin_invited', organizationId: id })
    expect(JSON.stringify(entry)).not.toContain(String(link).split('/').at(-1))
  })

  it('keeps its name, and is not deleted', async () => {
    expect((await call(`PUT /designer/v2${acme}`, { name: 'other' })).status).toBe(422)
    await ask(operator).post(acme, { name: 'other' })
    expect(await read(acme)).toContain('<h1 class="break">acme</h1>')
    expect((await call(`DELETE /designer/v2${acme}`)).status).toBe(405)
  })
})

describe('a user', () => {
  it('is disabled and enabled again, by Undo as well', async () => {
    const { userId } = await signInAs(platform, 'eve', 'editor')
    const { is_disabled: isDisabled } = await readObject(
      await call(`POST ${API}/users/${userId}/disable`),
    )
    expect(isDisabled).toBe(true)
    expect(await read(`/admin/users/${userId}`)).toContain('Enable')
    const enabled = await ask(operator).post(`/admin/users/${userId}/enable`)
    const page = await read(enabled.headers.get('location') ?? '')
    expect(page).toContain(`action="/admin/users/${userId}/disable"`)
    expect(await lastEntry()).toMatchObject({ action: 'user_enabled', organizationId: null })
  })

  it('who is the administrator that asks, changes nothing of the own account', async () => {
    const own = `/admin/users/${operator.userId}`
    const before = (await platform.audit()).length
    for (const [verb, status] of [
      ['disable', 409],
      ['enable', 409],
      ['delete', 422],
      ['reset', 409],
    ] as const) {
      expect((await ask(operator).post(`${own}/${verb}`)).status).toBe(status)
    }
    for (const verb of ['disable', 'enable', 'reset']) {
      expect((await call(`POST /designer/v2${own}/${verb}`)).status).toBe(409)
    }
    expect((await call(`DELETE /designer/v2${own}`)).status).toBe(409)
    const page = await read(own)
    expect(page).toContain('Another administrator disables or deletes it.')
    expect(page).not.toMatch(/action="\/admin|\/delete"/)
    expect((await platform.audit()).length).toBe(before)
  })
})

describe('what belongs to the platform', () => {
  const PATHS = ['organizations', 'users', 'feature-flags']

  it('is there for nobody but its administrators', async () => {
    const admin = await platform.signIn(platform.acme)
    const disabled = await signInAs(platform, 'gone', 'platform-admin')
    await disableUser(platform.sql, disabled.userId)
    const nothing = await textOf(await ask(member).get('/nothing'))
    for (const who of [member, admin, disabled]) {
      for (const path of PATHS) {
        expect(await textOf(await ask(who).get(`/admin/${path}`))).toBe(nothing)
        const answer = await callAs(sessionOf(who))(`GET ${API}/${path}`)
        expect([answer.status, await textOf(answer)]).toEqual([404, nothing])
      }
      expect((await ask(who).post(FLAG_PATH, { enabled: 'on' })).status).toBe(404)
      const change = { enabled: true }
      const headers = sessionOf(who)
      expect((await callAs(headers)(`PUT ${API}/feature-flags/${FLAG}`, change)).status).toBe(404)
    }
    expect(await states()).toEqual([false, false])
    await until(async () => (await platform.audit()).some((row) => row['refused']))
    expect(await read('/')).toContain('/admin/users')
    expect(await textOf(await ask(member).get('/'))).not.toContain('/admin/users')
  })

  it('takes no token, whatever its scopes and its organization are', async () => {
    const { id } = await ensureOrganization(platform.sql, { name: 'Internal', internal: true })
    for (const organizationId of [platform.acme.organizationId, id]) {
      const token = await issueStaticToken(platform.sql, {
        organizationId,
        deploymentId: null,
        name: 'all',
        createdBy: operator.userId,
        scopes: [...TOKEN_SCOPES],
      })
      const bearer = { authorization: `Bearer ${token}` }
      for (const path of PATHS) {
        expect((await callAs(bearer)(`GET ${API}/${path}`)).status).toBe(404)
        // The header decides, whoever has the cookie.
        const both = { ...sessionOf(operator), ...bearer }
        expect((await callAs(both)(`GET ${API}/${path}`)).status).toBe(404)
      }
      const made = await callAs(bearer)(`POST ${API}/organizations`, { name: 'Mine' })
      expect(made.status).toBe(404)
    }
  })

  it('is changed by a session with its CSRF token, from a page of ours', async () => {
    const path = `${API}/feature-flags/${FLAG}`
    const { 'x-csrf-token': _, ...without } = sessionOf(operator)
    expect((await callAs(without)(`PUT ${path}`, { enabled: true })).status).toBe(403)
    const elsewhere = { ...sessionOf(operator), origin: 'https://evil.test' }
    expect((await callAs(elsewhere)(`PUT ${path}`, { enabled: true })).status).toBe(403)
    expect(await states()).toEqual([false, false])
  })

  it('is kept in no files, which a token would write', async () => {
    const document = await readObject(await platform.app.request('/openapi.json'))
    const paths = isObject(document['paths']) ? document['paths'] : {}
    expect(paths[`${API}/organizations`]).toMatchObject({ post: { security: [{ session: [] }] } })
    expect(JSON.stringify(paths[`${API}/organizations`])).not.toContain('x-resource')
  })
})
