import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createAlert,
  listAlertChanges,
  readAlert,
} from '../../../services/platform/alerts/alerts.ts'
import type { Alert, AlertFields } from '../../../services/platform/alerts/alerts.ts'
import {
  lookAtAlerts,
  lookAtTraceAlerts,
} from '../../../services/platform/alerts/look-at-alerts.ts'
import { WATCHED } from '../../../services/platform/alerts/watches.ts'
import { createWebhook } from '../../../services/platform/webhooks/webhooks.ts'
import { askMeasures } from '../../../services/worker/ask-measures.ts'
import { isLong } from '../../support/long.ts'
import { seedAutomation } from '../../support/platform.ts'
import { createHarness, SECRET } from '../collector/support/harness.ts'
import type { Harness } from '../collector/support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from '../collector/support/otlp.ts'
import type { OtlpSpan } from '../collector/support/otlp.ts'
import { authorizationOf, tenantOf } from '../collector/support/tokens.ts'
import { useOneAutomation } from '../platform/one-automation.ts'

const platform = useOneAutomation()
const MINUTE = 60_000
/** Every look is of this time. */
const NOW = Date.now()
let source: Harness
let own: number
let other: number

interface Sent {
  readonly id?: string
  readonly isError?: boolean
  readonly seconds?: number
  readonly tokens?: number
  readonly usd?: number
  readonly model?: string
  readonly service?: string
  readonly user?: string
  readonly kickoff?: string
  /** Minutes from its end to now. */
  readonly ago?: number
}

/** The spans of a trace, as another program sends them. */
function traceOf(given: Sent = {}): OtlpSpan {
  const { id = randomBytes(16).toString('hex'), seconds = 1, ago = 1, model = 'gpt-5-mini' } = given
  const end = NOW - ago * MINUTE
  const at = (ms: number) => `${BigInt(ms) * 1_000_000n}`
  return spanOf({
    traceId: id,
    name: 'chat',
    startTimeUnixNano: at(end - seconds * 1000),
    endTimeUnixNano: at(end),
    ...(given.isError ? { status: { code: 2 } } : {}),
    attributes: [
      textAttribute('gen_ai.operation.name', 'chat'),
      textAttribute('gen_ai.request.model', model),
      { key: 'gen_ai.usage.input_tokens', value: { intValue: given.tokens ?? 10 } },
      { key: 'gen_ai.usage.cost', value: { doubleValue: given.usd ?? 0.01 } },
      ...(given.user === undefined ? [] : [textAttribute('user.id', given.user)]),
      ...(given.kickoff === undefined ? [] : [textAttribute('kickoff_id', given.kickoff)]),
    ],
  })
}

async function send(organization: number, given: Sent = {}): Promise<string> {
  const span = traceOf(given)
  const request = requestOf(span)
  const [resource] = request.resourceSpans ?? []
  if (resource && given.service !== undefined) {
    resource.resource = { attributes: [textAttribute('service.name', given.service)] }
  }
  await tenantOf(source, String(organization)).send(toProtobuf(request))
  return span.traceId ?? ''
}

const rule: AlertFields = {
  name: 'too high',
  watches: 'trace_failure_share',
  automation: null,
  deploymentId: null,
  windowMinutes: 60,
  filter: '',
  threshold: 1e9,
  resolvesBelow: null,
  forMinutes: 0,
  minimum: 1,
  mail: [],
}

const make = (changes: Partial<AlertFields> = {}, of = own): Promise<Alert> =>
  createAlert(platform.sql, of, { ...rule, ...changes })

const look = (collectorUrl = source.collector.url, at = NOW) =>
  lookAtTraceAlerts(platform.sql, {
    measure: askMeasures({ collectorUrl, secret: SECRET, service: 'worker' }),
    at: new Date(at),
  })

const kept = async ({ id }: Alert) => {
  const [row] = await platform.sql`select state, value, samples from alerts where id = ${id}`
  return { ...row }
}

const ids: string[] = []

