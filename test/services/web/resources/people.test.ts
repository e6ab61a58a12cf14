import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { TOKEN_SCOPES } from '../../../../services/platform/automations/token-limits.ts'
import type { TokenLimits } from '../../../../services/platform/automations/token-limits.ts'
import { setMembership } from '../../../../services/platform/people/memberships.ts'
import type { OrganizationRole } from '../../../../services/platform/people/memberships.ts'
import { ensureUser } from '../../../../services/platform/people/users.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject, withMembers } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'

const MEMBERS = '/designer/v2/members'
const INVITATIONS = '/designer/v2/invitations'
const EVERYTHING = { scopes: TOKEN_SCOPES }

let platform: Platform
let grace: number

beforeAll(async () => {
  const opened = await openPlatform()
  platform = withMembers(opened, { app: opened.appAt(BASE_URL, { TRUSTED_PROXIES: '1' }) })
})
afterAll(() => platform.close())
beforeEach(async () => {
  const { sql, acme } = platform
  await sql`delete from memberships where user_id <> all(${[acme.userId, platform.rival.userId]})`
  await sql`delete from invitations`
  grace = await join('grace', 'viewer')
})

async function join(name: string, role: OrganizationRole): Promise<number> {
  const { sql, acme } = platform
  const { organizationId } = acme
  const email = `${name}@example.com`
  const userId = await ensureUser(sql, { organizationId, email, name, passwordHash: null })
  await setMembership(sql, { userId, organizationId, role })
  return userId
}

type Call = (
  request: string,
  body?: object,
  more?: Readonly<Record<string, string>>,
) => Promise<Response>

const callWith =
  (headers: Readonly<Record<string, string>>): Call =>
  async (request, body, more) => {
    const [method = '', path = ''] = request.split(' ')
    return platform.app.request(BASE_URL + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers, ...more },
      body: body ? JSON.stringify(body) : null,
    })
  }

/** Calls with a token for settings, unless the limits say otherwise. */
async function tokenCall(limits: Partial<TokenLimits> = {}, of = platform.acme): Promise<Call> {
  const { secret } = await createStaticToken(platform.sql, {
    organizationId: of.organizationId,
    deploymentId: null,
    name: 'CI',
    createdBy: of.userId,
    scopes: ['settings'],
    expiresAt: null,
    networks: [],
    ...limits,
  })
  return callWith({ authorization: `Bearer ${secret}`, 'x-forwarded-for': '10.0.0.1' })
}

const sessionCall = ({ cookie, csrfToken }: SignedInUser): Call =>
  callWith({ cookie, 'x-csrf-token': csrfToken })

const put = (role: string, email = 'grace@example.com') => ({ email, role })
const rolesOf = async () =>
  (
    await platform.sql<{ text: string }[]>`
      select u.email || ' ' || m.role || ' ' || m.source as text
      from memberships m join users u on u.id = m.user_id
      where m.organization_id = ${platform.acme.organizationId} order by u.email, m.source`
  ).map(({ text }) => text)
const ADA = 'ada@acme.test admin local'

