import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  countByTime,
  readHistogramQuery,
} from '../../../services/collector/read/lists/histogram.ts'
import {
  readTotalsQuery,
  totalGroups,
  totalTraces,
} from '../../../services/collector/read/lists/trace-totals.ts'
import { openReaders } from '../../../services/collector/read/reader.ts'
import type { Readers } from '../../../services/collector/read/reader.ts'
import { openTurns, startRebuild } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { sumNextDay } from '../../../services/collector/store/roll-ups/trace-days.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { platformService } from '../../../services/shared/tracing/platform-service.ts'
import { until } from '../../support/until.ts'
import { createHarness, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'

const HOUR_MS = 3_600_000
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 2)

/** A span of one of a few traces; whoever has no parent is a root. */
const anySpan = fc.record({
  trace: fc.nat(7),
  id: fc.nat(5),
  isRoot: fc.boolean(),
  hoursAgo: fc.nat(70),
  lastsMs: fc.option(fc.nat(90_000), { nil: undefined }),
  code: fc.constantFrom(1, 2),
  crew: fc.constantFrom('one', 'two', undefined),
  cents: fc.option(fc.nat(300), { nil: undefined }),
})
const anyRequest = fc.record({
  spans: fc.array(anySpan, { minLength: 1, maxLength: 8 }),
  organization: fc.constantFrom('acme', 'globex', undefined),
  service: fc.constantFrom('crew', 'other', platformService('web')),
})
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ send: anyRequest }) },
  { weight: 2, arbitrary: fc.constant({ sum: true } as const) },
)
const anyQuestion = fc
  .record({
    crew: fc.constantFrom('one', 'none', undefined),
    service: fc.constantFrom('crew', undefined),
    platform_requests: fc.constantFrom('hidden', 'shown', undefined),
    status: fc.constantFrom('ok', 'error', 'running', 'incomplete', undefined),
    from: fc.option(fc.integer({ min: 30, max: 80 }), { nil: undefined }),
    to: fc.option(fc.nat(29), { nil: undefined }),
    interval: fc.constantFrom('1h', '6h', '1d', '7d', undefined),
  })
  .map(({ from, to, ...rest }) => {
    const time = (hoursAgo?: number): string | undefined =>
      hoursAgo === undefined ? undefined : new Date(Date.now() - hoursAgo * HOUR_MS).toISOString()
    const all = { ...rest, from: time(from), to: time(to) }
    return Object.entries(all).flatMap(([key, value]) => (value ? [[key, value] as const] : []))
  })

type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer One> ? One : never
type Question = Of<typeof anyQuestion>
type AnyRequest = Of<typeof anyRequest>

function toBody({ spans, organization, service }: AnyRequest): Buffer {
  const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0')
  const text = (key: string, value: string | undefined) =>
    value === undefined ? [] : [textAttribute(key, value)]
  const request = requestOf(
    ...spans.map(({ trace, id, isRoot, hoursAgo, lastsMs, code, crew, cents }) => {
      const start = Date.now() - hoursAgo * HOUR_MS
      return spanOf({
        traceId: hex(trace + 1, 32),
        spanId: hex(id + 1, 16),
        ...(isRoot ? {} : { parentSpanId: hex(99, 16) }),
        startTimeUnixNano: nanos(start),
        endTimeUnixNano: lastsMs === undefined ? '0' : nanos(start + lastsMs),
        status: { code },
        attributes: [
          textAttribute('gen_ai.operation.name', 'chat'),
          ...text('crew_id', crew),
          ...(cents === undefined
            ? []
            : [{ key: 'llm.cost.total', value: { doubleValue: cents / 100 } }]),
        ],
      })
    }),
  )
  const [first] = request.resourceSpans ?? []
  first?.resource?.attributes?.push(
    textAttribute('service.name', service),
    ...text('organization_id', organization),
  )
  return toProtobuf(request)
}

