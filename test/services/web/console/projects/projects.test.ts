import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { definition } from '../../../../support/crew.ts'
import { askAs } from '../../support/forms.ts'
import { openPlatform } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let eve: ReturnType<typeof askAs>
let path: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = askAs(platform.app, await platform.signIn(platform.acme))
  eve = askAs(platform.app, await platform.signIn(platform.rival))
  path = locationOf(await ada.post('/projects', { name: 'Newsletter' }))
})

afterAll(() => platform.close())

const locationOf = (response: Response): string => response.headers.get('location') ?? ''
const text = (given: unknown): string => JSON.stringify(given, null, 2)

describe('the pages of the designer', () => {
  it('list the projects of the organization, and create one', async () => {
    expect(path).toMatch(/^\/projects\/\d+$/)
    const list = await (await ada.get('/projects')).text()
    expect(list).toContain(`href="${path}"`)
    expect(list).toContain('Newsletter')
    expect(await (await eve.get('/projects')).text()).not.toContain('Newsletter')
    const again = await ada.post('/projects', { name: 'Newsletter' })
    expect(again.status).toBe(422)
    expect(await again.text()).toContain('Your organization has a project of that name.')
    const bad = await ada.post('/projects', { name: '\u0007' })
    expect(bad.status).toBe(422)
    expect(await bad.text()).toContain('The name must have 1 to 200 characters')
  })

  it('add a draft, change it and publish it, as the API does', async () => {
    const form = await (await ada.get(`${path}/new-version`)).text()
    expect(form).toContain('Write a newsletter about {topic}.')
    const added = await ada.post(`${path}/versions`, { definition: text(definition) })
    expect([added.status, locationOf(added)]).toEqual([
      303,
      `${path}/versions/1?notice=draft-added`,
    ])
    const other = { ...definition, name: 'Other' }
    const saved = await ada.post(`${path}/versions/1`, { definition: text(other) })
    expect(saved.status).toBe(303)
    const published = await ada.post(`${path}/versions/1/publish`)
    expect(locationOf(published)).toBe(`${path}/versions/1?notice=version-published`)
    const page = await (await ada.get(`${path}/versions/1`)).text()
    expect(page).toContain('&quot;name&quot;: &quot;Other&quot;')
    expect(page).not.toContain('<textarea name="definition"')
    const late = await ada.post(`${path}/versions/1`, { definition: text(definition) })
    expect(late.status).toBe(409)
    expect(await (await ada.get(`${path}/new-version?from=1`)).text()).toContain('Other')
  })

  it('say what is wrong with a definition, at its place, and keep what was typed', async () => {
    const bad = { ...definition, agents: [{ key: 'a' }], x: '<script>alert(1)</script>' }
    const refused = await ada.post(`${path}/versions`, { definition: text(bad) })
    expect(refused.status).toBe(422)
    const page = await refused.text()
    expect(page).toContain('agents[0]: role is required')
    expect(page).toContain('x is not known')
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).not.toContain('<script>alert')
    const noJson = await ada.post(`${path}/versions`, { definition: '{"a":' })
    expect(await noJson.text()).toContain('The definition is not valid JSON')
    const long = text({ ...definition, name: 'x'.repeat(300_000) })
    const tooLong = await ada.post(`${path}/versions`, { definition: long })
    expect([tooLong.status, await tooLong.text()]).toEqual([
      422,
      expect.stringContaining('262144 are allowed'),
    ])
  })

  it('publish no version whose tools cannot be used', async () => {
    const tools = { shop: { type: 'mcp', url: 'http://127.0.0.1:9/', tools: ['find'] } }
    const added = await ada.post(`${path}/versions`, { definition: text({ ...definition, tools }) })
    const version = locationOf(added).split('?')[0]
    const refused = await ada.post(`${version}/publish`)
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('tools.shop: ')
    expect(await (await ada.get(path)).text()).toContain('draft')
  })

  it('are no addresses for others, and change nothing without the proof of our page', async () => {
    for (const each of ['', '/new-version', '/versions/1']) {
      expect((await eve.get(path + each)).status).toBe(404)
    }
    expect((await eve.post(`${path}/versions`, { definition: text(definition) })).status).toBe(404)
    expect((await eve.post(`${path}/versions/1/publish`)).status).toBe(404)
    expect((await ada.post('/projects', { name: 'X', csrf_token: 'x' })).status).toBe(403)
    for (const odd of ['/projects/0', '/projects/x', '/projects/99999999999', `${path}/versions/0`])
      expect((await ada.get(odd)).status).toBe(404)
  })
})
