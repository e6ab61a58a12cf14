import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClock } from '../../../../services/collector/store/clock.ts'
import { dayOf, partitionName } from '../../../../services/collector/store/spans/partitions.ts'
import { createHarness, postTo, readMetric, silent } from '../support/harness.ts'
import type { Harness } from '../support/harness.ts'
import { nanos, requestOf, spanOf, toProtobuf } from '../support/otlp.ts'
import { few } from '../../../support/long.ts'

const DAY_MS = 86_400_000
const shiftedBy = (days: number) => () => Date.now() + days * DAY_MS

describe('a collector whose own clock is wrong', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const startShifted = (days: number) => harness.another({}, { now: shiftedBy(days) })
  const bodyAt = (ms: number) => {
    const times = { startTimeUnixNano: nanos(ms), endTimeUnixNano: nanos(ms + 1) }
    return toProtobuf(requestOf(spanOf(times)))
  }
  const count = async (): Promise<number> => (await harness.sql`select from spans`).length
  const days = async (): Promise<string[]> => {
    const rows = await harness.sql`
      select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'spans'::regclass order by relname`
    return rows.map(({ relname }) => String(relname))
  }

  it.each(few([100, 2, -100], 1))('drops no day when it is %i days ahead', async (ahead) => {
    for (const age of [0, 1, 6]) await harness.post(bodyAt(Date.now() - age * DAY_MS))
    const [before, spans] = [await days(), await count()]
    await startShifted(ahead)
    expect(await days()).toEqual(before)
    expect(await count()).toBe(spans)
  })

  it.each(few([-2, 100], 1))(
    'takes live spans and tokens, as PostgreSQL has its time right, when it is %i days ahead',
    async (ahead) => {
      const { url } = await startShifted(ahead)
      const before = await count()
      expect((await postTo(url, bodyAt(Date.now()))).status).toBe(200)
      expect(await count()).toBe(before + 1)
      expect(await days()).not.toContain(partitionName(dayOf(shiftedBy(ahead * 2)())))
    },
  )

  it('rejects no span for ever while it is not clear which clock is wrong', async () => {
    const { url, metricsUrl } = await startShifted(-100)
    const old = bodyAt(Date.now() - 20 * DAY_MS)
    const answer = await postTo(url, old)
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
    const reason = { reason: 'clock_skew' }
    expect(await readMetric(metricsUrl, 'collector_requests_refused_total', reason)).toBe(1)
    const rejected = await harness.post(old)
    expect(rejected.status).toBe(200)
    expect(Buffer.from(await rejected.arrayBuffer()).toString()).toContain('too_old')
  })

  it('tells so in its health report and by a metric', async () => {
    const { url, metricsUrl } = await startShifted(100)
    const report: unknown = await (await fetch(`${url}/health`)).json()
    expect(report).toMatchObject({ status: 'degraded', database: 'up', clock: 'skewed' })
    const seconds = await readMetric(metricsUrl, 'collector_clock_skew_seconds')
    expect(seconds).toBeGreaterThan(99 * 86_400)
    expect(await readMetric(metricsUrl, 'collector_retention_last_success_timestamp_seconds')).toBe(
      0,
    )
  })

  it('lets no correction of its clock show in the time that it goes by', async () => {
    let podMs = Date.now()
    const clock = createClock({ podNow: () => podMs, log: silent })
    expect(clock.now()).toBe(podMs)
    await clock.ask(harness.sql)
    podMs -= 50 * DAY_MS
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(DAY_MS)
    expect(clock.isSkewed()).toBe(false)
    await clock.ask(harness.sql)
    expect(clock.isSkewed()).toBe(true)
    podMs = Date.now()
    await clock.ask(harness.sql)
    expect(clock.isSkewed()).toBe(false)
  })
})
