import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAccountLink } from '../../../../services/platform/people/account-links.ts'
import { setMembership } from '../../../../services/platform/people/memberships.ts'
import { findCredentials } from '../../../../services/platform/people/users.ts'
import { verifyPassword } from '../../../../services/platform/people/passwords.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, cheapHash, openPlatform } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'

const PASSWORD = 'correct horse battery staple'
const MEMBERS = '/settings/organization/members'
type Person = SignedInUser & { readonly userId: number }

let platform: Platform
let operator: Person
let admin: Person
let bob: Person

beforeAll(async () => {
  platform = await openPlatform(cheapHash('an earlier password'))
  operator = await signInAs(platform, 'operator', 'platform-admin')
  admin = { ...(await platform.signIn(platform.acme)), userId: platform.acme.userId }
  bob = await signInAs(platform, 'bob', 'viewer')
})

beforeEach(async () => {
  const { organizationId } = platform.acme
  await setMembership(platform.sql, { userId: bob.userId, organizationId, role: 'viewer' })
})

afterAll(() => platform.close())

const ask = (who: SignedInUser) => askAs(platform.app, who)
const textOf = async (response: Response) => (await response.text()).replace(/\s+/g, ' ')
const roleOf = async ({ userId }: Person) => {
  const [row] = await platform.sql<{ role: string }[]>`
    select role from memberships
    where user_id = ${userId} and organization_id = ${platform.acme.organizationId}`
  return row?.role
}
const lastEntry = async () => {
  const [row] = await platform.sql`
    select action, actor_name, target_name, before, after from audit_entries
    where not refused order by id desc limit 1`
  return row
}

describe('the members of an organization', () => {
  it('are shown to all of them, and changed by its admins, from the next request on', async () => {
    const seen = await textOf(await ask(bob).get(MEMBERS))
    expect(seen).toContain('ada@acme.test')
    const invitations = 'class="button push" href="/settings/organization/invitations"'
    expect(seen).toContain(`<a hidden ${invitations}`)
    expect(await textOf(await ask(admin).get(MEMBERS))).toContain(`<a ${invitations}`)
    expect((await ask(bob).get('/settings/organization/invitations')).status).toBe(403)
    expect((await ask(bob).post('/projects', { name: 'Plan' })).status).toBe(403)
    const path = `${MEMBERS}/${bob.userId}`
    const shown = await textOf(await ask(admin).get(path))
    const [, version = ''] = /name="row_version" value="([\w-]+)"/.exec(shown) ?? []
    const form = { role: 'editor', row_version: version }
    expect((await ask(admin).post(path, form)).status).toBe(303)
    expect(await lastEntry()).toMatchObject({
      action: 'member_changed',
      actorName: 'ada@acme.test',
      targetName: 'bob@roles.test',
      before: { role: 'viewer' },
      after: { role: 'editor' },
    })
    expect((await ask(bob).post('/projects', { name: 'Plan' })).status).toBe(303)
    // The form of a page that is out of date changes nothing.
    const stale = await ask(admin).post(path, { ...form, role: 'admin' })
    expect(stale.status).toBe(422)
    expect(await textOf(stale)).toContain('The member was changed meanwhile')
    expect(await roleOf(bob)).toBe('editor')
    expect((await ask(admin).post(path, { role: 'owner' })).status).toBe(422)
  })

  it('are removed after a question, and what they made stays', async () => {
    const path = `${MEMBERS}/${bob.userId}/delete`
    const question = await textOf(await ask(admin).get(path))
    expect(question).toContain('Remove the member bob@roles.test?')
    const removed = await ask(admin).post(path)
    expect(removed.status).toBe(303)
    expect(await lastEntry()).toMatchObject({
      action: 'member_removed',
      before: { role: 'viewer' },
      after: null,
    })
    const told = await textOf(await ask(admin).get(removed.headers.get('location') ?? ''))
    expect(told).toContain('The membership has ended.')
    expect(await textOf(await ask(bob).get('/'))).toContain('not a member of any organization')
    expect((await ask(bob).get('/projects')).status).toBe(403)
    expect((await ask(admin).post(path)).status).toBe(404)
  })

  it('keep an admin, who neither steps down nor leaves', async () => {
    const { userId, organizationId } = platform.acme
    for (const [path, fields, status] of [
      [`${MEMBERS}/${userId}`, { role: 'viewer' }, 422],
      [`/account/organizations/${organizationId}/leave`, {}, 409],
    ] as const) {
      const refused = await ask(admin).post(path, fields)
      expect(refused.status).toBe(status)
      expect(await textOf(refused)).toContain('This is the last admin of the organization')
    }
    expect(await roleOf(admin)).toBe('admin')
  })

  it('leave on the page of their own account, to which their row leads', async () => {
    const { userId, organizationId } = platform.acme
    const own = await textOf(await ask(admin).get(`${MEMBERS}/${userId}`))
    expect(own).toContain(`href="/account/organizations/${organizationId}/leave">Leave acme<`)
    const refused = await ask(admin).post(`${MEMBERS}/${userId}/delete`)
    expect(refused.status).toBe(422)
    expect(await textOf(refused)).toContain('You leave on the page of your account.')
    expect(await roleOf(admin)).toBe('admin')
  })
})

