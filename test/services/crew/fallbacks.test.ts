import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDocumentReader } from '../../../services/shared/documents/read-document.ts'
import { createLlm } from '../../../services/shared/models/llm.ts'
import { createReplaySteps } from '../../../services/crew/replay-steps.ts'
import { runCrew } from '../../../services/crew/run-crew.ts'
import type {
  CrewEvent,
  LlmCallEvent,
  RecordedAnswer,
  RecordedStep,
} from '../../../services/platform/crew-contract/crew-protocol.ts'
import { requestDigest } from '../../../services/platform/crew-contract/step-request.ts'
import {
  modelsOf,
  parseCrewDefinition,
} from '../../../services/platform/definitions/crew-definition.ts'
import { guardFor } from '../../support/outgoing.ts'
import { asks, isSilent, refuses, says, startFakeModel } from './fake-model.ts'
import type { Answer, FakeModel } from './fake-model.ts'
import { modelHere, pathsOf, runHere } from './run-here.ts'

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
  llm: { model: 'first', fallbacks: ['second', 'third'] },
  tools: { sum: { type: 'calculator' } },
  agents: [{ key: 'ada', role: 'Ada', goal: 'Compute', tools: ['sum'] }],
  tasks: [{ key: 'task', agent: 'ada', description: 'Do it.', expected_output: 'A number' }],
})

/** Answers as the model that is asked would, however often it is asked. */
const by =
  (answers: Readonly<Record<string, Answer>>): Answer =>
  (response, request) =>
    answers[request.body.model]?.(response, request)

async function run(answer: Answer, journal: readonly RecordedStep[] = []) {
  model.play(answer)
  const llm = createLlm({ baseUrl: model.baseUrl, timeoutMs: 300, backoffMs: 1 })
  return runHere({ definition, llm, journal })
}

const asked = (): string[] => model.requests.map(({ body }) => body.model)
const callsIn = (events: readonly CrewEvent[]) =>
  events.filter((each): each is LlmCallEvent => each.type === 'llm_call')

const gone = refuses(404, 'The model first does not exist.')

describe('the next model is asked', () => {
  it.each<[string, Answer, string]>([
    ['is turned off', gone, 'HTTP 404'],
    ['has too many calls, after tries of its own', refuses(429, 'Slow down.'), 'HTTP 429'],
    ['is overloaded', refuses(529, 'Overloaded.'), 'HTTP 529'],
    ['is broken', refuses(500, 'Broken.'), 'HTTP 500'],
    ['does not answer', isSilent, 'did not answer within'],
    ['hangs up', (response) => response.destroy(), 'cannot be reached'],
  ])('when the first one %s, and the record says why', async (_, answer, why) => {
    const { output, events, journal } = await run(by({ first: answer, second: says('4') }))
    expect(output).toBe('4')
    expect(asked().at(-1)).toBe('second')
    const [failed, answered] = callsIn(events)
    expect(failed).toMatchObject({ request_model: 'first', error: expect.anything() })
    expect(answered).toMatchObject({
      request_model: 'second',
      instead_of: { model: 'first', error: { message: expect.stringContaining(why) } },
    })
    expect(failed).not.toHaveProperty('instead_of')
    const started = events.filter((each) => each.type === 'step_started')
    expect(started.at(-1)).toMatchObject({
      kind: 'llm',
      name: 'second',
      input: { instead_of: { model: 'first' } },
    })
    expect(pathsOf(events).slice(-2)).toEqual(['task/ada/llm/0', 'task/ada/llm/0/fallback/1'])
    expect(journal).toHaveLength(1)
  })

  it('until one answers, which the conversation then stays with', async () => {
    let calls = 0
    const third: Answer = (response, request) => {
      calls += 1
      const answer = calls === 1 ? asks(['sum', { expression: '2 + 2' }]) : says('4')
      return answer(response, request)
    }
    const { output, events } = await run(by({ first: gone, second: gone, third }))
    expect(output).toBe('4')
    expect(asked()).toEqual(['first', 'second', 'third', 'third'])
    expect(callsIn(events).map((each) => each.instead_of?.model)).toEqual([
      undefined,
      'first',
      'second',
      'second',
    ])
  })

  it('and the failure is that of the last one when none answers', async () => {
    const { failure } = await run(by({ first: gone, second: gone, third: refuses(503, 'Away.') }))
    expect(failure?.message).toContain('HTTP 503')
  })
})

describe('the next model is not asked', () => {
  it.each<[string, Answer]>([
    ['a bad request', refuses(400, 'No such HTTP 503 parameter.')],
    ['a key that is not known', refuses(401, 'Who are you?')],
    ['a policy about contents', refuses(403, 'Not this.')],
    ['an answer that is none', says('')],
  ])('after %s', async (_, answer) => {
    await run(by({ first: answer, second: says('4') }))
    expect(new Set(asked())).toEqual(new Set(['first']))
  })

  it('in a new attempt after it answered, nor the first one, which answers again', async () => {
    const before = await run(by({ first: gone, second: says('4') }))
    model.requests.length = 0
    const again = await run(by({ first: says('5'), second: says('6') }), before.journal)
    expect([again.output, asked()]).toEqual(['4', []])
  })
})

describe('a run whose first model failed', () => {
  it('is replayed without asking anybody', async () => {
    const recorded = await run(by({ first: gone, second: says('4') }))
    const answers = answersOf(recorded.events)
    const events: CrewEvent[] = []
    const signal = new AbortController().signal
    const steps = createReplaySteps({
      answers,
      channel: { write: (event) => events.push(event), committed: async () => {} },
      signal,
      stopping: signal,
    })
    const here = modelHere(() => 'never')
    const toolDeps = { guard: guardFor(), connections: {}, readDocument: createDocumentReader() }
    await runCrew({ definition, llmFor: () => here.llm, steps, toolDeps }, {})
    expect(here.calls).toEqual([])
    expect(events.at(-1)).toMatchObject({ type: 'crew_completed', output: '4' })
    expect(events.filter(({ type }) => type === 'replay_answered')).toHaveLength(2)
  })
})

/** What a worker records of a run: who was asked what, and what came of it. */
function answersOf(events: readonly CrewEvent[]): RecordedAnswer[] {
  return events.flatMap((started): RecordedAnswer[] => {
    if (started.type !== 'step_started' || !started.request) return []
    const { kind, path, request, step } = started
    const end = events.find(
      (each) =>
        (each.type === 'step_finished' || each.type === 'step_failed') && each.step === step,
    )
    const found = { kind, path, request_sha256: requestDigest(request) }
    if (end?.type === 'step_failed') return [{ ...found, error: end.error }]
    return end?.type === 'step_finished' ? [{ ...found, result: end.result }] : []
  })
}

describe('fallbacks of a definition', () => {
  it('are among its models, which need connections and prices', () => {
    expect(modelsOf(definition)).toEqual(['first', 'second', 'third'])
  })

  it('name no model twice', () => {
    const twice = { ...definition, llm: { model: 'first', fallbacks: ['first'] } }
    expect(() => parseCrewDefinition(twice)).toThrow(
      'the fallbacks of the model first name a model twice; name each once',
    )
  })
})