describe('the members in the API', () => {
  it('are listed, changed for one version, and removed, each with its entry', async () => {
    const call = await tokenCall(EVERYTHING)
    const { members } = await readObject(await call(`GET ${MEMBERS}`))
    expect(members).toMatchObject([
      { id: platform.acme.userId, email: 'ada@acme.test', role: 'admin', disabled: false },
      { id: grace, role: 'viewer', effective_role: 'viewer', groups_role: null, name: 'grace' },
    ])
    const one = `${MEMBERS}/${grace}`
    const tag = (await call(`GET ${one}`)).headers.get('etag') ?? ''
    const changed = await call(`PUT ${one}`, put('editor'), { 'if-match': tag })
    expect(await readObject(changed)).toMatchObject({ role: 'editor' })
    const stale = await call(`PUT ${one}`, put('viewer'), { 'if-match': tag })
    expect(await readObject(stale)).toMatchObject({ error: 'precondition_failed' })
    expect((await call(`DELETE ${one}`, undefined, { 'if-match': tag })).status).toBe(412)
    expect(await rolesOf()).toEqual([ADA, 'grace@example.com editor local'])
    expect((await call(`DELETE ${one}`)).status).toBe(204)
    expect(await rolesOf()).toEqual([ADA])
    const entries = await platform.sql`
      select action, actor_kind, target_name, before, after from audit_entries
      where target_kind = 'member' order by id desc limit 2`
    const by = { actorKind: 'token', targetName: 'grace@example.com' }
    expect(entries).toEqual([
      { action: 'member_removed', ...by, before: { role: 'editor' }, after: null },
      { action: 'member_changed', ...by, before: { role: 'viewer' }, after: { role: 'editor' } },
    ])
  })

  it('say with dry_run how they would be, and stay as they are', async () => {
    const call = await tokenCall(EVERYTHING)
    const one = `${MEMBERS}/${grace}?dry_run=true`
    expect(await readObject(await call(`PUT ${one}`, put('editor')))).toEqual({
      email: 'grace@example.com',
      role: 'editor',
    })
    expect((await call(`PUT ${one}`, put('owner'))).status).toBe(422)
    expect((await call(`PUT ${one}`, put('editor', 'eve@example.com'))).status).toBe(422)
    expect(await rolesOf()).toEqual([ADA, 'grace@example.com viewer local'])
  })

  it('are not made there, keep their address, and are unknown to other organizations', async () => {
    const call = await tokenCall(EVERYTHING)
    const one = `${MEMBERS}/${grace}`
    expect((await call(`POST ${MEMBERS}`, put('viewer'))).status).toBe(405)
    expect((await call(`PUT ${one}`, put('editor', 'eve@example.com'))).status).toBe(422)
    expect((await call(`PUT ${one}`, { ...put('editor'), name: 'Eve' })).status).toBe(422)
    const starter = await tokenCall({ scopes: ['kickoff', 'upload'] })
    expect((await starter(`GET ${MEMBERS}`)).status).toBe(403)
    const theirs = await tokenCall(EVERYTHING, platform.rival)
    expect((await theirs(`GET ${one}`)).status).toBe(404)
    expect((await theirs(`PUT ${one}`, put('editor'))).status).toBe(404)
    expect((await theirs(`DELETE ${one}`)).status).toBe(404)
    expect(await (await theirs(`GET ${MEMBERS}`)).text()).not.toContain('grace@example.com')
    expect(await rolesOf()).toEqual([ADA, 'grace@example.com viewer local'])
  })

  it('are changed by admins, of whom one stays, also when two demote each other', async () => {
    const { acme } = platform
    const editor = sessionCall(await signInAs(platform, 'eddie', 'editor'))
    expect((await editor(`GET ${MEMBERS}`)).status).toBe(200)
    expect((await editor(`PUT ${MEMBERS}/${grace}`, put('editor'))).status).toBe(403)
    expect((await editor(`DELETE ${MEMBERS}/${grace}`)).status).toBe(403)
    const ada = sessionCall(await platform.signIn(acme))
    const own = { email: acme.email, role: 'editor' }
    const last = await ada(`PUT ${MEMBERS}/${acme.userId}`, own)
    expect([last.status, await last.text()]).toEqual([409, expect.stringContaining('last admin')])
    expect((await ada(`DELETE ${MEMBERS}/${acme.userId}`)).status).toBe(409)
    const second = await signInAs(platform, 'second', 'admin')
    const answers = await Promise.all([
      ada(`PUT ${MEMBERS}/${second.userId}`, { email: 'second@roles.test', role: 'viewer' }),
      sessionCall(second)(`PUT ${MEMBERS}/${acme.userId}`, own),
    ])
    // The second one is no admin any more, or would leave none.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const admins = (await rolesOf()).filter((each) => each.includes(' admin '))
    expect(admins).toHaveLength(1)
    const { userId, organizationId } = acme
    await setMembership(platform.sql, { userId, organizationId, role: 'admin' })
  })

  it('keep the role that groups give them, which is changed there', async () => {
    const { sql, acme } = platform
    await sql`
      update memberships set source = 'claim', role = 'editor'
      where user_id = ${grace} and organization_id = ${acme.organizationId}`
    const ada = sessionCall(await platform.signIn(acme))
    const one = `${MEMBERS}/${grace}`
    expect(await readObject(await ada(`GET ${one}`))).toMatchObject({
      role: 'editor',
      groups_role: 'editor',
    })
    for (const refused of [await ada(`PUT ${one}`, put('admin')), await ada(`DELETE ${one}`)]) {
      expect([refused.status, await refused.text()]).toEqual([
        409,
        expect.stringContaining('Editor by groups of the identity provider'),
      ])
    }
    expect(await rolesOf()).toEqual([ADA, 'grace@example.com editor claim'])
  })
})

const RIGHTS: readonly [Partial<TokenLimits>, OrganizationRole, string | null][] = [
  [EVERYTHING, 'admin', 'A token makes no admin'],
  [EVERYTHING, 'editor', null],
  [EVERYTHING, 'viewer', null],
  [{}, 'viewer', 'has a scope that the token which calls lacks'],
  [{ scopes: ['settings', 'read'] }, 'viewer', null],
  [{ scopes: ['settings', 'read', 'design', 'kickoff'] }, 'editor', 'has a scope that'],
  [{ ...EVERYTHING, networks: ['10.0.0.0/8'] }, 'viewer', 'could be used from addresses'],
  [{ ...EVERYTHING, expiresAt: new Date(Date.now() + 3_600_000) }, 'editor', null],
  [{ scopes: ['read', 'design', 'kickoff', 'upload'] }, 'viewer', 'lacks the scope settings'],
]