describe('the sums of days', () => {
  let harness: Harness
  let readers: Readers
  beforeAll(async () => {
    harness = await createHarness()
    readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
  })
  afterAll(async () => {
    await readers.close()
    await harness.stop()
  })

  const send = async (request: AnyRequest): Promise<void> => {
    expect((await harness.post(toBody(request))).status).toBe(200)
    await harness.rolledUp()
  }
  /** The collector sums days up as well, and nobody does while it does. */
  const sumAll = (): Promise<void> =>
    until(async () => {
      await sumNextDay(harness.sql, 0)
      const left = await harness.sql`select from trace_days where not is_summed`
      return left.length === 0
    })
  const answer = async (organization: string | undefined, question: Question) => {
    const reader = readers.for(organization)
    const histogram = new URLSearchParams(
      question.map(([key, value]): [string, string] => [key, value]),
    )
    const totals = new URLSearchParams(histogram)
    totals.delete('interval')
    const { filter } = readTotalsQuery(totals)
    return {
      totals: await totalTraces(reader, filter),
      byDay: await totalGroups(reader, filter, 'day'),
      byCrew: await totalGroups(reader, filter, 'crew'),
      histogram: await countByTime(reader, readHistogramQuery(histogram)),
    }
  }
  const countSummed = async (): Promise<number> =>
    (await harness.sql`select from trace_days where is_summed`).length

  const request: AnyRequest = {
    spans: [
      { trace: 1, id: 1, isRoot: true, hoursAgo: 30, lastsMs: 5, code: 1, crew: 'one', cents: 1 },
    ],
    organization: undefined,
    service: 'crew',
  }

  it(
    'answer as the traces do, whatever has changed since a day was summed up',
    async () => {
      const questions = fc.array(anyQuestion, { minLength: 6, maxLength: 6 })
      let summed = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 8 }), questions, async (steps, asked) => {
          for (const one of steps) await ('send' in one ? send(one.send) : sumAll())
          summed += await countSummed()
          const ask = async () => {
            const answers: unknown[] = []
            for (const question of asked) {
              for (const reader of [undefined, 'acme', ''])
                answers.push(await answer(reader, question))
            }
            return answers
          }
          const bySums = await ask()
          await harness.sql`update trace_days set is_summed = false`
          expect(bySums).toEqual(await ask())
        }),
        { numRuns: RUNS, examples: [[[{ send: request }, { sum: true }], [[]]]] },
      )
      expect(summed).toBeGreaterThan(0)
    },
    180_000 + 5000 * RUNS,
  )

  it('do not hold for a day that changes while it is summed up', async () => {
    await send(request)
    // A day whose traces have all moved to another one would be summed up without waiting.
    await sumAll()
    await harness.sql`
      update trace_days set is_summed = false
      where day in (select (start_time at time zone 'UTC')::date from traces)`
    let summing: Promise<boolean> | undefined
    await harness.sql.begin(async (tx) => {
      await tx`update traces set spans = spans + 100`
      summing = sumNextDay(harness.sql, 0)
      await until(async () => {
        await tx`select pg_stat_clear_snapshot()`
        const waiting = await tx`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'
            and query like 'update trace_days%'`
        return waiting.length > 0
      })
    })
    expect(await summing).toBe(false)
    await sumAll()
    const [sums] = await harness.sql`select sum(spans)::int as spans from traces_daily`
    const [traces] = await harness.sql`select sum(spans)::int as spans from traces`
    expect(sums).toEqual(traces)
  })

  it('wait until the traces of a day have been quiet', async () => {
    await send(request)
    await harness.sql`update trace_days set is_summed = false, changed_at = now()`
    expect(await sumNextDay(harness.sql, 60_000)).toBe(false)
  })

  it('are made anew with the roll-ups', async () => {
    await send(request)
    await sumAll()
    const session = await openTurns(parseAddress(harness.databaseUrl), [])
    await startRebuild(session)
    session.close()
    expect(await harness.sql`select from traces_daily`).toEqual([])
    await harness.rolledUp()
    await sumAll()
    expect(await countSummed()).toBeGreaterThan(0)
    const { totals } = await answer(undefined, [])
    const [traces] = await harness.sql`select count(*)::int as count from traces`
    expect(totals.traces).toBe(traces?.['count'])
  })
})
