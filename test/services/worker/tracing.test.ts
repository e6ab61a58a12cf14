import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stopRun } from '../../../services/platform/runs/runs.ts'
import { verifyCollectorToken } from '../../../services/shared/collector-token.ts'
import { freePort } from '../../support/free-port.ts'
import { isSilent, refuses, says } from '../crew/fake-model.ts'
import { begin, line, startBrokenCrew } from './broken-crew.ts'
import { COLLECTOR_SECRET, openWorker } from './harness.ts'
import { startSpanReceiver } from '../../support/span-receiver.ts'
import type { ReceivedSpan, SpanReceiver } from '../../support/span-receiver.ts'
import { startDuration } from '../../support/duration.ts'

const CLIENT = 3
const ERROR = 2

const { deploy, model, platform } = await openWorker()
let collector: SpanReceiver

beforeEach(async () => {
  collector = await startSpanReceiver()
  await deploy()
})

afterEach(async () => {
  await platform.stopServices()
  await collector.stop()
})

const startWorker = (env: Record<string, string> = {}) =>
  platform.startWorker({
    COLLECTOR_URL: collector.url,
    COLLECTOR_JWT_SECRET: COLLECTOR_SECRET,
    ...env,
  })

/** What came of spans that have ended; a run is also sent when it starts. */
const ended = (): ReceivedSpan[] => collector.spans().filter(({ endMs }) => endMs > 0)

async function spansOf(count: number): Promise<ReceivedSpan[]> {
  await expect.poll(() => ended().length).toBe(count)
  return ended()
}

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.find((span) => span.name === name)
  if (!found) throw new Error(`no span ${name} in ${spans.map((span) => span.name).join(', ')}`)
  return found
}

