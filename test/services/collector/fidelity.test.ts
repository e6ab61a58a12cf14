import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHarness, JSON_TYPE, PROTOBUF, slowness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import {
  field,
  freshId,
  lengthField,
  nanos,
  requestOf,
  spanOf,
  textAttribute,
  toJson,
  toProtobuf,
} from './support/otlp.ts'
import type { AnyValue, KeyValue, OtlpSpan } from './support/otlp.ts'
import { decodePartialSuccess } from './support/status.ts'

function partialSuccessOf(answer: ArrayBuffer, type: string): unknown {
  if (type === PROTOBUF) return decodePartialSuccess(answer)
  const { partialSuccess } = JSON.parse(Buffer.from(answer).toString()) as {
    partialSuccess: { rejectedSpans: string; errorMessage: string }
  }
  const { rejectedSpans, errorMessage: message } = partialSuccess
  return { rejected: Number(rejectedSpans), message }
}

describe('what is stored of a span (SPEC 1.5)', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const stored = async (span: OtlpSpan): Promise<Record<string, unknown>> => {
    const response = await harness.post(toProtobuf(requestOf(span)))
    expect(await response.text()).toBe('')
    return find(span)
  }
  const storedCut = async (span: OtlpSpan): Promise<Record<string, unknown>> => {
    const response = await harness.post(toProtobuf(requestOf(span)))
    expect(await response.text()).toContain('were cut')
    return find(span)
  }
  const find = async ({
    traceId = '',
    spanId = '',
  }: OtlpSpan): Promise<Record<string, unknown>> => {
    const [row] = await harness.sql`
      select *, payload::jsonb as large, events::jsonb as event_list, links::jsonb as link_list
      from spans where trace_id = ${traceId}::uuid
        and span_id = ${BigInt.asIntN(64, BigInt(`0x${spanId}`)).toString()}`
    expect(row).toBeDefined()
    return row ?? {}
  }

  it('keeps every field, to the nanosecond', async () => {
    const parentSpanId = 'fedcba9876543210'
    const start = BigInt(Date.now()) * 1_000_000n + 123_456n
    const link = {
      traceId: freshId() + freshId(),
      spanId: freshId(),
      traceState: 'k=v',
      flags: 257,
    }
    const span = spanOf({
      parentSpanId,
      traceState: 'vendor=1',
      startTimeUnixNano: `${start}`,
      endTimeUnixNano: `${start + 1_234_567_891n}`,
      kind: 3,
      status: { code: 2, message: 'it broke' },
      flags: 0xffffffff,
      droppedAttributesCount: 3,
      droppedEventsCount: 4,
      droppedLinksCount: 4_294_967_295,
      events: [
        {
          timeUnixNano: `${start + 1n}`,
          name: 'exception',
          attributes: [textAttribute('exception.type', 'TypeError')],
          droppedAttributesCount: 2,
        },
        {},
      ],
      links: [{ ...link, attributes: [textAttribute('why', 'retry')], droppedAttributesCount: 1 }],
    })
    const row = await stored(span)
    expect(row).toMatchObject({
      parentSpanId: BigInt.asIntN(64, BigInt(`0x${parentSpanId}`)).toString(),
      traceState: 'vendor=1',
      startNs: 456,
      durationNs: '1234567891',
      kind: 3,
      status: 2,
      statusMessage: 'it broke',
      flags: '4294967295',
      droppedAttributes: '3',
      droppedEvents: '4',
      droppedLinks: '4294967295',
      eventList: [
        {
          time: `${start + 1n}`,
          name: 'exception',
          attributes: { 'exception.type': 'TypeError' },
          dropped_attributes: 2,
        },
        { time: '0', name: '' },
      ],
      linkList: [
        {
          trace_id: link.traceId,
          span_id: link.spanId,
          trace_state: 'k=v',
          attributes: { why: 'retry' },
          dropped_attributes: 1,
          flags: 257,
        },
      ],
    })
    const [{ micros } = {}] = await harness.sql`
      select (extract(epoch from start_time) * 1000000)::int8 as micros from spans
      where trace_id = ${span.traceId ?? ''}::uuid`
    expect(micros).toBe(`${start / 1000n}`)
  })

  it('keeps resources and scopes once, with all they say', async () => {
    const spans = [spanOf(), spanOf()]
    const attributes = [textAttribute('service.name', 'once'), textAttribute('host', freshId())]
    const scope = {
      name: 'lib',
      version: '2.1',
      attributes: [textAttribute('a', 'b')],
      droppedAttributesCount: 5,
    }
    for (const span of spans) {
      const scopeSpans = [{ scope, spans: [span], schemaUrl: 'https://schema/scope' }]
      const resource = { attributes, droppedAttributesCount: 7 }
      const request = { resourceSpans: [{ resource, scopeSpans, schemaUrl: 'https://schema/1' }] }
      expect((await harness.post(toProtobuf(request))).status).toBe(200)
    }
    const rows = await harness.sql`
      select r.attributes as resource, r.dropped_attributes as dropped, r.schema_url as url,
        s.name, s.version, s.attributes as scope, s.dropped_attributes as scope_dropped,
        s.schema_url as scope_url, count(*)::int as spans
      from spans join resources r on r.id = resource_id join scopes s on s.id = scope_id
      where spans.trace_id = any (${spans.map(({ traceId = '' }) => traceId)}::text[]::uuid[])
      group by r.id, s.id`
    expect(rows).toEqual([
      {
        resource: { 'service.name': 'once', host: attributes[1]?.value?.stringValue },
        dropped: '7',
        url: 'https://schema/1',
        name: 'lib',
        version: '2.1',
        scope: { a: 'b' },
        scopeDropped: '5',
        scopeUrl: 'https://schema/scope',
        spans: 2,
      },
    ])
  })

  it('stores each kind of value as what it is', async () => {
    const values: Record<string, AnyValue> = {
      text: { stringValue: 'é😀"\\\n\u0001\t' },
      yes: { boolValue: true },
      no: { boolValue: false },
      int: { intValue: '-9223372036854775808' },
      zero: { intValue: '0' },
      whole: { doubleValue: 3 },
      huge: { doubleValue: 1e300 },
      nan: { doubleValue: 'NaN' },
      infinite: { doubleValue: '-Infinity' },
      bytes: { bytesValue: 'AQID' },
      list: { arrayValue: { values: [{ intValue: '1' }, { stringValue: 'a' }, {}] } },
      map: { kvlistValue: { values: [textAttribute('x', 'y'), { key: 'none' }] } },
      empty: {},
      emptyList: { arrayValue: { values: [] } },
    }
    const attributes = Object.entries(values).map(([key, value]) => ({ key, value }))
    const span = spanOf({ attributes: [...attributes, { key: 'absent' }] })
    await stored(span)
    const [row] = await harness.sql`
      select attributes - 'int' - 'huge' as rest, attributes->>'int' as int,
        attributes->>'whole' as whole, (attributes->>'huge')::float8 as huge
      from spans where trace_id = ${span.traceId ?? ''}::uuid`
    expect(row).toEqual({
      int: '-9223372036854775808',
      whole: '3.0',
      huge: 1e300,
      rest: {
        text: 'é😀"\\\n\u0001\t',
        yes: true,
        no: false,
        zero: 0,
        whole: 3,
        nan: 'NaN',
        infinite: '-Infinity',
        bytes: { $b64: 'AQID' },
        list: [1, 'a', null],
        map: { x: 'y', none: null },
        empty: null,
        emptyList: [],
        absent: null,
      },
    })
  })

  it('replaces what the database cannot hold', async () => {
    const invalid = Buffer.from([0x61, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x00, 0x7a])
    const span = spanOf()
    const keyValue = Buffer.concat([
      lengthField(1, invalid),
      lengthField(2, lengthField(1, invalid)),
    ])
    const bytes = Buffer.concat([
      lengthField(1, Buffer.from(span.traceId ?? '', 'hex')),
      lengthField(2, Buffer.from(span.spanId ?? '', 'hex')),
      lengthField(5, invalid),
      field(7, 1, fixed64(span.startTimeUnixNano)),
      lengthField(9, keyValue),
      lengthField(9, textKeyValue('gen_ai.system', invalid)),
      lengthField(11, Buffer.concat([lengthField(2, invalid), lengthField(3, keyValue)])),
      lengthField(15, lengthField(2, invalid)),
    ])
    const scopeSpans = lengthField(2, lengthField(2, bytes))
    expect((await harness.post(lengthField(1, scopeSpans))).status).toBe(200)
    const repaired = invalid.toString().replaceAll('\0', '\ufffd')
    expect(await find(span)).toMatchObject({
      name: repaired,
      statusMessage: repaired,
      provider: repaired,
      attributes: { [repaired]: repaired },
      durationNs: null,
      eventList: [{ name: repaired, attributes: { [repaired]: repaired } }],
    })
    const lone = spanOf({ attributes: [textAttribute('a\ud800', '\udc00\0')] })
    const response = await harness.post(toJson(requestOf(lone)), { 'content-type': JSON_TYPE })
    expect(await response.text()).toBe('{}')
    expect(await find(lone)).toMatchObject({ attributes: { 'a\ufffd': '\ufffd\ufffd' } })
  })

  it('says so where the ids of a link are longer than any id', async () => {
    const given = { traceId: 'ab'.repeat(40), spanId: 'cd'.repeat(33) }
    const whole = { traceId: 'ab'.repeat(32), spanId: 'cd'.repeat(32) }
    const row = await stored(spanOf({ links: [given, whole] }))
    const kept = { trace_id: whole.traceId, span_id: whole.spanId }
    expect(row['linkList']).toEqual([
      {
        ...kept,
        trace_id_cut: '[cut: 32 of 40 bytes]',
        span_id_cut: '[cut: 32 of 33 bytes]',
      },
      kept,
    ])
  })

  it('keeps large values apart, and cuts those over 256 KiB at a character', async () => {
    const prompt = 'Tell me "everything"\n'.repeat(100)
    const enormous = 'é'.repeat(200_000)
    const row = await storedCut(
      spanOf({
        attributes: [
          textAttribute('small', 'x'),
          textAttribute('input.value', prompt),
          textAttribute('output.value', enormous),
        ],
      }),
    )
    expect(row['attributes']).toEqual({ small: 'x' })
    const large = row['large'] as Record<string, string>
    expect(large['input.value']).toBe(prompt)
    expect(large['output.value']).toBe(`${'é'.repeat(131_072)} [cut: 262144 of 400000 bytes]`)
    expect(await harness.metric('collector_strings_truncated_total')).toBeGreaterThan(0)
  })

  it.each([
    ['protobuf', toProtobuf, PROTOBUF],
    ['JSON', toJson, JSON_TYPE],
  ] as const)('tells the sender what it has cut, in %s, and marks it', async (_, encode, type) => {
    const many = Array.from({ length: 1030 }, (__, i) => i)
    const huge = 'x'.repeat(300_000)
    const marked = `${'x'.repeat(262_144)} [cut: 262144 of 300000 bytes]`
    const damaged = Buffer.concat([Buffer.alloc(262_144, 'y'), Buffer.alloc(9, 0xe9)])
    const bytesValue = damaged.toString('base64')
    const cut = spanOf({
      name: huge,
      attributes: [textAttribute('prompt', huge), { key: 'bytes', value: { bytesValue } }],
      events: [{ name: huge, attributes: [textAttribute('prompt', huge)] }],
    })
    const long = spanOf({
      attributes: many.map((i) => textAttribute(`key-${i}`, `${i}`)),
      events: many.map((i) => ({ name: `${i}` })),
    })
    const request = requestOf(cut, long, spanOf())
    const resource = { attributes: [textAttribute('process.command_args', `${huge}${type}`)] }
    const { resourceSpans = [] } = request
    const body = encode({ resourceSpans: resourceSpans.map((one) => ({ ...one, resource })) })
    // The resource is read once only, and told of each time.
    for (let time = 0; time < 2; time++) {
      const response = await harness.post(body, { 'content-type': type })
      expect(response.status).toBe(200)
      const answer = await response.arrayBuffer()
      const message =
        'Spans are stored, but were cut: 6 values at 262144 bytes, ' +
        '6 attributes beyond 1024 of a span, 6 events or links beyond 1024 of a span.'
      expect(partialSuccessOf(answer, type)).toEqual({ rejected: 0, message })
    }
    const row = await find(cut)
    expect(row).toMatchObject({ name: marked, large: { prompt: marked } })
    expect(row['large']).toMatchObject({ bytes: { $cut: '[cut: 262144 of 262153 bytes]' } })
    expect(row['eventList']).toMatchObject([{ name: marked, attributes: { prompt: marked } }])
    const dropped = await harness.metric('collector_items_dropped_total', { kind: 'attributes' })
    expect(dropped).toBeGreaterThanOrEqual(12)
  })

  it('marks a cut also where it has to repair the text', async () => {
    const name = `${'a'.repeat(200)}\0${'é'.repeat(150_000)}`
    const row = await storedCut(spanOf({ name, attributes: [textAttribute('text', name)] }))
    expect(row['name']).toMatch(/^a+\ufffdé+ \[cut: 262143 of 300201 bytes\]$/)
    const { text } = row['large'] as Record<string, string>
    expect(text).toBe(row['name'])
  })

  it('takes the last of two attributes with one key, however large', async () => {
    const big = 'x'.repeat(500)
    const attributes = [
      textAttribute('a', big),
      textAttribute('b', '1'),
      textAttribute('a', 'small'),
      textAttribute('b', big),
    ]
    const row = await stored(spanOf({ attributes }))
    expect(row).toMatchObject({ attributes: { a: 'small' }, large: { b: big } })
  })

  it('drops attributes, events and links beyond 1024, and counts them', async () => {
    const many = Array.from({ length: 1030 }, (_, i) => i)
    const link = { traceId: freshId() + freshId(), spanId: freshId() }
    const row = await storedCut(
      spanOf({
        attributes: many.map((i) => textAttribute(`key-${i}`, `${i}`)),
        droppedAttributesCount: 1,
        events: many.map((i) => ({ name: `${i}` })),
        links: many.map(() => link),
      }),
    )
    expect(row).toMatchObject({ droppedAttributes: '7', droppedEvents: '6', droppedLinks: '6' })
    expect(Object.keys(row['attributes'] as object)).toHaveLength(1024)
    expect(row['eventList']).toHaveLength(1024)
  })

  it('refuses a span whose values are nested too deeply, and no other', async () => {
    const nest = (depth: number): AnyValue =>
      depth === 0 ? { intValue: '1' } : { arrayValue: { values: [nest(depth - 1)] } }
    const deep = (depth: number): OtlpSpan =>
      spanOf({ attributes: [{ key: 'deep', value: nest(depth) }] })
    const [fine, tooDeep, far] = [deep(32), deep(33), deep(1000)]
    for (const [encode, type] of [
      [toProtobuf, 'application/x-protobuf'],
      [toJson, JSON_TYPE],
    ] as const) {
      const response = await harness.post(encode(requestOf(fine, tooDeep, far)), {
        'content-type': type,
      })
      expect(await response.text()).toContain('2 too_deep')
    }
    await find(fine)
  })

  it('promotes what is asked for most, from all the conventions', async () => {
    const int = (key: string, value: number): KeyValue => ({
      key,
      value: { intValue: String(value) },
    })
    const genAi = await stored(
      spanOf({
        attributes: [
          textAttribute('gen_ai.system', 'old'),
          textAttribute('gen_ai.provider.name', 'openai'),
          textAttribute('gen_ai.operation.name', 'chat'),
          textAttribute('gen_ai.request.model', 'gpt'),
          textAttribute('gen_ai.response.model', 'gpt-1'),
          int('gen_ai.usage.input_tokens', 120),
          int('gen_ai.usage.output_tokens', 30),
          int('gen_ai.usage.cache_read.input_tokens', 100),
          int('gen_ai.usage.reasoning.output_tokens', 12),
          textAttribute('gen_ai.agent.name', 'Researcher'),
          textAttribute('gen_ai.conversation.id', 'chat-1'),
          textAttribute('crew_id', 'crew-1'),
          textAttribute('kickoff_id', 'kick-1'),
          textAttribute('task_id', 'task-1'),
          textAttribute('task_name', 'Find'),
        ],
      }),
    )
    expect(genAi).toMatchObject({
      llmCall: true,
      operation: 'chat',
      provider: 'openai',
      requestModel: 'gpt',
      responseModel: 'gpt-1',
      inputTokens: '120',
      outputTokens: '30',
      cacheReadTokens: '100',
      cacheWriteTokens: null,
      reasoningTokens: '12',
      agent: 'Researcher',
      sessionId: 'chat-1',
      crewId: 'crew-1',
      kickoffId: 'kick-1',
      taskId: 'task-1',
      task: 'Find',
    })
    const openInference = await stored(
      spanOf({
        attributes: [
          textAttribute('openinference.span.kind', 'LLM'),
          textAttribute('llm.model_name', 'claude'),
          { key: 'llm.token_count.prompt', value: { doubleValue: 7 } },
          textAttribute('llm.token_count.completion', '8'),
          { key: 'llm.cost.total', value: { doubleValue: 0.25 } },
          int('agent.name', 5),
          textAttribute('tool.name', 'x'.repeat(513)),
        ],
      }),
    )
    expect(openInference).toMatchObject({
      llmCall: true,
      requestModel: 'claude',
      inputTokens: '7',
      outputTokens: '8',
      costUsd: 0.25,
      agent: '5',
      tool: null,
    })
  })

  it('takes the kind of a span from its operation, and counts a call below a tool', async () => {
    const traceId = freshId() + freshId()
    const [agentId, outerId, toolId] = [freshId(), freshId(), freshId()]
    const call = (operation: string, spanId: string, parentSpanId?: string): OtlpSpan =>
      spanOf({
        traceId,
        spanId,
        ...(parentSpanId ? { parentSpanId } : {}),
        attributes: [
          textAttribute('gen_ai.operation.name', operation),
          textAttribute('gen_ai.request.model', 'gpt'),
          { key: 'gen_ai.usage.input_tokens', value: { intValue: '10' } },
        ],
      })
    const innerId = freshId()
    const spans = [
      call('invoke_agent', agentId),
      call('chat', outerId, agentId),
      call('execute_tool', toolId, outerId),
      call('chat', innerId, toolId),
    ]
    expect((await harness.post(toProtobuf(requestOf(...spans)))).status).toBe(200)
    const rows = await harness.sql`
      select span_id, input_tokens from llm_calls where trace_id = ${traceId}::uuid`
    const calls = [outerId, innerId].map((id) => ({
      spanId: BigInt.asIntN(64, BigInt(`0x${id}`)).toString(),
      inputTokens: '10',
    }))
    expect(new Set(rows)).toEqual(new Set(calls))
  })

  it('hides expired spans from readers at once', async () => {
    const day = 86_400_000
    const old = spanOf({ startTimeUnixNano: nanos(Date.now() - 7 * day + 4000 * slowness) })
    expect((await harness.post(toProtobuf(requestOf(old)))).status).toBe(200)
    const count = async () =>
      (await harness.sql`select from live_spans where trace_id = ${old.traceId ?? ''}::uuid`).length
    expect(await count()).toBe(1)
    await expect.poll(count).toBe(0)
    await find(old)
  })
})

const textKeyValue = (key: string, value: Buffer): Buffer =>
  Buffer.concat([lengthField(1, Buffer.from(key)), lengthField(2, lengthField(1, value))])

function fixed64(value = '0'): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
