import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createAlert,
  deleteExpiredChanges,
  listAlertChanges,
  readAlert,
  silenceAlert,
  updateAlert,
} from '../../../../services/platform/alerts/alerts.ts'
import type { Alert, AlertFields } from '../../../../services/platform/alerts/alerts.ts'
import { lookAtAlerts } from '../../../../services/platform/alerts/look-at-alerts.ts'
import { deleteOldCosts } from '../../../../services/platform/alerts/run-costs.ts'
import type { Watched } from '../../../../services/platform/alerts/watches.ts'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { ensureOrganization } from '../../../../services/platform/people/organizations.ts'
import { ensureUser } from '../../../../services/platform/people/users.ts'
import { createSchedule } from '../../../../services/platform/schedules/schedules.ts'
import { createRandom } from '../../../../services/platform/evaluations/statistics.ts'
import { createWebhook } from '../../../../services/platform/webhooks/webhooks.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { deployAutomation } from '../../../support/platform.ts'
import { isLong } from '../../../support/long.ts'
import { until } from '../../../support/until.ts'
import { useDatabase } from '../../../support/use-database.ts'

const database = useDatabase()
const prices = [
  { models: ['model-a'], perMillion: { input: 1, output: 1 }, readOn: undefined },
].map((price) => ({ ...price, organization: undefined, from: undefined, until: undefined }))
const NOON = Date.parse('2026-06-01T12:00:00Z')
const minute = (count: number): Date => new Date(NOON + count * 60_000)
/** Of a test that goes on for long in its long form. */
const LONG = { timeout: isLong ? 900_000 : 60_000 }
let research: Automation
let digest: Automation
let rival: Automation
let acme: number

const deploy = (organizationId: number, slug: string) =>
  deployAutomation(database.sql, organizationId, { slug, name: slug, project: slug })

beforeAll(async () => {
  const { sql } = database
  acme = (await ensureOrganization(sql, { name: 'acme' })).id
  research = await deploy(acme, 'research')
  digest = await deploy(acme, 'digest')
  const other = await ensureOrganization(sql, { name: 'rival' })
  rival = await deploy(other.id, 'rival')
  const people = { name: 'Ada', passwordHash: null }
  for (const [email, organizationId] of [
    ['ada@acme.example', acme],
    ['bob@acme.example', acme],
    ['eve@rival.example', other.id],
  ] as const) {
    await ensureUser(sql, { ...people, email, organizationId, role: 'editor' })
  }
})

beforeEach(async () => {
  const { sql } = database
  for (const table of ['alerts', 'webhooks', 'webhook_lines', 'webhook_messages', 'schedules']) {
    await sql`delete from ${sql(table)}`
  }
  await sql`delete from budgets`
  await sql`delete from executions`
})

interface Seeded {
  readonly of?: Automation
  readonly at?: number
  readonly status?: 'completed' | 'error' | 'stopped'
  readonly seconds?: number
  readonly tokens?: number
  readonly model?: string
}

/** A run that ended some minutes from noon. */
async function run({ at = 0, status = 'completed', tokens, ...seeded }: Seeded) {
  const { sql } = database
  const { of = research, seconds = 1, model = 'model-a' } = seeded
  const [{ id }] = await sql<[{ id: string }]>`
    insert into executions (deployment_id, inputs, status, started_at, finished_at, output,
      error, usage)
    values (${of.id}, '{}', ${status},
      ${minute(at)}::timestamptz - make_interval(secs => ${seconds}), ${minute(at)},
      ${status === 'completed' ? '' : null}, ${status === 'error' ? sql.json({}) : null},
      ${tokens === undefined ? null : sql.json({ inputTokens: tokens - 1, outputTokens: 1 })})
    returning id`
  if (tokens !== undefined) {
    await sql`
      insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
        started_at, ended_at, usage)
      select ${id}, key, 0, 'llm', ${model}, '[]', 'finished', attempt, now(), now(),
        ${sql.json({ input_tokens: tokens - 1, output_tokens: 1 })}
      from (values ('a', 1), ('carried over', 0)) s (key, attempt)`
  }
  return id
}