describe('the trace of a run (SPEC 9)', () => {
  it('is a tree of wait, attempt, tasks and LLM calls under the kickoff id', async () => {
    model.play(says('Facts.'), says('A summary.'))
    await startWorker()
    const id = await platform.kickoff({ topic: 'whales' })
    const spans = await spansOf(7)
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([id.replaceAll('-', '')]))
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(7)
    const crew = named(spans, 'Research.kickoff')
    const wait = named(spans, 'queue')
    const attempt = named(spans, 'attempt 1')
    const research = named(spans, 'invoke_agent Researcher')
    const write = named(spans, 'invoke_agent Writer')
    expect(crew).toMatchObject({ parentSpanId: '', spanId: id.replaceAll('-', '').slice(16) })
    expect([wait.parentSpanId, attempt.parentSpanId]).toEqual([crew.spanId, crew.spanId])
    expect(wait.startMs).toBe(crew.startMs)
    expect([research.parentSpanId, write.parentSpanId]).toEqual([attempt.spanId, attempt.spanId])
    const calls = spans.filter(({ name }) => name === 'chat test-model')
    expect(calls.map(({ parentSpanId }) => parentSpanId)).toEqual([research.spanId, write.spanId])
    expect(calls.map(({ kind }) => kind)).toEqual([CLIENT, CLIENT])
    for (const span of spans) {
      expect(span.status.code).toBe(0)
      expect(span.endMs).toBeGreaterThanOrEqual(span.startMs)
      expect(span.startMs).toBeGreaterThanOrEqual(crew.startMs)
      expect(span.endMs).toBeLessThanOrEqual(crew.endMs)
      expect(Math.abs(span.endMs - Date.now())).toBeLessThan(10_000)
      expect(span.resource).toMatchObject({
        'service.name': 'crew-platform-worker',
        organization_id: String(platform.automation.organizationId),
        'service.version': '1.13.0',
        'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      })
    }
  })

  it('has each call below its own task when several run beside each other', async () => {
    const at = new Date().toISOString()
    const began = { type: 'task_started', description: 'D' }
    const call = { type: 'tool_call', started_at: at, ended_at: at, arguments: '{}', result: 'x' }
    const [one, other] = [
      { task: 'one', agent: 'a' },
      { task: 'other', agent: 'b' },
    ]
    const crew = await startBrokenCrew((response) => {
      begin(response)
      response.write(line({ ...began, ...one, agent_role: 'A' }))
      response.write(line({ ...began, ...other, agent_role: 'B' }))
      response.write(line({ ...call, ...one, name: 'f', call_id: '1' }))
      response.write(line({ type: 'task_completed', ...other, output: 'B.' }))
      response.write(line({ ...call, ...one, name: 'g', call_id: '2' }))
      response.write(line({ type: 'task_completed', ...one, output: 'A.' }))
      const usage = { input_tokens: 0, output_tokens: 0 }
      response.end(line({ type: 'crew_completed', output: 'A.', usage }))
    })
    await platform.deployAt(crew.url)
    await startWorker()
    await platform.kickoff({ topic: 'whales' })
    const spans = await spansOf(7)
    await crew.stop()
    const { spanId } = named(spans, 'invoke_agent A')
    for (const name of ['execute_tool f', 'execute_tool g']) {
      expect(named(spans, name)).toMatchObject({
        parentSpanId: spanId,
        attributes: { 'gen_ai.agent.name': 'A' },
      })
    }
    expect(named(spans, 'invoke_agent B').attributes).toMatchObject({ 'output.value': 'B.' })
  })

  it('has what a coworker does below the call that gave it the work', async () => {
    const at = new Date().toISOString()
    const times = { started_at: at, ended_at: at }
    const place = { task: 'lead', agent: 'crew_manager' }
    const tool = { kind: 'tool', name: 'delegate', path: ['lead'] }
    const call = { type: 'tool_call', ...times, arguments: '{}' }
    const answered = { ...call, ...place, name: 'delegate', call_id: '2', result: 'y' }
    const crew = await startBrokenCrew((response) => {
      begin(response)
      const role = { agent_role: 'Boss', description: 'D' }
      response.write(line({ type: 'task_started', ...place, ...role, step: 'k0' }))
      response.write(line({ type: 'step_started', ...tool, step: 'k1', parent: 'k0' }))
      const inner = { task: 'lead', agent: 'writer', name: 'look', call_id: '1', result: 'x' }
      response.write(line({ ...call, ...inner, step: 'k2', parent: 'k1' }))
      response.write(line({ ...answered, step: 'k1', parent: 'k0' }))
      response.write(line({ type: 'task_completed', ...place, output: 'B.', step: 'k0' }))
      const usage = { input_tokens: 0, output_tokens: 0 }
      response.end(line({ type: 'crew_completed', output: 'B.', usage }))
    })
    await platform.deployAt(crew.url)
    await startWorker()
    await platform.kickoff({ topic: 'whales' })
    const spans = await spansOf(6)
    await crew.stop()
    const given = named(spans, 'execute_tool delegate')
    expect(given).toMatchObject({
      parentSpanId: named(spans, 'invoke_agent Boss').spanId,
      attributes: { 'gen_ai.agent.name': 'Boss', 'gen_ai.tool.call.result': 'y' },
    })
    expect(named(spans, 'execute_tool look')).toMatchObject({
      parentSpanId: given.spanId,
      attributes: { 'gen_ai.agent.name': 'Writer', 'gen_ai.agent.id': 'writer' },
    })
  })

  it('has a span for each item and each try of a task, with its calls', async () => {
    const at = new Date().toISOString()
    const place = { task: 'research', agent: 'researcher' }
    const part = (step: string, parent: string, path: string) => {
      const [, item, again] = path.split('/')
      const name = again === undefined ? 'research[0]' : 'research[0] try 1'
      const facts = { step, parent, path: ['research', item, again].filter(Boolean), name, at }
      return line({ type: 'step_started', kind: 'task', ...facts })
    }
    const tool = { type: 'tool_call', ...place, name: 'look', call_id: '1', result: 'x' }
    const crew = await startBrokenCrew((response) => {
      begin(response)
      const role = { agent_role: 'R', description: 'D', step: 'k0' }
      response.write(line({ type: 'task_started', ...place, ...role }))
      response.write(part('k1', 'k0', 'research/item:0'))
      response.write(part('k2', 'k1', 'research/item:0/try:0'))
      const call = { started_at: at, ended_at: at, arguments: '{}', step: 'k3', parent: 'k2' }
      response.write(line({ ...tool, ...call }))
      const failure = { code: 'llm_timeout', message: 'Late.' }
      response.write(line({ type: 'step_finished', step: 'k2', result: { failure } }))
      response.write(line({ type: 'step_failed', step: 'k1', error: failure }))
      const usage = { input_tokens: 0, output_tokens: 0 }
      const skipped = 'The list is empty.'
      response.write(line({ type: 'task_completed', ...place, step: 'k0', output: '', skipped }))
      response.end(line({ type: 'crew_completed', output: '', usage }))
    })
    await platform.deployAt(crew.url)
    await startWorker()
    const id = await platform.kickoff({ topic: 'whales' })
    const spans = await spansOf(7)
    await crew.stop()
    const [task, item, again] = ['invoke_agent R', 'research[0]', 'research[0] try 1'].map((name) =>
      named(spans, name),
    )
    expect(task?.attributes['skipped']).toBe('The list is empty.')
    expect(item).toMatchObject({ parentSpanId: task?.spanId, status: { code: ERROR } })
    expect(again?.parentSpanId).toBe(item?.spanId)
    expect(named(spans, 'execute_tool look').parentSpanId).toBe(again?.spanId)
    const told = await platform.sql<{ event: { type: string; error?: object } }[]>`
      select event from execution_events where execution_id = ${id} and event ->> 'kind' = 'task'
      order by position`
    expect(told.map(({ event }) => [event.type, event.error])).toEqual([
      ['step_started', undefined],
      ['step_started', undefined],
      ['step_finished', { code: 'llm_timeout', message: 'Late.' }],
      ['step_failed', { code: 'llm_timeout', message: 'Late.' }],
    ])
  })

  it('has a span for each call of a tool, of which the page shows the beginnings', async () => {
    const names = { task: 'research', agent: 'researcher' }
    const at = new Date().toISOString()
    const call = { type: 'tool_call', ...names, started_at: at, ended_at: at, arguments: '{"q":1}' }
    const messages_in = [
      { role: 'assistant', content: '', tool_calls: [{ id: 'c', name: 'f', arguments: '{}' }] },
      { role: 'tool', content: 'Found.', tool_call_id: 'c' },
    ]
    const model_ = { request_model: 'm', provider: 'p', server_address: 'h', server_port: 1 }
    const said = { ...names, ...model_, messages_in, messages_out: [], attempts: 1 }
    const crew = await startBrokenCrew((response) => {
      begin(response)
      response.write(line({ type: 'task_started', ...names, agent_role: 'R', description: 'D' }))
      const remote = { tool: 'docs', tool_type: 'mcp', result: 'x'.repeat(5000) }
      response.write(line({ ...call, ...remote, name: 'search', call_id: 'c1' }))
      const error = { code: 'tool_error', message: 'It broke.' }
      response.write(line({ ...call, tool_type: 'calculator', name: 'sum', call_id: 'c2', error }))
      response.write(line({ type: 'llm_call', ...said, started_at: at, ended_at: at }))
      const usage = { input_tokens: 0, output_tokens: 0 }
      response.end(line({ type: 'crew_completed', output: 'Done.', usage }))
    })
    await platform.deployAt(crew.url)
    await startWorker()
    const id = await platform.kickoff({ topic: 'whales' })
    const spans = await spansOf(7)
    await crew.stop()
    const search = named(spans, 'execute_tool search')
    expect(search).toMatchObject({
      kind: CLIENT,
      parentSpanId: named(spans, 'invoke_agent R').spanId,
    })
    expect(search.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.type': 'extension',
      'gen_ai.tool.call.id': 'c1',
      'gen_ai.tool.call.arguments': '{"q":1}',
      'gen_ai.tool.call.result': 'x'.repeat(5000),
      'gen_ai.agent.name': 'R',
      task_key: 'research',
      kickoff_id: id,
    })
    expect(named(spans, 'execute_tool sum').status).toMatchObject({ code: ERROR })
    const messages = named(spans, 'chat m').attributes['gen_ai.input.messages']
    expect(JSON.parse(String(messages))).toEqual([
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'c', name: 'f', arguments: '{}' }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: 'Found.' }] },
    ])
    const [shown] = await platform.sql`
      select event from execution_events where event ->> 'call_id' = 'c1'`
    expect(String(shown?.['event'].result)).toMatch(/^x{4000} … \(1000 more characters/)
  })

  it('carries the inputs, the outputs, the messages and the token usage', async () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    }
    model.play(says('Facts.', usage), says('A summary.'))
    await startWorker()
    const id = await platform.kickoff({ topic: 'whales' })
    const spans = await spansOf(7)
    const { automationId, organizationId } = platform.automation
    expect(named(spans, 'Research.kickoff').attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'Research',
      kickoff_id: id,
      crew_key: 'research',
      crew_id: automationId,
      automation_id: automationId,
      organization_id: String(organizationId),
      'openinference.span.kind': 'CHAIN',
      'input.value': '{"topic":"whales"}',
      'input.mime_type': 'application/json',
      'output.value': 'A summary.',
      attempt: 1,
    })
    expect(named(spans, 'invoke_agent Researcher').attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'Researcher',
      agent_role: 'Researcher',
      task_key: 'research',
      task_name: 'research',
      'input.value': 'List facts about whales.',
      'output.value': 'Facts.',
      kickoff_id: id,
    })
    const { attributes } = named(spans, 'chat test-model')
    expect(attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.agent.name': 'Researcher',
      crew_id: automationId,
      kickoff_id: id,
      'gen_ai.request.model': 'test-model',
      'gen_ai.response.model': 'test-model-2026',
      'gen_ai.response.id': 'chatcmpl-1',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'gen_ai.usage.reasoning.output_tokens': 3,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(model.baseUrl).port),
    })
    expect(JSON.parse(String(attributes['gen_ai.input.messages']))).toEqual([
      { role: 'system', parts: [{ type: 'text', content: expect.stringContaining('You are') }] },
      { role: 'user', parts: [{ type: 'text', content: expect.stringContaining('whales') }] },
    ])
    expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'Facts.' }], finish_reason: 'stop' },
    ])
  })

  it('marks what failed, from the LLM call up to the crew', async () => {
    model.play(refuses(400, 'no such model'))
    await startWorker()
    await platform.until(await platform.kickoff(), 'error')
    const spans = await spansOf(5)
    for (const name of [
      'Research.kickoff',
      'attempt 1',
      'invoke_agent Researcher',
      'chat test-model',
    ]) {
      const { status, attributes, events } = named(spans, name)
      expect(status).toEqual({ code: ERROR, message: expect.stringContaining('no such model') })
      expect(attributes['error.type']).toBe('llm_rejected')
      expect(events).toEqual([
        {
          name: 'exception',
          attributes: expect.objectContaining({ 'exception.type': 'llm_rejected' }),
        },
      ])
    }
  })

  it('is a failed attempt when the crew was not reached', async () => {
    await platform.deployAt(`http://127.0.0.1:${await freePort()}`)
    await startWorker({ CREW_PATIENCE_SECONDS: '0' })
    const id = await platform.kickoff()
    const spans = await spansOf(3)
    expect(named(spans, 'attempt 1').attributes['error.type']).toBe('crew_unreachable')
    expect(named(spans, 'Research.kickoff')).toMatchObject({
      traceId: id.replaceAll('-', ''),
      status: { code: ERROR },
      attributes: { 'error.type': 'crew_unreachable', 'input.value': '{"topic":"whales"}' },
    })
  })

  it('shows a run from its start on, and ends with the last of its attempts', async () => {
    model.play(isSilent, says('Facts.'), says('A summary.'))
    const arrival = model.arrival()
    const first = await startWorker()
    const id = await platform.kickoff()
    await arrival
    await expect.poll(async () => (await platform.events(id)).length).toBe(2)
    await first.stop()
    const [wait, research, attempt, ...others] = ended()
    expect([wait?.name, research?.name, attempt?.name, others.length]).toEqual([
      'queue',
      'invoke_agent Researcher',
      'attempt 1',
      0,
    ])
    expect(attempt?.attributes['error.type']).toBe('worker_draining')
    const [started] = collector.spans().filter(({ endMs }) => endMs === 0)
    expect(started).toMatchObject({ name: 'Research.kickoff', endMs: 0 })

    await startWorker()
    await platform.until(id, 'completed')
    const spans = await spansOf(9)
    const whole = named(spans, 'Research.kickoff')
    expect(whole).toMatchObject({ spanId: started?.spanId, startMs: started?.startMs })
    expect(whole.status.code).toBe(0)
    expect(named(spans, 'attempt 2')).toMatchObject({ parentSpanId: whole.spanId })
  })

  it('has the calls of each attempt, and those of former ones once', async () => {
    model.requests.length = 0
    model.play(says('Facts.'), isSilent)
    const first = await startWorker()
    const id = await platform.kickoff()
    await expect.poll(() => model.requests.length).toBe(2)
    await first.stop()
    model.play(says('A summary.'))
    await startWorker()
    await platform.until(id, 'completed')
    await expect.poll(() => ended().some(({ name }) => name === 'attempt 2')).toBe(true)
    const spans = ended()
    const [one, two] = [named(spans, 'attempt 1'), named(spans, 'attempt 2')]
    const within = ({ spanId }: ReceivedSpan) =>
      spans.filter(({ parentSpanId }) => parentSpanId === spanId).map(({ name }) => name)
    expect(within(one)).toEqual(['invoke_agent Researcher', 'invoke_agent Writer'])
    expect(within(two)).toEqual(['invoke_agent Writer'])
    expect(spans.filter(({ name }) => name === 'chat test-model')).toHaveLength(2)
  })

  it('ends when the run is stopped', async () => {
    model.play(isSilent)
    const arrival = model.arrival()
    await startWorker()
    const id = await platform.kickoff()
    await arrival
    await expect.poll(async () => (await platform.events(id)).length).toBe(2)
    await stopRun(platform.sql, id)
    const spans = await spansOf(4)
    expect(named(spans, 'Research.kickoff').attributes['error.type']).toBe('lease_lost')
  })
})

