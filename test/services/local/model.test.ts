import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLlm } from '../../../services/shared/models/llm.ts'
import { startModel } from '../../../services/local/model.ts'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/http/serve.ts'

let model: Service

beforeAll(async () => {
  const log = createLog({ name: 'model', level: 'silent' })
  model = await startModel({ port: 0, log, latencyMs: 1 })
})

afterAll(() => model.stop())

interface Whole {
  readonly choices: readonly [{ readonly message: { readonly content: string } }]
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
}

const prompt = (task: string, expected: string, context = '') =>
  `Task: ${task}\n\nExpected output: ${expected}${context}\n\n` +
  'Answer with the output of the task only.'

async function ask(content: string, more: Record<string, unknown> = {}) {
  const messages = [
    { role: 'system', content: 'You are Writer.' },
    { role: 'user', content },
  ]
  const response = await fetch(`${model.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages, ...more }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, never> }
}

describe('the built-in demo model', () => {
  it('answers as the real API does, and says that it is no real model', async () => {
    const { status, body } = await ask(prompt('List facts about whales.', 'Five facts'))
    expect(status).toBe(200)
    expect(body).toMatchObject({
      object: 'chat.completion',
      id: expect.stringMatching(/^chatcmpl-/),
      model: 'gpt-4o-mini',
      choices: [
        {
          message: { role: 'assistant', content: expect.stringContaining('built-in demo model') },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) },
    })
  })

  it('uses the task, the inputs in it, the number asked for, and the context', async () => {
    const context = '\n\nContext from earlier tasks:\n\n## research (Researcher)\nThey sing.'
    const { body } = await ask(prompt('List facts about blue whales.', 'Two facts', context))
    const text = JSON.stringify(body)
    expect(text).toContain('List facts about blue whales.')
    expect(text).toContain('2. ')
    expect(text).not.toContain('3. ')
    expect(text).toContain('It builds on: research (Researcher).')
  })

  it('calls a tool that the task names, with what is in backticks, and repeats it', async () => {
    const parameters = { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] }
    const tools = [{ type: 'function', function: { name: 'calculator', parameters } }]
    const said = prompt('Compute `6 * 7` with `calculator`.', 'One sentence')
    const { body } = await ask(said, { tools })
    const { message, finish_reason } = Object(body['choices'])[0]
    expect(finish_reason).toBe('tool_calls')
    expect(message).toMatchObject({
      content: null,
      tool_calls: [{ function: { name: 'calculator', arguments: '{"of":"6 * 7"}' } }],
    })
    const [{ id }] = message.tool_calls
    const messages = [
      { role: 'user', content: said },
      message,
      { role: 'tool', tool_call_id: id, content: '42' },
    ]
    const then = await ask(said, { tools, messages })
    expect(JSON.stringify(then.body)).toContain('A tool answered: 42')
    const refused = await ask(said, { tools, tool_choice: 'none' })
    expect(Object(refused.body['choices'])[0].finish_reason).toBe('stop')
  })

  it('calls no tool that the task does not name', async () => {
    const tools = [{ type: 'function', function: { name: 'calculator' } }]
    const { body } = await ask(prompt('Compute `6 * 7`.', 'One sentence'), { tools })
    expect(Object(body['choices'])[0].finish_reason).toBe('stop')
  })

  it('writes the same word by word to those who ask for that', async () => {
    const content = prompt('List facts about whales.', 'One fact')
    const { body } = await ask(content)
    const heard: string[] = []
    const llm = createLlm({ baseUrl: `${model.url}/v1`, timeoutMs: 20_000 })
    const call = {
      model: 'gpt-4o-mini',
      messages: [
        { role: 'system', content: 'You are Writer.' },
        { role: 'user', content },
      ],
    }
    const written = await llm.complete(call, new AbortController().signal, (text) =>
      heard.push(text),
    )
    const { choices, usage } = body as unknown as Whole
    expect(written).toMatchObject({
      ok: true,
      text: choices[0].message.content,
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
    })
    expect(heard.join('')).toBe(choices[0].message.content)
    expect(heard.length).toBeGreaterThan(10)
  })

  it('says the same for the same words, and something else for others', async () => {
    const [one, same, other] = await Promise.all([
      ask(prompt('Write about whales.', 'One paragraph')),
      ask(prompt('Write about whales.', 'One paragraph')),
      ask(prompt('Write about ships.', 'One paragraph')),
    ])
    expect(same.body['choices']).toEqual(one.body['choices'])
    expect(same.body['id']).toBe(one.body['id'])
    expect(other.body['choices']).not.toEqual(one.body['choices'])
  })

  it('stops at max_tokens', async () => {
    const { body } = await ask(prompt('Write.', 'One paragraph'), { max_tokens: 3 })
    expect(body).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 3 },
    })
  })

  it.each([
    [{ model: undefined }, 'model'],
    [{ messages: [] }, 'messages'],
    [{ temperature: 3 }, 'temperature'],
  ])('refuses %j as the real API does', async (more, param) => {
    expect(await ask('hi', more)).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', param } },
    })
  })

  it('lists itself', async () => {
    const response = await fetch(`${model.url}/v1/models`)
    expect(await response.json()).toMatchObject({ object: 'list', data: [{ object: 'model' }] })
  })
})