const rate = (id: string, rating: 1 | -1, { of = acme, at = 0 } = {}) => database.sql`
  insert into trace_notes (organization_id, trace_id, rating, note, created_at)
  values (${of}, ${id}, ${rating}, '', ${minute(at)})`

const rule: AlertFields = {
  name: 'too high',
  watches: 'failure_share',
  automation: null,
  deploymentId: null,
  windowMinutes: 60,
  filter: '',
  threshold: 50,
  resolvesBelow: null,
  forMinutes: 0,
  minimum: 1,
  mail: [],
}

const make = (changes: Partial<AlertFields> = {}): Promise<Alert> =>
  createAlert(database.sql, acme, { ...rule, ...changes })

const ofResearch = () => ({ automation: 'research', deploymentId: research.id })
const look = (at: number) => lookAtAlerts(database.sql, { at: minute(at), prices })

const kept = async ({ id }: Alert) => {
  const [row] = await database.sql`
    select state, value, samples from alerts where id = ${id}`
  return { ...row }
}

const messages = () =>
  database.sql<
    { id: string; type: string; webhookId: string; payload: { data: Record<string, unknown> } }[]
  >`select id, type, webhook_id, payload from webhook_messages order by id`

const webhookOf = (of: Automation, url: string, eventTypes: string[] = ['*']) =>
  createWebhook(database.sql, {
    id: randomUUID(),
    deploymentId: of.id,
    url,
    eventTypes,
    format: 'standard',
    sealedKey: Buffer.from('sealed'),
  })

describe('the filter of an alert', () => {
  beforeEach(async () => {
    await run({ seconds: 1, tokens: 10 })
    await run({ seconds: 20, tokens: 400, model: 'model-b' })
    const failed = await run({ status: 'error', seconds: 40, tokens: 900 })
    await database.sql`
      update executions set trigger = 'schedule', starter_name = 'Nightly' where id = ${failed}`
    await run({ of: digest, status: 'error', seconds: 3, tokens: 2_000_000 })
    await run({ of: rival, status: 'error', tokens: 2_000_000 })
  })

  it.each<[string, number | null, number]>([
    ['', 50, 4],
    ['tokens>400', 200 / 3, 3],
    ['duration>20.1s', 100, 1],
    ['model:model-a', 200 / 3, 3],
    ['model:model*', 50, 4],
    ['model:odel*', null, 0],
    ['model:*', null, 0],
    ['trigger:schedule', 100, 1],
    ['by:nightLY tokens>10', 100, 1],
    ['automation:dige', 100, 1],
    ['status:failed model:model-a', 100, 2],
    ['cost>1', 100, 1],
  ])('%j says which runs count', async (filter, value, samples) => {
    const alert = await make({ filter, threshold: 1 })
    const all = await make({ filter: '', threshold: 1 })
    await look(0)
    const state = value === null ? 'ok' : 'firing'
    expect(await kept(alert)).toEqual({
      state,
      value: value === null ? null : expect.closeTo(value),
      samples,
    })
    expect(await kept(all)).toMatchObject({ samples: 4 })
  })

  it('says which runs are shown, of ratings and scores as well', async () => {
    const { sql } = database
    const found = await sql<{ id: string; deploymentId: number; organizationId: number }[]>`
      select id, deployment_id, organization_id from executions`
    for (const { id, ...of } of found) {
      await rate(id, -1, { of: of.organizationId })
      await sql`
        insert into run_scores
          ${sql({ runId: id, ...of, state: 'failed', reason: 'r', scoredAt: minute(0) })}`
    }
    const hook = await webhookOf(research, 'https://example.com/hook')
    for (const watches of ['bad_ratings', 'failed_scores', 'failure_share'] as const) {
      await make({ name: watches, watches, filter: 'tokens>900', ...ofResearch() })
    }
    await look(0)
    const sent = await messages()
    expect(hook).toBeDefined()
    expect(sent.map(({ payload: { data } }) => [data['value'], data['samples']])).toEqual([
      [100, 1],
      [100, 1],
      [100, 1],
    ])
    for (const { payload } of sent) expect(payload.data['runs']).toHaveLength(1)
  })

  it.each<[Watched, string, RegExp]>([
    ['approvals_waiting', 'tokens>1', /takes no filter/],
    ['cost_total', 'cost>much', /min_cost_usd cannot be "much"/],
    ['cost_total', 'status:odd', /status cannot be "odd"/],
    ['cost_total', 'out of memory', /keys only, not the text "out of memory"/],
    ['cost_total', 'since:2026-01-01', /must not have days/],
  ])('of %s refuses %j', async (watches, filter, problem) => {
    await expect(readAlert(database.sql, acme, { ...rule, watches, filter })).rejects.toThrow(
      problem,
    )
  })
})

