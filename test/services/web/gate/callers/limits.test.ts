import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { saveOwnLimits } from '../../../../../services/platform/people/organization-limits.ts'
import { createQueueRoom } from '../../../../../services/platform/runs/queue-room.ts'
import { kickoff } from '../../../../../services/platform/runs/runs.ts'
import { takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { grantRole } from '../../../../../services/platform/people/users.ts'
import { connectDatabase } from '../../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../../services/shared/postgres/database.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { createCallLimits } from '../../../../../services/web/gate/callers/call-limits.ts'
import type { CallLimits } from '../../../../../services/web/gate/callers/call-limits.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const QUEUE = { QUEUED_RUNS_MAX: '5' }

let platform: Platform
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
})

beforeEach(async () => {
  await platform.sql`truncate executions, api_calls, organization_limits cascade`
})

afterAll(() => platform.close())

let moment = Date.UTC(2026, 5, 1)
const log = createLog({ name: 'test', level: 'silent' })
/** A replica of its own, with its own counts. */
const replica = (tokenCalls: number, organizationCalls = 0, sql: Database = platform.sql) =>
  createCallLimits({
    sql,
    log,
    now: () => moment,
    timeoutMs: 60_000,
    limits: { tokenCalls, organizationCalls },
  })
const caller = (id: string, organizationId = platform.acme.organizationId) => ({
  kind: 'token' as const,
  id,
  organizationId,
})

/** Returns true for a call that was counted, false for one that was refused. */
const isTaken = (calls: CallLimits, who = caller('7')): Promise<boolean> =>
  calls.take(who).then(
    () => true,
    () => false,
  )

async function countTaken(replicas: readonly CallLimits[], count: number): Promise<number> {
  const calls = Array.from({ length: count }, (_, index) => replicas[index % replicas.length])
  const taken = await Promise.all(calls.map(async (each) => each && isTaken(each)))
  return taken.filter(Boolean).length
}

describe('the calls of a minute', () => {
  beforeEach(() => {
    moment += 3_600_000
  })

  it('are counted over all replicas, also those of a flood', async () => {
    const replicas = [replica(100), replica(100), replica(100)]
    const taken = await countTaken(replicas, 600)
    expect(taken).toBeGreaterThanOrEqual(100)
    // What each of them may not have told the others.
    expect(taken).toBeLessThanOrEqual(130)
    expect(await countTaken(replicas, 30)).toBe(0)
    moment += 60_000
    expect(await countTaken(replicas, 30)).toBe(30)
  })

  it('say what is left of them, and when a refused caller may come again', async () => {
    const calls = replica(3, 4)
    expect(await calls.take(caller('7'))).toEqual({
      'ratelimit-policy': '"token";q=3;w=60, "organization";q=4;w=60',
      ratelimit: '"token";r=2;t=60, "organization";r=3;t=60',
    })
    moment += 59_500
    expect(await calls.take(caller('8'))).toMatchObject({
      ratelimit: '"token";r=2;t=1, "organization";r=2;t=1',
    })
    await countTaken([calls], 2)
    await expect(calls.take(caller('7'))).rejects.toMatchObject({
      code: 'rate_limited',
      details: { policy: 'token', limit: 3, window_seconds: 60, retry_after_seconds: 1 },
      headers: { 'retry-after': '1', ratelimit: '"token";r=0;t=1, "organization";r=0;t=1' },
    })
    await expect(calls.take(caller('9'))).rejects.toMatchObject({
      details: { policy: 'organization', limit: 4 },
    })
    await calls.take(caller('77', platform.rival.organizationId))
  })

  it('hold with the limits of the organization itself, or with none', async () => {
    const { organizationId } = platform.acme
    const own = { tokenCalls: 2, organizationCalls: null, queuedRuns: null }
    await saveOwnLimits(platform.sql, organizationId, own)
    const calls = replica(10)
    expect(await countTaken([calls], 20)).toBe(2)
    await saveOwnLimits(platform.sql, organizationId, { ...own, tokenCalls: 0 })
    moment += 60_000
    expect(await countTaken([calls], 20)).toBe(20)
  })

  it('are counted by each replica alone while the database is unavailable', async () => {
    const gone = connectDatabase(parseAddress(platform.url), { name: 'gone' })
    await gone.end()
    expect(await countTaken([replica(100, 0, gone)], 300)).toBe(100)
  })

  it('are told on each answer of the APIs to a token, and on the refusal', async () => {
    const app = platform.appAt(BASE_URL, { TOKEN_CALLS_PER_MINUTE: '5' })
    const { automationId } = platform.acme.research
    const paths = [
      `/platform/api/v1/crew/${automationId}/inputs`,
      `/platform/api/v1/crew/${automationId}/status/none`,
      '/designer/v2/projects',
    ]
    const headers = { authorization: `Bearer ${token}` }
    let refused: Response | undefined
    for (let call = 0; call < 30 && !refused; call += 1) {
      const response = await app.request(paths[call % paths.length] ?? '', { headers })
      expect(response.headers.get('ratelimit')).toMatch(
        /^"token";r=[0-5];t=\d\d?, "organization";r=\d+;t=\d\d?$/,
      )
      if (response.status === 429) refused = response
    }
    expect(refused?.headers.get('ratelimit-policy')).toBe(
      '"token";q=5;w=60, "organization";q=30000;w=60',
    )
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused?.json()).toMatchObject({
      error: 'rate_limited',
      details: { policy: 'token', limit: 5 },
    })
    const page = await app.request('/', await platform.signIn(platform.acme).then(cookieOf))
    expect(page.headers.has('ratelimit')).toBe(false)
  })
})

