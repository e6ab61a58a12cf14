import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setMembership } from '../../../../../services/platform/people/memberships.ts'
import { spanOf } from '../../../collector/support/otlp.ts'
import { askAs } from '../../support/forms.ts'
import type { SignedInUser } from '../../support/platform.ts'
import { freshTraceId, openTracedApp } from '../../support/traces.ts'
import type { TracedApp } from '../../support/traces.ts'

const [praised, blamed, silent] = [freshTraceId(), freshTraceId(), freshTraceId()]

describe('the notes of a trace', () => {
  let traced: TracedApp
  let ada: SignedInUser
  let rival: SignedInUser
  beforeAll(async () => {
    traced = await openTracedApp()
    const { platform, collector } = traced
    const traces = [praised, blamed, silent].map((traceId) => spanOf({ traceId, name: traceId }))
    await traced.send(platform.acme, traces)
    await traced.send(platform.rival, [spanOf({ traceId: praised })])
    await collector.rolledUp()
    ada = await platform.signIn(platform.acme)
    rival = await platform.signIn(platform.rival)
  })
  afterAll(() => traced.close())

  const as = (who: SignedInUser) => askAs(traced.app, who)
  const page = async (who: SignedInUser, path: string): Promise<string> =>
    (await as(who).get(path)).text()
  const listed = async (query: string): Promise<string[]> => {
    const text = await page(ada, `/traces?${query}`)
    return [praised, blamed, silent].filter((id) => text.includes(`data-trace-id="${id}"`))
  }

  it('are seen by the organization, and lists can be limited to what has them', async () => {
    const note = 'Right, <script>alert(1)</script>\nand short.'
    const list = 'window=all&status=ok'
    const added = await as(ada).post(`/traces/${praised}/notes`, { rating: 'good', note, list })
    expect(added.status).toBe(303)
    const place = added.headers.get('location') ?? ''
    expect(place).toBe(`/traces/${praised}?list=window%3Dall%26status%3Dok&notice=note-added`)
    const shown = await page(ada, place)
    expect(shown).toContain('The note is added.')
    expect(shown).toMatch(/Ada Park[^]*Good[^]*Right, &lt;script&gt;alert\(1\)&lt;\/script&gt;/)
    await as(ada).post(`/traces/${blamed}/notes`, { rating: 'bad' })
    await as(ada).post(`/traces/${blamed}/notes`, { rating: 'bad', note: 'Twice.' })
    expect(await page(ada, '/traces')).toContain('2 bad · 1 note')
    expect(await listed('noted=good')).toEqual([praised])
    expect(await listed('noted=bad')).toEqual([blamed])
    expect(await listed('noted=any')).toEqual([praised, blamed])
    const exported = await page(ada, '/trace-export?noted=good')
    expect(exported.includes(praised) && !exported.includes(blamed)).toBe(true)
    expect(await page(ada, '/traces?noted=fine')).toContain('noted must be good, bad, any')
  })

  it('are nothing to another organization that has a trace of the same id', async () => {
    const theirs = await page(rival, `/traces/${praised}`)
    expect(theirs).not.toContain('and short')
    expect(await page(rival, '/traces?noted=any')).toContain('No traces found')
    const [{ id } = { id: '' }] = await traced.platform.sql<{ id: string }[]>`
      select id from trace_notes where rating = 1`
    expect((await as(rival).post(`/traces/${praised}/notes/${id}/delete`)).status).toBe(404)
    expect((await as(rival).post(`/traces/${blamed}/notes`, { rating: 'good' })).status).toBe(404)
    const deleted = await as(ada).post(`/traces/${praised}/notes/${id}/delete`)
    expect(deleted.headers.get('location')).toBe(`/traces/${praised}?notice=note-deleted`)
    expect(await listed('noted=good')).toEqual([])
  })

  it('say what they need', async () => {
    const post = (fields: Record<string, string>, id = silent) =>
      as(ada).post(`/traces/${id}/notes`, fields)
    for (const [fields, message] of [
      [{ note: '  ' }, 'choose a rating, or write a note'],
      [{ rating: 'superb' }, 'choose a rating, or write a note'],
      [{ note: 'x'.repeat(4001) }, 'at most 4000 characters (given: 4001)'],
    ] as const) {
      const answer = await post(fields)
      expect([answer.status, (await answer.text()).includes(message)]).toEqual([400, true])
    }
    expect((await post({ note: 'x' }, freshTraceId())).status).toBe(404)
    await traced.platform.sql`
      insert into trace_notes (organization_id, trace_id, note)
      select ${traced.platform.acme.organizationId}, ${silent}::uuid, 'full'
      from generate_series(1, 100)`
    expect((await post({ note: 'x' })).status).toBe(409)
  })

  it('are read by viewers, who write none', async () => {
    const { platform } = traced
    const { userId, organizationId } = platform.acme
    await platform.sql`delete from memberships where user_id = ${userId}`
    await setMembership(platform.sql, { userId, organizationId, role: 'viewer' })
    const shown = await page(ada, `/traces/${blamed}`)
    expect(shown).toContain('Twice.')
    expect(shown).not.toContain('Rate or add a note')
    expect((await as(ada).post(`/traces/${blamed}/notes`, { note: 'x' })).status).toBe(403)
  })
})
