import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { BASE_URL, openPlatform } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'

let platform: Platform
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
})

afterAll(() => platform.close())

const get = (path: string, headers: Record<string, string> = {}) =>
  platform.app.request(BASE_URL + path, { headers: { cookie: ada.cookie, ...headers } })
const entries = async (text: string): Promise<unknown> => {
  const response = await get(`/find/entries?q=${encodeURIComponent(text)}`)
  return Object(await response.json()).entries
}

describe('the search over everything', () => {
  it('finds automations and projects by name and runs by id, of the own organization', async () => {
    const { research } = platform.acme
    const path = `/automations/${research.automationId}`
    expect(await entries('ACME RES')).toContainEqual({
      kind: 'Automation',
      name: 'acme research',
      path,
    })
    const id = await kickoff(platform.sql, { deploymentId: research.id, inputs: { topic: 'x' } })
    expect(await entries(id)).toEqual([{ kind: 'Run', name: id, path: `${path}/executions/${id}` }])
    const theirs = await kickoff(platform.sql, {
      deploymentId: platform.rival.research.id,
      inputs: { topic: 'x' },
    })
    expect(await entries(theirs)).toEqual([])
    expect(await entries('rival')).toEqual([])
  })

  it('is a page, too, which says when nothing was found', async () => {
    expect(await (await get('/find?q=research')).text()).toContain('acme research</a>')
    const nothing = await (await get('/find?q=%25_zz')).text()
    expect(nothing).toContain('Nothing found')
    expect(nothing).toContain('href="/executions?text=%25_zz"')
    expect(await (await get(`/find?q=${'x'.repeat(5000)}`)).text()).toContain('Nothing found')
  })
})

describe('how close the rows of lists are', () => {
  const density = async (value: string, referer: string) => {
    const body = new URLSearchParams({ csrf_token: ada.csrfToken, density: value })
    const headers = { cookie: ada.cookie, referer }
    return platform.app.request(`${BASE_URL}/account/display`, { method: 'POST', body, headers })
  }

  it('is kept by the browser, and leads back to the page of the menu', async () => {
    const response = await density('compact', `${BASE_URL}/executions?status=error`)
    expect(response.headers.get('location')).toBe('/executions?status=error')
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    expect(cookie).toMatch(/density=compact$/)
    const page = await (await get('/', { cookie: `${ada.cookie}; ${cookie}` })).text()
    expect(page).toContain('<body class="compact">')
    expect(await (await get('/')).text()).not.toContain('class="compact"')
  })

  it.each(['https://evil.test/x', 'nonsense', `${BASE_URL}//evil.test`])(
    'leads nowhere else: %s',
    async (referer) => {
      expect((await density('roomy', referer)).headers.get('location')).toBe('/account')
    },
  )
})