const cookieOf = ({ cookie }: { readonly cookie: string }) => ({ headers: { cookie } })

describe('a full queue', () => {
  const start = async (app: Platform['app'], path: string, headers: Record<string, string> = {}) =>
    app.request(path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: path.endsWith('/rerun') ? '{}' : '{"inputs":{"topic":"tides"}}',
    })
  const api = (rest: string) =>
    `/platform/api/v1/crew/${platform.acme.research.automationId}${rest}`

  it('refuses all that is beyond its limit, at two replicas at once, and says why', async () => {
    const apps = [1, 2].map(() => platform.appAt(BASE_URL, QUEUE))
    const kickoffs = Array.from({ length: 20 }, (_, index) =>
      start(apps[index % 2] ?? platform.app, api('/kickoff'), { 'idempotency-key': `k${index}` }),
    )
    const answers = await Promise.all(kickoffs)
    const started = answers.filter(({ status }) => status === 202)
    expect(started).toHaveLength(5)
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.headers.get('retry-after')).toBe('10')
    expect(await refused?.json()).toMatchObject({
      error: 'queue_full',
      message: expect.stringContaining('has 5 runs in the queue, and at most 5 may wait there'),
      details: { queued: 5, limit: 5 },
    })
    const [app = platform.app] = apps
    // A repeated call is answered as it was: it starts nothing.
    const first = answers.findIndex(({ status }) => status === 202)
    const again = await start(app, api('/kickoff'), { 'idempotency-key': `k${first}` })
    expect(again.status).toBe(202)
    const [taken] = await takeRuns(platform.sql, 1)
    expect((await start(app, api('/kickoff'))).status).toBe(202)
    const others = [api(`/runs/${taken?.id}/rerun`), await designerPath()]
    for (const path of others) {
      expect(await readObject(await start(app, path))).toMatchObject({ error: 'queue_full' })
    }
    const { cookie, csrfToken } = await platform.signIn(platform.acme)
    const { automationId } = platform.acme.research
    const page = await app.request(`/automations/${automationId}/executions/${taken?.id}/again`, {
      method: 'POST',
      headers: { cookie, origin: BASE_URL, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf_token: csrfToken }),
    })
    expect(page.status).toBe(429)
    expect(await page.text()).toContain('at most 5 may wait there')
  })

  it('keeps no other organization from starting, nor one with a higher limit', async () => {
    const app = platform.appAt(BASE_URL, { QUEUED_RUNS_MAX: '1' })
    await start(app, api('/kickoff'))
    expect((await start(app, api('/kickoff'))).status).toBe(429)
    const rival = `Bearer ${await platform.issueToken(platform.rival)}`
    const theirs = `/platform/api/v1/crew/${platform.rival.research.automationId}/kickoff`
    expect((await start(app, theirs, { authorization: rival })).status).toBe(202)
    const own = { tokenCalls: null, organizationCalls: null, queuedRuns: 2 }
    await saveOwnLimits(platform.sql, platform.acme.organizationId, own)
    const more = await Promise.all([1, 2, 3].map(() => start(app, api('/kickoff'))))
    expect(more.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 429, 429])
  })

  it('is not looked at while it is short, and exactly once it is long', async () => {
    const { sql, acme } = platform
    const { id: deploymentId } = acme.research
    const rooms = [1, 2, 3].map(() => createQueueRoom({ queuedRuns: 2000, now: () => 0 }))
    const startIn = (index: number) =>
      kickoff(sql, {
        deploymentId,
        inputs: { topic: 'tides' },
        admit: rooms[index % 3]?.of(acme.organizationId),
      })
    await Promise.all([0, 1, 2].map(startIn))
    const room = rooms[0]?.of(acme.organizationId)
    // The look would fail on a connection that is gone; what is let in does not need it.
    const gone = connectDatabase(parseAddress(platform.url), { name: 'gone' })
    await gone.end()
    expect(await room?.(gone, async () => 'started')).toBe('started')
    await sql`
      insert into executions (deployment_id, inputs)
      select ${deploymentId}, '{"topic": "tides"}' from generate_series(1, 1947)`
    const late = [1, 2, 3].map(() => createQueueRoom({ queuedRuns: 2000 }))
    const results = await Promise.allSettled(
      Array.from({ length: 120 }, (_, index) =>
        kickoff(sql, {
          deploymentId,
          inputs: { topic: 'tides' },
          admit: late[index % 3]?.of(acme.organizationId),
        }),
      ),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(50)
  })

  async function designerPath(): Promise<string> {
    const [row] = await platform.sql<{ id: number }[]>`
      select v.project_id as id from deployments d
        join project_versions v on v.id = d.project_version_id
      where d.id = ${platform.acme.research.id}`
    return `/designer/v2/projects/${row?.id}/executions`
  }
})

