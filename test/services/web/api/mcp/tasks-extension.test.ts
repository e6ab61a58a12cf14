import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parkRun } from '../../../../../services/platform/runs/run-approvals.ts'
import { completeRun, failRun } from '../../../../../services/platform/runs/run-queue.ts'
import { openMcpSession } from '../../../../../services/shared/mcp/client.ts'
import { guardFor } from '../../../../support/outgoing.ts'
import { readObject } from '../../support/platform.ts'
import { newCaller, openPlatformWithOauth } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'
import { takeRun } from './mcp-clients.ts'

const PREFIX = 'io.modelcontextprotocol/'
const EXTENSIONS = { [`${PREFIX}tasks`]: {} }
const USAGE = { inputTokens: 1, outputTokens: 2 }
const CALL = { name: 'acme-research', arguments: { topic: 'tides' } }

let stage: PlatformWithOauth
let url: string
let token: string

beforeAll(async () => {
  stage = await openPlatformWithOauth()
  url = `${stage.service.url}/mcp`
  token = await stage.issueToken(stage.acme)
})
beforeEach(() => stage.sql`delete from executions`)
afterAll(() => stage.close())

interface Asked {
  readonly capabilities?: object
  readonly bearer?: string
  readonly headers?: Record<string, string>
  readonly meta?: object
}

interface Params {
  readonly name?: string
  readonly taskId?: string
  readonly arguments?: object
  readonly inputResponses?: unknown
}

async function ask(method: string, params: Params, asked: Asked = {}) {
  const { capabilities = { extensions: EXTENSIONS, elicitation: {} }, bearer = token } = asked
  const _meta = {
    [`${PREFIX}protocolVersion`]: '2026-07-28',
    [`${PREFIX}clientCapabilities`]: capabilities,
    ...asked.meta,
  }
  const answer = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    headers: {
      ...newCaller(bearer),
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': params.name ?? params.taskId ?? '',
      ...asked.headers,
    },
  })
  const { result, error } = await readObject(answer)
  return { status: answer.status, result: result as Record<string, unknown>, error }
}

const start = async (meta: object = {}): Promise<string> =>
  String((await ask('tools/call', CALL, { meta })).result['taskId'])
const get = async (taskId: string, asked?: Asked) =>
  (await ask('tasks/get', { taskId }, asked)).result
const decided = (runId: string) => stage.sql`
  select decision, answer from run_approvals where run_id = ${runId} order by asked_at`

async function park(step: string): Promise<string> {
  const run = await takeRun(stage.sql)
  await parkRun(stage.sql, run, { step: step.repeat(32), task: 'research', output: 'Facts' })
  return run.id
}

