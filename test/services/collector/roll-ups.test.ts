import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHealth } from '../../../services/collector/store/health.ts'
import { restAfter } from '../../../services/collector/store/roll-ups/keep-rolled-up.ts'
import {
  LEADER_LOCK,
  openTurns,
  takeTurn,
} from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { interrupted } from './support/interrupted.ts'
import { dayOf, partitionName } from '../../../services/collector/store/spans/partitions.ts'
import { citusUrl } from '../../support/citus.ts'
import { runProgram } from '../../support/program.ts'
import { bearer, clockAt, createHarness, environment, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { KeyValue, OtlpSpan } from './support/otlp.ts'
import { readRollUps, recomputeRollUps } from './support/roll-up-oracle.ts'

const DAY_MS = 86_400_000
const int = (key: string, value: number): KeyValue => ({
  key,
  value: { intValue: `${value}` },
})
const call = (...attributes: KeyValue[]): KeyValue[] => [
  textAttribute('gen_ai.operation.name', 'chat'),
  ...attributes,
]

/** What gives a leader work. */
const sqlOf = {
  note: `insert into touched_traces (day, trace_ids)
    values (current_date, uuid_send(gen_random_uuid()))`,
  day: 'insert into days_to_roll_up (day) values (current_date)',
}

/** Days ago that have no partition yet. */
let newDays = 5

describe('the roll-ups', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({ RETENTION_WEEKS: '3' })
  })
  afterAll(() => harness.stop())

  const send = async (...spans: OtlpSpan[]): Promise<void> => {
    expect(await (await harness.post(toProtobuf(requestOf(...spans)))).text()).toBe('')
    await harness.rolledUp()
  }
  const listed = async (traceId: string | undefined): Promise<unknown> => {
    const headers = { authorization: await bearer() }
    const response = await fetch(`${harness.collector.url}/api/traces?limit=200`, { headers })
    const { traces } = (await response.json()) as { traces: { trace_id: string }[] }
    return traces.find(({ trace_id }) => trace_id === traceId)
  }
  const isExact = async (): Promise<void> =>
    expect(await readRollUps(harness.sql)).toEqual(await recomputeRollUps(harness.sql))

  it.skipIf(citusUrl)('are planned for days that are empty yet, as for full ones', async () => {
    const session = await openTurns(parseAddress(harness.databaseUrl), [])
    try {
      const none = "'{}', '{}', '{}', '{}'"
      const plan = await session.rows(`explain execute roll_up (${none})`)
      const scans = plan.flatMap(
        ([line]) => /Scan .*using (\w+) on spans_\d{8}/.exec(line ?? '') ?? [],
      )
      const indexes = scans.filter((_, i) => i % 2 === 1)
      expect(indexes).not.toEqual([])
      expect(indexes.filter((name) => !name.endsWith('_trace_id_idx'))).toEqual([])
    } finally {
      session.close()
    }
  })

  it('have what a trace cost: by its sender where it says so, else by the prices', async () => {
    const root = spanOf({ attributes: [textAttribute('user.id', 'ann')] })
    const { traceId = '', spanId: parentSpanId = '' } = root
    const child = (...attributes: KeyValue[]): OtlpSpan =>
      spanOf({ traceId, parentSpanId, attributes: call(...attributes) })
    const tokens = [
      textAttribute('gen_ai.request.model', 'openai/gpt-4o'),
      int('gen_ai.usage.input_tokens', 1_000_000),
      int('gen_ai.usage.cache_read.input_tokens', 400_000),
      int('gen_ai.usage.output_tokens', 100_000),
    ]
    await send(
      root,
      child(...tokens),
      child(...tokens, { key: 'llm.cost.total', value: { doubleValue: 7 } }),
      child(textAttribute('gen_ai.request.model', 'nobody-knows-it')),
    )
    expect(await listed(traceId)).toMatchObject({
      status: 'ok',
      service: 'crew',
      user_id: 'ann',
      llm_calls: 3,
      models: ['nobody-knows-it', 'openai/gpt-4o'],
      tokens: { input: 2_000_000, cache_read: 800_000, output: 200_000 },
      reported_cost_usd: 7,
      computed_cost_usd: 6,
      cost_usd: 10,
    })
    const usage = await harness.sql`
      select model, calls::int as calls, unpriced::int as unpriced, cost_usd::float8 as cost
      from usage_hourly order by model`
    expect(usage).toEqual([
      { model: 'nobody-knows-it', calls: 1, unpriced: 1, cost: 0 },
      { model: 'openai/gpt-4o', calls: 2, unpriced: 0, cost: 10 },
    ])
  })

  it("do not believe a sender's cost of 0 for a call with tokens, and price it", async () => {
    const sent = (tokens: number): OtlpSpan =>
      spanOf({
        attributes: call(
          textAttribute('gen_ai.request.model', 'gpt-4o'),
          int('gen_ai.usage.input_tokens', tokens),
          { key: 'gen_ai.usage.cost', value: { doubleValue: 0 } },
        ),
      })
    const [paid, free] = [sent(1_000_000), sent(0)]
    await send(paid, free)
    const unknown = { reported_cost_usd: null, computed_cost_usd: 2.5, cost_usd: 2.5 }
    expect(await listed(paid.traceId)).toMatchObject(unknown)
    expect(await listed(free.traceId)).toMatchObject({ reported_cost_usd: 0, cost_usd: 0 })
  })

  it.skipIf(citusUrl)('of the notes of another release are made of the spans', async () => {
    const { sql } = harness
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${LEADER_LOCK})`
      expect((await harness.post(toProtobuf(requestOf(spanOf())))).status).toBe(200)
      const noted = await tx`
        update touched_traces set roll_ups = set_byte(roll_ups, 0, 255) || 'what is this?'
        where roll_ups is not null`
      expect(noted.count).toBe(1)
    })
    await harness.rolledUp()
    await isExact()
  })

  it('are of all spans of a trace that is in none, while a day is to be rolled up', async () => {
    const { sql } = harness
    const traceId = freshId() + freshId()
    await send(spanOf({ traceId }))
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${LEADER_LOCK})`
      await tx`delete from traces where trace_id = ${traceId}::uuid`
      await tx`insert into days_to_roll_up (day, due_at) values (current_date, 'infinity')`
    })
    await send(spanOf({ traceId }))
    await sql`delete from days_to_roll_up`
    await isExact()
  })

  it('list a trace whose root is elsewhere, and one that runs', async () => {
    const remote = spanOf({ parentSpanId: freshId(), name: 'called from elsewhere' })
    const running = spanOf({ name: 'still at it', endTimeUnixNano: '0' })
    await send(remote, running)
    const incomplete = { status: 'incomplete', name: 'called from elsewhere', root_span_id: null }
    expect(await listed(remote.traceId)).toMatchObject({ ...incomplete, duration_ms: null })
    expect(await listed(running.traceId)).toMatchObject({
      status: 'running',
      duration_ms: null,
      cost_usd: null,
    })
    await send({ ...running, endTimeUnixNano: nanos(Date.now() + 1000) })
    expect(await listed(running.traceId)).toMatchObject({ status: 'ok' })
  })

  it('let go of a dropped day, and keep what a trace has in the next one', async () => {
    const { traceId = '' } = spanOf()
    const at = (ms: number): OtlpSpan => ({
      traceId,
      attributes: call(),
      startTimeUnixNano: nanos(ms),
      endTimeUnixNano: nanos(ms + 5),
    })
    const day = dayOf(Date.now()) - 4
    const gone = spanOf({ ...at(day * DAY_MS + 1000), traceId: freshId() + freshId() })
    await send(gone, spanOf(at(day * DAY_MS + 2000)), spanOf(at((day + 1) * DAY_MS)))
    expect(await listed(traceId)).toMatchObject({ llm_calls: 2 })
    await harness.sql.unsafe(`drop table ${partitionName(day)}`)
    await expect.poll(() => listed(gone.traceId)).toBeUndefined()
    await expect.poll(() => listed(traceId)).toMatchObject({ llm_calls: 1, spans: 1 })
    await isExact()
  })

  it('lose a trace whose spans were deleted, once that is noted', async () => {
    const { traceId = '' } = spanOf()
    await send(spanOf({ traceId, attributes: call() }))
    await harness.sql.begin(async (tx) => {
      await tx`delete from spans where trace_id = ${traceId}::uuid`
      await tx`
        insert into touched_traces (day, trace_ids)
        values (current_date, uuid_send(${traceId}::uuid))`
    })
    await harness.rolledUp()
    expect(await listed(traceId)).toBeUndefined()
    await isExact()
  })

  it('are made anew by the command, while the collector goes on', async () => {
    await harness.sql`update usage_hourly set calls = calls + 5`
    await harness.sql`delete from traces where status = 'ok'`
    const { code, stdout, stderr } = await runProgram(
      'collector',
      ['rebuild'],
      environment(harness.databaseUrl),
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/traces are rolled up\.\n$/)
    await harness.rolledUp()
    await isExact()
  })

  it.each([
    ['new spans', sqlOf.note],
    ['a day without notes', sqlOf.day],
  ])('have what is committed into a new day while a leader rolls up %s', async (_, work) => {
    const session = await openTurns(parseAddress(harness.databaseUrl), [])
    // Its plans are those of the days that there are now.
    await takeTurn(session)
    for (let moment = 1; moment <= 5; moment++) {
      const start = (dayOf(Date.now()) - newDays++) * DAY_MS
      const times = { startTimeUnixNano: nanos(start), endTimeUnixNano: nanos(start + 5) }
      const late = toProtobuf(requestOf(spanOf(times)))
      const during = interrupted(session, async (statement) => {
        if (statement === 1) await harness.sql.unsafe(work)
        if (statement === moment) expect((await harness.post(late)).status).toBe(200)
      })
      // The other collector waits for its end.
      while (!(await takeTurn(during)).isLeader);
    }
    session.close()
    await harness.rolledUp()
    await isExact()
  })

  it('make the collector degraded when they are a minute late', () => {
    const health = createHealth({ log: silent, now: Date.now })
    const observed = {
      bytes: 0,
      oldest: undefined,
      clock: clockAt(Date.now),
      revocations: { isStale: () => false },
      search: 'off' as const,
    }
    health.enter('running')
    health.notePing(true)
    health.noteRollUpLag(59_000)
    expect(health.report(observed)).toMatchObject({ status: 'ok', roll_ups: 'ok' })
    health.noteRollUpLag(61_000)
    expect(health.report(observed)).toMatchObject({
      status: 'degraded',
      roll_ups: 'late',
      roll_up_lag_ms: 61_000,
    })
  })

  it('tell how late they are', async () => {
    const lag = () => harness.metric('collector_roll_up_lag_seconds')
    await expect.poll(lag).toBe(0)
    expect(await harness.metric('collector_rolled_up_traces_total')).toBeGreaterThan(5)
  })
})