describe('the limits of an organization', () => {
  const change = (as: string, body: unknown) =>
    platform.app.request(`/designer/v2/organizations/${platform.acme.organizationId}/limits`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  it('are changed by administrators of the platform on a page, with the audit', async () => {
    const { sql, acme } = platform
    await grantRole(sql, acme.userId, 'platform-admin')
    const { cookie, csrfToken } = await platform.signIn(acme)
    const path = `/admin/organizations/${acme.organizationId}`
    const post = (fields: Record<string, string>) =>
      platform.app.request(path, {
        method: 'POST',
        headers: { cookie, origin: BASE_URL, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ csrf_token: csrfToken, ...fields }),
      })
    const bad = await post({ token_calls_per_minute: '1e9', queued_runs: '99999999' })
    expect(bad.status).toBe(422)
    const page = await bad.text()
    expect(page).toContain('Calls in a minute with one token must be a whole number')
    expect(page).toContain('Runs in the queue must be at most 10000000')
    expect((await post({ token_calls_per_minute: '', queued_runs: '50' })).status).toBe(303)
    const shown = await (await platform.app.request(path, { headers: { cookie } })).text()
    expect(shown).toMatch(/name="queued_runs"\s+value="50"/)
    expect((await platform.audit()).at(-1)).toMatchObject({
      action: 'organization_changed',
      targetName: 'acme',
      before: { queued_runs: null },
      after: { queued_runs: 50 },
    })
  })

  it('are read by itself, and changed with a token of the internal organization only', async () => {
    const { sql, acme } = platform
    const [{ id }] = await sql<[{ id: number }]>`
      insert into organizations (name, internal) values ('Internal', true) returning id`
    const internal = await platform.issueToken({ ...acme, organizationId: id })
    expect((await change(token, { queued_runs: 1 })).status).toBe(403)
    expect((await change(internal, { queued: 1 })).status).toBe(422)
    expect((await change(internal, { queued_runs: 7, token_calls_per_minute: 0 })).status).toBe(200)
    const own = await platform.app.request('/designer/v2/limits', {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(await own.json()).toEqual({
      token_calls_per_minute: 0,
      organization_calls_per_minute: 30_000,
      queued_runs: 7,
      own: { token_calls_per_minute: 0, organization_calls_per_minute: null, queued_runs: 7 },
    })
  })
})
