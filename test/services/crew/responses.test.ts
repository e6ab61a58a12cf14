import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createHabits } from '../../../services/shared/models/habits.ts'
import type { Habits } from '../../../services/shared/models/habits.ts'
import { createLlm } from '../../../services/shared/models/llm.ts'
import type { LlmCall } from '../../../services/shared/models/llm-call.ts'
import { formatOf } from '../../../services/crew/task/output.ts'
import type { LlmApi } from '../../../services/shared/models/llm-call.ts'
import {
  asks,
  messageOf,
  refuses,
  responds,
  responseOf,
  says,
  startFakeModel,
} from './fake-model.ts'
import type { Answer, FakeModel } from './fake-model.ts'
import { runHere } from './run-here.ts'

let model: FakeModel

beforeAll(async () => {
  model = await startFakeModel()
})
beforeEach(() => {
  model.requests.length = 0
})
afterAll(() => model.stop())

const call: LlmCall = { model: 'gpt-5.6', messages: [{ role: 'user', content: 'Hello' }] }
const add = { name: 'add', description: 'Adds', parameters: { type: 'object' } }
const withTools: LlmCall = { ...call, tools: [{ type: 'function', function: add }] }

interface Asking {
  readonly api?: LlmApi
  readonly habits?: Habits
  readonly apiKey?: string
  readonly heard?: string[]
}

function complete(given: LlmCall, { heard, ...options }: Asking = {}) {
  const llm = createLlm({ baseUrl: model.baseUrl, timeoutMs: 5000, backoffMs: 1, ...options })
  const hear = heard && ((text: string, offset: number) => void heard.push(`${offset} ${text}`))
  return llm.complete(given, new AbortController().signal, hear)
}

const paths = () => model.requests.map(({ path }) => path.replace('/v1/', ''))
const fieldsOf = (field: string) => model.requests.map(({ body }) => body[field])

/** What OpenAI answers, word for word. */
const NO_TOOLS = refuses(
  400,
  'Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. ' +
    "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
)
const RESPONSES_ONLY = refuses(
  404,
  'This model is only supported in v1/responses and not in v1/chat/completions.',
)
const UNKNOWN_PATH = refuses(404, 'Not Found')
const NOT_SEALED = refuses(400, 'Encrypted content is not supported with this model.')

const REASONING = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [],
  encrypted_content: 'gAAAAsealed',
}
const CALL = {
  id: 'fc_1',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_1',
  name: 'add',
  arguments: '{"a":1}',
}
const streams =
  (...events: { readonly type: string; readonly [field: string]: unknown }[]): Answer =>
  (response) => {
    response.setHeader('content-type', 'text/event-stream; charset=utf-8')
    for (const [sequence_number, event] of events.entries()) {
      const data = JSON.stringify({ ...event, sequence_number })
      response.write(`event: ${event.type}\ndata: ${data}\n\n`)
    }
    response.end()
  }
const delta = (text: string) => ({
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta: text,
})

describe('a model that takes no tools from chat/completions', () => {
  it('is asked through responses, which is found out once', async () => {
    const habits = createHabits()
    model.play(NO_TOOLS, responds([REASONING, CALL]), responds([messageOf('Fine.')]))
    expect(await complete(withTools, { habits })).toMatchObject({ ok: true, attempts: 2 })
    expect(await complete(call, { habits })).toMatchObject({ text: 'Fine.', attempts: 1 })
    expect(paths()).toEqual(['chat/completions', 'responses', 'responses'])
    expect(fieldsOf('reasoning_effort')).toEqual([undefined, undefined, undefined])
  })

  it('is asked without reasoning where there is no responses', async () => {
    const habits = createHabits()
    model.play(NO_TOOLS, UNKNOWN_PATH, asks(['add', {}]))
    expect(await complete(withTools, { habits })).toMatchObject({ ok: true, attempts: 3 })
    model.play(says('Fine.'))
    expect(await complete(withTools, { habits })).toMatchObject({ ok: true, attempts: 1 })
    expect(await complete(call, { habits })).toMatchObject({ ok: true, attempts: 1 })
    expect(paths().slice(1)).toEqual(['responses', ...Array(3).fill('chat/completions')])
    expect(fieldsOf('reasoning_effort').slice(2)).toEqual(['none', 'none', undefined])
  })

  it('is asked without reasoning where the connection says chat_completions', async () => {
    model.play(NO_TOOLS, asks(['add', {}]))
    const options = { api: 'chat_completions' } as const
    expect(await complete(withTools, options)).toMatchObject({ ok: true, attempts: 2 })
    expect(paths()).toEqual(['chat/completions', 'chat/completions'])
    expect(fieldsOf('reasoning_effort')).toEqual([undefined, 'none'])
  })

  it('reasons no less than the version says', async () => {
    model.play(NO_TOOLS)
    const high = { ...withTools, reasoning_effort: 'high' } as const
    expect(await complete(high, { api: 'chat_completions' })).toMatchObject({
      ok: false,
      attempts: 1,
      failure: { code: 'llm_rejected', message: expect.stringContaining('use /v1/responses') },
    })
    expect(fieldsOf('reasoning_effort')).toEqual(['high'])
  })

  it('is asked in one form only when it refuses both', async () => {
    model.play(RESPONSES_ONLY, UNKNOWN_PATH, RESPONSES_ONLY)
    expect(await complete(call)).toMatchObject({ ok: false, attempts: 3 })
    model.play(refuses(401, 'This key has no access to v1/responses.'))
    expect(await complete(call)).toMatchObject({ ok: false, attempts: 1 })
    model.play(RESPONSES_ONLY)
    expect(await complete(call, { api: 'responses' })).toMatchObject({ ok: false, attempts: 1 })
    expect(await complete(call, { api: 'chat_completions' })).toMatchObject({ attempts: 1 })
  })

  it('is found out for each key and model, so that no other connection is led by it', async () => {
    const habits = createHabits()
    model.play(RESPONSES_ONLY, responds([messageOf('Fine.')]), says('Fine.'))
    await complete(call, { habits, apiKey: 'one' })
    await complete(call, { habits, apiKey: 'other' })
    await complete({ ...call, model: 'gpt-4.1' }, { habits, apiKey: 'one' })
    const chat = 'chat/completions'
    expect(paths()).toEqual([chat, 'responses', chat, chat])
  })
})

