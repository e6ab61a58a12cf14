import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLlm } from '../../../services/shared/models/llm.ts'
import type { LlmCall } from '../../../services/shared/models/llm-call.ts'
import { refuses, says, startFakeModel } from './fake-model.ts'
import type { Answer, FakeModel } from './fake-model.ts'

let model: FakeModel

beforeAll(async () => {
  model = await startFakeModel()
})
beforeEach(() => {
  model.requests.length = 0
})
afterAll(() => model.stop())

const call: LlmCall = { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello' }] }
const withTools: LlmCall = {
  ...call,
  tools: [{ type: 'function', function: { name: 'add', description: '', parameters: {} } }],
}

/** Asks the model, and returns its answer and what was heard of it meanwhile. */
async function follow(asked = call) {
  const heard: (readonly [string, number])[] = []
  const llm = createLlm({ baseUrl: model.baseUrl, timeoutMs: 20_000, backoffMs: 1 })
  const result = await llm.complete(asked, new AbortController().signal, (text, offset) => {
    heard.push([text, offset])
  })
  return { result, heard }
}

const frame = (part: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-9', model: 'gpt-5-2026', ...part })}\n\n`
const delta = (said: object, finish_reason: string | null = null): string =>
  frame({ choices: [{ index: 0, delta: said, finish_reason }] })

/** Streams events as they are; the stream ends, or its connection breaks. */
const streams =
  (events: readonly string[], end: (response: ServerResponse) => void = (each) => each.end()) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    response.write(events.join(''), () => end(response))
  }
const breaksOff = (...events: string[]): Answer => streams(events, (each) => each.destroy())

const ANSWER = [
  delta({ role: 'assistant', content: '' }),
  delta({ content: 'Good ' }),
  delta({ content: 'day.' }),
  delta({}, 'stop'),
  frame({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } }),
  'data: [DONE]\n\n',
]

describe('an answer that somebody follows', () => {
  it('is heard while it is written, and is the same as a whole one', async () => {
    model.play(streams(ANSWER))
    const { result, heard } = await follow()
    expect(heard).toEqual([
      ['Good ', 0],
      ['day.', 5],
    ])
    expect(result).toMatchObject({
      ok: true,
      text: 'Good day.',
      id: 'chatcmpl-9',
      model: 'gpt-5-2026',
      finishReason: 'stop',
      inputTokens: 7,
      outputTokens: 3,
      attempts: 1,
    })
    expect(model.requests[0]?.body).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it('may ask for tools, whose arguments come in parts', async () => {
    const part = (index: number, more: object) => delta({ tool_calls: [{ index, ...more }] })
    model.play(
      streams([
        part(0, { id: 'a', function: { name: 'add', arguments: '{"x"' } }),
        part(1, { id: 'b', function: { name: 'add', arguments: '{}' } }),
        part(0, { function: { arguments: ':1}' } }),
        delta({}, 'tool_calls'),
      ]),
    )
    const { result } = await follow(withTools)
    expect(result).toMatchObject({
      toolCalls: [
        { id: 'a', name: 'add', arguments: '{"x":1}' },
        { id: 'b', name: 'add', arguments: '{}' },
      ],
    })
  })

  it.each([
    ['sends it as a whole', [says('Good day.')], 1],
    ['refuses to stream', [refuses(400, 'stream_options is not supported'), says('Good day.')], 2],
  ])('is asked for once more, or not, when the endpoint %s', async (_, answers, attempts) => {
    model.play(...answers)
    const { result, heard } = await follow()
    expect(result).toMatchObject({ ok: true, text: 'Good day.', attempts })
    expect(heard).toEqual([])
    expect(model.requests.at(-1)?.body['stream']).toBe(attempts === 1 ? true : undefined)
  })

  it('begins anew at its beginning after it broke off', async () => {
    model.play(
      breaksOff(delta({ content: 'Goo' })),
      streams([delta({ content: 'Go' })]),
      streams(ANSWER),
    )
    const { result, heard } = await follow()
    expect(result).toMatchObject({ ok: true, text: 'Good day.', attempts: 3 })
    expect(heard.map(([, offset]) => offset)).toEqual([0, 0, 0, 5])
  })

  it.each([
    [
      'an error within it',
      streams([delta({ content: 'G' }), frame({ error: { message: 'overloaded' } })]),
      { code: 'llm_rejected', message: expect.stringContaining('overloaded') },
    ],
    [
      'something else within it',
      streams(['data: <html>\n\n']),
      { code: 'llm_invalid_response', message: expect.stringContaining('not JSON') },
    ],
    [
      'no text',
      streams([delta({}, 'length'), 'data: [DONE]\n\n']),
      { code: 'llm_invalid_response', message: expect.stringContaining('no text') },
    ],
  ])('fails the call for %s', async (_, answer, failure) => {
    model.play(answer)
    expect((await follow()).result).toMatchObject({ ok: false, failure })
  })
})