describe('what a role does not allow', () => {
  it('is greyed out or left out on the pages, and works for those who may', async () => {
    const { automationId } = platform.acme.research
    const automation = `/automations/${automationId}`
    const seen = await textOf(await ask(bob).get(automation))
    expect(seen).toContain('Your role in acme is viewer')
    const start = `action="${automation}/executions"`
    const shown = seen.slice(seen.indexOf(start))
    expect(shown.slice(0, shown.indexOf('>') + 40)).toContain('<fieldset class="off" disabled>')
    const connections = await textOf(await ask(bob).get('/llm-connections'))
    const form = connections.slice(connections.indexOf('action="/llm-connections"'))
    expect(form.slice(0, form.indexOf('>') + 40)).toContain('<fieldset class="off" disabled>')
    const full = await textOf(await ask(admin).get(automation))
    expect(full).not.toContain('<fieldset class="off" disabled>')
    // What people have of their own stays theirs.
    expect(await textOf(await ask(bob).get('/account'))).not.toContain('class="off"')
  })
})

describe('an account of one’s own', () => {
  it('changes the organization, and a form of the one before does nothing there', async () => {
    const { organizationId } = platform.rival
    await setMembership(platform.sql, { userId: bob.userId, organizationId, role: 'editor' })
    expect(await textOf(await ask(bob).get('/'))).toMatch(
      /Change to<\/p>\s*<button name="organization" value="\d+">rival</,
    )
    const entered = await ask(bob).post('/account/organization', {
      organization: String(organizationId),
    })
    expect(entered.headers.get('location')).toBe('/')
    expect((await ask(bob).post('/projects', { name: 'Elsewhere' })).status).toBe(403)
    const page = await (await ask(bob).get('/account')).text()
    const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
    expect((await ask({ ...bob, csrfToken }).post('/projects', { name: 'There' })).status).toBe(303)
    bob = { ...bob, csrfToken }
    const wrong = await ask(bob).post('/account/organization', { organization: '999999' })
    expect(wrong.status).toBe(404)
    expect((await ask(bob).post(`/account/organizations/${organizationId}/leave`)).status).toBe(303)
    expect(await lastEntry()).toMatchObject({
      action: 'member_removed',
      actorName: 'bob@roles.test',
    })
    bob = await signInAs(platform, 'bob')
  })

  it('lists its sessions and ends them, one or all', async () => {
    const other = await signInAs(platform, 'bob')
    const page = await (await ask(bob).get('/account')).text()
    const [id] = /(?<=\/account\/sessions\/)[\w-]{36}/.exec(page) ?? []
    expect((await ask(admin).post(`/account/sessions/${id}/end`)).status).toBe(404)
    expect((await ask(bob).post(`/account/sessions/${id}/end`)).status).toBe(303)
    expect((await ask(bob).post(`/account/sessions/${id}/end`)).status).toBe(404)
    expect((await ask(bob).post('/account/sessions/x/end')).status).toBe(404)
    const out = await ask(bob).post('/account/sign-out-everywhere')
    expect(out.headers.get('set-cookie')).toContain('platform_session=;')
    for (const who of [bob, other]) expect((await ask(who).get('/account')).status).toBe(303)
    bob = await signInAs(platform, 'bob')
  })
})