describe('a token that gives roles', () => {
  it.each(RIGHTS)('with %j gives %s only if it may do as much itself', async (limits, role, no) => {
    const call = await tokenCall(limits)
    const answers = [
      await call(`PUT ${MEMBERS}/${grace}`, put(role)),
      await call(`POST ${INVITATIONS}`, { role }),
      await call(`POST ${INVITATIONS}?dry_run=true`, { role }),
    ]
    const statuses = answers.map(({ status }) => status)
    expect(statuses).toEqual(no === null ? [200, 201, 200] : [403, 403, 403])
    for (const answer of answers) expect(await answer.text()).toContain(no ?? '')
    const given = no === null ? role : 'viewer'
    expect(await rolesOf()).toEqual([ADA, `grace@example.com ${given} local`])
    const invited = await platform.sql`select role, created_by from invitations`
    expect(invited).toEqual(no === null ? [{ role, createdBy: null }] : [])
  })

  it('neither lowers nor removes an admin, by groups or not', async () => {
    const { sql } = platform
    const call = await tokenCall(EVERYTHING)
    const one = `${MEMBERS}/${grace}`
    await join('grace', 'admin')
    for (const source of ['local', 'claim']) {
      await sql`
        insert into memberships (user_id, organization_id, role, source)
        values (${grace}, ${platform.acme.organizationId}, 'admin', ${source})
        on conflict do nothing`
      expect((await call(`PUT ${one}`, put('viewer'))).status).toBe(403)
      const refused = await call(`DELETE ${one}`)
      expect([refused.status, await refused.text()]).toEqual([
        403,
        expect.stringContaining('A token neither changes nor removes an admin'),
      ])
      await sql`update memberships set role = 'viewer' where user_id = ${grace}`
    }
  })
})

describe('invitations in the API', () => {
  it('answer their link once, are listed without it, and end when they are revoked', async () => {
    const ada = sessionCall(await platform.signIn(platform.acme))
    const made = await ada(`POST ${INVITATIONS}`, { role: 'editor', note: ' Grace ' })
    const { link, mailed, ...shown } = await readObject(made)
    expect([made.status, mailed]).toEqual([201, null])
    expect(shown).toMatchObject({ role: 'editor', note: 'Grace' })
    expect(shown).not.toHaveProperty('email')
    const path = String(link).slice(BASE_URL.length)
    expect((await platform.app.request(BASE_URL + path)).status).toBe(200)
    const one = made.headers.get('location') ?? ''
    expect(await readObject(await ada(`GET ${one}`))).toEqual(shown)
    const list = await (await ada(`GET ${INVITATIONS}`)).text()
    expect([list.includes('Grace'), list.includes(path)]).toEqual([true, false])
    expect((await ada(`DELETE ${one}`)).status).toBe(204)
    expect((await platform.app.request(BASE_URL + path)).status).toBe(404)
    expect((await ada(`GET ${one}`)).status).toBe(404)
    expect(JSON.stringify(platform.lines)).not.toContain(path.split('/')[2])
  })

  it('are seen by admins and tokens for settings alone, of their own organization', async () => {
    const ada = sessionCall(await platform.signIn(platform.acme))
    const made = await ada(`POST ${INVITATIONS}`, { role: 'editor', note: 'Grace' })
    const one = made.headers.get('location') ?? ''
    const editor = sessionCall(await signInAs(platform, 'eddie', 'editor'))
    const reader = await tokenCall({ scopes: ['read', 'design', 'kickoff', 'upload'] })
    for (const call of [editor, reader]) {
      expect((await call(`GET ${INVITATIONS}`)).status).toBe(403)
      expect((await call(`GET ${one}`)).status).toBe(403)
      expect((await call(`POST ${INVITATIONS}`, { role: 'viewer' })).status).toBe(403)
      expect((await call(`DELETE ${one}`)).status).toBe(403)
    }
    const theirs = await tokenCall(EVERYTHING, platform.rival)
    expect((await theirs(`GET ${one}`)).status).toBe(404)
    expect((await theirs(`DELETE ${one}`)).status).toBe(404)
    expect(await readObject(await theirs(`GET ${INVITATIONS}`))).toEqual({ invitations: [] })
    const settings = await tokenCall()
    expect((await settings(`GET ${one}`)).status).toBe(200)
    const rival = askAs(platform.app, await platform.signIn(platform.rival))
    const page = one.replace('/designer/v2', '/settings/organization')
    expect((await rival.get(page)).status).toBe(404)
    expect((await rival.post(`${page}/delete`)).status).toBe(404)
    expect(await platform.sql`select from invitations where revoked_at is null`).toHaveLength(1)
  })

  it('are refused with an address where no mail server is, and without a role', async () => {
    const ada = sessionCall(await platform.signIn(platform.acme))
    const mailed = await ada(`POST ${INVITATIONS}`, { role: 'viewer', email: 'a@example.com' })
    expect(await readObject(mailed)).toMatchObject({
      status: 422,
      message: expect.stringContaining('This platform has no mail server'),
    })
    for (const body of [{}, { role: 'owner' }, { role: 'viewer', email: 'a@b, c@d' }]) {
      expect((await ada(`POST ${INVITATIONS}`, body)).status).toBe(422)
    }
    expect(await platform.sql`select from invitations`).toHaveLength(0)
  })
})