describe('the leader of the roll-ups', () => {
  it.each([
    { rests: 'a quarter of a second at the least', worked: 20, expected: 250 },
    { rests: 'three times as long as it worked', worked: 200, expected: 600 },
    { rests: 'less where what came meanwhile would be late', worked: 400, expected: 500 },
    { rests: 'as long as it worked at the least', worked: 700, expected: 700 },
    { rests: 'two seconds at the most', worked: 5000, expected: 2000 },
    { rests: 'a quarter of its work while it is behind', lagMs: 1001, worked: 400, expected: 100 },
    { rests: 'eight times as long below busy writers', busy: 0.9, worked: 200, expected: 1600 },
    { rests: 'two seconds at the most below those', busy: 0.9, worked: 300, expected: 2000 },
    { rests: 'twice as long, 5 s late', lagMs: 5000, busy: 0.9, worked: 400, expected: 800 },
    {
      rests: 'as long as it worked, 10 s late',
      lagMs: 10_000,
      busy: 0.9,
      worked: 400,
      expected: 400,
    },
    { rests: 'a quarter of it, 20 s late', lagMs: 20_000, busy: 0.9, worked: 400, expected: 100 },
  ])('rests $rests', ({ lagMs = 300, busy = 0.8, worked, expected }) => {
    const turn = { isLeader: true, traces: 5, lagMs, isDone: false }
    expect(restAfter(turn, worked, busy)).toBe(expected)
  })
})
