import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTurns, takeTurn } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { interrupted } from './support/interrupted.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { expireOnce } from './support/expiry.ts'
import { clockAt, createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { anyNamed, toNamedBody } from './support/named-spans.ts'
import { readRollUps, recomputeRollUps } from './support/roll-up-oracle.ts'

const HOUR_MS = 3_600_000
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 6)

/** A span of one of a few traces, whose parents come before it, after it, or never. */
const anySpan = fc.record({
  trace: fc.nat(3),
  id: fc.nat(7),
  parent: fc.option(fc.nat(9), { nil: undefined }),
  hoursAgo: fc.nat(60),
  lastsMs: fc.option(fc.nat(400_000), { nil: undefined }),
  isCall: fc.boolean(),
  isFailed: fc.boolean(),
  model: fc.constantFrom('gpt-4o', 'no-such-model'),
  crew: fc.option(fc.constantFrom('one', 'two'), { nil: undefined }),
  tokens: fc.option(fc.oneof(fc.nat(5000), fc.constantFrom(-3, 2 ** 53)), { nil: undefined }),
  cents: fc.nat(300),
})

/** Of one organization, or of none: they use the same trace ids. */
const anyRequest = fc.record({
  spans: fc.array(anySpan, { minLength: 1, maxLength: 8 }),
  organization: fc.option(fc.constantFrom('acme', 'b "\\\'ö'), { nil: undefined }),
})

type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer One> ? One : never
type AnySpan = Of<typeof anySpan>
type AnyRequest = Of<typeof anyRequest>

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ send: anyRequest }) },
  { weight: 1, arbitrary: fc.record({ sendAgain: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ dieAt: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ expire: fc.constantFrom('acme', '') }) },
)

let run = 0

function toSpan(one: AnySpan, now: number): OtlpSpan {
  const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0')
  const start = now - one.hoursAgo * HOUR_MS - one.id
  const text = (key: string, value: string | undefined) =>
    value === undefined ? [] : [textAttribute(key, value)]
  return spanOf({
    traceId: hex(run, 16) + hex(one.trace + 1, 16),
    spanId: hex(one.id + 1, 16),
    ...(one.parent === undefined ? {} : { parentSpanId: hex(one.parent + 1, 16) }),
    startTimeUnixNano: nanos(start),
    endTimeUnixNano: one.lastsMs === undefined ? '0' : nanos(start + one.lastsMs),
    status: { code: one.isFailed ? 2 : 1 },
    attributes: [
      ...text('gen_ai.operation.name', one.isCall ? 'chat' : undefined),
      ...text('gen_ai.request.model', one.isCall ? one.model : undefined),
      ...text('crew_id', one.crew),
      ...text('agent.name', `agent ${one.id % 3}`),
      ...(one.tokens === undefined
        ? []
        : [{ key: 'gen_ai.usage.input_tokens', value: { intValue: `${one.tokens}` } }]),
      { key: 'llm.cost.total', value: { doubleValue: one.cents / 100 } },
    ],
  })
}

function toBody({ spans, organization }: AnyRequest, now: number): Buffer {
  const request = requestOf(...spans.map((given) => toSpan(given, now)))
  const [first] = request.resourceSpans ?? []
  if (organization !== undefined)
    first?.resource?.attributes?.push(textAttribute('organization_id', organization))
  return toProtobuf(request)
}

const EMPTY = toProtobuf({ resourceSpans: [] })