describe('the people of the platform', () => {
  const PEOPLE = '/admin/users'

  it('get a link to a new password, which works once and ends their sessions', async () => {
    const path = `${PEOPLE}/${bob.userId}/reset`
    const first = await textOf(await ask(operator).post(path))
    const second = await textOf(await ask(operator).post(path))
    const [old = '', link = ''] = [first, second].map(
      (page) => /http:\/\/platform\.test(\/reset-password\/[\w-]{43})/.exec(page)?.[1],
    )
    expect((await platform.app.request(BASE_URL + old)).status).toBe(404)
    expect(JSON.stringify(platform.lines)).not.toContain(link.split('/')[2])
    const typed = { next: PASSWORD, again: PASSWORD }
    expect((await submit(link, { ...typed, again: 'another one' })).status).toBe(422)
    const done = await submit(link, typed)
    expect(await textOf(done)).toContain('Your password is changed')
    expect(await lastEntry()).toMatchObject({
      action: 'password_changed',
      actorName: 'bob@roles.test',
    })
    expect((await platform.app.request(BASE_URL + link)).status).toBe(404)
    expect((await ask(bob).get('/account')).status).toBe(303)
    const stored = await findCredentials(platform.sql, 'bob@roles.test')
    expect(await verifyPassword(PASSWORD, stored?.passwordHash ?? null)).toBe(true)
    bob = await signInAs(platform, 'bob')
  })

  it('are disabled, enabled and deleted, but for oneself', async () => {
    const eve = await signInAs(platform, 'eve', 'editor')
    const path = `${PEOPLE}/${eve.userId}`
    expect((await ask(operator).post(`${path}/disable`)).status).toBe(303)
    expect((await ask(eve).get('/account')).status).toBe(303)
    expect((await ask(operator).post(`${path}/reset`)).status).toBe(409)
    expect((await ask(operator).post(`${path}/enable`)).status).toBe(303)
    await platform.issueToken({ ...platform.acme, userId: eve.userId })
    const question = await textOf(await ask(operator).get(`${path}/delete`))
    expect(question).toContain('also the tokens that they issued')
    expect(await textOf(await ask(operator).get(path))).toMatch(
      /Live tokens<\/dt> ?<dd[^>]*> ?1 ?</,
    )
    expect((await ask(operator).post(`${path}/delete`)).status).toBe(303)
    expect(await lastEntry()).toMatchObject({
      action: 'user_deleted',
      targetName: 'eve@roles.test',
    })
    const tokens = await platform.sql`select 1 from static_tokens where created_by is null`
    expect(tokens).toHaveLength(1)
    for (const [verb, status] of [
      ['disable', 409],
      ['delete', 422],
      ['reset', 409],
    ] as const) {
      const self = await ask(operator).post(`${PEOPLE}/${operator.userId}/${verb}`)
      expect(self.status).toBe(status)
    }
    expect((await ask(operator).post(`${PEOPLE}/999999/disable`)).status).toBe(404)
    expect((await ask(admin).post(`${PEOPLE}/${bob.userId}/disable`)).status).toBe(404)
  })

  it('leave one administrator at least, also when two disable each other at once', async () => {
    const second = await signInAs(platform, 'second', 'platform-admin')
    const answers = await Promise.all([
      ask(operator).post(`${PEOPLE}/${second.userId}/disable`),
      ask(second).post(`${PEOPLE}/${operator.userId}/disable`),
    ])
    expect(answers.map(({ status }) => status).filter((status) => status === 303)).toHaveLength(1)
    await platform.sql`update users set disabled_at = null`
    operator = await signInAs(platform, 'operator')
  })

  it('are signed in by a link of an operator, past any other way of signing in', async () => {
    const request = { userId: bob.userId, purpose: 'sign-in' } as const
    const token = await createAccountLink(platform.sql, request)
    const link = `/sign-in/link/${token}`
    // A program that looks at links does not use it up.
    await platform.app.request(BASE_URL + link)
    const signedIn = await submit(link, {})
    expect(signedIn.headers.get('set-cookie')).toContain('platform_session=')
    expect((await platform.app.request(BASE_URL + link)).status).toBe(404)
    expect((await platform.app.request(`${BASE_URL}/sign-in/link/x`)).status).toBe(404)
  })
})

describe('the organizations of the platform', () => {
  const PATH = '/admin/organizations'

  it('are created, and get an admin by an invitation', async () => {
    expect((await ask(operator).post(PATH, { name: 'Umbrella' })).status).toBe(303)
    expect((await ask(operator).post(PATH, { name: 'Umbrella' })).status).toBe(422)
    expect((await ask(operator).post(PATH, { name: 'x'.repeat(201) })).status).toBe(422)
    const list = await textOf(await ask(operator).get(`${PATH}?q=umbrella`))
    const id = /admin\/organizations\/(\d+)"/.exec(list)?.[1] ?? ''
    const link = await textOf(await ask(operator).post(`${PATH}/${id}/invite`))
    const path = /platform\.test(\/invitations\/[\w-]{43})/.exec(link)?.[1] ?? ''
    expect((await ask(bob).post(path)).status).toBe(303)
    expect(await textOf(await ask(bob).get('/account'))).toContain('Umbrella')
    expect((await ask(operator).post(`${PATH}/999999/invite`)).status).toBe(404)
  })
})

/** Opens a link in a browser without a session, and sends its form. */
async function submit(link: string, fields: Record<string, string>): Promise<Response> {
  const shown = await platform.app.request(`${BASE_URL}${link}`)
  const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(await shown.text())?.[1] ?? ''
  const cookie = (shown.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  return platform.app.request(`${BASE_URL}${link}`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrf_token: csrfToken, ...fields }),
  })
}
