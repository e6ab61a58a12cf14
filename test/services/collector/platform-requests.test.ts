import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indexedConditions } from '../../../services/collector/read/lists/filter-sql.ts'
import { platformService } from '../../../services/shared/tracing/platform-service.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { ask } from './support/reading.ts'
import { A, tenantOf } from './support/tokens.ts'

const HOUR_MS = 3_600_000
const HIDDEN = 'platform_requests=hidden'

describe('the traces of requests to the platform itself', () => {
  let harness: Harness
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS
  const spanAt = (second: number, name: string, ms: number): OtlpSpan =>
    spanOf({
      name,
      startTimeUnixNano: nanos(hour + second * 1000),
      endTimeUnixNano: nanos(hour + second * 1000 + ms),
    })
  const send = async (service: string | undefined, ...spans: OtlpSpan[]): Promise<void> => {
    const request = requestOf(...spans)
    const [first] = request.resourceSpans ?? []
    if (first) {
      const attributes = service === undefined ? [] : [textAttribute('service.name', service)]
      first.resource = { attributes }
    }
    expect(await tenantOf(harness, A).send(toProtobuf(request))).toBe(200)
  }
  const get = async (path: string): Promise<unknown> =>
    JSON.parse((await tenantOf(harness, A).ask(`/api/traces${path}`)).text)
  const names = async (query: string): Promise<string[]> => {
    const { traces } = (await get(`?${query}`)) as { traces: { name: string }[] }
    return traces.map(({ name }) => name)
  }

  beforeAll(async () => {
    harness = await createHarness()
    const run = spanAt(0, 'run', 1000)
    const kickoff = { ...spanAt(1, 'POST /kickoff', 1), traceId: run.traceId }
    await send('worker', run)
    await send(platformService('web'), { ...kickoff, parentSpanId: run.spanId })
    await send(platformService('web'), spanAt(2, 'GET /status', 10), spanAt(3, 'GET /status', 10))
    await send('web', spanAt(4, 'of a program', 1000))
    await send(undefined, spanAt(5, 'of no service', 1000))
    await harness.rolledUp()
  })
  afterAll(() => harness.stop())

  it('are in lists, and are left out when that is asked for', async () => {
    const others = ['of no service', 'of a program', 'run']
    expect(await names('limit=9')).toEqual([
      'of no service',
      'of a program',
      'GET /status',
      'GET /status',
      'run',
    ])
    expect(await names('platform_requests=shown')).toHaveLength(5)
    expect(await names(HIDDEN)).toEqual(others)
    expect(await names(`${HIDDEN}&sort=oldest&min_duration_ms=1`)).toEqual(others.toReversed())
  })

  it('are left out of totals, medians and the histogram as well', async () => {
    expect(await get('/totals')).toMatchObject({ traces: 5 })
    const totals = (await get(`/totals?${HIDDEN}`)) as { duration_ms: { p50: number } }
    expect(totals).toMatchObject({ traces: 3, spans: 4 })
    expect(totals.duration_ms.p50).toBeGreaterThan(900)
    expect(await get(`/totals?${HIDDEN}&by=day`)).toMatchObject({ groups: [{ traces: 3 }] })
    expect(await get(`/histogram?${HIDDEN}&interval=1h`)).toMatchObject({ buckets: [{ ok: 3 }] })
  })

  it('have no part in an index of lists that leave them out', async () => {
    const { sql } = harness
    await sql`
      insert into traces
      select (jsonb_populate_record(traces, jsonb_build_object(
        'trace_id', gen_random_uuid(), 'start_time', start_time + nr * interval '1 ms'
      ))).*
      from traces, generate_series(1, 3000) as nr
      where name = 'GET /status'`
    await sql`analyze traces`
    const hidden = { organization: A, platform_requests: 'hidden' } as const
    const plan = await sql`
      explain select * from listed_traces as traces
      where ${indexedConditions(sql, hidden)}
      order by start_time desc, trace_id desc, organization desc limit 51`
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('traces_without_requests')
    expect(await names(HIDDEN)).toHaveLength(3)
    expect(await names('limit=200')).toHaveLength(200)
  })

  it('are shown or hidden, and nothing else', async () => {
    const response = await ask(harness, '/api/traces/totals?platform_requests=some')
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(
      'platform_requests must be one of shown, hidden (given: \\"some\\").',
    )
  })
})
