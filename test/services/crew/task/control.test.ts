import fc from 'fast-check'
import { createDocumentReader } from '../../../../services/shared/documents/read-document.ts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Llm, LlmFailure } from '../../../../services/shared/models/llm.ts'
import type { LlmCall } from '../../../../services/shared/models/llm-call.ts'
import { createReplaySteps } from '../../../../services/crew/replay-steps.ts'
import { runCrew } from '../../../../services/crew/run-crew.ts'
import type {
  CrewEvent,
  RecordedAnswer,
} from '../../../../services/platform/crew-contract/crew-protocol.ts'
import { requestDigest } from '../../../../services/platform/crew-contract/step-request.ts'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import type {
  CrewDefinition,
  Task,
} from '../../../../services/platform/definitions/crew-definition.ts'
import { guardFor } from '../../../support/outgoing.ts'
import { journalOf, modelHere, pathsOf, promptOf, runHere } from '../run-here.ts'
import type { Reply } from '../run-here.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 15)

const crewOf = (...tasks: Partial<Task>[]): CrewDefinition =>
  parseCrewDefinition({
    name: 'Crew',
    llm: { model: 'test-model' },
    inputs: [{ name: 'topics', type: 'array', required: false }, 'language'],
    agents: [{ key: 'ada', role: 'Ada', goal: 'Work' }],
    tasks: tasks.map((task, index) => ({
      key: `task${index}`,
      agent: 'ada',
      description: `Do task${index}.`,
      expected_output: 'Text',
      ...task,
    })),
  })
const each = { for_each: '$.inputs.topics', description: 'Do task0 about {item}.' }
const inputsOf = <Topics>(topics: Topics, language = 'en') => ({ topics, language })

const taskOf = (call: LlmCall): string => /Task: Do (\w+)/.exec(promptOf(call))?.[1] ?? ''
const itemOf = (call: LlmCall): string => /about (.*)\.$/m.exec(promptOf(call))?.[1] ?? ''
const skipped = (events: readonly CrewEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type !== 'task_completed' || event.skipped === undefined) return []
    return [`${event.task}: ${event.skipped}`]
  })

/** A model of which some calls fail, by their numbers from 0. */
function failing(
  fails: Readonly<Record<number, LlmFailure['code']>>,
  reply: (call: LlmCall) => Reply,
) {
  const { llm, calls } = modelHere(reply)
  const complete: Llm['complete'] = async (call, signal) => {
    const code = fails[calls.length]
    if (code === undefined) return llm.complete(call, signal)
    calls.push(call)
    return { ok: false, attempts: 1, failure: { code, message: 'No.' } }
  }
  return { llm: { ...llm, complete }, calls }
}

/** A model that answers some calls only when they are given up. */
function slow(isSlow: (call: LlmCall, number: number) => boolean) {
  const { llm, calls } = modelHere(() => 'fine')
  const complete: Llm['complete'] = async (call, signal) => {
    if (!isSlow(call, calls.length)) return llm.complete(call, signal)
    calls.push(call)
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  }
  return { llm: { ...llm, complete }, calls }
}

