import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isEnabled } from '../../../../services/platform/feature-flags.ts'
import { grantRole } from '../../../../services/platform/people/users.ts'
import { until } from '../../../support/until.ts'
import { openPlatform } from '../support/platform.ts'
import type { SignedInUser, Platform } from '../support/platform.ts'

const PATH = '/admin/platform_settings'
const FLAG = 'k8s_namespace_isolation'

let platform: Platform
let admin: SignedInUser
let member: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  await grantRole(platform.sql, platform.acme.userId, 'platform-admin')
  admin = await platform.signIn(platform.acme)
  member = await platform.signIn(platform.rival)
})

afterAll(() => platform.close())

beforeEach(async () => {
  await platform.sql`delete from feature_flags`
})

const get = async ({ cookie }: SignedInUser, path = PATH) => {
  const response = await platform.app.request(path, { headers: { cookie, accept: 'text/html' } })
  return { status: response.status, text: (await response.text()).replace(/\s+/g, ' ') }
}

const post = (user: SignedInUser, fields: Record<string, string>, flag = FLAG) =>
  platform.app.request(`${PATH}/flags/${flag}`, {
    method: 'POST',
    headers: {
      cookie: user.cookie,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ csrf_token: user.csrfToken, ...fields }).toString(),
  })

const states = () =>
  Promise.all(
    [platform.acme, platform.rival].map((each) =>
      isEnabled(platform.sql, FLAG, each.organizationId),
    ),
  )

describe('the flags under Platform settings', () => {
  it('are switched for the whole platform, and it is audited', async () => {
    expect((await get(admin)).text).toContain('<span class="pill idle">Off</span>')
    const saved = await post(admin, { state: 'on' })
    expect(saved.status).toBe(303)
    expect(await states()).toEqual([true, true])
    const shown = await get(admin, saved.headers.get('location') ?? '')
    expect(shown.text).toContain('The flag is saved.')
    expect(shown.text).toContain('<span class="pill good">On</span>')
    expect(await platform.audit()).toMatchObject([
      {
        action: 'feature_flag_set',
        targetId: FLAG,
        after: { enabled: true },
        organizationId: null,
        actorId: String(platform.acme.userId),
      },
    ])
    await post(admin, { state: 'off' })
    expect(await states()).toEqual([false, false])
  })

  it('are switched for one organization, by its name', async () => {
    expect((await post(admin, { state: 'on', organization: 'rival' })).status).toBe(303)
    expect(await states()).toEqual([false, true])
    expect((await get(admin)).text).toContain('rival: <span class="pill good">On</span>')
  })

  it.each([
    ['another state', { state: 'maybe' }, 'The state of a flag is on or off.'],
    ['no state', {}, 'The state of a flag is on or off.'],
    [
      'an unknown organization',
      { state: 'on', organization: 'no\0pe' },
      'There is no organization',
    ],
  ])('refuse %s in words', async (_, fields, problem) => {
    const answer = await post(admin, fields)
    expect(answer.status).toBe(422)
    expect(await answer.text()).toContain(problem)
    expect(await states()).toEqual([false, false])
  })

  it('are changed by a form of ours only, and only those that exist', async () => {
    expect((await post(admin, { state: 'on', csrf_token: 'x' })).status).toBe(403)
    expect((await post(admin, { state: 'on' }, 'everything')).status).toBe(404)
    expect(await states()).toEqual([false, false])
  })

  it('are there for nobody but administrators', async () => {
    const nothing = await get(member, '/nothing')
    expect(await get(member)).toEqual(nothing)
    const refused = await post(member, { state: 'on' })
    expect(refused.status).toBe(404)
    expect(await states()).toEqual([false, false])
    await until(async () => (await platform.audit()).filter((row) => row['refused']).length === 2)
    expect((await platform.audit()).at(-1)).toMatchObject({
      action: 'call_refused',
      actorName: platform.rival.email,
      organizationId: platform.rival.organizationId,
    })
    expect((await get(admin, '/')).text).toContain(PATH)
    expect((await get(member, '/')).text).not.toContain(PATH)
  })
})