describe('what an alert watches', () => {
  beforeEach(async () => {
    for (const [seconds, tokens] of [
      [1, 10],
      [2, 20],
      [3, 30],
      [100, 40],
    ] as const) {
      await run({ seconds, tokens })
    }
    await run({ status: 'error', seconds: 4 })
    await run({ status: 'stopped', seconds: 9999, tokens: 99_999 })
    await run({ at: -61, status: 'error' })
    await run({ at: 1, status: 'error' })
    await run({ of: rival, status: 'error', seconds: 9999 })
    await run({ of: digest, status: 'error', seconds: 500, tokens: 1000 })
  })

  it.each<[Watched, number, number]>([
    ['failure_share', 20, 100 / 3],
    ['duration_median', 3, 3.5],
    ['duration_p95', 80.8, 400],
    ['tokens_per_run', 25, 220],
    ['tokens_total', 100, 1100],
    ['cost_per_run', 0.000025, 0.00022],
    ['cost_total', 0.0001, 0.0011],
  ])('is of runs that ended in its window: %s', async (watches, ofOne, ofAll) => {
    const threshold = 1_000_000
    const [one, all] = [
      await make({ ...ofResearch(), watches, threshold }),
      await make({ watches, threshold }),
    ]
    await look(0)
    expect(await kept(one)).toEqual({ state: 'ok', value: expect.closeTo(ofOne), samples: 5 })
    expect(await kept(all)).toEqual({ state: 'ok', value: expect.closeTo(ofAll), samples: 6 })
  })

  it('may be what runs cost by the own price of an organization, each priced once', async () => {
    const { sql } = database
    await sql`delete from executions`
    await sql`
      insert into model_prices (organization_id, name, models, per_million)
      values (${acme}, 'own', '{model-b}', '{"input":5000,"output":5000}'),
        (${rival.organizationId}, 'rival', '{model-a}', '{"input":1000000,"output":1000000}')`
    const [cheap, dear] = [
      await run({ tokens: 1000, model: 'x/model-a' }),
      await run({ tokens: 1000, model: 'model-b', at: -59 }),
    ]
    const unknown = await run({ tokens: 1000, model: 'model-c' })
    await run({ of: rival, tokens: 1000 })
    const alert = await make({ watches: 'cost_per_run', threshold: 2.5 })
    const total = await make({ watches: 'cost_total', threshold: 5.0011 })
    await look(0)
    expect(await kept(alert)).toEqual({ state: 'firing', value: 2.5005, samples: 3 })
    expect(await kept(total)).toEqual({ state: 'ok', value: 5.001, samples: 3 })
    const [change] = await listAlertChanges(sql, alert)
    expect(change?.threshold).toBe(2.5)
    expect(change?.runs.map((each) => each.kickoff_id)).toEqual([dear, cheap, unknown])
    expect(await sql`select from run_costs`).toHaveLength(3)
    await sql`update model_prices set per_million = '{"input":1,"output":1}'`
    await look(0)
    expect(await kept(alert)).toMatchObject({ value: 2.5005 })
    await sql`delete from model_prices`
    expect(await deleteOldCosts(sql)).toBe(3)
  })

  it('may be the ratings of people: the last one that each run got in the window', async () => {
    const { sql } = database
    const [bad, changed, early] = [await run({ at: -600 }), await run({}), await run({})]
    const other = await run({ of: digest })
    await rate(bad, 1, { at: -9 })
    await rate(bad, -1, { at: -8 })
    await rate(changed, -1, { at: -7 })
    await rate(changed, 1, { at: -6 })
    await rate(early, -1, { at: -61 })
    await rate(other, -1, { at: -1 })
    await rate(other, -1, { of: rival.organizationId })
    await rate(await run({ of: rival }), -1, { of: rival.organizationId })
    const one = await make({ ...ofResearch(), watches: 'bad_ratings', threshold: 50 })
    const all = await make({ watches: 'bad_ratings', threshold: 60, minimum: 3 })
    await look(0)
    expect(await kept(one)).toEqual({ state: 'firing', value: 50, samples: 2 })
    expect(await kept(all)).toEqual({
      state: 'firing',
      value: expect.closeTo(200 / 3),
      samples: 3,
    })
    const [change] = await listAlertChanges(sql, all)
    expect(change?.runs.map((each) => each.kickoff_id)).toEqual([other, bad])
  })

  it('may be the scores of checks, of runs that were scored in the window', async () => {
    const { sql } = database
    const score = async (of: Automation, state: string, at: number) => {
      const id = await run({ of, at: -600 })
      await sql`
        insert into run_scores (run_id, deployment_id, organization_id, state, scored_at)
        values (${id}, ${of.id}, ${of.organizationId}, ${state}, ${minute(at)})`
      return id
    }
    const [bad, worst] = [await score(research, 'failed', -3), await score(digest, 'failed', -2)]
    await score(research, 'passed', -2)
    await score(research, 'error', -2)
    await score(research, 'failed', -61)
    await score(rival, 'failed', -1)
    const one = await make({ ...ofResearch(), watches: 'failed_scores', threshold: 51 })
    const all = await make({ watches: 'failed_scores', threshold: 60 })
    await look(0)
    expect(await kept(one)).toEqual({ state: 'ok', value: 50, samples: 2 })
    expect(await kept(all)).toMatchObject({ state: 'firing', samples: 3 })
    const [change] = await listAlertChanges(sql, all)
    expect(change?.runs.map((each) => each.kickoff_id)).toEqual([worst, bad])
  })

  it('may be a budget of the day or the month', async () => {
    const { sql } = database
    const [{ id: day }, { id: month }] = await sql<[{ id: number }, { id: number }]>`
      insert into budgets (organization_id, deployment_id, period, tokens_max, usd_max)
      values (${acme}, ${research.id}, 'day', 1000, 10), (${acme}, null, 'month', null, 100)
      returning id`
    await sql`
      insert into budget_ledgers (budget_id, period, spent_tokens, spent_usd)
      values (${day}, '2026-06-01', 250, 5), (${day}, '2026-05-31', 0, 9),
        (${month}, '2026-06', 0, 70)`
    const one = await make({ ...ofResearch(), watches: 'budget_spent' })
    const all = await make({ watches: 'budget_spent' })
    await look(0)
    expect(await kept(one)).toEqual({ state: 'firing', value: 50, samples: 1 })
    expect(await kept(all)).toEqual({ state: 'firing', value: 70, samples: 2 })
  })

  it('may be approvals that wait, and how long the oldest one does', async () => {
    const { sql } = database
    for (const [asked, of] of [
      [-30, research],
      [-90, digest],
      [-900, rival],
    ] as const) {
      const [{ id }] = await sql<[{ id: string }]>`
        insert into executions (deployment_id, inputs, status) values (${of.id}, '{}', 'waiting')
        returning id`
      await sql`
        insert into run_approvals (run_id, step_key, task, proposed, asked_at, decide_by)
        values (${id}, 'a', 'a', '', ${minute(asked)}, ${minute(999)})`
    }
    const count = await make({ watches: 'approvals_waiting', threshold: 2 })
    const age = await make({ ...ofResearch(), watches: 'approval_age', threshold: 30 })
    await look(0)
    expect(await kept(count)).toEqual({ state: 'firing', value: 2, samples: 2 })
    expect(await kept(age)).toEqual({ state: 'firing', value: 30, samples: 1 })
    const [change] = await listAlertChanges(sql, count)
    expect(change?.runs.map((each) => each.automation_id)).toEqual([
      digest.automationId,
      research.automationId,
    ])
  })

  it('may be schedules that started nothing', async () => {
    const { sql } = database
    const fields = { name: 'a', cron: '0 0 * * *', timeZone: 'UTC', inputs: {} }
    const states = [
      sql`next_at = ${minute(-10)}`,
      sql`next_at = ${minute(9)}, last_problem = 'no'`,
      sql`next_at = ${minute(-1)}`,
      sql`next_at = null, paused_at = now(), last_problem = 'no'`,
    ]
    for (const state of states) {
      const key = { deploymentId: research.id, createdBy: null }
      const { id } = await createSchedule(sql, key, { ...fields, missed: 'skip' })
      await sql`update schedules set ${state} where id = ${id}`
    }
    const idle = await make({ ...ofResearch(), watches: 'schedules_idle', threshold: 1 })
    await look(0)
    expect(await kept(idle)).toEqual({ state: 'firing', value: 2, samples: 2 })
  })

  it('is not tests of drafts', async () => {
    const { sql } = database
    const test = await deploy(acme, 'tested')
    await sql`alter table deployments disable trigger deployments_checked`
    await sql`
      update deployments set tests_project_id = (select project_id from project_versions
        where id = project_version_id) where id = ${test.id}`
    await sql`alter table deployments enable trigger deployments_checked`
    await run({ of: test, status: 'error', tokens: 5000, seconds: 5000 })
    const all = await make()
    await look(0)
    expect(await kept(all)).toMatchObject({ samples: 6 })
  })
})

