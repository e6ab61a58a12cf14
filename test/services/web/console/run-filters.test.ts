import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { askAs, pressUndo } from '../support/forms.ts'
import { signInAs } from '../support/every-route.ts'
import { openPlatform } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let vic: ReturnType<typeof askAs>
let eve: ReturnType<typeof askAs>

beforeAll(async () => {
  platform = await openPlatform()
  ada = askAs(platform.app, await platform.signIn(platform.acme))
  vic = askAs(platform.app, await signInAs(platform, 'vic', 'viewer'))
  eve = askAs(platform.app, await platform.signIn(platform.rival))
  await kickoff(platform.sql, { deploymentId: platform.acme.research.id, inputs: { topic: 'x' } })
})

afterAll(() => platform.close())

const listFor = async (who: typeof ada): Promise<string> => (await who.get('/executions')).text()

describe('a saved filter of runs', () => {
  it('is of one person, or shared with all members by whoever may edit', async () => {
    const query = 'status=error&until=2026-02-30&x=1&columns=status,nonsense'
    const mine = await ada.post('/run-filters', { name: 'Mine', query })
    expect(mine.headers.get('location')).toBe(
      '/executions?status=error&columns=status&notice=filter-saved',
    )
    const ours = await ada.post('/shared-run-filters', { name: 'Ours <b>', query: 'trigger=api' })
    const told = await ada.get(ours.headers.get('location') ?? '')
    expect(await told.text()).toContain('The filter is saved. All members see it.')
    expect(await listFor(ada)).toContain('href="/executions?status=error&amp;columns=status"')
    const seen = await listFor(vic)
    expect(seen).toContain('Ours &lt;b&gt;')
    expect(seen).not.toMatch(/Mine|Save for all/)
    expect(await listFor(eve)).not.toContain('Ours')
    expect((await vic.post('/shared-run-filters', { name: 'x' })).status).toBe(403)
  })

  it('replaces one of the same name, and is deleted by its owner, and kept again', async () => {
    await ada.post('/run-filters', { name: 'Again', query: 'status=error' })
    await ada.post('/run-filters', { name: 'Again', query: 'status=queued' })
    const [{ id }, ...others] = await platform.sql<[{ id: number }]>`
      select id from run_filters where name = 'Again'`
    expect(others).toEqual([])
    const path = `/run-filters/${id}/delete`
    for (const who of [vic, eve]) expect((await who.post(path)).status).toBe(404)
    expect((await ada.post(`/shared-run-filters/${id}/delete`)).status).toBe(404)
    const deleted = await ada.post(path)
    expect((await ada.post(path)).status).toBe(404)
    const undo = { action: '/run-filters', name: 'Again', query: 'status=queued' }
    expect(await pressUndo(ada, deleted)).toEqual(undo)
    expect(await listFor(ada)).toContain('>Again</a')
  })

  it.each(['', ' ', 'a\u0007b', 'x'.repeat(81)])('needs a name, which %j is not', async (name) => {
    expect((await ada.post('/run-filters', { name })).status).toBe(422)
  })

  it('are 50 at most', async () => {
    for (let index = 0; index < 50; index += 1) {
      await vic.post('/run-filters', { name: `Filter ${index}` })
    }
    expect((await vic.post('/run-filters', { name: 'One more' })).status).toBe(409)
    expect((await vic.post('/run-filters', { name: 'Filter 1' })).status).toBe(303)
  })
})

describe('the columns of the list of runs', () => {
  it('are chosen by the address', async () => {
    const page = await (await ada.get('/executions?columns=finished&columns=duration')).text()
    const heads = [...page.matchAll(/<th scope="col"[^>]*>([^<]+)</g)].map(([, name]) => name)
    expect(heads).toEqual(['Run', 'Finished', 'Duration'])
    const usual = await (await ada.get('/executions?columns=none')).text()
    expect(usual).toContain('>Automation</th>')
  })
})
