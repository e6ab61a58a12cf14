import { describe, expect, it } from 'vitest'
import { messagesOf } from '../../../services/collector/conventions/messages.ts'
import { MAX_MESSAGES } from '../../../services/collector/conventions/message.ts'

const find = (attributes: object, events: readonly object[] = []) =>
  messagesOf({
    attributes: JSON.stringify(attributes),
    payload: null,
    events: JSON.stringify(events),
  })
const text = (role: string, said: string) => ({ role, content: [{ type: 'text', text: said }] })
const call = { type: 'tool_call', id: 'c1', name: 'weather', arguments: { city: 'Paris' } }

describe('the messages of a span', () => {
  it('are in the payload as well as among the attributes', () => {
    const messages = JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Hi' }] }])
    const payload = JSON.stringify({ 'gen_ai.input.messages': messages })
    const attributes = JSON.stringify({ 'gen_ai.system_instructions': 'Be short.' })
    const found = messagesOf({ attributes, payload, events: null })
    expect(found).toEqual({ input: [text('system', 'Be short.'), text('user', 'Hi')], output: [] })
  })

  it('are none where there is nothing', () => {
    const nothing = messagesOf({ attributes: null, payload: null, events: null })
    expect(nothing).toEqual({ input: [], output: [] })
    expect(find({ 'gen_ai.input.messages': '[]', 'input.value': '' }).input).toEqual([])
  })

  it('are a text where the JSON was cut or is none', () => {
    const cut = '[{"role":"user","parts":[{"type":"te [cut: 262144 of 300000 bytes]'
    expect(find({ 'gen_ai.input.messages': cut }).input).toEqual([text('user', cut)])
    expect(find({ 'output.value': '{"answer": 4' }).output).toEqual([
      text('assistant', '{"answer": 4'),
    ])
    const broken = messagesOf({ attributes: '{', payload: 'x', events: '[' })
    expect(broken).toEqual({ input: [], output: [] })
  })

  it('are the last answer where an agent of LangGraph hands out the conversation', () => {
    const state = [
      { type: 'human', data: { type: 'human', content: 'How warm?' } },
      {
        type: 'ai',
        data: { type: 'ai', content: '', tool_calls: [{ name: 'weather', args: {} }] },
      },
      { type: 'tool', data: { type: 'tool', content: '18', tool_call_id: 'c1' } },
      { type: 'ai', data: { type: 'ai', content: 'It is 18.' } },
    ]
    const document = JSON.stringify({ messages: state })
    const found = find({ 'input.value': document, 'output.value': document })
    expect(found.output).toEqual([text('assistant', 'It is 18.')])
    expect(found.input.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    const step = JSON.stringify([{ graph: null, update: { messages: state.slice(3) }, goto: [] }])
    expect(find({ 'output.value': step }).output).toEqual([text('assistant', 'It is 18.')])
  })

  it('are an object that only looks like one of those, as a text', () => {
    for (const given of [{ update: { rows: 1 } }, { type: 'sensor', data: { content: 'x' } }]) {
      const document = JSON.stringify(given)
      expect(find({ 'output.value': document }).output).toEqual([text('assistant', document)])
    }
  })

  it('are the blocks of Bedrock, which have no type', () => {
    const event = (name: string, content: object) => ({
      name,
      attributes: { [name === 'gen_ai.choice' ? 'message' : 'content']: JSON.stringify(content) },
    })
    const use = { toolUse: { toolUseId: 'c1', name: 'weather', input: { city: 'Paris' } } }
    const result = { toolResult: { toolUseId: 'c1', status: 'success', content: [{ text: '18' }] } }
    const thought = { reasoningContent: { reasoningText: { text: 'Hm.', signature: 's' } } }
    const events = [
      event('gen_ai.user.message', [{ text: 'How warm?' }]),
      event('gen_ai.assistant.message', [use]),
      event('gen_ai.tool.message', [result]),
      event('gen_ai.choice', [thought, { text: 'It is 18.' }]),
    ]
    expect(find({}, events)).toEqual({
      input: [
        text('user', 'How warm?'),
        { role: 'assistant', content: [call] },
        { role: 'tool', content: [{ type: 'tool_result', id: 'c1', content: '18' }] },
      ],
      output: [
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Hm.' },
            { type: 'text', text: 'It is 18.' },
          ],
        },
      ],
    })
  })

  it('are the arguments of a tool, which are no result of it', () => {
    const attributes = { content: '{"city":"Paris"}', id: 'c1', role: 'tool' }
    const events = [{ name: 'gen_ai.tool.message', attributes }]
    const found = find({ 'gen_ai.operation.name': 'execute_tool' }, events)
    expect(found.input).toEqual([text('user', '{"city":"Paris"}')])
  })

  it('show what a function of Python was called with, unless that is nothing', () => {
    const input = (given: object) => find({ 'traceloop.entity.input': JSON.stringify(given) }).input
    const given = { args: ['How warm is it?'], kwargs: {} }
    expect(input(given)).toEqual([text('user', JSON.stringify(given))])
    expect(input({ args: [], kwargs: { city: 'Paris' } })).toHaveLength(1)
    expect(input({ args: [], kwargs: {} })).toEqual([])
  })

  it('come from the first key in the order of the table, whichever was sent first', () => {
    const both = {
      'input.value': 'raw',
      'llm.input_messages.0.message.content': 'flat',
      'gen_ai.input.messages': '[{"role":"user","content":"first"}]',
    }
    expect(find(both).input).toEqual([text('user', 'first')])
    expect(find({ ...both, 'gen_ai.input.messages': '[]' }).input).toEqual([text('user', 'flat')])
  })

  it.each([
    [
      'Anthropic',
      [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Paris' } }],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: '18' }] },
          ],
        },
      ],
    ],
    [
      'OpenAI',
      [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'c1',
              type: 'function',
              function: { name: 'weather', arguments: '{"city":"Paris"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: '18' },
      ],
    ],
    [
      'the Responses API',
      {
        input: [
          { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Paris"}' },
          { type: 'function_call_output', call_id: 'c1', output: '18' },
        ],
      },
    ],
    [
      'Gemini',
      {
        contents: [
          {
            role: 'model',
            parts: [{ function_call: { id: 'c1', name: 'weather', args: { city: 'Paris' } } }],
          },
          {
            role: 'user',
            parts: [{ function_response: { id: 'c1', name: 'weather', response: '18' } }],
          },
        ],
      },
    ],
  ])('know a call and its result as %s writes them', (_, document) => {
    const { input } = find({ 'langfuse.observation.input': JSON.stringify(document) })
    const parts = input.flatMap(({ content }) => content)
    expect(parts).toEqual([call, { type: 'tool_result', id: 'c1', content: '18' }])
  })

  it('have images, thoughts and refusals as parts', () => {
    const content = [
      { type: 'image_url', image_url: { url: 'https://x/1.png' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAEC' } },
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'AAEC' },
      { type: 'thinking', thinking: 'hm' },
      { type: 'refusal', refusal: 'no' },
    ]
    const messages = JSON.stringify([{ role: 'user', content }])
    expect(find({ 'gen_ai.input.messages': messages }).input[0]?.content).toEqual([
      { type: 'image', url: 'https://x/1.png' },
      { type: 'image', url: 'data:image/png;base64,AAEC', mime_type: 'image/png' },
      { type: 'image', url: 'data:image/png;base64,AAEC', mime_type: 'image/png' },
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'no' },
    ])
  })

  it('are in events, as OpenTelemetry had them', () => {
    const events = [
      { name: 'gen_ai.system.message', attributes: { content: 'Be short.' } },
      { name: 'gen_ai.user.message', attributes: { content: 'Hi' } },
      { name: 'gen_ai.tool.message', attributes: { id: 'c1', content: '18' } },
      { name: 'exception', attributes: { 'exception.message': 'x' } },
      {
        name: 'gen_ai.choice',
        attributes: { index: 0, message: '{"role":"assistant","content":"Hello"}' },
      },
    ]
    expect(find({}, events)).toEqual({
      input: [
        text('system', 'Be short.'),
        text('user', 'Hi'),
        { role: 'tool', content: [{ type: 'tool_result', id: 'c1', content: '18' }] },
      ],
      output: [text('assistant', 'Hello')],
    })
    const details = {
      'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
      'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"Ho"}]}]',
    }
    const event = { name: 'gen_ai.client.inference.operation.details', attributes: details }
    expect(find({}, [event])).toEqual({
      input: [text('user', 'Hi')],
      output: [text('assistant', 'Ho')],
    })
    const prompt = { 'gen_ai.prompt': '[{"role":"user","content":"Hi"}]' }
    expect(find({}, [{ name: 'gen_ai.content.prompt', attributes: prompt }]).input).toEqual([
      text('user', 'Hi'),
    ])
  })

  it('keep the order of their numbers, not that of their keys', () => {
    const attributes = Object.fromEntries(
      [10, 2, 0].map((place) => [`gen_ai.prompt.${place}.content`, `${place}`]),
    )
    const said = find(attributes).input.map(({ content }) => content)
    expect(said).toEqual(['0', '2', '10'].map((one) => [{ type: 'text', text: one }]))
  })

  it('are bounded, however many and however deep they are', () => {
    const many = JSON.stringify(
      Array.from({ length: 5000 }, () => ({ role: 'user', content: 'x' })),
    )
    expect(find({ 'gen_ai.input.messages': many }).input).toHaveLength(MAX_MESSAGES)
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    expect(find({ 'gen_ai.input.messages': deep, 'input.value': 'x' }).input).toHaveLength(1)
  })

  it('are not taken from what every object has', () => {
    const keys = { 'gen_ai.prompt.__proto__.content': 'x', 'gen_ai.prompt.constructor.name': 'y' }
    expect(find(keys)).toEqual({ input: [], output: [] })
    expect(find({ 'gen_ai.input.messages': '[{"type":"constructor"}]' }).input).toEqual([
      text('user', '{"type":"constructor"}'),
    ])
  })
})