describe('the trace collector, seen from a worker (SPEC 4.6, 5.4)', () => {
  it('gets a fresh token with every request, retries included', async () => {
    collector.refuseWith(503)
    model.play(says('fine'))
    await startWorker()
    await platform.until(await platform.kickoff(), 'completed')
    await spansOf(7)
    await platform.until(await platform.kickoff(), 'completed')
    await spansOf(14)
    expect(collector.exports.length).toBeGreaterThanOrEqual(3)
    for (const { headers, receivedAt } of collector.exports) {
      expect(headers).toMatchObject({
        'content-type': 'application/x-protobuf',
        'content-encoding': 'gzip',
      })
      const [, token = ''] = headers.authorization?.split('Bearer ') ?? []
      const { expiresAt } = await verifyCollectorToken(token, COLLECTOR_SECRET)
      expect(expiresAt - receivedAt / 1000).toBeGreaterThan(297)
    }
  })

  it('neither slows nor fails a run while it is unavailable, nor delays a stop', async () => {
    model.play(says('fine'))
    const unavailable = `http://127.0.0.1:${await freePort()}`
    const worker = await startWorker({ COLLECTOR_URL: unavailable })
    const run = startDuration('the run, and the end of the worker after it')
    await platform.until(await platform.kickoff(), 'completed')
    run.expectBelow(9000)
    await worker.stop()
    run.expectBelow(15_000)
  })

  it('counts what it refuses for good', async () => {
    collector.refuseWith(401, 401, 401, 401)
    model.play(says('fine'))
    const worker = await startWorker()
    await platform.until(await platform.kickoff(), 'completed')
    const metrics = async () => (await fetch(`${worker.url}/metrics`)).text()
    await expect.poll(metrics).toContain('worker_spans_total{fate="dropped"} 8')
  })
})
