import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { markDown } from '../../../../services/platform/automations/automations.ts'
import { completeRun, failRun, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { recordEvent } from '../../../support/record-event.ts'
import { findRun, kickoff } from '../../../../services/platform/runs/runs.ts'
import {
  absoluteTime,
  byteSize,
  duration,
  pretty,
  relativeTime,
  sentence,
} from '../../../../services/web/console/frame/format.ts'
import { axisTop } from '../../../../services/web/console/frame/bar-chart.ts'
import { successRate } from '../../../../services/web/console/dashboard/page.ts'
import { kickoffCommand } from '../../../../services/web/console/frame/commands.ts'
import { grantRole, revokeRole } from '../../../../services/platform/people/users.ts'
import { openPlatform } from '../support/platform.ts'
import type { SignedInUser, Platform } from '../support/platform.ts'

const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
const UNKNOWN = '00000000-0000-4000-8000-000000000000'

let platform: Platform
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
})

beforeEach(async () => {
  await platform.sql`delete from executions`
})

afterAll(() => platform.close())

const get = (path: string) => platform.app.request(path, { headers: { cookie: ada.cookie } })

async function read(path: string, status = 200): Promise<string> {
  const response = await get(path)
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toBe('text/html; charset=UTF-8')
  return (await response.text()).replace(/\s+/g, ' ')
}

const post = (path: string, fields: Record<string, string> = {}, user = ada) =>
  platform.app.request(path, {
    method: 'POST',
    body: new URLSearchParams({ csrf_token: user.csrfToken, ...fields }),
    headers: { cookie: user.cookie },
  })

const pageOf = (automation = platform.acme.research): string =>
  `/automations/${automation.automationId}`

const enqueue = (inputs: Record<string, unknown> = { topic: 'whales' }) =>
  kickoff(platform.sql, { deploymentId: platform.acme.research.id, inputs })

async function take() {
  const [taken] = await takeRuns(platform.sql, 1)
  if (!taken) throw new Error('nothing to take')
  return taken
}

it('have a menu in named groups, in which no two entries look alike', async () => {
  const { sql, acme } = platform
  await grantRole(sql, acme.userId, 'platform-admin')
  const [, menu = ''] = /<nav id="main-menu"([^]*?)<\/nav>/.exec(await read('/')) ?? []
  await revokeRole(sql, acme.userId, 'platform-admin')
  const groups = [...menu.matchAll(/class="group">([^<]+)/g)].map(([, name]) => name)
  expect(groups).toEqual(['Work', 'Organization', 'Platform'])
  expect(menu.indexOf('class="group"')).toBeLessThan(menu.indexOf('<a '))
  const icons = [...menu.matchAll(/<svg[^>]*>([^]*?)<\/svg>/g)].map(([, drawing]) => drawing)
  expect(icons.length).toBe([...menu.matchAll(/<a /g)].length)
  expect(new Set(icons).size).toBe(icons.length)
})

describe('the dashboard and the list of automations', () => {
  it('show the automations of the own organization only', async () => {
    for (const path of ['/', '/automations']) {
      const page = await read(path)
      expect(page).toContain('acme research')
      expect(page).toContain('acme digest')
      expect(page).not.toContain('rival')
      expect(page).toContain('>Online</span>')
    }
  })

  it('count the runs and link to the recent ones', async () => {
    expect(await read('/')).toContain('No runs yet')
    const id = await enqueue()
    await completeRun(platform.sql, await take(), {
      output: 'done',
      usage: { inputTokens: 1000, outputTokens: 234 },
    })
    const page = await read('/')
    expect(page).toContain(`href="${pageOf()}/executions/${id}"`)
    expect(page).toContain('1,234')
    expect(page).toContain('100 % of 1')
    expect(page).toContain('1 run in the last 24 hours, 0 of them failed or stopped')
    expect(await read('/?range=30d')).toContain('1 run in the last 30 days')
    expect(await read('/?range=__proto__')).toContain('1 run in the last 24 hours')
    const list = await read('/automations')
    expect(list).toContain('>Completed</span>')
  })

  it('explain to a new organization what will be here', async () => {
    const [{ id }] = await platform.sql<[{ id: number }]>`
      insert into organizations (name) values ('empty') returning id`
    const [{ id: userId }] = await platform.sql<[{ id: number }]>`
      insert into users (organization_id, email, name) values (${id}, 'e@empty.test', 'E')
      returning id`
    await platform.sql`insert into memberships values (${userId}, ${id}, 'admin')`
    const { cookie } = await platform.signIn({ ...platform.acme, userId })
    for (const path of ['/', '/automations']) {
      const page = await (await platform.app.request(path, { headers: { cookie } })).text()
      expect(page).toContain('No automations yet')
      expect(page).toContain('href="/new-automation"')
    }
  })
})