describe('a call of a client that takes tasks', () => {
  it('is a task at once, whose id is the kickoff id, with the result of the run', async () => {
    expect((await ask('server/discover', {})).result).toMatchObject({
      capabilities: { extensions: EXTENSIONS },
    })
    const { result } = await ask('tools/call', CALL)
    const run = await takeRun(stage.sql)
    expect(result).toMatchObject({
      resultType: 'task',
      taskId: run.id,
      status: 'working',
      ttlMs: null,
      pollIntervalMs: 2000,
    })
    expect(await get(run.id)).toMatchObject({ resultType: 'complete', status: 'working' })
    await completeRun(stage.sql, run, { output: 'The moon.', usage: USAGE })
    expect(await get(run.id)).toMatchObject({
      resultType: 'complete',
      status: 'completed',
      result: { content: [{ type: 'text', text: 'The moon.' }], isError: false },
    })
  })

  it('is one run, however often it is sent with one key', async () => {
    const meta = { idempotency_key: 'once' }
    expect(await start(meta)).toBe(await start(meta))
    expect(await stage.sql`select from executions`).toHaveLength(1)
  })

  it('has a result that says why its run failed: no error of the protocol', async () => {
    const taskId = await start()
    const failure = { code: 'llm_rejected', message: 'The model said no.' } as const
    await failRun(stage.sql, await takeRun(stage.sql), failure)
    const task = await get(taskId)
    expect(task).toMatchObject({ status: 'completed', result: { isError: true } })
    expect(JSON.stringify(task)).toContain('The model said no.')
  })

  it('asks its person, each time under other keys, and takes each answer once', async () => {
    const taskId = await start()
    const keys: string[] = []
    for (const step of ['s', 't']) {
      await park(step)
      const { status, inputRequests } = await get(taskId)
      expect(status).toBe('input_required')
      const [key = '', ...others] = Object.keys(inputRequests as object)
      expect(others).toEqual([])
      const answer = (text: string) => {
        const content = { decision: 'edit', text }
        return ask('tasks/update', {
          taskId,
          inputResponses: { [key]: { action: 'accept', content }, decision: 'x', other: {} },
        })
      }
      expect((await answer(`By ${step}`)).result).toEqual({ resultType: 'complete' })
      expect((await answer('Too late')).result).toEqual({ resultType: 'complete' })
      keys.push(key)
    }
    expect(new Set(keys).size).toBe(2)
    expect(await decided(taskId)).toEqual([
      { decision: 'edit', answer: 'By s' },
      { decision: 'edit', answer: 'By t' },
    ])
  })

  it('keeps waiting where the answer is to another question, is none, or is wrong', async () => {
    const taskId = await start()
    await park('s')
    const [key = ''] = Object.keys((await get(taskId))['inputRequests'] as object)
    const accept = (content: unknown) => ({ [key]: { action: 'accept', content } })
    const hostile = [
      { 'x.decision': { action: 'accept', content: { decision: 'approve' } } },
      { decision: { action: 'accept', content: { decision: 'approve' } } },
      { [key]: { action: 'decline' } },
      accept('approve'),
      accept(null),
      [],
      7,
      'x'.repeat(100_000),
    ]
    for (const inputResponses of hostile) {
      expect((await ask('tasks/update', { taskId, inputResponses })).result).toEqual({
        resultType: 'complete',
      })
    }
    for (const content of [
      { decision: 'maybe' },
      { decision: 'edit' },
      { decision: 'approve', a: 1 },
    ]) {
      const { error } = await ask('tasks/update', { taskId, inputResponses: accept(content) })
      expect(error).toMatchObject({ code: -32_602 })
    }
    expect(await decided(taskId)).toEqual([{ decision: null, answer: null }])
  })

  it('is only working for a client without forms, while a person decides elsewhere', async () => {
    const taskId = await start()
    await park('s')
    const task = await get(taskId, { capabilities: { extensions: EXTENSIONS } })
    expect(task).toMatchObject({ status: 'working', statusMessage: 'The run is waiting.' })
  })

  it('is stopped by its caller, as often as that asks', async () => {
    const taskId = await start()
    for (const _ of [1, 2]) {
      expect((await ask('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete' })
    }
    expect(await get(taskId)).toMatchObject({ status: 'cancelled' })
    expect(await get(taskId)).not.toHaveProperty('result')
  })

  it('is there for no other caller, and not without its header or the extension', async () => {
    const taskId = await start()
    const other = await stage.issueToken(stage.acme)
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const params = { taskId, inputResponses: {} }
      expect(await ask(method, params, { bearer: other })).toMatchObject({
        error: { code: -32_602, message: 'There is no such task.' },
      })
      expect(await ask(method, params, { headers: { 'mcp-name': 'other' } })).toMatchObject({
        status: 400,
        error: { code: -32_020 },
      })
      for (const capabilities of [{}, { extensions: [] }, { extensions: { tasks: {} } }]) {
        expect(await ask(method, params, { capabilities })).toMatchObject({
          error: { code: -32_021, data: { requiredCapabilities: { extensions: EXTENSIONS } } },
        })
      }
    }
    expect(await get(taskId)).toMatchObject({ status: 'working' })
    expect(await ask('tasks/result', { taskId })).toMatchObject({ error: { code: -32_601 } })
  })
})

it('the client that crews have awaits the task of an automation', async () => {
  const session = openMcpSession({
    url: new URL(url),
    token: () => ({ access_token: token }),
    guard: guardFor(stage.service.url),
    responseBytesMax: 100_000,
    capabilities: { extensions: EXTENSIONS },
  })
  const signal = AbortSignal.timeout(20_000)
  const called = await session.callTool({ ...CALL, inputSchema: {}, meta: {} }, signal)
  const run = await takeRun(stage.sql)
  expect(called).toEqual({ taskId: run.id, pollMs: 2000 })
  expect(await session.pollTask(run.id, signal)).toEqual({ taskId: run.id, pollMs: 2000 })
  await completeRun(stage.sql, run, { output: 'The moon.', usage: USAGE })
  expect(await session.pollTask(run.id, signal)).toMatchObject({
    result: { content: [{ text: 'The moon.' }] },
  })
})