describe('a task with a condition', () => {
  const crew = crewOf(
    {},
    { when: '@.outputs.task0.json.score > 0.5 && @.inputs.language == "de"' },
    { when: '!@.outputs.task1' },
  )

  it.each([
    ['{"score":0.9}', 'de', ['task0', 'task1']],
    ['{"score":0.9}', 'en', ['task0', 'task2']],
    ['{"score":0.1}', 'de', ['task0', 'task2']],
    ['no JSON', 'de', ['task0', 'task2']],
  ])('is done if it holds for inputs and outputs: %s, %s', async (said, language, done) => {
    const { llm, calls } = modelHere((call) => (taskOf(call) === 'task0' ? said : taskOf(call)))
    const { output } = await runHere({ definition: crew, llm, inputs: inputsOf('', language) })
    expect(calls.map(taskOf)).toEqual(done)
    expect(output).toBe(done[1])
  })

  it('says why it is skipped, and gives nothing to those after it', async () => {
    const { llm, calls } = modelHere(taskOf)
    const definition = crewOf({}, { when: '@.inputs.language == "de"' }, {})
    const { events } = await runHere({ definition, llm, inputs: inputsOf('') })
    expect(skipped(events)).toEqual([
      'task1: The condition @.inputs.language == "de" does not hold.',
    ])
    expect(calls[1] && promptOf(calls[1])).toContain('## task0 (Ada)\ntask0')
    expect(calls[1] && promptOf(calls[1])).not.toContain('task1')
  })

  it('leaves the run the last output that there is, or the empty one', async () => {
    const { llm } = modelHere(taskOf)
    const never = { when: '@.inputs.language == "de"' }
    const run = async (...tasks: Partial<Task>[]) =>
      (await runHere({ definition: crewOf(...tasks), llm, inputs: inputsOf('') })).output
    expect(await run({}, never)).toBe('task0')
    expect(await run(never, never)).toBe('')
  })
})

describe('a task with retry', () => {
  it('is done again after a failure, as often as it says', async () => {
    const { llm, calls } = failing({ 0: 'llm_unreachable', 1: 'llm_timeout' }, () => 'fine')
    const definition = crewOf({ retry: { times: 2, wait_seconds: 0 } })
    const { output, events } = await runHere({ definition, llm, inputs: inputsOf('') })
    expect(output).toBe('fine')
    expect(calls).toHaveLength(3)
    expect(pathsOf(events)).toEqual([
      'task0',
      'task0/try:0',
      'task0/try:0/ada/llm/0',
      'task0/try:1',
      'task0/try:1/ada/llm/0',
      'task0/try:2',
      'task0/try:2/ada/llm/0',
    ])
  })

  it.each([
    ['the last of them', { times: 1, wait_seconds: 0 }, ['llm_unreachable', 2]],
    ['one that is not in its list', { times: 5, on: ['llm_timeout'] }, ['llm_unreachable', 1]],
    ['one that no other try changes', { times: 5 }, ['llm_address_refused', 1]],
  ] as const)('fails after %s', async (_, given, [code, count]) => {
    const { llm, calls } = failing({ 0: code, 1: code }, () => 'fine')
    const retry = 'on' in given ? { ...given, on: [...given.on] } : given
    const { failure } = await runHere({ definition: crewOf({ retry }), llm, inputs: inputsOf('') })
    expect(failure?.code).toBe(code)
    expect(calls).toHaveLength(count)
  })
})

describe('a task with timeout_seconds', () => {
  afterEach(() => void vi.useRealTimers())
  const limited = { timeout_seconds: 60 }

  it('fails after that time, in the middle of a call', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { llm } = slow(() => true)
    const running = runHere({ definition: crewOf(limited), llm, inputs: inputsOf('') })
    await vi.advanceTimersByTimeAsync(60_000)
    const { failure, events } = await running
    expect(failure).toEqual({
      code: 'task_timeout',
      message: 'The task task0 took longer than its timeout_seconds of 60.',
    })
    const failed = events.flatMap((event) => (event.type === 'step_failed' ? event.error.code : []))
    expect(failed).toEqual(['task_timeout', 'task_timeout'])
  })

  it('has the whole time again when it is retried', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { llm, calls } = slow((_, number) => number < 2)
    const definition = crewOf({ ...limited, retry: { times: 2, wait_seconds: 0 } })
    const running = runHere({ definition, llm, inputs: inputsOf('') })
    await vi.advanceTimersByTimeAsync(120_000)
    expect((await running).output).toBe('fine')
    expect(calls).toHaveLength(3)
  })
})