describe('the page of an automation', () => {
  it('shows its state, its inputs and the command that calls it (SPEC 4.4)', async () => {
    const page = await read(pageOf())
    expect(page).toContain('acme research</h1>')
    expect(page).toContain('name="input.topic"')
    const integrate = await read(`${pageOf()}/integrate`)
    expect(integrate).toContain(
      'curl &#39;http://platform.test/platform/api/v1/crew/' +
        `${platform.acme.research.automationId}/kickoff&#39;`,
    )
    expect(integrate).toContain('{&quot;inputs&quot;:{&quot;topic&quot;:&quot;…&quot;}}')
    expect(integrate).toContain(`crew/${platform.acme.research.automationId}/mcp</code>`)
    expect(await read(`${pageOf()}/static-tokens`)).toContain('No static tokens yet')
    expect(await read(`${pageOf()}/design`)).toContain('Agents')
    expect(await read(pageOf(platform.acme.digest))).toContain('It needs no inputs.')
  })

  it('says why a crew is down', async () => {
    const { id } = platform.acme.digest
    await markDown(platform.sql, id, { status: 'Crew has Failed', reason: 'The image is gone.' })
    const page = await read(pageOf(platform.acme.digest))
    expect(page).toContain('>Failed</span>')
    expect(page).toContain('The image is gone.')
  })

  it('shows our own notices only, whatever the address says', async () => {
    expect(await read(`${pageOf()}?notice=stopped`)).toContain('The run is stopped.')
    expect(await read(`${pageOf()}?notice=Ring+this+number`)).not.toContain('Ring')
    expect(await read(`${pageOf()}?notice=constructor`)).not.toContain('native code')
  })
})

describe('starting and stopping from the browser', () => {
  it('queues a run with the inputs and goes to its page', async () => {
    const response = await post(`${pageOf()}/executions`, { 'input.topic': ' owls\n' })
    expect(response.status).toBe(303)
    const [, id = ''] = /executions\/(.+)$/.exec(response.headers.get('location') ?? '') ?? []
    expect(await findRun(platform.sql, platform.acme.research.id, id)).toMatchObject({
      status: 'queued',
      inputs: { topic: ' owls\n' },
    })
    const page = await read(response.headers.get('location') ?? '')
    expect(page).toMatch(/data-live="\/automations\/[^"]+\/live\?view=rendered"/)
    expect(page).toContain('>Refresh</a>')
    expect(page).toContain('No progress yet')
  })

  it('shows the form again with what was typed when an input is missing', async () => {
    const response = await post(`${pageOf()}/executions`, { 'input.topic': '  ' })
    expect(response.status).toBe(422)
    expect(await response.text()).toContain('topic must not be empty.')
    const bad = await post(`${pageOf()}/executions`, { 'input.topic': `${HOSTILE}\0` })
    expect(bad.status).toBe(422)
    expect(await bad.text()).not.toContain('<script>')
    const stale = await post(`${pageOf()}/executions`, { 'input.topic': 'x', 'input.topik': 'y' })
    expect(stale.status).toBe(422)
    expect(await stale.text()).toContain('This automation has no input topik.')
  })

  it('stops a run once', async () => {
    const path = `${pageOf()}/executions/${await enqueue()}`
    expect(await read(`${path}/stop`)).toContain('<h1>Stop this run?</h1>')
    const stopped = await post(`${path}/stop`)
    expect(stopped.headers.get('location')).toBe(`${path}?notice=stopped`)
    expect(await read(`${path}?notice=stopped`)).toContain('The run is stopped.')
    const again = await post(`${path}/stop`)
    expect(again.headers.get('location')).toBe(`${path}?notice=over-already`)
    expect((await get(`${path}/stop`)).headers.get('location')).toBe(`${path}?notice=over-already`)
  })
})

