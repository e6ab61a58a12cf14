import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CrewEvent } from '../../../services/platform/crew-contract/crew-protocol.ts'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { createHabits } from '../../../services/shared/models/habits.ts'
import { createLlm } from '../../../services/shared/models/llm.ts'
import type { LlmApi } from '../../../services/shared/models/llm-call.ts'
import { messageOf, refuses, responds, says, startFakeModel } from './fake-model.ts'
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

const definition = parseCrewDefinition({
  name: 'Crew',
  llm: { model: 'first' },
  agents: [{ key: 'ada', role: 'Ada', goal: 'Compute' }],
  tasks: [{ key: 'task', agent: 'ada', description: 'Do it.', expected_output: 'A number' }],
})

/** A chat completion that says by which tier it was served. */
const served =
  (service_tier: unknown): Answer =>
  (response, { body }) => {
    const choices = [{ message: { content: '4' }, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 10, completion_tokens: 5 }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ model: body.model, choices, usage, service_tier }))
  }

/** Streams such an answer, which says at its end what it was served by. */
const streamed =
  (service_tier: string): Answer =>
  (response) => {
    const parts = [
      { service_tier: 'auto', choices: [{ delta: { content: '4' } }] },
      { service_tier, choices: [{ delta: {}, finish_reason: 'stop' }] },
    ]
    response.setHeader('content-type', 'text/event-stream')
    for (const part of parts) response.write(`data: ${JSON.stringify(part)}\n\n`)
    response.end('data: [DONE]\n\n')
  }

const full: Answer = (response) => {
  response.writeHead(429, { 'content-type': 'application/json' })
  const error = { code: 'resource_unavailable', message: 'Resource Unavailable' }
  response.end(JSON.stringify({ error }))
}

function open(api: LlmApi = 'auto', tier: string | null = 'flex') {
  const how = {
    baseUrl: model.baseUrl,
    api,
    serviceTier: tier ?? undefined,
    habits: createHabits(),
  }
  return createLlm({ ...how, timeoutMs: 1000, backoffMs: 1 })
}

const asked = (): unknown[] => model.requests.map(({ body }) => body['service_tier'])

async function run(answers: readonly Answer[], llm = open()) {
  model.play(...answers)
  const { events, output } = await runHere({ definition, llm })
  const find = <Type extends CrewEvent['type']>(type: Type) =>
    events.find((each): each is Extract<CrewEvent, { type: Type }> => each.type === type)
  return {
    output,
    call: find('llm_call'),
    step: find('step_finished'),
    request: events.flatMap((each) => (each.type === 'step_started' ? [each.request] : [])),
  }
}

describe('a model with a service tier', () => {
  it.each<[LlmApi, Answer]>([
    ['chat_completions', served('flex')],
    ['responses', responds([messageOf('4')], { service_tier: 'flex' })],
  ])('is asked for it at %s, and its step says that it was billed so', async (api, answer) => {
    const { output, call, step, request } = await run([answer], open(api))
    expect([output, asked()]).toEqual(['4', ['flex']])
    expect(call).toMatchObject({ service_tier: 'flex' })
    expect(call?.refused_tier).toBeUndefined()
    expect(step).toMatchObject({ usage: { input_tokens: expect.anything(), service_tier: 'flex' } })
    // A replay asks for the same, whether it is of a batch or not.
    expect(JSON.stringify(request)).not.toContain('tier')
  })

  it('was billed by it where the answer does not say', async () => {
    expect((await run([says('4')])).step).toMatchObject({ usage: { service_tier: 'flex' } })
    expect((await run([says('4')], open('auto', null))).step).not.toHaveProperty(
      'usage.service_tier',
    )
    expect(asked()).toEqual(['flex', undefined])
  })

  it.each<[string, unknown, string | undefined]>([
    ['the usual one', 'default', undefined],
    ['another one', 'priority', 'priority'],
    ['what is no name of one', { $gt: '' }, 'flex'],
    ['something endless', 'x'.repeat(100_000), 'flex'],
  ])('was billed by what the answer says: %s', async (_, said, billed) => {
    const { output, step } = await run([served(said)])
    expect(output).toBe('4')
    expect(step?.usage?.service_tier).toBe(billed)
  })

  it('is read from the end of a streamed answer', async () => {
    model.play(streamed('default'))
    const { signal } = new AbortController()
    const call = { model: 'first', messages: [{ role: 'user', content: 'x' }] }
    const heard: string[] = []
    expect(await open().complete(call, signal, (text) => heard.push(text))).toMatchObject({
      ok: true,
      serviceTier: 'default',
    })
    expect(heard).toEqual(['4'])
  })

  it.each<[string, Answer]>([
    ['has no room', full],
    ['is overloaded', refuses(503, 'The model is overloaded.')],
  ])('is asked without it at once where it %s, and the call says why', async (_, refusal) => {
    const { output, call, step } = await run([refusal, served('default')])
    expect([output, asked()]).toEqual(['4', ['flex', undefined]])
    expect(call).toMatchObject({
      attempts: 2,
      service_tier: 'default',
      refused_tier: { tier: 'flex', error: { code: 'llm_rejected' } },
    })
    expect(step).not.toHaveProperty('usage.service_tier')
  })

  it('is asked for it again after a limit of calls', async () => {
    await run([refuses(429, 'Slow down.'), served('flex')])
    expect(asked()).toEqual(['flex', 'flex'])
  })

  it('is asked for it no more once it says that it has none', async () => {
    const llm = open()
    const refusal = refuses(400, "Unknown parameter: 'service_tier'.")
    const { call } = await run([refusal, says('4')], llm)
    expect(call).toMatchObject({ refused_tier: { tier: 'flex' } })
    const { output } = await run([says('4')], llm)
    expect([output, asked()]).toEqual(['4', ['flex', undefined, undefined]])
  })
})