describe('responses', () => {
  const api = 'responses'

  it('gets what chat/completions gets, and keeps nothing', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } } as const
    model.play(responds([messageOf('{}')]))
    await complete(
      {
        ...withTools,
        temperature: 0.5,
        max_tokens: 900,
        reasoning_effort: 'low',
        tool_choice: 'none',
        response_format: formatOf({ type: 'object', additionalProperties: false, required: [] }),
        messages: [
          { role: 'system', content: 'You are Ada.' },
          { role: 'user', content: [{ type: 'text', text: 'Look' }, image] },
          {
            role: 'assistant',
            content: 'One moment.',
            tool_calls: [
              { id: 'c1', type: 'function', function: { name: 'add', arguments: '{}' } },
            ],
          },
          { role: 'tool', tool_call_id: 'c1', content: '42' },
        ],
      },
      { api },
    )
    expect(model.requests[0]?.body).toEqual({
      model: 'gpt-5.6',
      store: false,
      include: ['reasoning.encrypted_content'],
      temperature: 0.5,
      max_output_tokens: 900,
      reasoning: { effort: 'low' },
      tool_choice: 'none',
      tools: [{ type: 'function', ...add, strict: false }],
      text: {
        format: {
          type: 'json_schema',
          name: 'output',
          schema: { type: 'object', additionalProperties: false, required: [] },
          strict: true,
        },
      },
      input: [
        { role: 'system', content: 'You are Ada.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look' },
            { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'auto' },
          ],
        },
        { role: 'assistant', content: 'One moment.' },
        { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: '42' },
      ],
    })
  })

  const ANSWERED = {
    ok: true,
    text: 'Good day.',
    id: 'resp_1',
    model: 'gpt-5.6-2026-07-01',
    finishReason: 'stop',
    inputTokens: 70,
    cachedInputTokens: 40,
    outputTokens: 30,
    reasoningTokens: 20,
  }

  it('answers, and counts its tokens', async () => {
    const commentary = messageOf('I begin.', { phase: 'commentary' })
    const final = messageOf('Good day.', { phase: 'final_answer' })
    model.play(responds([REASONING, commentary, { type: 'web_search_call' }, final]))
    expect(await complete(call, { api })).toMatchObject(ANSWERED)
  })

  it.each([
    ['in its last event', [messageOf('Good day.')]],
    ['item by item', []],
  ])('is heard while it answers, and is read %s', async (_, output) => {
    model.play(
      streams(
        { type: 'response.created', response: responseOf([], { status: 'in_progress' }) },
        { type: 'response.in_progress', response: responseOf([], { status: 'in_progress' }) },
        delta('Good '),
        delta('day.'),
        { type: 'response.output_item.done', output_index: 0, item: messageOf('Good day.') },
        { type: 'response.completed', response: responseOf(output) },
      ),
    )
    const heard: string[] = []
    expect(await complete(call, { api, heard })).toMatchObject(ANSWERED)
    expect(heard).toEqual(['0 Good ', '5 day.'])
    expect(model.requests[0]?.body['stream']).toBe(true)
  })

  const incomplete = (reason: string) => ({
    status: 'incomplete',
    incomplete_details: { reason },
  })
  const refusal = { content: [{ type: 'refusal', refusal: 'I cannot help with that.' }] }
  const failed = { status: 'failed', error: { code: 'server_error', message: 'overloaded' } }

  it.each([
    ['is cut', responds([], incomplete('max_output_tokens')), '(finish_reason: length)'],
    ['is filtered', responds([], incomplete('content_filter')), '(finish_reason: content_filter)'],
    ['refuses', responds([messageOf('', refusal)]), 'a refusal: I cannot help with that.'],
    [
      'is no response',
      responds([{ type: 'message', content: 1 }]),
      'no response (output.0.content',
    ],
  ])('fails the call when it %s', async (_, answer, said) => {
    model.play(answer)
    const failure = {
      code: 'llm_invalid_response',
      message: expect.stringContaining(said),
    }
    expect(await complete(call, { api })).toMatchObject({ ok: false, failure, attempts: 1 })
  })

  it.each([
    ['as a whole', responds([], failed)],
    ['in its last event', streams({ type: 'response.failed', response: responseOf([], failed) })],
    ['in an event', streams(delta('G'), { type: 'error', code: 'x', message: 'overloaded' })],
  ])('is asked again when it fails %s', async (_, answer) => {
    model.play(answer, responds([messageOf('Fine.')]))
    expect(await complete(call, { api, heard: [] })).toMatchObject({ text: 'Fine.', attempts: 2 })
    model.play(answer)
    expect(await complete(call, { api, heard: [] })).toMatchObject({
      ok: false,
      failure: { code: 'llm_rejected', message: expect.stringContaining('overloaded') },
    })
  })

  it('is asked again when its stream breaks off', async () => {
    model.play(streams(delta('Goo')), responds([messageOf('Fine.')]))
    expect(await complete(call, { api, heard: [] })).toMatchObject({ text: 'Fine.', attempts: 2 })
  })

  it('is asked without seals where a model has none, which is found out once', async () => {
    const habits = createHabits()
    model.play(NOT_SEALED, responds([messageOf('Fine.')]))
    expect(await complete(call, { api, habits })).toMatchObject({ ok: true, attempts: 2 })
    expect(await complete(call, { api, habits })).toMatchObject({ ok: true, attempts: 1 })
    const sealed = ['reasoning.encrypted_content']
    expect(fieldsOf('include')).toEqual([sealed, undefined, undefined])
  })
})