describe('the page of a run', () => {
  it('shows inputs, progress, output and usage of a completed one', async () => {
    const id = await enqueue({ topic: 'whales', limits: { words: 400 } })
    const lease = await take()
    const steps = [
      { type: 'crew_started', at: '2026-11-21T12:00:00.000Z' },
      {
        type: 'llm_call',
        started_at: '2026-11-21T12:00:00.000Z',
        ended_at: '2026-11-21T12:00:02.300Z',
        error: { code: 'rate_limited', message: 'Too many requests.' },
      },
      { type: 'task_completed', task: 'research', output: 'line one\nline two' },
    ]
    for (const [position, event] of steps.entries()) {
      await recordEvent(platform.sql, lease, { position, event })
    }
    const running = await read(`${pageOf()}/executions/${id}`)
    expect(running).toContain('LLM call')
    expect(running).toMatch(/class="number">2\.3 s</)
    expect(running).toContain('rate_limited')
    expect(running).not.toContain('12:00:02.300')
    expect(running).toContain('>Running</span>')
    expect(running).toMatch(/href="[^"]+\/stop">Stop<\/a>/)
    const usage = { inputTokens: 18_432, outputTokens: 2210 }
    await completeRun(platform.sql, lease, { output: 'Whales sing.', usage })
    const page = await read(`${pageOf()}/executions/${id}`)
    for (const shown of ['Whales sing.', '18,432', '2,210', 'Task completed', '"words"', id]) {
      expect(page.replaceAll('&quot;', '"')).toContain(shown)
    }
    expect(page).toContain('data-live=""')
    expect(page).not.toContain('>Stop</a>')
  })

  it('shows the error of a failed one', async () => {
    const id = await enqueue()
    await failRun(platform.sql, await take(), {
      code: 'crew_unavailable',
      message: 'It is unavailable.',
    })
    const page = await read(`${pageOf()}/executions/${id}`)
    expect(page).toContain('It is unavailable.')
    expect(page).toContain('crew_unavailable')
  })
})