describe('a task for each item', () => {
  it('puts out the list of its outputs in the order of the items', async () => {
    const { llm } = modelHere((call) => `on ${itemOf(call)}`)
    const definition = crewOf(each)
    const inputs = inputsOf(['tides', { a: 1 }, 7])
    const { output, events } = await runHere({ definition, llm, inputs })
    expect(output).toBe('["on tides","on {\\"a\\":1}","on 7"]')
    expect(pathsOf(events).filter((path) => !path.includes('llm'))).toEqual([
      'task0',
      'task0/item:0',
      'task0/item:1',
      'task0/item:2',
    ])
  })

  it('takes the list from an output, with its own outputs as JSON if they are', async () => {
    const list = { output_schema: { type: 'array' } }
    const number = { output_schema: { type: 'number' }, parallel: 1 }
    const definition = crewOf(
      list,
      { ...number, for_each: '$.outputs.task0.json', description: 'Do it about {item}.' },
      { ...number, for_each: '$.outputs.task0.json[?@ > 1]', description: 'Do it about {item}.' },
    )
    const { llm } = modelHere((call) => (itemOf(call) === '' ? '[1,2,3]' : `1${itemOf(call)}`))
    const { events, output } = await runHere({ definition, llm, inputs: inputsOf('') })
    expect(events).toContainEqual(expect.objectContaining({ task: 'task1', output: '[11,12,13]' }))
    expect(output).toBe('[12,13]')
  })

  it.each([
    ['an empty list', []],
    ['an input that was not given', ''],
  ])('is skipped for %s', async (_, topics) => {
    const { llm, calls } = modelHere(() => 'x')
    const definition = crewOf(each)
    const { events, output } = await runHere({ definition, llm, inputs: inputsOf(topics) })
    expect(skipped(events)).toEqual(['task0: The list $.inputs.topics is empty.'])
    expect([output, calls]).toEqual(['', []])
  })

  it.each([
    ['a text', 'tides', 'there is no list, but a value of the type string'],
    [
      'a million items',
      Array.from({ length: 1_000_000 }, () => 1),
      'it has 1000000 items, and 10000',
    ],
  ])('fails for %s', async (_, topics, message) => {
    const { llm, calls } = modelHere(() => 'x')
    const { failure } = await runHere({ definition: crewOf(each), llm, inputs: inputsOf(topics) })
    expect(failure?.code).toBe('list_unusable')
    expect(failure?.message).toContain(message)
    expect(calls).toHaveLength(0)
  })

  it.each([
    [undefined, 4],
    [1, 1],
    [16, 9],
  ])('is done for some items at a time: parallel %s', async (parallel, most) => {
    let open = 0
    let seen = 0
    const { llm } = modelHere(async () => {
      open += 1
      seen = Math.max(seen, open)
      await new Promise(setImmediate)
      open -= 1
      return 'x'
    })
    const inputs = inputsOf([1, 2, 3, 4, 5, 6, 7, 8, 9])
    await runHere({ definition: crewOf({ ...each, parallel }), llm, inputs })
    expect(seen).toBe(most)
  })

  it('fails with the first item that does, unless that is retried', async () => {
    const inputs = inputsOf([1, 2, 3, 4, 5, 6, 7, 8, 9])
    const once = failing({ 1: 'llm_rejected' }, () => 'x')
    const failed = await runHere({ definition: crewOf(each), llm: once.llm, inputs })
    expect(failed.failure?.code).toBe('llm_rejected')
    expect(once.calls.length).toBeLessThan(9)
    const again = failing({ 1: 'llm_rejected' }, itemOf)
    const definition = crewOf({ ...each, retry: { times: 1, wait_seconds: 0 } })
    const done = await runHere({ definition, llm: again.llm, inputs })
    expect(JSON.parse(done.output ?? '')).toEqual(inputs.topics.map(String))
    expect(again.calls).toHaveLength(10)
  })
})

