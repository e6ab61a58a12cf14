import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReaders } from '../../../services/collector/read/reader.ts'
import { readSkeleton } from '../../../services/collector/read/trace-skeleton.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createHarness, lockSpans, silent, slowness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { ask } from './support/reading.ts'
import { freshId, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'

interface Document {
  trace_id: string
  start_time_unix_nano: string
  columns: string[]
  spans: unknown[][]
  truncated: boolean
  next_cursor: string | null
}

const DAY_NS = 86_400_000_000_000n

describe('the skeleton of a trace', () => {
  let harness: Harness
  const now = BigInt(Date.now()) * 1_000_000n
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const address = () => parseAddress(harness.databaseUrl)
  const send = async (...spans: OtlpSpan[]): Promise<void> => {
    const answer = await harness.post(toProtobuf(requestOf(...spans)))
    expect(answer.status).toBe(200)
  }
  const read = async (traceId: string, query = ''): Promise<Document> => {
    const response = await ask(harness, `/api/traces/${traceId}?view=skeleton${query}`)
    expect(response.status).toBe(200)
    const text = await response.text()
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
    return JSON.parse(text) as Document
  }
  const rowsOf = ({ columns, spans }: Document): Record<string, unknown>[] =>
    spans.map((values) => Object.fromEntries(columns.map((name, i) => [name, values[i]])))
  const shortTrace = (names: readonly string[]): { traceId: string; spans: OtlpSpan[] } => {
    const traceId = freshId() + freshId()
    const spans = names.map((name, i) =>
      spanOf({ traceId, name, startTimeUnixNano: `${now + BigInt(i) * 1000n}` }),
    )
    return { traceId, spans }
  }

  it('has the columns of each span in the order of their start, and nothing large', async () => {
    const traceId = freshId() + freshId()
    const [root, call] = [freshId(), `f${freshId().slice(1)}`]
    await send(
      spanOf({
        traceId,
        spanId: call,
        parentSpanId: root,
        name: 'chat "gpt"\t\\N\v\u0001\n…',
        kind: 3,
        startTimeUnixNano: `${now + 1_000_000_123n}`,
        endTimeUnixNano: `${now + 1_000_000_124n}`,
        status: { code: 2 },
        droppedLinksCount: 1,
        attributes: [
          textAttribute('gen_ai.operation.name', 'chat'),
          textAttribute('gen_ai.request.model', 'gpt-5-nano'),
          textAttribute('gen_ai.agent.name', 'Researcher'),
          textAttribute('task_name', 'research'),
          textAttribute('gen_ai.tool.name', 'search'),
          textAttribute('error.type', 'timeout'),
          textAttribute('prompt', 'a secret of the payload '.repeat(100)),
          { key: 'gen_ai.usage.input_tokens', value: { intValue: '4000000' } },
          { key: 'gen_ai.usage.output_tokens', value: { intValue: '20' } },
          { key: 'llm.cost.total', value: { doubleValue: 0.25 } },
        ],
      }),
      spanOf({
        traceId,
        spanId: root,
        name: 'x'.repeat(300),
        startTimeUnixNano: `${now + 7n}`,
        endTimeUnixNano: '0',
      }),
    )
    const document = await read(traceId)
    expect(document).toMatchObject({
      trace_id: traceId,
      start_time_unix_nano: `${now + 7n}`,
      truncated: false,
      next_cursor: null,
    })
    expect(JSON.stringify(document)).not.toContain('secret')
    expect(rowsOf(document)).toEqual([
      expect.objectContaining({
        span_id: root,
        parent_span_id: null,
        name: `${'x'.repeat(199)}…`,
        start_offset_ns: 0,
        duration_ns: null,
        llm_call: false,
        model: null,
        cut: false,
      }),
      {
        span_id: call,
        parent_span_id: root,
        name: 'chat "gpt"\t\\N\v\u0001\n…',
        kind: 3,
        operation_kind: 'llm',
        start_offset_ns: 1_000_000_116,
        duration_ns: 1,
        status: 2,
        error_type: 'timeout',
        llm_call: true,
        counted: true,
        model: 'gpt-5-nano',
        agent: 'Researcher',
        task: 'research',
        tool: 'search',
        input_tokens: 4_000_000,
        output_tokens: 20,
        cache_read_tokens: null,
        cache_write_tokens: null,
        reasoning_tokens: null,
        cost_usd: 0.25,
        computed_cost_usd: 0.200008,
        cut: true,
      },
    ])
  })

  it('goes page by page over several days, with offsets from the first span', async () => {
    const traceId = freshId() + freshId()
    const spans = Array.from({ length: 9 }, (_, i) =>
      spanOf({
        traceId,
        name: `${i}`,
        // Three at one time each: then the id decides.
        startTimeUnixNano: `${now - DAY_NS * 2n + DAY_NS * BigInt(Math.floor(i / 3))}`,
      }),
    )
    await send(...spans)
    const seen: Record<string, unknown>[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Document = await read(traceId, `&limit=2${cursor && `&cursor=${cursor}`}`)
      expect(page.truncated).toBe(page.next_cursor !== null)
      expect(page.start_time_unix_nano).toBe(`${now - DAY_NS * 2n}`)
      seen.push(...rowsOf(page))
      cursor = page.next_cursor
    }
    expect(seen.map(({ name }) => name)).toEqual(spans.map(({ name }) => name))
    expect(seen.map((span) => span['start_offset_ns'])).toEqual(
      [0, 0, 0, 1, 1, 1, 2, 2, 2].map((days) => days * Number(DAY_NS)),
    )
  })

  it('writes every text and number as JSON that reads back', async () => {
    const escaped = ['"', '\\', '\t', '\n', '\v', '\b', '\f', '\r', '\u0001', '\u001f']
    const character = fc.constantFrom(...escaped, '\u007f', '\u2028', 'N', 'v', ',', 'ü', '😀')
    const anyText = fc.string({ unit: character, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 20 }), async (names) => {
        const { traceId, spans } = shortTrace(names)
        await send(...spans)
        expect(rowsOf(await read(traceId)).map(({ name }) => name)).toEqual(names)
      }),
      { numRuns: Number(process.env['FUZZ_RUNS'] ?? 6) },
    )
  })

  it('is cut at a number of bytes, and goes on from there', async () => {
    const { traceId, spans } = shortTrace(['a', 'b', 'c', 'd'])
    await send(...spans)
    const readers = openReaders(address(), { log: silent })
    const reader = readers.for(undefined)
    const id = traceId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    const { pieces, isTruncated } = await readSkeleton(
      reader,
      { traceId: id, limit: 100 },
      { maxBytes: 200 },
    )
    await readers.close()
    expect(isTruncated).toBe(true)
    const first = JSON.parse(Buffer.concat(pieces).toString()) as Document
    const rest = await read(traceId, `&cursor=${first.next_cursor}`)
    const names = [...rowsOf(first), ...rowsOf(rest)].map(({ name }) => name)
    expect(names).toEqual(['a', 'b', 'c', 'd'])
  })

  it.each([
    ['&limit=0', 'limit must be between 1 and 100000 (given: "0").'],
    ['&limit=100001', 'limit must be between 1 and 100000'],
    ['&cursor=abc', 'cursor must be the next_cursor of an earlier page'],
    ['&cursor=MSAyIDMgNA', 'cursor must be the next_cursor of an earlier page'],
  ])('explains what is wrong in %s', async (query, message) => {
    const response = await ask(harness, `/api/traces/${'a'.repeat(32)}?view=skeleton${query}`)
    expect(response.status).toBe(400)
    expect(((await response.json()) as { detail: string }).detail).toContain(message)
  })

  it('takes no page of another view', async () => {
    const response = await ask(harness, `/api/traces/${'a'.repeat(32)}?limit=5`)
    expect(response.status).toBe(400)
    const { detail } = (await response.json()) as { detail: string }
    expect(detail).toBe('limit is for view=skeleton only.')
  })

  it('is a 404 for a trace that is not there', async () => {
    const response = await ask(harness, `/api/traces/${'a'.repeat(32)}?view=skeleton`)
    expect(response.status).toBe(404)
  })

  it('is a 504 when the database takes too long, and reads on after that', async () => {
    const { traceId, spans } = shortTrace(['a'])
    await send(...spans)
    const readers = openReaders(address(), { statementMs: 200 * slowness, log: silent })
    const reader = readers.for(undefined)
    const unlock = await lockSpans(harness.databaseUrl)
    const question = { traceId, limit: 10 }
    await expect(readSkeleton(reader, question)).rejects.toMatchObject({ status: 504 })
    await unlock()
    expect((await readSkeleton(reader, question)).isTruncated).toBe(false)
    await readers.close()
  })

  it('is a 503 when the database cannot be reached', async () => {
    const nowhere = parseAddress('postgres://nobody@127.0.0.1:1/none')
    const readers = openReaders(nowhere, { log: silent })
    const reader = readers.for(undefined)
    const reading = readSkeleton(reader, { traceId: freshId() + freshId(), limit: 10 })
    await expect(reading).rejects.toMatchObject({ status: 503 })
    await readers.close()
  })
})