describe('what others wrote', () => {
  it('is text on every page, whatever it holds', async () => {
    const { sql, acme } = platform
    const before = acme.research.name
    await sql`
      update deployments set name = ${HOSTILE}, status_reason = ${HOSTILE}
      where id = ${acme.research.id}`
    await sql`update users set name = ${HOSTILE} where id = ${acme.userId}`
    await sql`update organizations set name = ${HOSTILE} where id = ${acme.organizationId}`
    await platform.sql`
      insert into static_tokens (organization_id, name, token_hash, last_four)
      values (${acme.organizationId}, ${HOSTILE}, sha256('x'), '<b>x')`
    const id = await enqueue({ [HOSTILE]: HOSTILE })
    const lease = await take()
    const event = { type: HOSTILE, [HOSTILE]: HOSTILE, long: `${HOSTILE}\n`.repeat(9) }
    await recordEvent(sql, lease, { position: 0, event })
    const usage = { inputTokens: 1, outputTokens: 1 }
    await completeRun(sql, lease, { output: HOSTILE, usage })
    const failed = await enqueue({})
    await failRun(sql, await take(), { code: HOSTILE, message: HOSTILE })
    const paths = [
      '/',
      '/automations',
      pageOf(),
      `${pageOf()}/executions/${id}`,
      `${pageOf()}/executions/${failed}`,
      `/automations/${UNKNOWN}`,
    ]
    for (const path of paths) {
      const page = await (await get(path)).text()
      expect(page).toContain('&lt;script&gt;')
      expect(page).not.toMatch(/<script(?! type="module" src="\/assets\/)|<img src=x|<b>x/)
    }
    const signIn = await platform.app.request(`/sign-in?next=${encodeURIComponent(`/"><script>`)}`)
    expect(await signIn.text()).not.toContain('<script')
    await sql`
      update deployments set name = ${before}, status_reason = null
      where id = ${acme.research.id}`
    await sql`update organizations set name = 'acme' where id = ${acme.organizationId}`
    await sql`delete from static_tokens`
  })
})

describe('the border between organizations', () => {
  it('answers 404 for what belongs to another, just as for what does not exist', async () => {
    const rival = platform.rival.research
    const theirs = await kickoff(platform.sql, { deploymentId: rival.id, inputs: { topic: 'x' } })
    const mine = await enqueue()
    const foreign = [
      pageOf(rival),
      `/automations/${UNKNOWN}`,
      '/automations/nonsense',
      `${pageOf(rival)}/executions/${theirs}`,
      `${pageOf()}/executions/${theirs}`,
      `${pageOf(rival)}/executions/${mine}`,
      `${pageOf(platform.acme.digest)}/executions/${mine}`,
      `${pageOf()}/executions/nonsense`,
    ]
    for (const path of foreign) expect(await read(path, 404)).toContain('<h1>Not found</h1>')
    expect((await post(`${pageOf(rival)}/executions`, { 'input.topic': 'x' })).status).toBe(404)
    expect((await post(`${pageOf()}/executions/${theirs}/stop`)).status).toBe(404)
    expect((await post(`${pageOf(rival)}/static-tokens`, { name: 'x' })).status).toBe(404)
    expect(await findRun(platform.sql, rival.id, theirs)).toMatchObject({ status: 'queued' })
  })

  it('sends those without a session to the sign-in page, also for forms', async () => {
    for (const path of ['/', '/automations', pageOf(), `${pageOf()}/executions/${UNKNOWN}`]) {
      expect((await platform.app.request(path)).headers.get('location')).toMatch(
        /^\/sign-in\?next=/,
      )
    }
    const response = await platform.app.request(`${pageOf()}/static-tokens`, { method: 'POST' })
    expect(response.headers.get('location')).toBe('/sign-in')
  })

  it('ends a session that was idle for two hours, or is twelve hours old', async () => {
    const idle = await platform.signIn(platform.acme)
    await platform.sql`
      update sessions set last_seen_at = now() - interval '121 minutes'
      where token_hash = sha256(${idle.token}::text::bytea)`
    const response = await platform.app.request('/', { headers: { cookie: idle.cookie } })
    expect(response.status).toBe(303)
  })
})

describe('what cannot be undone', () => {
  it('is asked about first: a token to delete', async () => {
    const { sql, acme } = platform
    await platform.issueToken(acme)
    const [{ id }] = await sql<[{ id: number }]>`select id from static_tokens`
    const path = `/static-tokens/${id}/delete`
    const question = await read(path)
    expect(question).toMatch(/<h1>Delete the static token test \(pat_….{4}\)\?<\/h1>/)
    expect(question).toContain('loses access, from the next call on')
    expect(await sql`select from static_tokens where revoked_at is not null`).toHaveLength(0)
    expect((await post(path)).headers.get('location')).toContain('notice=static-token-deleted')
    await read(path, 404)
    await read('/static-tokens/99999999999/delete', 404)
    await sql`delete from static_tokens`
  })
})

describe('forms', () => {
  const forged: [string, Record<string, string>, Record<string, string>][] = [
    ['no token', { csrf_token: '' }, {}],
    ['the token of another session', { csrf_token: 'x'.repeat(43) }, {}],
    ['another site', {}, { 'sec-fetch-site': 'cross-site' }],
    ['another origin', {}, { origin: 'https://evil.test' }],
  ]
  it.each(forged)('are refused with %s', async (_, fields, headers) => {
    const own = ['executions', 'static-tokens', `executions/${await enqueue()}/stop`]
    const paths = [...own.map((path) => `${pageOf()}/${path}`), '/static-tokens/1/delete']
    for (const path of paths) {
      const response = await platform.app.request(path, {
        method: 'POST',
        body: new URLSearchParams({ csrf_token: ada.csrfToken, name: 'x', ...fields }),
        headers: { cookie: ada.cookie, ...headers },
      })
      expect(response.status).toBe(403)
      expect(await response.text()).toContain('This form has expired')
    }
    expect(await platform.sql`select 1 from static_tokens`).toHaveLength(0)
  })
})

describe('the form that starts a run', () => {
  const startOnce = /name="start_once" value="([^"]+)"/
  const start = async (form: Record<string, string>) =>
    (await post(`${pageOf()}/executions`, form)).headers.get('location')

  it('starts one run when it is sent twice, and another when it is filled in anew', async () => {
    const formId = startOnce.exec(await read(pageOf()))?.[1] ?? ''
    const form = { start_once: formId, 'input.topic': 'tides' }
    const twice = await Promise.all([start(form), start(form)])
    expect(twice[0]).toMatch(/executions\/[0-9a-f-]{36}$/)
    expect(twice[1]).toBe(twice[0])
    expect(await start({ ...form, 'input.topic': 'moons' })).not.toBe(twice[0])
    const anew = startOnce.exec(await read(pageOf()))?.[1] ?? ''
    expect(await start({ ...form, start_once: anew })).not.toBe(twice[0])
  })

  it('starts a run all the same when its id is missing or broken', async () => {
    const runs = await Promise.all(
      ['', '', 'x'].map((formId) => start({ 'input.topic': 'tides', start_once: formId })),
    )
    expect(new Set(runs).size).toBe(3)
  })
})

describe('an unforeseen failure', () => {
  it('shows a reference, and the log has the cause', async () => {
    const broken = await openPlatform()
    const { cookie } = await broken.signIn(broken.acme)
    await broken.sql`alter table executions rename to gone`
    const response = await broken.app.request('/', { headers: { cookie } })
    expect(response.status).toBe(500)
    const page = await response.text()
    expect(page).not.toContain('gone')
    const line = broken.lines.find(({ msg }) => msg === 'request failed')
    expect(page).toContain(String(line?.['request_id']))
    expect(JSON.stringify(line)).toContain('executions')
    const token = await broken.issueToken(broken.acme)
    const path = `/platform/api/v1/crew/${broken.acme.research.automationId}/status/${UNKNOWN}`
    const headers = { authorization: `Bearer ${token}` }
    const problem = await broken.app.request(path, { headers })
    expect(problem.status).toBe(500)
    expect(problem.headers.get('content-type')).toBe('application/problem+json')
    await broken.close()
  })
})

describe('how figures are written', () => {
  it.each([
    [0, 0, ''],
    [1, 0, '100 % of 1'],
    [4015, 4, '99.9 % of 4,019'],
    [999_999, 1, '99.9 % of 1,000,000'],
    [1, 999_999, '0.1 % of 1,000,000'],
    [0, 3, '0 % of 3'],
  ])('success of %i and failure of %i as “%s”', (completed, error, text) => {
    expect(successRate({ queued: 0, waiting: 0, running: 0, completed, error, stopped: 0 })).toBe(
      text,
    )
  })

  it('the top of an axis is even, and no lower than any bar', () => {
    expect([0, 1, 5, 9, 21, 64, 99, 100, 101, 4019].map(axisTop)).toEqual([
      4, 4, 6, 10, 40, 80, 100, 100, 200, 6000,
    ])
  })
})

describe('how values are written', () => {
  const now = new Date('2026-11-21T12:00:00Z')
  const ago = (seconds: number) => relativeTime(new Date(now.getTime() - seconds * 1000), now)

  it('writes times as people say them', () => {
    expect([0, 59, 60, 3599, 3600, 86_400, 86_400 * 45, 86_400 * 800].map(ago)).toEqual([
      'just now',
      'just now',
      '1 minute ago',
      '59 minutes ago',
      '1 hour ago',
      'yesterday',
      'last month',
      '2 years ago',
    ])
    const ahead = [0.5, 26, 59.8, 90, 7200, 7 * 86_400 - 1, 7 * 86_400, 86_400 - 5]
    expect(ahead.map((seconds) => ago(-seconds))).toEqual([
      'just now',
      'in 26 s',
      'in 1 minute',
      'in 2 minutes',
      'in 2 hours',
      'in 7 days',
      'in 7 days',
      'tomorrow',
    ])
    expect(absoluteTime(now)).toBe('2026-11-21 12:00:00 UTC')
  })

  it('writes durations in the unit that fits', () => {
    expect([-5, 840, 12_440, 59_999, 185_000, 7_800_000].map(duration)).toEqual([
      '0 ms',
      '840 ms',
      '12.4 s',
      '59.9 s',
      '3 min 5 s',
      '2 h 10 min',
    ])
  })

  it('writes sizes in the unit that fits', () => {
    expect([1, 1234, 2 * 1024 ** 2, 10 * 1024 ** 3, 1.5 * 1024 ** 3].map(byteSize)).toEqual([
      '1 byte',
      '1.2 KiB',
      '2 MiB',
      '10 GiB',
      '1.5 GiB',
    ])
  })

  it('writes identifiers as words and values as text', () => {
    expect(['task_started', 'llm_call', ''].map(sentence)).toEqual(['Task started', 'LLM call', ''])
    expect([pretty('a'), pretty({ a: 1 }), pretty(null)]).toEqual(['a', '{\n  "a": 1\n}', 'null'])
  })

  it('writes commands that a shell reads as one word each', () => {
    expect(kickoffCommand("https://x/'; rm -rf '", { "it's": 1 })).toContain(
      `'https://x/'\\''; rm -rf '\\''/kickoff'`,
    )
  })
})
