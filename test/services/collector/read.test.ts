import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReaders } from '../../../services/collector/read/reader.ts'
import { withinTime } from '../../../services/collector/read/admit-read.ts'
import {
  openTraceDocument,
  readSmallDocument,
} from '../../../services/collector/read/trace-document.ts'
import { summarizeTrace } from '../../../services/collector/read/trace-summary.ts'
import { signCollectorToken } from '../../../services/shared/collector-token.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { openRaw } from './support/raw.ts'
import { bearer, createHarness, environment, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { start } from '../../../services/collector/start.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { KeyValue, OtlpSpan } from './support/otlp.ts'

interface Summary {
  trace_id: string
  name: string
  status: string
  [key: string]: unknown
}
interface Page {
  traces: Summary[]
  next_cursor: string | null
}

const int = (key: string, value: number): KeyValue => ({ key, value: { intValue: `${value}` } })
const MINUTE = 60_000

describe('reading traces back', () => {
  let harness: Harness
  /** All starts are counted back from here, to the millisecond. */
  const now = Date.now()
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const get = async (path: string, headers?: Record<string, string>): Promise<Response> =>
    fetch(`${harness.collector.url}/api/traces${path}`, {
      headers: headers ?? { authorization: await bearer() },
    })
  const list = async (query: string): Promise<Page> => {
    const response = await get(`?${query}`)
    expect(response.status).toBe(200)
    return (await response.json()) as Page
  }
  const namesOf = ({ traces }: Page): string[] => traces.map(({ name }) => name)
  const summary = async (traceId: string): Promise<Summary> =>
    (await (await get(`/${traceId}?view=summary`)).json()) as Summary
  const send = async (...spans: OtlpSpan[]): Promise<void> => {
    const answer = await harness.post(toProtobuf(requestOf(...spans)))
    expect(await answer.text()).toBe('')
    await harness.rolledUp()
  }
  const rootAt = (ms: number, given: OtlpSpan = {}): OtlpSpan =>
    spanOf({
      startTimeUnixNano: nanos(now - ms),
      endTimeUnixNano: nanos(now - ms + 5),
      ...given,
    })
  const problem = async (response: Response): Promise<Record<string, unknown>> => {
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    return (await response.json()) as Record<string, unknown>
  }

  describe('the summary', () => {
    it('says what a person wants to know of a run, with tokens of leaf calls only', async () => {
      const traceId = freshId() + freshId()
      const ids = { root: freshId(), agent: freshId(), outer: freshId(), inner: freshId() }
      const at = (ms: number) => nanos(now + ms)
      const call = (model: string): KeyValue[] => [
        textAttribute('gen_ai.operation.name', 'chat'),
        textAttribute('gen_ai.request.model', model),
        int('gen_ai.usage.input_tokens', 100),
        int('gen_ai.usage.output_tokens', 20),
        int('gen_ai.usage.cache_read.input_tokens', 7),
        { key: 'llm.cost.total', value: { doubleValue: 0.25 } },
      ]
      const crew = [textAttribute('crew_id', 'crew-9'), textAttribute('kickoff_id', 'kick-9')]
      const span = (name: string, spanId: string, given: OtlpSpan): OtlpSpan =>
        spanOf({ traceId, spanId, name, startTimeUnixNano: at(1), ...given })
      await send(
        span('call', ids.inner, { parentSpanId: ids.outer, attributes: call('gpt-small') }),
        span('wrapper', ids.outer, { parentSpanId: ids.agent, attributes: call('gpt-wrapper') }),
        span('alone', freshId(), {
          parentSpanId: ids.agent,
          attributes: call('gpt-large'),
          status: { code: 2 },
        }),
        span('agent', ids.agent, {
          parentSpanId: ids.root,
          attributes: call('gpt-agent').slice(1),
        }),
        span('research.kickoff', ids.root, {
          startTimeUnixNano: `${BigInt(now) * 1_000_000n + 123_456n}`,
          endTimeUnixNano: `${BigInt(now) * 1_000_000n + 1_623_456_789n}`,
          attributes: crew,
        }),
      )
      expect(await summary(traceId)).toEqual({
        trace_id: traceId,
        root_span_id: ids.root,
        name: 'research.kickoff',
        status: 'ok',
        started_at: new Date(now).toISOString(),
        start_time_unix_nano: `${BigInt(now) * 1_000_000n + 123_456n}`,
        duration_ms: 1623.333,
        spans: 5,
        error_spans: 1,
        crew_id: 'crew-9',
        kickoff_id: 'kick-9',
        models: ['gpt-large', 'gpt-small'],
        llm_calls: 2,
        tokens: { input: 200, output: 40, cache_read: 14, cache_write: 0, reasoning: 0 },
        cost_usd: 0.5,
        truncated: false,
      })
      const rows = await harness.sql`
        select sum(input_tokens)::int as tokens from llm_calls where trace_id = ${traceId}::uuid`
      expect(rows).toEqual([{ tokens: 200 }])
    })

    it('is incomplete until the root comes, takes a kickoff id, survives a circle', async () => {
      const traceId = freshId() + freshId()
      const [a, b] = [freshId(), freshId()]
      const chat = [textAttribute('gen_ai.operation.name', 'chat')]
      await send(
        spanOf({ traceId, spanId: a, parentSpanId: b, attributes: chat }),
        spanOf({ traceId, spanId: b, parentSpanId: a, attributes: chat }),
      )
      const found = { status: 'incomplete', duration_ms: null, llm_calls: 0, cost_usd: null }
      expect(await summary(traceId)).toMatchObject(found)
      const kickoffId = traceId.toUpperCase().replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
      await send(spanOf({ traceId, name: 'root', status: { code: 2 } }))
      expect(await summary(kickoffId)).toMatchObject({ name: 'root', status: 'error', spans: 3 })
    })
  })

  describe('the list', () => {
    const crew = textAttribute('crew_id', 'crew-1')
    const named = (name: string, ms: number, given: OtlpSpan = {}): OtlpSpan =>
      rootAt(ms, { name, attributes: [crew], ...given })
    const failed = named('failed', 2 * MINUTE, { status: { code: 2 } })
    const long = named('long', 3 * MINUTE, { endTimeUnixNano: nanos(now) })
    const other = rootAt(4 * MINUTE, {
      name: 'other',
      attributes: [textAttribute('crew_id', 'crew-2'), textAttribute('kickoff_id', 'kick-2')],
    })
    beforeAll(async () => {
      const modelCall = spanOf({
        traceId: long.traceId ?? '',
        parentSpanId: long.spanId ?? '',
        attributes: [
          textAttribute('gen_ai.operation.name', 'chat'),
          textAttribute('gen_ai.request.model', 'gpt-list'),
        ],
      })
      await send(other, named('first', MINUTE), failed, long, modelCall)
    })

    it.each([
      ['crew=crew-1', ['first', 'failed', 'long']],
      ['crew=crew-2', ['other']],
      ['crew=none', []],
      ['kickoff=kick-2', ['other']],
      ['crew=crew-1&status=error', ['failed']],
      ['crew=crew-1&status=ok', ['first', 'long']],
      ['model=gpt-list', ['long']],
      ['model=gpt-unknown', []],
      ['crew=crew-1&min_duration_ms=100', ['long']],
      ['crew=crew-1&min_duration_ms=5', ['first', 'failed', 'long']],
    ])('shows the traces with %s, the latest first', async (query, names) => {
      expect(namesOf(await list(query))).toEqual(names)
    })

    it('takes a time range, its beginning included and its end not', async () => {
      const time = (ms: number) => new Date(now - ms).toISOString()
      const range = (from: number, to: number) =>
        list(`crew=crew-1&from=${time(from)}&to=${time(to)}`)
      expect(namesOf(await range(3 * MINUTE, MINUTE))).toEqual(['failed', 'long'])
      expect(namesOf(await range(2 * MINUTE, 0))).toEqual(['first', 'failed'])
    })

    it('goes page by page, and neither repeats nor skips one while others arrive', async () => {
      const attributes = [textAttribute('crew_id', 'crew-pages')]
      const traces = Array.from({ length: 23 }, (_, i) =>
        rootAt(10 * MINUTE + Math.floor(i / 4), { name: `${i}`, attributes }),
      )
      await send(...traces)
      const seen: string[] = []
      let cursor: string | null = ''
      for (let pages = 0; cursor !== null && pages < 10; pages++) {
        const next = cursor === '' ? '' : `&cursor=${cursor}`
        const page: Page = await list(`crew=crew-pages&limit=5${next}`)
        seen.push(...page.traces.map(({ trace_id }) => trace_id))
        cursor = page.next_cursor
        await send(rootAt(MINUTE + pages, { attributes }))
      }
      expect(cursor).toBeNull()
      expect(seen).toHaveLength(traces.length)
      expect(new Set(seen)).toEqual(new Set(traces.map(({ traceId }) => traceId)))
    })

    it('says that there is no next page when the last one is full', async () => {
      const page = await list('crew=crew-1&limit=3')
      expect(page.traces).toHaveLength(3)
      expect(page.next_cursor).toBeNull()
    })

    it('shows a trace with two roots once, where the first one is', async () => {
      const traceId = freshId() + freshId()
      const attributes = [textAttribute('crew_id', 'crew-two')]
      await send(
        rootAt(20 * MINUTE, { traceId, name: 'earlier', attributes }),
        rootAt(19 * MINUTE, { traceId, name: 'later', attributes }),
      )
      expect(namesOf(await list('crew=crew-two'))).toEqual(['earlier'])
    })

    it('never shows what is older than the retention', async () => {
      const attributes = [textAttribute('crew_id', 'crew-old')]
      const old = rootAt(MINUTE, { attributes })
      await send(old)
      expect(namesOf(await list('crew=crew-old'))).toEqual(['work'])
      // As if the setting had been lowered: what is stored has expired at once.
      await harness.sql`update retention set weeks = 0`
      expect(namesOf(await list('crew=crew-old'))).toEqual([])
      expect((await get(`/${old.traceId}`)).status).toBe(404)
      expect((await get(`/${old.traceId}?view=summary`)).status).toBe(404)
      await harness.sql`update retention set weeks = 1`
      const stored = await harness.sql`
        select from spans where trace_id = ${old.traceId ?? ''}::uuid`
      expect(stored).toHaveLength(1)
    })
  })

  describe('what is too much for one answer', () => {
    it('is cut at a number of spans or bytes, and says so', async () => {
      const traceId = freshId() + freshId()
      const spans = Array.from({ length: 12 }, (_, i) =>
        rootAt(MINUTE - i, {
          traceId,
          name: `${i}`,
          attributes: [textAttribute('prompt', 'x'.repeat(1000))],
        }),
      )
      await send(...spans)
      const readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
      const reader = readers.for(undefined)
      const read = async (limits: { spans: number; bytes: number }) => {
        let text = ''
        const { parts, isTruncated } = await openTraceDocument(reader, traceId, limits)
        for await (const part of parts) text += part
        return { isTruncated, document: JSON.parse(text) }
      }
      const whole = await read({ spans: 12, bytes: 1 << 20 })
      expect(whole.isTruncated).toBe(false)
      expect(whole.document.truncated).toBeUndefined()
      const atOnce = async (limits: { spans: number; bytes: number }, organization?: string) =>
        readSmallDocument(readers.for(organization), traceId, limits)
      const text = await atOnce({ spans: 12, bytes: 1 << 20 })
      expect(JSON.parse(text ?? '')).toEqual(whole.document)
      expect(await atOnce({ spans: 12, bytes: 1 << 20 }, 'another')).toBeUndefined()
      for (const limits of [
        { spans: 3, bytes: 1 << 20 },
        { spans: 100, bytes: 3500 },
      ]) {
        expect(await atOnce(limits)).toBeUndefined()
        const { isTruncated, document } = await read(limits)
        expect(isTruncated).toBe(true)
        expect(document.truncated).toMatchObject({ spans_shown: 3 })
        const [{ scopeSpans }] = document.resourceSpans
        const names = scopeSpans[0].spans.map(({ name }: OtlpSpan) => name)
        expect(names).toEqual(['0', '1', '2'])
      }
      const summary = await summarizeTrace(reader, traceId, 5)
      expect(summary).toMatchObject({ spans: 5, name: '0', truncated: true })
      await readers.close()
    })

    it('does not outlive a caller who disconnects', async () => {
      const traceId = freshId() + freshId()
      const prompt = [textAttribute('prompt', 'x'.repeat(250_000))]
      for (let i = 0; i < 4; i++) {
        await send(...Array.from({ length: 20 }, () => spanOf({ traceId, attributes: prompt })))
      }
      const before = await harness.metric('collector_read_seconds_count', { view: 'otlp' })
      for (let i = 0; i < 10; i++) {
        const raw = await openRaw(harness.collector.url)
        raw.write(
          `GET /api/traces/${traceId} HTTP/1.1\r\nhost: x\r\n` +
            `authorization: ${await bearer()}\r\n\r\n`,
        )
        await raw.until('resourceSpans')
        raw.close()
        await once(raw.socket, 'close')
      }
      await expect
        .poll(() => harness.metric('collector_read_seconds_count', { view: 'otlp' }))
        .toBe(before + 10)
      expect((await get(`/${traceId}?view=summary`)).status).toBe(200)
    })
  })

  describe('who may read', () => {
    it('is asked before anything else', async () => {
      const expired = await signCollectorToken('another-secret-of-more-than-32-characters', 'test')
      const wrong: Record<string, string>[] = [
        {},
        { authorization: `Bearer ${expired}` },
        { authorization: 'Basic abc' },
      ]
      const before = await harness.metric('collector_auth_failures_total')
      for (const headers of wrong) {
        for (const path of ['?limit=abc', '/nonsense', '/nonsense/deeper']) {
          const response = await get(path, headers)
          expect(response.status).toBe(401)
          expect(response.headers.get('www-authenticate')).toBe('Bearer realm="collector"')
          expect(await problem(response)).toMatchObject({ error: 'invalid_token', status: 401 })
        }
      }
      expect(await harness.metric('collector_auth_failures_total')).toBe(before + 9)
    })
  })

  describe('a mistake', () => {
    it.each([
      ['?limit=0', 'limit must be between 1 and 200 (given: "0").'],
      ['?limit=ten', 'limit must be a whole number between 1 and 200 (given: "ten").'],
      ['?status=failed', 'status must be one of ok, error, running, incomplete (given: "failed").'],
      ['?from=yesterday', 'from must be a time such as'],
      ['?to=2026-13-01', 'to must be a time such as'],
      ['?from=2026-02-02&to=2026-02-02', 'from (2026-02-02) must be before to (2026-02-02).'],
      ['?min_duration_ms=-1', 'min_duration_ms must be a whole number'],
      ['?crew=', 'crew must have 1 to 512 characters (given: "").'],
      ['?crew=%00', 'crew must have 1 to 512 characters'],
      ['?crew=a&crew=b', 'crew was given more than once.'],
      ['?cursor=abc', 'cursor must be the next_cursor of an earlier page'],
      ['?cursor=MjAyNi0xMS0yMSAwMTowMjowM1ogeA', 'cursor must be the next_cursor'],
      ['?sort=asc', 'sort must be one of newest, oldest, duration, cost, tokens (given: "asc").'],
      ['?order=asc', 'There is no parameter "order"; there are organization, trace, crew'],
      ['/totals?limit=5', 'There is no parameter "limit"; there are organization, trace, crew'],
      ['?min_tokens=5&max_tokens=4', 'min_tokens (5) must not be above max_tokens (4).'],
      ['?max_cost_usd=-1', 'max_cost_usd must be an amount of US dollars such as 0.25'],
      ['?attribute=tier', 'attribute must be a key and a value such as tier=gold'],
      ['?text=ab', 'text must have at least 3 letters or digits in a row'],
      ['/histogram?interval=2h', 'interval must be one of 1m, 5m, 15m, 1h, 6h, 1d, 7d'],
      ['/histogram?interval=1m', 'interval 1m would make more than 2000 buckets; take a longer'],
      ['/xyz', 'A trace id has 32 hexadecimal digits'],
      [`/${'0'.repeat(31)}`, 'A trace id has 32 hexadecimal digits'],
      [
        `/${'a'.repeat(32)}?view=raw`,
        'view must be one of otlp, summary, skeleton (given: "raw").',
      ],
    ])('in %s is explained', async (path, message) => {
      const response = await get(path)
      expect(response.status).toBe(400)
      const { detail, error } = await problem(response)
      expect(error).toBe('invalid_request')
      expect(detail).toContain(message)
    })

    it('is a 404 for a trace that is not there, and for a place that is not', async () => {
      for (const path of [`/${'a'.repeat(32)}`, `/${'a'.repeat(32)}?view=summary`]) {
        const response = await get(path)
        expect(response.status).toBe(404)
        expect(String((await problem(response))['detail'])).toContain('There is no trace aaaaaaaa')
      }
      expect((await get('/a/b')).status).toBe(404)
    })

    it('is a 405 for another method', async () => {
      const response = await fetch(`${harness.collector.url}/api/traces`, {
        method: 'POST',
        headers: { authorization: await bearer() },
      })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('GET')
    })
  })

  it('is a 503 that says to try again while the database is unavailable', async () => {
    const env = { ...environment('postgres://nobody@127.0.0.1:1/none') }
    const collector = await start(env, { log: silent, drainMs: 0 })
    const response = await fetch(`${collector.url}/api/traces`, {
      headers: { authorization: await bearer() },
    })
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await problem(response)).toMatchObject({ error: 'unavailable' })
    await collector.stop()
  })

  it('is a 504 for a question that takes too long', async () => {
    const options = { statementMs: 20, log: silent }
    const readers = openReaders(parseAddress(harness.databaseUrl), options)
    const asking = readers.for(undefined).ask((sql) => sql`select pg_sleep(5)`)
    await expect(asking).rejects.toMatchObject({ code: 'timeout', status: 504 })
    await readers.close()
  })

  it('is a 504 for an answer of several questions that take too long together', async () => {
    const readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
    const reader = { ...readers.for(undefined), lagMs: () => undefined }
    const limited = withinTime(reader, 2000)
    await limited.ask((sql) => sql`select pg_sleep(0.2)`)
    const asking = limited.ask((sql) => sql`select pg_sleep(30)`)
    await expect(asking).rejects.toMatchObject({ code: 'timeout', status: 504 })
    await readers.close()
  })
})
