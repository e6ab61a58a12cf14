import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listSessions, readSessionQuery } from '../../../services/collector/read/lists/sessions.ts'
import { listTraces, readListQuery } from '../../../services/collector/read/lists/trace-list.ts'
import { openReaders } from '../../../services/collector/read/reader.ts'
import type { Reader, Readers } from '../../../services/collector/read/reader.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createHarness, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { KeyValue, OtlpSpan } from './support/otlp.ts'
import { ask } from './support/reading.ts'
import { A, B, tenantOf } from './support/tokens.ts'

const HOUR_MS = 3_600_000
const int = (key: string, value: number): KeyValue => ({ key, value: { intValue: value } })

interface Listed {
  traces: { trace_id: string }[]
}

describe('the lists of the read API', () => {
  let harness: Harness
  let readers: Readers
  let reader: Reader
  /** A whole hour, some hours ago. */
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS
  beforeAll(async () => {
    harness = await createHarness()
    readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
    reader = readers.for(undefined)
  })
  afterAll(async () => {
    await readers.close()
    await harness.stop()
  })

  const get = async (path: string): Promise<unknown> => {
    const response = await ask(harness, `/api${path}`)
    expect(response.status).toBe(200)
    return response.json()
  }
  const send = async (...spans: OtlpSpan[]): Promise<void> => {
    expect(await (await harness.post(toProtobuf(requestOf(...spans)))).text()).toBe('')
    await harness.rolledUp()
  }
  const spanAt = (ms: number, durationMs: number, ...attributes: KeyValue[]): OtlpSpan =>
    spanOf({ startTimeUnixNano: nanos(ms), endTimeUnixNano: nanos(ms + durationMs), attributes })

  describe('the totals of calls', () => {
    const call = (ms: number, durationMs: number, ...attributes: KeyValue[]): OtlpSpan =>
      spanAt(ms, durationMs, textAttribute('gen_ai.operation.name', 'chat'), ...attributes)
    const by = (crew: string, model: string, tokens: number): KeyValue[] => [
      textAttribute('crew_id', crew),
      textAttribute('gen_ai.request.model', model),
      int('gen_ai.usage.input_tokens', tokens),
    ]
    beforeAll(async () => {
      const paid = { key: 'llm.cost.total', value: { doubleValue: 0.5 } }
      await send(
        call(hour, 100, ...by('usage-1', 'one', 10), paid),
        { ...call(hour + 1, 100, ...by('usage-1', 'two', 20)), status: { code: 2 } },
        call(hour + HOUR_MS, 1500, ...by('usage-1', 'two', 30), paid),
        call(hour, 100, ...by('usage-2', 'two', 1000)),
      )
    })

    it('are of all calls, or of an automation, a model, a time', async () => {
      const total = async (query: string): Promise<unknown> => get(`/usage?${query}`)
      expect(await total('crew=usage-1')).toMatchObject({
        groups: [{ calls: 3, errors: 1, tokens: { input: 60 }, cost_usd: 1, unpriced: 1 }],
      })
      expect(await total('crew=usage-1&model=two')).toMatchObject({ groups: [{ calls: 2 }] })
      const end = new Date(hour + HOUR_MS).toISOString()
      expect(await total(`to=${end}`)).toMatchObject({ groups: [{ tokens: { input: 1030 } }] })
      expect(await total('crew=none')).toMatchObject({
        groups: [{ calls: 0, cost_usd: 0, duration_ms: { p50: null, p95: null } }],
      })
    })

    it('come in groups, in their order', async () => {
      const from = (ms: number): string => new Date(ms).toISOString().replace('.000', '')
      expect(await get('/usage?by=model,hour')).toMatchObject({
        groups: [
          { model: 'one', hour: from(hour), calls: 1 },
          { model: 'two', hour: from(hour), calls: 2, tokens: { input: 1020 } },
          { model: 'two', hour: from(hour + HOUR_MS), calls: 1 },
        ],
      })
      expect(await get('/usage?crew=usage-1&by=crew,organization')).toMatchObject({
        groups: [{ crew: 'usage-1', organization: '', calls: 3 }],
      })
    })

    it('have the durations as far as their ranges tell', async () => {
      const { groups } = (await get('/usage?crew=usage-1')) as {
        groups: { duration_ms: { p50: number; p95: number } }[]
      }
      expect(groups[0]?.duration_ms.p50).toBeCloseTo(93.75)
      expect(groups[0]?.duration_ms.p95).toBeCloseTo(1850)
    })

    it.each([
      ['from=2026-01-01T00:30:00Z', 'from must be at a whole hour of UTC'],
      ['by=tool', 'by must be a list of hour, day, organization, crew, model, each once'],
      ['by=day,day', 'by must be a list of'],
      ['from=2026-01-02&to=2026-01-01', 'from (2026-01-02) must be before to (2026-01-01).'],
    ])('explain a mistake in %s', async (query, message) => {
      const response = await ask(harness, `/api/usage?${query}`)
      expect(response.status).toBe(400)
      expect(await response.text()).toContain(message)
    })
  })

  describe('the totals of traces', () => {
    it('come in groups: users with the most traces first, days in their order', async () => {
      const of = (user: string, ms: number): OtlpSpan =>
        spanAt(ms, 10, textAttribute('user.id', user), textAttribute('crew_id', 'totals'))
      const unnamed = spanAt(hour, 10, textAttribute('crew_id', 'totals'))
      const failed = { ...of('bea', hour + 2), status: { code: 2 } }
      await send(of('abe', hour), of('bea', hour + 1), failed, unnamed)
      expect(await get('/traces/totals?crew=totals&by=user')).toMatchObject({
        groups: [
          { user: 'bea', traces: 2, ok: 1, error: 1, duration_ms: { p50: expect.any(Number) } },
          { user: 'abe', traces: 1, error: 0 },
        ],
        truncated: false,
      })
      const day = new Date(hour).toISOString().slice(0, 10)
      const byDay = await get('/traces/totals?crew=totals&by=day')
      expect(byDay).toMatchObject({ groups: [{ day, traces: 4 }] })
      const wrong = await ask(harness, '/api/traces/totals?by=model')
      expect(await wrong.text()).toContain('by must be')
    })
  })

  it('go on behind a trace, in both directions', async () => {
    const crew = textAttribute('crew_id', 'neighbours')
    const [a, b, c] = [1, 2, 3].map((second) => spanAt(hour + second * 1000, 10, crew))
    const other = spanAt(hour + 2500, 10)
    await send(...[a, b, c, other].flatMap((span) => span ?? []))
    const next = async (id: string | undefined, query: string) =>
      ((await get(`/traces?crew=neighbours&after=${id}&limit=1&${query}`)) as Listed).traces.map(
        ({ trace_id }) => trace_id,
      )
    expect(await next(c?.traceId, 'sort=newest')).toEqual([b?.traceId])
    expect(await next(a?.traceId, 'sort=newest')).toEqual([])
    expect(await next(a?.traceId, 'sort=oldest')).toEqual([b?.traceId])
    // Of a trace that the filter leaves out, too.
    expect(await next(other.traceId, 'sort=newest')).toEqual([b?.traceId])
    expect(await next(other.traceId, 'sort=oldest')).toEqual([c?.traceId])
    const named = await get(`/traces?trace=${a?.traceId},${other.traceId}`)
    expect(named).toMatchObject({
      traces: [{ trace_id: other.traceId }, { trace_id: a?.traceId }],
    })
    for (const [given, message] of [
      [`${a?.traceId}&trace=x`, 'trace must be a list of at most 200 trace ids'],
      [spanOf().traceId, 'must be the id of a trace that can stand in this list'],
      ['xy', 'must be a trace id of 32 hexadecimal digits'],
    ]) {
      const wrong = await ask(harness, `/api/traces?after=${given}`)
      expect(wrong.status).toBe(400)
      expect(await wrong.text()).toContain(message)
    }
  })

  describe('sessions', () => {
    const inSession = (session: string, ms: number, given: OtlpSpan = {}): OtlpSpan => ({
      ...spanAt(ms, 10, textAttribute('session.id', session), textAttribute('user.id', 'ann')),
      ...given,
    })
    interface Sessions {
      sessions: { session_id: string; [field: string]: unknown }[]
      next_cursor: string | null
    }

    it('have what their traces add up to, the one with the latest trace first', async () => {
      const last = inSession('first', hour + 5000, { status: { code: 2 } })
      await send(
        inSession('first', hour + 1000),
        inSession('second', hour + 2000),
        last,
        spanAt(hour, 10),
      )
      const { sessions } = (await get('/sessions')) as Sessions
      expect(sessions).toMatchObject([
        {
          session_id: 'first',
          first_time: new Date(hour + 1000).toISOString(),
          last_time: new Date(hour + 5010).toISOString(),
          traces: 2,
          error_traces: 1,
          user_id: 'ann',
          last_status: 'error',
          last_trace_id: last.traceId,
          truncated: false,
        },
        { session_id: 'second', traces: 1, last_status: 'ok' },
      ])
      expect(await get('/traces?session=first&sort=oldest')).toMatchObject({
        traces: [{ session_id: 'first', status: 'ok' }, { trace_id: last.traceId }],
      })
      expect(await get('/sessions?user=nobody')).toEqual({ sessions: [], next_cursor: null })
    })

    it('go page by page, each once', async () => {
      const user = textAttribute('user.id', 'pages')
      const traces = Array.from({ length: 15 }, (_, i) =>
        spanAt(hour + i, 10, textAttribute('session.id', `page ${i % 6}`), user),
      )
      await send(...traces)
      const seen: string[] = []
      for (let cursor: string | null = ''; cursor !== null;) {
        const next: string = cursor === '' ? '' : `&cursor=${cursor}`
        const page = (await get(`/sessions?user=pages&limit=4${next}`)) as Sessions
        seen.push(...page.sessions.map(({ session_id }) => session_id))
        cursor = page.next_cursor
      }
      expect(seen).toEqual(['page 2', 'page 1', 'page 0', 'page 5', 'page 4', 'page 3'])
      const query = readSessionQuery(new URLSearchParams('user=pages'))
      const short = await listSessions(reader, query, { scanned: 4, traces: 1 })
      expect(short.sessions).toMatchObject(
        ['page 2', 'page 1', 'page 0', 'page 5'].map((session_id) => ({
          session_id,
          traces: 1,
          truncated: true,
        })),
      )
      expect(short.next_cursor).not.toBeNull()
      const list = await ask(harness, `/api/traces?cursor=${short.next_cursor}`)
      expect(await list.text()).toContain('cursor must be the next_cursor of an earlier page')
    })
  })

  it('are of the organization of the token; only the platform names one', async () => {
    const [a, platform] = [tenantOf(harness, A), tenantOf(harness)]
    for (const path of ['/api/traces', '/api/traces/totals', '/api/usage', '/api/sessions']) {
      const { status, text } = await a.ask(`${path}?organization=${B}`)
      expect(status).toBe(400)
      expect(text).toContain('organization must be that of the token')
      expect((await a.ask(`${path}?organization=${A}`)).status).toBe(200)
      expect((await platform.ask(`${path}?organization=${B}`)).status).toBe(200)
    }
  })

  it('looks at a bounded number of traces without an index, and goes on from there', async () => {
    const crew = textAttribute('crew_id', 'crew-many')
    const short = Array.from({ length: 12 }, (_, i) => spanAt(hour + 1000 + i, 5, crew))
    const found = spanAt(hour, 1000, crew, textAttribute('tier', 'gold'))
    await send(...short, found)
    const limits = { traces: 10, lookUps: 10, named: 10 }
    const list = (query: string) =>
      listTraces(reader, readListQuery(new URLSearchParams(`crew=crew-many&${query}`)), limits)
    for (const query of ['min_duration_ms=1000', 'attribute=tier=gold']) {
      const first = await list(query)
      expect(first.traces).toEqual([])
      const second = await list(`${query}&cursor=${first.next_cursor}`)
      expect(second.traces).toMatchObject([{ trace_id: found.traceId }])
      expect(second.next_cursor).toBeNull()
    }
  })

  it('finds a trace by names of its steps, also by long ones', async () => {
    const traceId = freshId() + freshId()
    const long = 'x'.repeat(500)
    await send(
      spanOf({ traceId, attributes: [textAttribute('task_id', '7'), textAttribute('tool', 'no')] }),
      spanOf({ traceId, attributes: [textAttribute('gen_ai.tool.name', long)] }),
    )
    const traces = [{ trace_id: traceId }]
    expect(await get(`/traces?tool=${long}&task=7&service=crew`)).toMatchObject({ traces })
    expect(await get(`/traces?tool=${long}y`)).toMatchObject({ traces: [] })
    expect(await get(`/traces?agent=${long}`)).toMatchObject({ traces: [] })
  })

  it('counts by weeks where the retention is a hundred years', async () => {
    await harness.sql`update retention set weeks = 5200`
    expect(await get('/traces/histogram')).toMatchObject({ interval: '7d' })
    await harness.sql`update retention set weeks = 1`
  })

  it('has durations of traces to 5 %', async () => {
    const crew = textAttribute('crew_id', 'crew-durations')
    await send(...Array.from({ length: 20 }, (_, i) => spanAt(hour + i, (i + 1) * 100, crew)), {
      ...spanAt(hour, 5, crew),
      endTimeUnixNano: '0',
    })
    const { duration_ms: found } = (await get('/traces/totals?crew=crew-durations')) as {
      duration_ms: { p50: number; p95: number }
    }
    expect(Math.abs(found.p50 / 1000 - 1)).toBeLessThan(0.05)
    expect(Math.abs(found.p95 / 1900 - 1)).toBeLessThan(0.05)
  })
})