/** Crews that decide and repeat, with calls that fail. */
const cases = fc.record({
  items: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 6 }),
  parallel: fc.integer({ min: 1, max: 16 }),
  language: fc.constantFrom('de', 'en'),
  fails: fc.dictionary(
    fc.integer({ min: 0, max: 12 }).map(String),
    fc.constantFrom('llm_unreachable' as const, 'llm_rejected' as const),
    { maxKeys: 3 },
  ),
})
const decides = (parallel: number) =>
  crewOf(
    { ...each, parallel, retry: { times: 4, wait_seconds: 0 } },
    { when: '@.inputs.language == "de"', retry: { times: 4, wait_seconds: 0 } },
    { when: '@.outputs.task0', context: ['task0'] },
  )

describe('a crew that decides and repeats', () => {
  it('pays for no answer twice, wherever attempts end', async () => {
    await fc.assert(
      fc.asyncProperty(cases, fc.array(fc.nat(60)), async (given, cuts) => {
        const { items, parallel, language, fails } = given
        const definition = decides(parallel)
        const paid = new Map<string, number>()
        const model = failing(fails, () => 'x')
        let journal = journalOf([])
        const inputs = inputsOf(items, language)
        const events: CrewEvent[] = []
        for (const cut of [...cuts, Infinity]) {
          const attempt = await runHere({ definition, llm: model.llm, inputs, journal })
          const kept = attempt.events.slice(0, cut)
          events.push(...kept)
          for (const { step, path } of startsOf(kept)) {
            const isPaid = kept.some((one) => one.type === 'step_finished' && one.step === step)
            // An answer ends the tries of a task, or of an item.
            const item = path.filter((key) => !key.startsWith('try:')).join('/')
            if (isPaid) paid.set(item, (paid.get(item) ?? 0) + 1)
          }
          journal = journalOf(events)
        }
        expect([...paid].filter(([, times]) => times > 1)).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })

  it('is replayed as it was', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ items, parallel, language, fails }) => {
        const definition = decides(parallel)
        const inputs = inputsOf(items, language)
        const { llm } = failing(fails, (call) => `${taskOf(call)} ${itemOf(call)}`)
        const recorded = await runHere({ definition, llm, inputs })
        const { events, unasked } = await replayHere(definition, inputs, recorded.events)
        const last = (of: readonly CrewEvent[]) => ({ ...of.at(-1), at: '', seq: 0 })
        expect(last(events)).toEqual(last(recorded.events))
        if (recorded.output !== undefined) expect(unasked).toBe(0)
      }),
      { numRuns: RUNS },
    )
  })
})

const startsOf = (events: readonly CrewEvent[]) =>
  events.filter((event) => event.type === 'step_started').filter(({ kind }) => kind === 'llm')

/** Performs a run again with what was recorded of it. */
async function replayHere(
  definition: CrewDefinition,
  inputs: Readonly<Record<string, unknown>>,
  recorded: readonly CrewEvent[],
) {
  const answers = startsOf(recorded).map(({ step, kind, path, request = {} }): RecordedAnswer => {
    const end = recorded.find(
      (event) =>
        (event.type === 'step_finished' || event.type === 'step_failed') && event.step === step,
    )
    const asked = { kind, path, request_sha256: requestDigest(request) }
    if (end?.type === 'step_failed') return { ...asked, error: end.error }
    return end?.type === 'step_finished'
      ? { ...asked, result: end.result, usage: end.usage }
      : asked
  })
  const events: CrewEvent[] = []
  const steps = createReplaySteps({
    answers,
    channel: { write: (event) => events.push(event), committed: async () => {} },
    signal: new AbortController().signal,
    stopping: new AbortController().signal,
  })
  const { llm } = modelHere(() => 'never asked')
  const toolDeps = { guard: guardFor(), connections: {}, readDocument: createDocumentReader() }
  await runCrew({ definition, llmFor: () => llm, steps, toolDeps }, inputs)
  const asked = events.filter((event) => event.type === 'replay_answered')
  return { events, unasked: answers.length - new Set(asked.map((each) => each.answer)).size }
}