describe('the roll-ups', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  /** Leads with a connection that is gone before the statement of this number. */
  const leadUntil = async (number: number): Promise<void> => {
    const session = await openTurns(parseAddress(harness.databaseUrl), [])
    await takeTurn(
      interrupted(session, async (statement) => {
        if (statement === number) session.close()
      }),
    ).catch(() => {})
    session.close()
  }
  const send = async (body: Buffer): Promise<void> => {
    expect((await harness.post(body)).status).toBe(200)
  }

  it('are what the spans add up to, before whichever statement the leader dies', async () => {
    const hours = Array.from({ length: 6 }, (_, i) => i)
    const spans = hours.map((i) => spanOf({ startTimeUnixNano: nanos(Date.now() - i * HOUR_MS) }))
    await send(toProtobuf(requestOf(...spans)))
    await harness.rolledUp()
    /** Returns how many statements there were before it ended; undefined without work. */
    const lead = async (moment: number): Promise<number | undefined> => {
      await harness.sql`
        insert into touched_traces (organization, day, trace_ids)
        select organization, (start_time at time zone 'UTC')::date, uuid_send(trace_id) from traces`
      const session = await openTurns(parseAddress(harness.databaseUrl), [])
      let statements = 0
      const turn = takeTurn(
        interrupted(session, async (statement) => {
          statements = statement
          if (statement === moment) session.close()
        }),
      )
      // The collector's own leader may have been first.
      const hasWorked = await turn.then(
        ({ traces }) => traces > 0,
        () => statements === moment,
      )
      session.close()
      return hasWorked ? statements : undefined
    }
    const leadOnce = async (moment = Infinity): Promise<number> =>
      (await lead(moment)) ?? leadOnce(moment)
    const last = await leadOnce()
    expect(last).toBeGreaterThan(5)
    for (let moment = 0; moment <= last; moment++) {
      expect(await leadOnce(moment)).toBe(moment)
      await harness.rolledUp()
      expect(await readRollUps(harness.sql)).toEqual(await recomputeRollUps(harness.sql))
    }
  }, 180_000)

  it('are what the spans add up to, whatever comes when, whenever the leader dies', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        run++
        const now = Date.now()
        const sent: Buffer[] = []
        for (const one of steps) {
          if ('send' in one) {
            sent.push(toBody(one.send, now))
            await send(sent.at(-1) ?? EMPTY)
          }
          if ('sendAgain' in one) await send(sent[one.sendAgain] ?? EMPTY)
          if ('dieAt' in one) await leadUntil(one.dieAt)
          if ('expire' in one) {
            const days = { [one.expire]: 1 }
            await expireOnce(harness.databaseUrl, { days, clock: clockAt(Date.now) })
          }
        }
        await harness.rolledUp()
        expect(await readRollUps(harness.sql)).toEqual(await recomputeRollUps(harness.sql))
      }),
      { numRuns: RUNS },
    )
  }, 300_000)

  it('are the same, of the notes of commits and of their spans', async () => {
    const { sql } = harness
    const readAll = () => sql`
      select to_jsonb(traces) as trace from traces
      where trace_id::text like ${`${run
        .toString(16)
        .padStart(16, '0')
        .replace(/^(.{8})(.{4})/, '$1-$2-')}%`}
      order by organization, trace_id`
    /** Sums of calls that are not those of traces, and the other way round. */
    const readUnlike = () => sql`
      with ofTraces as (
        select hour, organization, coalesce(crew_id, '') as crew_id, model,
          sum(part.calls) as calls, coalesce(sum(part.input_tokens), 0) as input_tokens,
          coalesce(sum(part.cost_usd), 0) as cost_usd, coalesce(sum(part.unpriced), 0) as unpriced,
          coalesce(sum(part.duration_us), 0) as duration_us
        from traces cross join lateral unnest(usage) as part group by 1, 2, 3, 4
      )
      select from ofTraces full join usage_hourly as stored
        using (hour, organization, crew_id, model, calls, input_tokens, cost_usd, unpriced,
          duration_us)
      where ofTraces is null or stored is null`
    const services = [undefined, 'crew', 'a "\\ ö', '7', 's'.repeat(600)]
    const requests = fc.array(
      fc.record({
        spans: fc.array(anyNamed, { minLength: 1, maxLength: 6 }),
        service: fc.constantFrom(...services),
      }),
      { minLength: 1, maxLength: 3 },
    )
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        run++
        const now = Date.now()
        for (const one of all) await send(toNamedBody(one, { run, now }))
        await harness.rolledUp()
        const ofNotes = await readAll()
        expect(ofNotes).not.toEqual([])
        expect(await readUnlike()).toEqual([])
        await sql`
          insert into touched_traces (organization, day, trace_ids)
          select organization, (start_time at time zone 'UTC')::date, uuid_send(trace_id)
          from traces`
        await harness.rolledUp()
        expect(await readAll()).toEqual(ofNotes)
      }),
      { numRuns: RUNS },
    )
  }, 300_000)
})