describe('an alert', () => {
  it('names the worst five runs of its own in each change, the worst first', async () => {
    const ids: string[] = []
    for (const seconds of [1, 6, 5, 4, 3, 2]) ids.push(await run({ seconds }))
    await run({ of: digest, seconds: 99 })
    await run({ of: rival, seconds: 999 })
    const alert = await make({
      ...ofResearch(),
      watches: 'duration_median',
      threshold: 1,
    })
    await look(0)
    const [change] = await listAlertChanges(database.sql, alert)
    expect(change?.runs.map((each) => each.kickoff_id)).toEqual(ids.slice(1))
  })

  it('is sent once to each address that takes such events, and mailed to members', async () => {
    const { sql } = database
    await run({ status: 'error' })
    await webhookOf(research, 'https://a.example/hook')
    await webhookOf(digest, 'https://a.example/hook', ['alert_firing'])
    const b = await webhookOf(digest, 'https://b.example/', ['alert_firing', 'alert_resolved'])
    await webhookOf(digest, 'https://c.example/', ['run_failed'])
    await webhookOf(rival, 'https://rival.example/')
    await make({ mail: ['ada@acme.example', 'eve@rival.example'] })
    await sql`delete from webhook_messages`
    expect(await look(0)).toBe(1)
    expect(await look(0)).toBe(0)
    const sent = await messages()
    expect(sent.map(({ type }) => type)).toEqual(['alert_firing', 'alert_firing'])
    expect(sent[1]?.webhookId).toBe(b.id)
    expect(sent[0]?.payload.data).toMatchObject({
      text: 'Firing: too high. Share of failed runs: 100 %.',
      automation_id: null,
      value: 100,
    })
    const mails = await sql`
      select u.email from alert_mails m join users u on u.id = m.user_id`
    expect([...mails]).toEqual([{ email: 'ada@acme.example' }])
    expect(await look(61)).toBe(1)
    expect((await messages()).at(-1)?.type).toBe('alert_resolved')
  })

  it('of one automation is sent to the webhooks of that one alone', async () => {
    await run({ status: 'error' })
    const own = await webhookOf(research, 'https://a.example/', ['alert_firing'])
    await webhookOf(digest, 'https://b.example/', ['alert_firing'])
    await make(ofResearch())
    await look(0)
    expect((await messages()).map(({ webhookId }) => webhookId)).toEqual([own.id])
  })

  it('changes and says so in one transaction: what is cut off is done again, once', async () => {
    const { sql, url } = database
    await run({ status: 'error' })
    await webhookOf(research, 'https://a.example/', ['alert_firing'])
    const alert = await make({ mail: ['ada@acme.example'] })
    // The message waits for this lock, and is killed while the state is changed already.
    const killed = connectDatabase(parseAddress(url), { name: 'killed', max: 1 })
    const holder = await sql.reserve()
    await holder`begin`
    await holder`lock table webhook_lines in access exclusive mode`
    const cut = lookAtAlerts(killed, { at: minute(0) }).catch((error: unknown) => error)
    await until(async () => {
      const ended = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return ended.length > 0
    })
    expect(await cut).toBeInstanceOf(Error)
    await holder`rollback`
    holder.release()
    await killed.end()
    expect(await kept(alert)).toMatchObject({ state: 'ok' })
    expect(await messages()).toHaveLength(0)
    const looks = await Promise.all([1, 2, 3].map(() => look(0)))
    expect(looks.reduce((sum, count) => sum + count)).toBe(1)
    expect(await messages()).toHaveLength(1)
    expect(await sql`select from alert_mails`).toHaveLength(1)
    expect(await listAlertChanges(sql, alert)).toHaveLength(1)
  })

  it('loses no change and says none twice, however often it is killed', LONG, async () => {
    const { sql, url } = database
    const webhook = await webhookOf(research, 'https://a.example/', ['*'])
    const alert = await make({ windowMinutes: 5, mail: ['ada@acme.example'] })
    const kills = isLong ? 100 : 4
    const random = createRandom(isLong ? Date.now() : 1)
    let [cut, late, rounds, usualMs] = [0, 0, 0, 10]
    for (; cut < kills && rounds < 20 * kills; rounds += 1) {
      const at = 10 * rounds
      await run({ at, status: rounds % 2 === 0 ? 'error' : 'completed' })
      const killed = connectDatabase(parseAddress(url), { name: `killed-${rounds}`, max: 1 })
      const [{ pid }] = await killed<[{ pid: number }]>`select pg_backend_pid() as pid`
      const looking = lookAtAlerts(killed, { at: minute(at), prices }).catch(() => undefined)
      await delay(random() * usualMs)
      // It ends before the next look, which would leave the alerts to it.
      await sql`select pg_terminate_backend(${pid}, 10000)`
      const isCut = (await looking) === undefined
      // The driver waits without end for a connection that was cut within a transaction.
      await killed.end({ timeout: 0 })
      const began = performance.now()
      const isDoneNow = (await look(at)) === 1
      if (isDoneNow) usualMs = performance.now() - began
      if (isCut) cut += 1
      // The change was committed, and the one who looked did not hear of it.
      if (isCut && !isDoneNow) late += 1
    }
    if (isLong) console.log(`${rounds} changes, ${cut} looks killed, ${late} after their commit`)
    const types = (await messages()).map(({ type }) => type)
    const alternating = Array.from({ length: rounds }, (_, round) =>
      round % 2 === 0 ? 'alert_firing' : 'alert_resolved',
    )
    expect(cut).toBeGreaterThanOrEqual(kills)
    expect(types).toEqual(alternating)
    const ids = new Set((await messages()).map(({ id }) => id))
    expect(ids.size).toBe(rounds)
    expect((await messages()).every((each) => each.webhookId === webhook.id)).toBe(true)
    expect(await sql`select from alert_mails`).toHaveLength(rounds)
    const [row] = await sql<[{ changes: number }]>`
      select count(*)::int as changes from alert_changes where alert_id = ${alert.id}`
    expect(row.changes).toBe(rounds)
  })

  it('keeps its state while it is silent, and is looked at again afterwards', async () => {
    const { sql } = database
    const alert = await make()
    await run({ status: 'error' })
    await silenceAlert(sql, alert, 24)
    expect(await look(0)).toBe(0)
    await sql`update alerts set silenced_until = ${minute(30)}`
    expect(await look(29)).toBe(0)
    expect(await look(30)).toBe(1)
  })

  it('is looked at once in a minute, and a long window less often, as clocks go', async () => {
    await make()
    const day = await make({ windowMinutes: 1440 })
    const lookedAt = async ({ id }: Alert) => {
      const [row] = await database.sql`select looked_at from alerts where id = ${id}`
      return row?.['lookedAt']
    }
    await look(0)
    await look(14)
    expect(await lookedAt(day)).toEqual(minute(0))
    await look(15)
    expect(await lookedAt(day)).toEqual(minute(15))
    await look(-600)
    expect(await lookedAt(day)).toEqual(minute(-600))
  })

  it('that is changed while a look is in progress is looked at anew', async () => {
    const { sql } = database
    await run({ status: 'error' })
    const alert = await make()
    const holder = await sql.reserve()
    await holder`begin`
    await holder`
      update alerts set threshold = 100, revision = revision + 1 where id = ${alert.id}`
    const looking = look(0)
    await until(async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
    await holder`commit`
    holder.release()
    await looking
    expect(await kept(alert)).toMatchObject({ state: 'ok', value: null })
    expect(await listAlertChanges(sql, alert)).toHaveLength(0)
    await updateAlert(sql, alert, { ...rule, threshold: 100 })
    expect(await look(0)).toBe(1)
  })

  it('forgets its changes with their time', async () => {
    await run({ status: 'error' })
    const alert = await make()
    await look(0)
    expect(await deleteExpiredChanges(database.sql)).toBe(1)
    expect(await listAlertChanges(database.sql, alert)).toHaveLength(0)
  })

  it.each([
    [{ automation: 'rival' }, 'no automation with the slug "rival"'],
    [{ mail: ['ada@acme.example', 'eve@rival.example'] }, '"eve@rival.example" is not the address'],
    [{ resolvesBelow: 51 }, 'not above the one at which it fires'],
    [{ threshold: 101 }, '100 % at the most'],
    [{ threshold: 0.5 }, 'Only dollars have decimals'],
    [{ watches: 'tokens_total' as const, resolvesBelow: 1.5 }, 'Only dollars have decimals'],
  ])('is refused with %o', async (changes, problem) => {
    const { deploymentId: _, ...fields } = { ...rule, ...changes }
    await expect(readAlert(database.sql, acme, fields)).rejects.toThrow(problem)
  })

  it('costs a few statements and little time, however many rules there are', async () => {
    const { sql, url } = database
    await sql`
      insert into executions (deployment_id, inputs, status, started_at, finished_at, output, usage)
      select (array[${research.id}, ${digest.id}, ${rival.id}]::int[])[1 + n % 3], '{}',
        'completed', ${minute(-2)}::timestamptz - make_interval(secs => n), ${minute(-1)}, '',
        jsonb_build_object('inputTokens', n, 'outputTokens', 1)
      from generate_series(1, 3000) n`
    await sql`
      insert into alerts (organization_id, deployment_id, name, watches, window_minutes, threshold,
        resolves_below, for_minutes, minimum, mail)
      select ${acme}, case when n % 3 = 0 then ${research.id}::int end, 'a', (array['failure_share',
          'duration_median', 'duration_p95', 'tokens_per_run', 'tokens_total', 'budget_spent',
          'approvals_waiting', 'approval_age', 'schedules_idle', 'cost_per_run', 'cost_total',
          'bad_ratings', 'failed_scores'])[1 + n % 13],
        (array[5, 15, 60])[1 + n % 3],
        case when n % 13 in (1, 2) and n < 165 then 1 else 1000000000 end, null, 0, 1, '{}'
      from generate_series(1, 1000) n`
    let statements = 0
    const counted = connectDatabase(parseAddress(url), { name: 'counted', max: 1 })
    counted.options.debug = () => void (statements += 1)
    const changed: number[] = []
    for (let turn = 0; turn < 20 && changed.at(-1) !== 0; turn += 1) {
      changed.push(await lookAtAlerts(counted, { at: minute(0), prices }))
    }
    // The 2,000 runs of both automations are priced first: that is as many as at a time.
    expect(changed).toEqual([2000, 20, 6, 0])
    statements = 0
    expect(await lookAtAlerts(counted, { at: minute(1), prices })).toBe(0)
    await counted.end()
    expect(statements).toBeLessThanOrEqual(12)
    const looked = await sql`select from alerts where looked_at = ${minute(1)}`
    expect(looked).toHaveLength(1000)
    if (!isLong) return
    const began = performance.now()
    const used = process.cpuUsage()
    for (let at = 2; at < 22; at += 1) await look(at)
    const { user, system } = process.cpuUsage(used)
    const [wall, own] = [(performance.now() - began) / 20, (user + system) / 20_000]
    // Waiting for the database is in it, so that this is more than the database takes.
    const share = (100 * wall) / 60_000
    console.log(
      `1000 rules: a look takes ${wall.toFixed(0)} ms, ${own.toFixed(0)} of them here: ` +
        `${share.toFixed(2)} % of a core with a look a minute`,
    )
  })
})