describe('an agent whose model is asked through responses', () => {
  const definition = {
    name: 'Crew',
    llm: { model: 'gpt-5.6', reasoning_effort: 'high' as const },
    tools: { add: { type: 'calculator' as const } },
    agents: [{ key: 'ada', role: 'Ada', goal: 'Compute', tools: ['add'] }],
    tasks: [{ key: 'task', agent: 'ada', description: '6 × 7?', expected_output: 'A number' }],
  }
  const asked = { ...CALL, arguments: '{"expression":"6 * 7"}' }
  const run = (more: Partial<Parameters<typeof runHere>[0]> = {}) =>
    runHere({ definition, llm: createLlm({ baseUrl: model.baseUrl, timeoutMs: 5000 }), ...more })
  const inputOf = (at: number): unknown[] => [model.requests[at]?.body['input']].flat()

  it('gives back what the model reasoned with the results of its tools', async () => {
    model.play(NO_TOOLS, responds([REASONING, asked]), responds([messageOf('It is 42.')]))
    const { output, usage, events } = await run()
    expect(output).toBe('It is 42.')
    expect(inputOf(2).slice(2)).toEqual([
      REASONING,
      asked,
      { type: 'function_call_output', call_id: 'call_1', output: '42' },
    ])
    expect(fieldsOf('reasoning').slice(1)).toEqual([{ effort: 'high' }, { effort: 'high' }])
    expect(usage).toEqual({ input_tokens: 140, output_tokens: 60, cached_input_tokens: 80 })
    expect(events.filter(({ type }) => type === 'llm_call')).toMatchObject([
      { attempts: 2, finish_reason: 'tool_calls', reasoning_output_tokens: 20 },
      { attempts: 1, cached_input_tokens: 40, response_id: 'resp_1' },
    ])
  })

  it('goes on from the journal in another process, and where the seal is of no use', async () => {
    model.play(NO_TOOLS, responds([REASONING, asked]), refuses(401, 'no more'))
    const { journal } = await run()
    model.requests.length = 0
    model.play(
      NO_TOOLS,
      refuses(400, 'The encrypted content gAAA... could not be verified.'),
      responds([messageOf('It is 42.')]),
    )
    const { output } = await run({ journal })
    expect(output).toBe('It is 42.')
    expect(paths()).toEqual(['chat/completions', 'responses', 'responses'])
    expect(JSON.stringify(model.requests[0]?.body)).not.toContain('gAAAAsealed')
    const [, ...plain] = inputOf(2).slice(1)
    expect(plain).toMatchObject([{ type: 'function_call' }, { type: 'function_call_output' }])
    expect(fieldsOf('include').at(-1)).toEqual(['reasoning.encrypted_content'])
  })
})
