import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { disableUser, enableUser } from '../../../../services/platform/people/accounts.ts'
import { recognizeIdentity } from '../../../../services/platform/people/identities.ts'
import { createSession, findSession } from '../../../../services/platform/people/sessions.ts'
import { cheapHash, openPlatform } from '../support/platform.ts'
import type { SignedInUser, Platform } from '../support/platform.ts'

const PASSWORD = 'correct horse battery staple'
const NEXT = 'another horse, another staple'
const PATH = '/account/password'
let platform: Platform
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
})

beforeEach(async () => {
  await platform.sql`delete from sign_in_failures`
  await platform.sql`delete from sessions`
  await platform.sql`update users set password_hash = ${cheapHash(PASSWORD)} where issuer is null`
  ada = await platform.signIn(platform.acme)
  platform.lines.length = 0
})

afterAll(() => platform.close())

const get = (path: string, { cookie } = ada) => platform.app.request(path, { headers: { cookie } })
const change = (fields: Record<string, string> = {}, { cookie, csrfToken } = ada) =>
  platform.app.request(PATH, {
    method: 'POST',
    headers: { cookie },
    body: new URLSearchParams({
      csrf_token: csrfToken,
      current: PASSWORD,
      next: NEXT,
      again: NEXT,
      ...fields,
    }),
  })

async function signIn(password: string): Promise<number> {
  const form = await platform.app.request('/sign-in')
  const cookie = form.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  const csrf = /name="csrf_token" value="([^"]+)"/.exec(await form.text())?.[1] ?? ''
  const body = new URLSearchParams({ email: platform.acme.email, password, csrf_token: csrf })
  return (await platform.app.request('/sign-in', { method: 'POST', headers: { cookie }, body }))
    .status
}

describe('changing the own password', () => {
  it('ends the other sessions, keeps this one, and leaves a line in the audit log', async () => {
    const other = await platform.signIn(platform.acme)
    const foreign = await platform.signIn(platform.rival)
    const response = await change()
    expect([response.status, response.headers.get('location')]).toEqual([
      303,
      '/?notice=password-changed',
    ])
    expect(await findSession(platform.sql, ada.token)).toBeDefined()
    expect(await findSession(platform.sql, other.token)).toBeUndefined()
    expect(await findSession(platform.sql, foreign.token)).toBeDefined()
    expect([await signIn(PASSWORD), await signIn(NEXT)]).toEqual([401, 303])
    expect(platform.lines).toContainEqual(
      expect.objectContaining({
        audit: 'password_changed',
        user_id: platform.acme.userId,
        sessions_ended: 1,
      }),
    )
    expect(JSON.stringify(platform.lines)).not.toContain('staple')
  })

  it.each([
    ['a wrong current password', { current: 'wrong' }, 'The current password is incorrect.'],
    ['two that differ', { again: `${NEXT}!` }, 'The two new passwords differ.'],
    ['one that is too short', { next: 'short', again: 'short' }, 'between 12 and 1024 characters'],
    [
      'no change',
      { next: PASSWORD, again: PASSWORD },
      'The new password is the same as the current one.',
    ],
  ])('is refused with %s', async (_, fields, problem) => {
    const response = await change(fields)
    expect(response.status).toBe(422)
    expect(await response.text()).toContain(problem)
    expect(await signIn(PASSWORD)).toBe(303)
  })

  it('gives whoever took over a session no more guesses than a sign-in does', async () => {
    for (let guess = 0; guess < 10; guess += 1) {
      expect((await change({ current: `guess ${guess}` })).status).toBe(422)
    }
    const throttled = await change()
    expect(throttled.status).toBe(429)
    expect(Number(throttled.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await signIn(PASSWORD)).toBe(429)
  })

  it('is for a page of ours only', async () => {
    expect((await change({ csrf_token: 'x' })).status).toBe(403)
    expect((await change({}, { ...ada, cookie: '' })).status).toBe(303)
  })

  it('is offered to those who have a password here, and to nobody else', async () => {
    expect(await (await get('/account')).text()).toContain(`href="${PATH}"`)
    expect((await get(PATH)).status).toBe(200)
    const identity = { issuer: 'https://idp.test', subject: 'carol', email: null, name: 'Carol' }
    const known = await recognizeIdentity(platform.sql, { ...identity, roles: [] })
    const token = await createSession(platform.sql, Number(known?.userId))
    const carol = { ...ada, cookie: `platform_session=${token}` }
    expect(await (await get('/account', carol)).text()).not.toContain(PATH)
    expect((await get(PATH, carol)).status).toBe(404)
  })
})

describe('a disabled user', () => {
  it('is signed out, and is answered at the sign-in as one with a wrong password', async () => {
    await disableUser(platform.sql, platform.acme.userId)
    expect((await get('/')).headers.get('location')).toBe('/sign-in?next=%2F')
    expect(await signIn(PASSWORD)).toBe(401)
    await enableUser(platform.sql, platform.acme.userId)
    expect(await signIn(PASSWORD)).toBe(303)
  })
})
