import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLlm } from '../../../services/shared/models/llm.ts'
import type {
  CrewEvent,
  RecordedStep,
  ToolCallEvent,
} from '../../../services/platform/crew-contract/crew-protocol.ts'
import type { Tools } from '../../../services/platform/tools/tool-definitions.ts'
import { startMcpServer, textResult } from '../../support/mcp-server.ts'
import type { McpOptions, TestTool } from '../../support/mcp-server.ts'
import { asks, says, saysNothing, startFakeModel } from './fake-model.ts'
import type { Answer, FakeModel } from './fake-model.ts'
import { journalOf, runHere } from './run-here.ts'

let model: FakeModel
const opened: (() => Promise<void>)[] = []

beforeAll(async () => {
  model = await startFakeModel()
})

beforeEach(() => {
  model.requests.length = 0
})

afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

afterAll(() => model.stop())

interface RunOptions {
  readonly tools?: Tools
  readonly maxIterations?: number
  readonly origins?: readonly string[]
  readonly connections?: Readonly<Record<string, { access_token: string }>>
  readonly journal?: readonly RecordedStep[]
}

/** Runs a crew of one agent and one task, and returns what it reports. */
async function run(options: RunOptions = {}) {
  const { tools = { sum: { type: 'calculator' } }, maxIterations, ...given } = options
  const definition = {
    name: 'Crew',
    llm: { model: 'test-model' },
    tools,
    agents: [
      {
        key: 'ada',
        role: 'Ada',
        goal: 'Compute',
        tools: Object.keys(tools),
        ...(maxIterations === undefined ? {} : { max_iterations: maxIterations }),
      },
    ],
    tasks: [{ key: 'task', agent: 'ada', description: 'Do it.', expected_output: 'A number' }],
  }
  const llm = createLlm({ baseUrl: model.baseUrl, timeoutMs: 10_000, backoffMs: 2 })
  const ran = await runHere({ definition, llm, ...given })
  const calls = ran.events
    .filter((each): each is ToolCallEvent => each.type === 'tool_call')
    .toSorted((one, other) => one.call_id.localeCompare(other.call_id, 'en', { numeric: true }))
  return { ...ran, calls }
}

async function mcpTool(answer: McpOptions['answer'], more: object = {}) {
  const properties = { q: { type: 'string' } }
  const tool: TestTool = { name: 'look', inputSchema: { type: 'object', properties } }
  const server = await startMcpServer([tool], answer ? { answer } : {})
  opened.push(() => server.stop())
  const pinned = { tools: [{ name: 'look', input_schema: { type: 'object', properties } }] }
  const docs = { type: 'mcp' as const, url: server.url, tools: ['look'], pinned, ...more }
  return { server, tools: { docs }, origins: [server.origin] }
}

const isStart = ({ type }: CrewEvent): boolean => type === 'step_started'

const messagesOf = (at: number) => model.requests[at]?.body.messages ?? []

