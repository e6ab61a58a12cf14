import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROMOTED_COLUMNS } from '../../../services/collector/conventions/columns.ts'
import {
  KIND_WORDS,
  KINDS_BY_NAME,
  MODEL_KINDS,
  OPERATION_KINDS,
} from '../../../services/collector/conventions/kinds.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { AnyValue, OtlpSpan } from './support/otlp.ts'
import { ask, readSpan } from './support/reading.ts'

type Given = Readonly<Record<string, string | number | bigint | AnyValue>>

function toValue(value: Given[string]): AnyValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'bigint') return { intValue: `${value}` }
  if (typeof value !== 'number') return value
  return Number.isSafeInteger(value) ? { intValue: `${value}` } : { doubleValue: value }
}
const toAttributes = (given: Given) =>
  Object.entries(given).map(([key, value]) => ({ key, value: toValue(value) }))

const LANGFUSE = 'langfuse.observation.usage_details'

describe('the table of conventions', () => {
  it('has each attribute, word and name once, so that no row of it is in vain', () => {
    const attributes = PROMOTED_COLUMNS.flatMap(({ keys }) =>
      keys.map((key) => JSON.stringify(key)),
    )
    expect(new Set(attributes).size).toBe(attributes.length)
    const words = Object.values(KIND_WORDS).flat()
    expect(new Set(words).size).toBe(words.length)
    expect(words.filter((word) => word !== word.toLowerCase())).toEqual([])
    const scopes = KINDS_BY_NAME.map(({ scope }) => scope)
    expect(new Set(scopes).size).toBe(scopes.length)
  })

  it('has no attribute in two columns but those that are documents', () => {
    const plain = PROMOTED_COLUMNS.flatMap(({ keys }) =>
      keys.flatMap((key) => (typeof key === 'string' ? [key] : [])),
    )
    expect(new Set(plain).size).toBe(plain.length)
  })
})