beforeAll(async () => {
  source = await createHarness()
  own = platform.automation.organizationId
  other = (await seedAutomation(platform.sql, { organization: 'Other', slug: 'other' }))
    .organizationId
  for (const [seconds, tokens, usd] of [
    [1, 10, 0.1],
    [2, 20, 0.2],
    [3, 30, 0.3],
    [100, 40, 0.4],
  ] as const) {
    ids.push(await send(own, { seconds, tokens, usd, user: `user-${seconds}`, service: 'shop' }))
  }
  const failed = { isError: true, seconds: 4, tokens: 0, usd: 0, model: 'claude-9' }
  ids.push(await send(own, { ...failed, service: 'Desk' }))
  // All of these would change a value.
  const wild = { isError: true, seconds: 3000, tokens: 1e6, usd: 1e6 }
  await send(own, { ...wild, ago: 61 })
  await send(own, { ...wild, ago: -1 })
  await send(own, { ...wild, service: 'crew-platform-web' })
  const run = randomUUID()
  await send(own, { ...wild, id: run.replaceAll('-', ''), kickoff: run })
  await send(other, wild)
  // The same trace id, of another organization.
  await send(other, { ...wild, id: ids[0] ?? '' })
  await source.rolledUp()
})

beforeEach(async () => {
  await platform.sql`delete from alerts`
  await platform.sql`delete from webhook_messages`
})

afterAll(() => source.stop())