describe('an agent with tools', () => {
  it('calls them, several at a time, until it answers', async () => {
    model.play(
      asks(['sum', { expression: '6 * 7' }], ['sum', { expression: '1 / 0' }]),
      says('It is 42.'),
    )
    const { output, calls, events } = await run()
    expect(output).toBe('It is 42.')
    expect(model.requests[0]?.body).toMatchObject({
      tools: [{ type: 'function', function: { name: 'sum', parameters: { type: 'object' } } }],
    })
    expect(messagesOf(1).slice(2)).toEqual([
      expect.objectContaining({ role: 'assistant', content: null }),
      { role: 'tool', tool_call_id: 'call-0', content: '42' },
      { role: 'tool', tool_call_id: 'call-1', content: 'The result is not a finite number.' },
    ])
    expect(calls).toMatchObject([
      {
        name: 'sum',
        tool: 'sum',
        tool_type: 'calculator',
        task: 'task',
        agent: 'ada',
        result: '42',
      },
      { error: { code: 'tool_error', message: 'The result is not a finite number.' } },
    ])
    const started = events.flatMap((each) => (each.type === 'step_started' ? [each] : []))
    expect(started.map(({ kind, path }) => [kind, path.join('/')])).toEqual([
      ['task', 'task'],
      ['llm', 'task/ada/llm/0'],
      ['tool', 'task/ada/sum/0.0'],
      ['tool', 'task/ada/sum/0.1'],
      ['llm', 'task/ada/llm/1'],
    ])
    expect(events.filter((each) => each.type === 'llm_call').at(-1)).toMatchObject({
      messages_in: [
        { role: 'system' },
        { role: 'user' },
        { role: 'assistant', tool_calls: [{ id: 'call-0', name: 'sum' }, { id: 'call-1' }] },
        { role: 'tool', tool_call_id: 'call-0', content: '42' },
        { role: 'tool' },
      ],
    })
  })

  it('calls nothing again that a journal has, and goes on from there', async () => {
    model.play(asks(['sum', { expression: '6 * 7' }]), says('42'))
    const { events } = await run()
    const former = journalOf(events.slice(0, events.findLastIndex(isStart)))
    model.requests.length = 0
    model.play(says('42'))
    const { output, calls } = await run({ journal: former })
    expect([output, calls, model.requests.length]).toEqual(['42', [], 1])
    expect(messagesOf(0).at(-1)).toEqual({ role: 'tool', tool_call_id: 'call-0', content: '42' })
  })

  it.each<[string, Answer, string]>([
    ['a tool that there is not', asks(['som', {}]), 'There is no tool som. There are: sum.'],
    ['arguments that are no JSON', asks(['sum', '{"expr']), 'must be a JSON object'],
    ['arguments that are not valid', asks(['sum', { a: 1 }]), 'required property "expression"'],
    ['nothing', saysNothing, 'The answer was empty.'],
  ])('is told once that it asked for %s, and fails the second time', async (_, wrong, message) => {
    model.play(wrong, says('Sorry: 42.'))
    expect((await run()).output).toBe('Sorry: 42.')
    model.play(wrong, asks(['sum', { expression: '1' }]), wrong, says('1'))
    expect((await run()).output).toBe('1')
    model.play(wrong, wrong)
    const { failure } = await run()
    expect(failure).toMatchObject({
      code: 'invalid_tool_call',
      message: expect.stringContaining('made a mistake in the task task, was told'),
    })
    expect(failure?.message).toContain(message)
  })

  it('answers at its last call, for which it may call no tools', async () => {
    const again = asks(['sum', { expression: '1' }])
    model.play(again, again, says('I give up.'))
    expect((await run({ maxIterations: 3 })).output).toBe('I give up.')
    expect(model.requests.map(({ body }) => body['tool_choice'])).toEqual([
      undefined,
      undefined,
      'none',
    ])
    expect(messagesOf(2).at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('You may call no more tools'),
    })
    model.requests.length = 0
    model.play(again)
    const { failure } = await run()
    expect(model.requests).toHaveLength(20)
    expect(failure).toMatchObject({
      code: 'max_iterations',
      message: expect.stringContaining('called its model 20 times for the task task'),
    })
  })

  it('makes at most 16 calls of one answer', async () => {
    const many = Array.from({ length: 18 }, () => ['sum', { expression: '1' }] as const)
    model.play(asks(...many), says('done'))
    const { calls, output } = await run()
    const refused = calls.filter(({ error }) => error?.message.startsWith('This call was not made'))
    expect(refused.map(({ call_id }) => call_id)).toEqual(['call-16', 'call-17'])
    expect(calls).toHaveLength(18)
    expect(output).toBe('done')
  })

  it('gets the errors of a tool, in its own words or in those of the crew', async () => {
    const hangs = () => new Promise<never>(() => {})
    const { tools, origins } = await mcpTool(hangs, { timeout_seconds: 1 })
    model.play(asks(['look', {}]), says('It hangs.'))
    const { calls, output } = await run({ tools, origins })
    expect(output).toBe('It hangs.')
    expect(calls[0]?.error?.message).toBe('look did not answer within 1 s and was given up.')
  })

  it('sees no token that a service repeats, nor does anybody else', async () => {
    const repeat = ({ authorization }: { authorization: string | undefined }) =>
      textResult(`you sent ${authorization ?? 'nothing'}`)
    const { tools, origins, server } = await mcpTool(repeat, { connection: 'notes' })
    model.play(asks(['look', {}]), says('done'))
    const connections = { notes: { access_token: 'canary-token' } }
    const { events, calls } = await run({ tools, origins, connections })
    expect(server.calls[0]?.authorization).toBe('Bearer canary-token')
    expect(calls[0]?.result).toBe('you sent Bearer [token]')
    expect(JSON.stringify([events, model.requests.map(({ body }) => body)])).not.toContain('canary')
  })

  it('does not begin without a connection that its tool needs', async () => {
    const { tools, origins } = await mcpTool(undefined, { connection: 'notes' })
    expect((await run({ tools, origins })).failure).toMatchObject({ code: 'connection_missing' })
    expect(model.requests).toHaveLength(0)
  })

  it('repeats no act of a tool: each attempt sends the same idempotency key', async () => {
    const { tools, origins, server } = await mcpTool(() => textResult('seen'))
    for (let attempts = 0; attempts < 2; attempts += 1) {
      model.play(asks(['look', { q: 'x' }], ['look', { q: 'x' }]), says('done'))
      await run({ tools, origins })
    }
    const keys = server.calls.map(({ meta }) => JSON.stringify(meta))
    expect(keys.slice(0, 2)).toEqual(keys.slice(2))
    expect(new Set(keys).size).toBe(2)
  })

  it('keeps its events short, however long the conversation is', async () => {
    const { tools, origins } = await mcpTool(() => textResult('x'.repeat(32_000)))
    const many = Array.from({ length: 16 }, () => ['look', {}] as const)
    model.play(asks(...many), says('done'))
    const { events } = await run({ tools, origins })
    // The start of a step has its request in full: it is stored message by message.
    const others = events.filter(({ type }) => type !== 'step_started')
    const lengths = others.map((event) => JSON.stringify(event).length)
    expect(Math.max(...lengths)).toBeLessThan(400_000)
    expect(JSON.stringify(model.requests.at(-1)?.body).length).toBeGreaterThan(500_000)
  })
})