describe('what follows from the attributes of a span', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const send = async (given: Given, fields: OtlpSpan = {}) => {
    const place = { traceId: freshId() + freshId(), spanId: freshId() }
    const body = requestOf(spanOf({ ...place, attributes: toAttributes(given), ...fields }))
    expect((await harness.post(toProtobuf(body))).status).toBe(200)
    return place
  }
  const columnsOf = async (given: Given, fields: OtlpSpan = {}) =>
    (await readSpan(harness, await send(given, fields))).columns

  it.each([
    ...OPERATION_KINDS.flatMap((kind) => KIND_WORDS[kind].slice(0, 2).map((word) => [word, kind])),
    ['CHAT', 'llm'],
    ['LLM', 'llm'],
    ['Ai.GenerateText.doGenerate', 'llm'],
    ['aembedding', 'embedding'],
    ['RERANKER', 'reranker'],
    ['CHAIN', 'other'],
    ['invoke_workflow', 'other'],
    ['a word that nobody knows', 'other'],
    ['x'.repeat(300), 'other'],
  ])('is the kind of the operation: %s is %s', async (word, kind) => {
    const columns = await columnsOf({ 'gen_ai.operation.name': word })
    expect(columns).toMatchObject({ operation: word, operation_kind: kind })
    expect(columns['llm_call']).toBe(MODEL_KINDS.some((model) => model === kind))
  })

  it.each([
    [{ 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 3 }, 'llm'],
    [{ 'gen_ai.response.model': 'm', 'gen_ai.usage.output_tokens': 3 }, 'llm'],
    [{ 'gen_ai.request.model': 'm', 'http.method': 'GET' }, null],
    [{ 'gen_ai.usage.input_tokens': 3 }, null],
    [{ 'gen_ai.request.model': 'm', 'gen_ai.aggregated_usage.input_tokens': 3 }, null],
    [
      { 'gen_ai.operation.name': 'x', 'llm.model_name': 'm', 'gen_ai.usage.input_tokens': 3 },
      'other',
    ],
  ])('is a call of a model without a word where model and tokens are: %j', async (given, kind) => {
    const columns = await columnsOf(given as Given, { name: 'call_llm' })
    expect(columns).toMatchObject({ operation_kind: kind, llm_call: kind === 'llm' })
  })

  it('is no kind without an operation', async () => {
    expect(await columnsOf({ 'gen_ai.operation.name': '' })).toMatchObject({ operation_kind: null })
    expect(await columnsOf({ 'gen_ai.operation.name': 7 })).toMatchObject({ operation_kind: null })
  })

  it.each([
    ['gcp.vertex.agent', 'call_llm', 'llm'],
    ['gcp.vertex.agent', 'execute_tool weather', 'tool'],
    ['crewai.telemetry', 'Task Execution', 'task'],
    ['pydantic-ai', 'running tool', 'tool'],
    ['pydantic-ai', 'running', null],
    ['mine', 'running tool', null],
  ])('is a kind by name in scope %s alone: %s is %s', async (scope, name, kind) => {
    const place = { traceId: freshId() + freshId(), spanId: freshId() }
    const request = {
      resourceSpans: [
        { scopeSpans: [{ scope: { name: scope }, spans: [spanOf({ ...place, name })] }] },
      ],
    }
    const headers = { 'content-type': 'application/json' }
    expect((await harness.post(JSON.stringify(request), headers)).status).toBe(200)
    expect((await readSpan(harness, place)).columns).toMatchObject({ operation_kind: kind })
  })

  it.each<[string, Given, object]>([
    [
      "of a workflow in place of an agent's",
      { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.agent.name': 'review' },
      { workflow: 'review', agent: null },
    ],
    [
      'of a workflow that has one beside the agent',
      {
        'gen_ai.operation.name': 'invoke_workflow',
        'gen_ai.agent.name': 'a',
        'gen_ai.workflow.name': 'w',
      },
      { workflow: 'w', agent: 'a' },
    ],
    [
      'of an agent in the metadata, before the node of its graph',
      { metadata: '{"lc_agent_name":"weather"}', 'graph.node.id': 'model' },
      { agent: 'weather' },
    ],
    [
      'of an agent beside metadata without one',
      { metadata: '{"lc_agent_name":7}', 'graph.node.id': 'model' },
      { agent: 'model' },
    ],
    [
      'of an agent, as an attribute before the metadata',
      { metadata: '{"lc_agent_name":"weather"}', 'agent.name': 'other' },
      { agent: 'other' },
    ],
    ["of Langfuse's tool", { 'langfuse.observation.type': 'tool' }, { tool: 'step é' }],
    ["of Langfuse's agent", { 'langfuse.observation.type': 'agent' }, { agent: 'step é' }],
    ["of no other library's tool", { 'openinference.span.kind': 'TOOL' }, { tool: null }],
    [
      "of Mastra's session and user",
      { 'mastra.metadata.sessionId': 's', 'mastra.metadata.userId': 'u' },
      { session_id: 's', user_id: 'u' },
    ],
    [
      "of logfire's template with its values",
      { 'logfire.msg': "Chat with 'm'", 'gen_ai.response.id': 'r' },
      { title: "Chat with 'm'", response_id: 'r' },
    ],
  ])('is the name %s', async (_, given, expected) => {
    expect(await columnsOf(given, { name: 'step é' })).toMatchObject(expected)
  })

  it.each(['usage', 'gen_ai.usage.raw'])('is what %s has of the usage as JSON', async (key) => {
    const chat = {
      prompt_tokens_details: { cached_tokens: 64, audio_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 16, audio_tokens: 4 },
    }
    const responses = {
      input_tokens_details: { cached_tokens: 64 },
      output_tokens_details: { reasoning_tokens: 16 },
    }
    const read = { cache_read_tokens: 64, reasoning_tokens: 16, input_tokens: null }
    expect(await columnsOf({ [key]: JSON.stringify(chat) })).toMatchObject({
      ...read,
      audio_input_tokens: 8,
      audio_output_tokens: 4,
    })
    expect(await columnsOf({ [key]: JSON.stringify(responses) })).toMatchObject(read)
  })

  it('takes the first key of the table where two contradict each other, in any order', async () => {
    const given = [
      ['openinference.span.kind', 'CHAIN'],
      ['gen_ai.operation.name', 'chat'],
      ['llm.token_count.prompt', 99],
      ['gen_ai.usage.input_tokens', 7],
      [LANGFUSE, JSON.stringify({ input: 5, output: 6 })],
    ] as const
    const expected = {
      operation: 'chat',
      operation_kind: 'llm',
      input_tokens: 7,
      output_tokens: 6,
    }
    expect(await columnsOf(Object.fromEntries(given))).toMatchObject(expected)
    expect(await columnsOf(Object.fromEntries(given.toReversed()))).toMatchObject(expected)
  })

  it.each([
    ['negative', -1],
    ['fractional', 1.5],
    ['over 2^53', 2n ** 53n],
    ['absurd', 1e300],
    ['no number', 'many'],
    ['a negative text', '-7'],
    ['not finite', { doubleValue: 'NaN' }],
    ['a truth', { boolValue: true }],
  ])('leaves a count null that is %s, and looks no further', async (_, value) => {
    const given = { 'gen_ai.usage.input_tokens': value, 'llm.token_count.prompt': 5 }
    expect(await columnsOf(given)).toMatchObject({ input_tokens: null })
  })

  it.each([-1, 1e300])('leaves a cost of %d null', async (cost) => {
    expect(await columnsOf({ 'llm.cost.total': cost })).toMatchObject({ cost_usd: null })
  })

  it.each([
    ['a part is negative', '{"input":5,"input_cached_tokens":-1,"output":2}', [null, 2]],
    ['a part is fractional', '{"input":5,"input_cached_tokens":0.5,"output":2}', [null, 2]],
    [
      'the sum is too large',
      `{"input":${2 ** 53 - 1},"input_cached_tokens":9,"output":2}`,
      [null, 2],
    ],
    ['a count is a text', '{"input":"5","output":2}', [null, 2]],
    ['a member is null', '{"input":null,"output":2}', [null, 2]],
    ['parts of the input are apart', '{"input":5,"input_cached_tokens":3,"output":2}', [8, 2]],
    ['it is cut off', '{"input":5,"outp', [null, null]],
    ['it is a list', '[5,2]', [null, null]],
    ['it is too long', `{"input":5,"output":2,"x":"${'x'.repeat(70_000)}"}`, [null, null]],
  ])('reads usage that is JSON as far as it is sure: %s', async (_, json, [input, output]) => {
    const columns = await columnsOf({ [LANGFUSE]: json })
    expect([columns['input_tokens'], columns['output_tokens']]).toEqual([input, output])
  })

  it('takes the quotes from strings of JSON, and an empty text for none', async () => {
    const columns = await columnsOf({
      'mlflow.spanType': '"CHAT_MODEL"',
      'mlflow.llm.model': '"say \\"hi\\""',
      'gen_ai.provider.name': '',
      'gen_ai.system': 'openai',
    })
    expect(columns).toMatchObject({
      operation: 'CHAT_MODEL',
      operation_kind: 'llm',
      request_model: '"say \\"hi\\""',
      provider: 'openai',
    })
  })

  it.each([
    ['tool', 'tool'],
    ['agent', 'agent'],
    ['task', 'task'],
  ])('gives the entity of a %s to the column %s', async (kind, column) => {
    const given = { 'traceloop.span.kind': kind, 'traceloop.entity.name': 'x' }
    const names = { tool: null, agent: null, task: null }
    expect(await columnsOf(given)).toMatchObject({ ...names, [column]: 'x' })
  })

  it('counts embeddings among the tokens of a trace', async () => {
    const given = { 'gen_ai.operation.name': 'embeddings', 'gen_ai.usage.input_tokens': 11 }
    const { traceId } = await send(given)
    const response = await ask(harness, `/api/traces/${traceId}?view=summary`)
    expect(await response.json()).toMatchObject({ llm_calls: 1, tokens: { input: 11 } })
  })

  describe('a span by its id', () => {
    it('has what was sent, its columns and its messages', async () => {
      const large = 'y'.repeat(1000)
      const place = await send(
        {
          'gen_ai.operation.name': 'chat',
          'input.value': 'Hi',
          'output.value': large,
          big: 2n ** 60n,
        },
        { events: [{ name: 'e', timeUnixNano: '7' }] },
      )
      const { span, columns, messages, ...rest } = await readSpan(harness, place)
      expect(span).toMatchObject({ ...place, events: [{ name: 'e', timeUnixNano: '7' }] })
      const attributes = [
        { key: 'big', value: { intValue: `${2n ** 60n}` } },
        { key: 'output.value', value: { stringValue: large } },
      ]
      expect(span['attributes']).toEqual(expect.arrayContaining(attributes))
      expect(columns).toMatchObject({ operation_kind: 'llm', organization: '' })
      const text = (role: string, said: string) => ({
        role,
        content: [{ type: 'text', text: said }],
      })
      expect(messages).toEqual({ input: [text('user', 'Hi')], output: [text('assistant', large)] })
      expect(rest).toMatchObject({ resource: {}, scope: {}, truncated: false })
    })

    it('is the latest of two with the same ids on different days', async () => {
      const place = { traceId: freshId() + freshId(), spanId: freshId() }
      const at = (name: string, daysAgo: number) =>
        spanOf({ ...place, name, startTimeUnixNano: nanos(Date.now() - daysAgo * 86_400_000) })
      await harness.post(toProtobuf(requestOf(at('later', 1))))
      await harness.post(toProtobuf(requestOf(at('earlier', 2))))
      expect((await readSpan(harness, place)).span.name).toBe('later')
    })

    it('comes without its large values when they are too large for an answer', async () => {
      const place = { traceId: freshId() + freshId(), spanId: freshId() }
      const attributes = Array.from({ length: 34 }, (_, i) =>
        textAttribute(`gen_ai.prompt.${i}`, 'x'.repeat(250_000)),
      )
      attributes.push(textAttribute('small', 'one'))
      await harness.post(toProtobuf(requestOf(spanOf({ ...place, attributes }))))
      const { span, truncated } = await readSpan(harness, place)
      expect(truncated).toBe(true)
      expect(span['attributes']).toEqual([textAttribute('small', 'one')])
    })

    it('is asked for in words that say what is wrong', async () => {
      const { traceId, spanId } = await send({})
      const statusOf = async (path: string) => (await ask(harness, path)).status
      expect(await statusOf(`/api/traces/${traceId}/spans/${spanId}`)).toBe(200)
      expect(await statusOf(`/api/traces/${traceId}/spans/${freshId()}`)).toBe(404)
      expect(await statusOf(`/api/traces/${freshId() + freshId()}/spans/${spanId}`)).toBe(404)
      expect(await statusOf(`/api/traces/${traceId}/spans/${spanId}?x=1`)).toBe(400)
      expect(await statusOf(`/api/traces/${traceId}/spans/7`)).toBe(400)
      const url = `${harness.collector.url}/api/traces/${traceId}/spans/${spanId}`
      expect((await fetch(url)).status).toBe(401)
    })
  })
})
