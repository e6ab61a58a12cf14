import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { completeRun, failRun, takeRuns } from '../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { askAs } from './support/forms.ts'
import { openPlatform, readObject } from './support/platform.ts'
import type { Platform } from './support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let token: string
let byApi: string
let byPage: string

const apiOf = ({ automationId }: { automationId: string }, rest: string) =>
  platform.app.request(`/platform/api/v1/crew/${automationId}${rest}`, {
    headers: { authorization: `Bearer ${token}` },
  })

const show = async (path: string): Promise<string> => {
  const answer = await ada.get(path)
  expect(answer.status).toBe(200)
  return (await answer.text()).replace(/\s+/g, ' ')
}

/** The runs that a page of the list shows, by the beginning of their ids. */
const rowsOf = (page: string): string[] =>
  [...page.matchAll(/class="mono" href="[^"]+\/executions\/[0-9a-f-]{28}([0-9a-f]{8})"/g)].map(
    ([, id = '']) => id,
  )

beforeAll(async () => {
  platform = await openPlatform()
  const { sql, acme } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  token = await platform.issueToken(acme)
  const started = await platform.app.request(
    `/platform/api/v1/crew/${acme.research.automationId}/kickoff`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ inputs: { topic: 'tidal "power" 潮' } }),
    },
  )
  byApi = String((await readObject(started))['kickoff_id'])
  const [api] = await takeRuns(sql, 1)
  if (!api) throw new Error('nothing to take')
  const usage = { inputTokens: 1, outputTokens: 2 }
  await completeRun(sql, api, { output: 'The moon pulls 100 % of it.', usage })
  const path = `/automations/${acme.research.automationId}/executions`
  const posted = await ada.post(path, { 'input.topic': 'owls' })
  byPage = posted.headers.get('location')?.split('/').at(-1) ?? ''
  const [page] = await takeRuns(sql, 1)
  if (!page) throw new Error('nothing to take')
  await failRun(sql, page, { code: 'x', message: 'y' })
  await kickoff(sql, { deploymentId: platform.rival.research.id, inputs: { topic: 'owls' } })
})

afterAll(() => platform.close())

describe('the list of runs', () => {
  const both = () => [byPage.slice(-8), byApi.slice(-8)]
  const first = () => [byApi.slice(-8)]
  const second = () => [byPage.slice(-8)]
  const today = new Date().toISOString().slice(0, 10)
  const cases: [query: string, runs: () => string[]][] = [
    ['', both],
    ['trigger=api', first],
    ['trigger=console&status=error', second],
    ['trigger=schedule', () => []],
    ['by=test&trigger=api', first],
    ['by=ADA', second],
    ['automation=research', both],
    ['automation=digest', () => []],
    [`since=${today}&until=${today}`, both],
    ['until=2020-01-01', () => []],
    ['text=TIDAL', first],
    [`text=${encodeURIComponent('"power" 潮')}`, first],
    ['text=100+%25', first],
    ['text=owls&status=error', second],
    ['text=owls&status=completed', () => []],
  ]
  it.each(cases)('shows by ?%s what it asks for, of the own organization', async (query, runs) => {
    expect(rowsOf(await show(`/executions?${query}`))).toEqual(runs())
  })

  it('keeps the filter in the addresses of statuses, and says who started a run', async () => {
    const page = await show('/executions?by=test&trigger=api')
    expect(page).toContain('href="/executions?status=error&amp;trigger=api&amp;by=test"')
    expect(page).toMatch(/test <span class="sub">Automation API<\/span>/)
  })

  it('searches texts part by part, and says how far', async () => {
    const { sql, acme } = platform
    await sql`
      insert into executions (deployment_id, inputs, queued_at)
      select ${acme.digest.id}, '{}', now() + interval '1 minute' from generate_series(1, 2000)`
    const part = await show('/executions?text=tidal')
    expect(rowsOf(part)).toEqual([])
    expect(part).toContain('0 runs with “tidal”; searched back to')
    const on = /rel="next" href="([^"]+)"/.exec(part)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const rest = await show(on)
    expect(rowsOf(rest)).toEqual(first())
    expect(rest).toContain('all runs of this filter were searched')
    await sql`delete from executions where deployment_id = ${acme.digest.id}`
  })

  it('leads from a run to its version', async () => {
    const { automationId } = platform.acme.research
    const page = await show(`/automations/${automationId}/executions/${byApi}`)
    expect(page).toMatch(/href="\/projects\/\d+\/versions\/1" *>Version 1</)
  })
})

describe('GET …/runs', () => {
  it('lists the runs of the automation, newest first, page by page', async () => {
    const { research } = platform.acme
    const all = await readObject(await apiOf(research, '/runs'))
    expect(all).toMatchObject({
      runs: [
        { kickoff_id: byPage, status: 'error', trigger: 'console', error: { code: 'x' } },
        { kickoff_id: byApi, state: 'SUCCESS', trigger: 'api', started_by: 'test', version: 1 },
      ],
      next_cursor: null,
    })
    const page = await readObject(await apiOf(research, '/runs?limit=1'))
    expect(page['runs']).toMatchObject([{ kickoff_id: byPage }])
    const rest = await apiOf(research, `/runs?limit=1&cursor=${String(page['next_cursor'])}`)
    expect(await readObject(rest)).toMatchObject({
      runs: [{ kickoff_id: byApi }],
      next_cursor: null,
    })
    const failed = await readObject(await apiOf(research, '/runs?status=error'))
    expect(failed['runs']).toMatchObject([{ kickoff_id: byPage }])
  })

  it('lists no run of another automation, and refuses what it does not know', async () => {
    const digest = await readObject(await apiOf(platform.acme.digest, '/runs'))
    expect(digest).toEqual({ runs: [], next_cursor: null })
    expect((await apiOf(platform.rival.research, '/runs')).status).toBe(401)
    for (const query of ['status=done', 'limit=0', 'cursor=x', 'limit=1&limit=2']) {
      expect((await apiOf(platform.acme.research, `/runs?${query}`)).status).toBe(400)
    }
  })
})