describe('an alert over traces of other programs', () => {
  it('watches what ended in its window, of its own organization alone', async () => {
    const expected: Partial<Record<string, number>> = {
      trace_failure_share: 20,
      trace_duration_median: 3,
      trace_duration_p95: 80.8,
      tokens_per_trace: 20,
      trace_tokens_total: 100,
      cost_per_trace: 0.2,
      trace_cost_total: 1,
    }
    const names = WATCHED.filter((name) => expected[name] !== undefined)
    for (const watches of names) await make({ watches })
    await look()
    const rows = await platform.sql`select watches, state, value, samples from alerts`
    expect(rows).toHaveLength(7)
    for (const { watches, ...found } of rows) {
      const value = expect.closeTo(expected[watches] ?? 0)
      expect([watches, found]).toEqual([watches, { state: 'ok', value, samples: 5 }])
    }
  })

  it.each<[string, number | null, number]>([
    ['tokens>20', 0, 3],
    ['duration>3.5s', 50, 2],
    ['cost>0.25', 0, 2],
    ['model:claude-9', 100, 1],
    ['model:claude*', 100, 1],
    ['model:laude*', null, 0],
    ['service:shop', 0, 4],
    ['service:Desk status:failed', 100, 1],
    ['user:user-2', 0, 1],
    ['agent:nobody', null, 0],
  ])('filtered by %j counts some of them', async (filter, value, samples) => {
    const alert = await make({ filter })
    const all = await make({ name: 'all' })
    await look()
    expect(await kept(alert)).toEqual({ state: 'ok', value, samples })
    expect(await kept(all)).toMatchObject({ samples: 5 })
  })

  it('of another organization sees none of ours, nor may its token measure them', async () => {
    const alert = await make({ watches: 'trace_tokens_total', filter: 'service:crew' }, other)
    await look()
    expect(await kept(alert)).toEqual({ state: 'ok', value: 2e6, samples: 2 })
    const ask = async (organization: number, extra: object = {}) => {
      const question = { organization: String(own), window_minutes: 60, terms: {}, ...extra }
      const response = await fetch(`${source.collector.url}/api/traces/measures`, {
        method: 'POST',
        headers: {
          authorization: await authorizationOf({ organization: String(organization) }),
          'content-type': 'application/json',
        },
        body: JSON.stringify({ at: new Date(NOW).toISOString(), questions: [question] }),
      })
      return response.status
    }
    expect(await ask(other)).toBe(403)
    expect(await ask(own)).toBe(200)
    expect(await ask(own, { terms: { attribute: 'a=b' } })).toBe(400)
    expect(await ask(own, { terms: { model: "'; drop table traces" } })).toBe(200)
    expect(await ask(own, { terms: { min_tokens: 'NaN' } })).toBe(400)
    expect(await ask(own, { window_minutes: 1e9 })).toBe(400)
  })

  it('counts those that took hours in the window in which they ended', async () => {
    const long = await send(other, { seconds: 7 * 3600, ago: 2, service: 'nightly' })
    await source.rolledUp()
    const alert = await make(
      {
        watches: 'trace_duration_p95',
        filter: 'service:nightly',
        threshold: 3600,
        windowMinutes: 5,
      },
      other,
    )
    expect(await look()).toBe(1)
    expect(await kept(alert)).toEqual({ state: 'firing', value: 25_200, samples: 1 })
    const [change] = await listAlertChanges(platform.sql, alert)
    expect(change?.runs).toEqual([{ trace_id: long }])
    expect(await look(source.collector.url, NOW + 10 * MINUTE)).toBe(1)
    expect(await kept(alert)).toEqual({ state: 'ok', value: null, samples: 0 })
  })

  it('names the five worst in its message, the worst first', async () => {
    const { sql, automation } = platform
    await createWebhook(sql, {
      id: randomUUID(),
      deploymentId: automation.id,
      url: 'https://a.example/',
      eventTypes: ['*'],
      format: 'standard',
      sealedKey: Buffer.from('sealed'),
    })
    await make({ watches: 'trace_tokens_total', threshold: 100, filter: 'service:shop' })
    await make({ watches: 'trace_failure_share', threshold: 10 })
    expect(await look()).toBe(2)
    const sent = await sql<{ payload: { data: Record<string, unknown> } }[]>`
      select payload from webhook_messages order by payload #>> '{data,watches}'`
    const of = (...at: number[]) => at.map((index) => ({ trace_id: ids[index] }))
    expect(sent.map(({ payload: { data } }) => [data['watches'], data['runs'], data['traces']]))
      // The failed one is no trace of the shop.
      .toEqual([
        ['trace_failure_share', [], of(4)],
        ['trace_tokens_total', [], of(3, 2, 1, 0)],
      ])
    expect(sent[0]?.payload.data['text']).toBe('Firing: too high. Share of failed traces: 20 %.')
  })

  it('stays as it is while the collector does not answer, and holds no other up', async () => {
    const alert = await make({ threshold: 10 })
    const ofRuns = await make({ watches: 'approvals_waiting', threshold: 1 })
    await expect(look('http://127.0.0.1:9')).rejects.toThrow(/does not answer/)
    expect(await lookAtAlerts(platform.sql, { at: new Date(NOW) })).toBe(0)
    expect(await kept(ofRuns)).toMatchObject({ value: 0 })
    expect(await kept(alert)).toMatchObject({ state: 'ok', value: null })
    expect(await look()).toBe(1)
    expect(await look()).toBe(0)
  })

  it('may watch what checks found of traces, the newest failures first', async () => {
    const { sql } = platform
    const score = (trace: string, state: string, { ago = 1, of = own } = {}) => sql`
      insert into trace_scores (organization_id, trace_id, state, findings, tokens, scored_at)
      values (${of}, ${trace.padStart(32, '0')}, ${state}, '[]', 0,
        ${new Date(NOW - ago * MINUTE)})`
    await score('1', 'failed', { ago: 3 })
    await score('2', 'failed', { ago: 2 })
    await score('3', 'passed')
    await score('4', 'error')
    await score('5', 'failed', { ago: 61 })
    await score('6', 'failed', { of: other })
    const alert = await make({ watches: 'trace_failed_scores', threshold: 60 })
    expect(await look('http://127.0.0.1:9')).toBe(1)
    expect(await kept(alert)).toEqual({
      state: 'firing',
      value: expect.closeTo(200 / 3),
      samples: 3,
    })
    const [change] = await listAlertChanges(sql, alert)
    expect(change?.runs).toEqual(['2', '1'].map((id) => ({ trace_id: id.padStart(32, '0') })))
  })

  it.each<[Partial<AlertFields>, RegExp]>([
    [{ automation: 'research' }, /of no automation|no automation with the slug/],
    [{ filter: 'out of memory' }, /keys only, not the text "out of memory"/],
    [{ filter: 'attribute:tier=gold' }, /attributes are not looked up/],
    [{ filter: 'status:running' }, /its status cannot be "running"/],
    [{ filter: 'tokens>many' }, /its min_tokens cannot be "many"/],
    [{ watches: 'trace_failed_scores', filter: 'service:shop' }, /takes no filter/],
  ])('is refused with %o', async (changes, problem) => {
    const { deploymentId: _, ...fields } = { ...rule, threshold: 50, ...changes }
    await expect(readAlert(platform.sql, own, fields)).rejects.toThrow(problem)
  })

  it('costs one question and little time, however many rules there are', async () => {
    const { sql } = platform
    const [organizations, traces] = isLong ? [10, 2000] : [1, 100]
    for (let nr = 0; nr < organizations; nr += 1) {
      const slug = `many-${nr}`
      const { organizationId } = await seedAutomation(sql, { organization: slug, slug })
      const spans = Array.from({ length: traces }, (_, n) =>
        traceOf({ seconds: n % 50, tokens: n, user: `u-${n % 20}`, ago: 1 + (n % 55) }),
      )
      await tenantOf(source, String(organizationId)).send(toProtobuf(requestOf(...spans)))
      await sql`
        insert into alerts (organization_id, name, watches, window_minutes, threshold,
          for_minutes, minimum, mail, filter)
        select ${organizationId}, 'a', (array['trace_failure_share', 'trace_duration_median',
            'trace_duration_p95', 'tokens_per_trace', 'trace_tokens_total', 'cost_per_trace',
            'trace_cost_total'])[1 + n % 7], (array[5, 15, 60])[1 + n % 3], 1000000000, 0, 1,
          '{}', case when n % 2 = 0 then '' else 'tokens>' || n % 50 || ' user:u-' || n % 20 end
        from generate_series(1, 100) n`
    }
    await source.rolledUp()
    const calls: number[] = []
    const measure = askMeasures({ collectorUrl: source.collector.url, secret: SECRET })
    const lookOnce = (at: number) =>
      lookAtTraceAlerts(sql, {
        at: new Date(at),
        measure(questions, when) {
          calls.push(questions.length)
          return measure(questions, when)
        },
      })
    expect(await lookOnce(NOW)).toBe(0)
    expect(calls).toEqual([organizations * 53])
    if (!isLong) return
    const LOOKS = 10
    const [used, inDatabase] = [process.cpuUsage(), await databaseMs()]
    for (let at = 1; at <= LOOKS; at += 1) await lookOnce(NOW + at * MINUTE)
    const { user, system } = process.cpuUsage(used)
    const here = (user + system) / 1000 / LOOKS
    const there = ((await databaseMs()) - inDatabase) / LOOKS
    console.log(
      `${organizations * 100} rules, ${organizations * traces} traces, ${calls[0]} questions: a ` +
        `look takes ${here.toFixed(0)} ms of a core in worker and collector, ${there.toFixed(0)} ` +
        `ms in PostgreSQL: ${((100 * (here + there)) / MINUTE).toFixed(2)} % with a look a minute`,
    )
  })
})

/** The time of a core that the readers of the collector, and this test, took in PostgreSQL. */
async function databaseMs(): Promise<number> {
  const backends = [
    ...(await source.sql`
      select pid from pg_stat_activity where application_name like '%collector-read%'
        and datname = current_database()`),
    ...(await platform.sql`
      select pid from pg_stat_activity where datname = current_database()`),
  ]
  const ticks = backends.map(({ pid }) => {
    const fields =
      readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
        .split(') ')[1]
        ?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) * 10
}
