import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LlmCall } from '../../../../services/shared/models/llm-call.ts'
import type {
  CrewDefinition,
  Task,
} from '../../../../services/platform/definitions/crew-definition.ts'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import type { CrewEvent } from '../../../../services/platform/crew-contract/crew-protocol.ts'
import { journalOf, modelHere, pathsOf, promptOf, runHere } from '../run-here.ts'
import type { Reply } from '../run-here.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 40)

const SCHEMA = {
  type: 'object',
  properties: { score: { type: 'number', maximum: 1 } },
  required: ['score'],
  additionalProperties: false,
}

const crewOf = (...tasks: Partial<Task>[]): CrewDefinition =>
  parseCrewDefinition({
    name: 'Crew',
    llm: { model: 'test-model', temperature: 0 },
    tools: { sum: { type: 'calculator' } },
    agents: [
      { key: 'ada', role: 'Ada', goal: 'Work' },
      { key: 'bob', role: 'Bob', goal: 'Work', tools: ['sum'], max_iterations: 2 },
    ],
    tasks: tasks.map((task, index) => ({
      key: `task${index}`,
      agent: 'ada',
      description: 'Do it.',
      expected_output: 'Text',
      ...task,
    })),
  })

/** A model that gives these answers, one after the other. */
const script = (...replies: Reply[]) => {
  const left = [...replies]
  return modelHere(() => left.shift() ?? 'out of script')
}

const lastOf = (call: LlmCall | undefined) => call?.messages.at(-1)?.content
const isReview = (call: LlmCall): boolean => promptOf(call).includes('complies with a guardrail')

describe('a task with an output_schema', () => {
  it.each([
    ['JSON', '{ "score": 0.5 }'],
    ['JSON in a block of code', '```json\n{"score": 0.5}\n```'],
    ['JSON in a block among words', 'Here it is:\n\n```\n{"score": 0.5}\n```\nDone.'],
  ])('puts out what the model answers as %s, for those after it too', async (_, answer) => {
    const { llm, calls } = script(answer, 'fine')
    const definition = crewOf({ output_schema: SCHEMA }, {})
    const { events } = await runHere({ definition, llm })
    const [first, second] = calls
    expect(first?.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'output', schema: SCHEMA, strict: false },
    })
    expect(first && promptOf(first)).toContain(JSON.stringify(SCHEMA))
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'task_completed', output: '{"score":0.5}' }),
    )
    expect(second && promptOf(second)).toContain('{"score":0.5}')
    expect(second?.response_format).toBeUndefined()
  })

  it('tells the model once what is wrong, in the same conversation', async () => {
    const { llm, calls } = script('It is 2.', '{"score": 0}')
    const { output, events } = await runHere({ definition: crewOf({ output_schema: SCHEMA }), llm })
    expect(output).toBe('{"score":0}')
    expect(calls[1]?.messages.slice(2)).toEqual([
      { role: 'assistant', content: 'It is 2.' },
      {
        role: 'user',
        content: 'Your answer is not JSON. Correct it, and answer with the JSON only.',
      },
    ])
    expect(pathsOf(events)).toEqual(['task0', 'task0/ada/llm/0', 'task0/ada/llm/1'])
  })

  it('fails after that, and says what is wrong', async () => {
    const { llm, calls } = script('{}', '{"score": 2}')
    const { failure } = await runHere({ definition: crewOf({ output_schema: SCHEMA }), llm })
    expect(failure?.code).toBe('invalid_output')
    expect(failure?.message).toContain('task0 is not what its output_schema asks for')
    expect(failure?.message).toContain('score: 2 is greater than 1')
    expect(lastOf(calls[1])).toContain('required property "score"')
  })

  it('asks for no format in calls that offer tools', async () => {
    const toolCalls = [{ id: 'a', name: 'sum', arguments: '{"expression":"1"}' }]
    const { llm, calls } = script({ toolCalls }, '[]', '{"score": 1}')
    const definition = crewOf({ agent: 'bob', output_schema: SCHEMA })
    const { output } = await runHere({ definition, llm })
    expect(output).toBe('{"score":1}')
    expect(calls.map(({ response_format: format, tools }) => [format, tools?.length])).toEqual([
      [undefined, 1],
      [undefined, 1],
      [undefined, 1],
    ])
  })
})

describe('a guardrail', () => {
  const tooLong = { type: 'expression', expression: '@.words <= 2' } as const
  const polite = { type: 'llm', instruction: 'Be polite.', model: 'critic' } as const
  const yes = '{"valid": true, "feedback": null}'
  const no = '{"valid": false, "feedback": "It is rude."}'

  it('sends what fails back to the agent with the reason, in the same conversation', async () => {
    const { llm, calls } = script('one two three', 'one two')
    const { output, events } = await runHere({ definition: crewOf({ guardrail: tooLong }), llm })
    expect(output).toBe('one two')
    expect(calls[1]?.messages.slice(2)).toEqual([
      { role: 'assistant', content: 'one two three' },
      {
        role: 'user',
        content:
          'Your answer did not pass a check: It does not satisfy @.words <= 2\n' +
          'Answer again, with this corrected.',
      },
    ])
    expect(pathsOf(events)).toEqual(['task0', 'task0/ada/llm/0', 'task0/ada/llm/1'])
  })

  it.each([
    [undefined, 4],
    [0, 1],
    [1, 2],
  ])('fails the run after guardrail_max_retries: %s', async (retries, count) => {
    const { llm, calls } = modelHere(() => 'one two three')
    const guardrails = [{ ...tooLong, message: 'Use two words.' }]
    const task = { guardrails, guardrail_max_retries: retries }
    const { failure } = await runHere({ definition: crewOf(task), llm })
    expect(calls).toHaveLength(count)
    expect(failure).toEqual({
      code: 'guardrail_failed',
      message:
        'The output did not pass guardrail 1 of the task task0 after ' +
        `${count - 1} retries. At last: Use two words.`,
    })
  })

  it('may be a model that reviews the output, and says why not', async () => {
    const { llm, calls } = script('Go away!', no, 'Please go.', yes)
    const { output, events } = await runHere({ definition: crewOf({ guardrail: polite }), llm })
    expect(output).toBe('Please go.')
    expect(calls.map(({ model, temperature }) => [model, temperature])).toEqual([
      ['test-model', 0],
      ['critic', undefined],
      ['test-model', 0],
      ['critic', undefined],
    ])
    expect(calls[1]?.response_format?.json_schema.strict).toBe(true)
    expect(calls[1] && promptOf(calls[1])).toMatch(/Output:\nGo away!\n\nGuardrail:\nBe polite\./)
    expect(lastOf(calls[2])).toContain('did not pass a check: It is rude.')
    expect(pathsOf(events)).toEqual([
      'task0',
      'task0/ada/llm/0',
      'task0/guardrail:0/0/llm/0',
      'task0/ada/llm/1',
      'task0/guardrail:0/1/llm/0',
    ])
  })

  it('is not the agent’s fault when its model answers something else', async () => {
    const { llm } = script('Go.', 'Fine with me.', no, 'Please go.', 'Yes.', 'Yes!')
    const { failure } = await runHere({ definition: crewOf({ guardrail: polite }), llm })
    expect(failure?.code).toBe('guardrail_unusable')
    expect(failure?.message).toContain('did not say whether it complies. Your answer is not JSON.')
  })

  it('looks at each output again, those before it too', async () => {
    const { llm, calls } = script('a b c', yes, 'a b', yes)
    const guardrails = [polite, tooLong]
    const { output } = await runHere({ definition: crewOf({ guardrails }), llm })
    expect(output).toBe('a b')
    expect(calls.map(isReview)).toEqual([false, true, false, true])
  })

  it('may be a schema or a condition on JSON, also beside an output_schema', async () => {
    const guardrails = [
      { type: 'schema', schema: { properties: { score: { minimum: 0 } } } },
      { type: 'expression', expression: '@.json.score != 0.5 && match(@.output, "[{].*")' },
    ] as const
    const { llm, calls } = script('{"score":-1}', 'none', '{"score":0.5}', '{"score":0}')
    const definition = crewOf({ output_schema: SCHEMA, guardrails: [...guardrails] })
    expect((await runHere({ definition, llm })).output).toBe('{"score":0}')
    expect(calls).toHaveLength(4)
    expect(lastOf(calls[1])).toContain('-1 is less than 0')
    expect(lastOf(calls[2])).toContain('not JSON')
  })

  it('ends a condition that takes too long', async () => {
    const slow = { type: 'expression', expression: 'match(@.output, "(a|a)*b")' } as const
    const { llm } = script('a'.repeat(40))
    const { failure } = await runHere({ definition: crewOf({ guardrail: slow }), llm })
    expect(failure).toMatchObject({ code: 'guardrail_unusable' })
    expect(failure?.message).toContain('cannot be used: it takes longer than a second.')
  })
})

describe('an attempt that follows another one', () => {
  const guardrails: NonNullable<Task['guardrails']> = [
    { type: 'expression', expression: '@.json.score <= 0.5' },
    { type: 'llm', instruction: 'Be modest.' },
  ]
  const definition = crewOf({ output_schema: SCHEMA, guardrails }, { guardrail: guardrails[1] })

  /** Answers that depend on what was asked only, and need a few corrections. */
  function reply(call: LlmCall): Reply {
    if (isReview(call)) {
      const isGood = !promptOf(call).includes('0.4') && !promptOf(call).includes('I am')
      return JSON.stringify({ valid: isGood, feedback: isGood ? null : 'Not modest.' })
    }
    const said = call.messages.filter(({ role }) => role === 'assistant').length
    if (call.response_format)
      return ['no JSON', '{"score":0.9}', '{"score":0.4}', '{"score":0}'][said] ?? ''
    return said === 0 ? 'I am the best.' : 'It is fine.'
  }

  it('asks no model again, wherever the one before ended', async () => {
    const whole = modelHere(reply)
    const { events, output, usage } = await runHere({ definition, llm: whole.llm })
    expect(output).toBe('It is fine.')
    expect(whole.calls).toHaveLength(10)
    const isPaid = ({ type }: CrewEvent): boolean => type === 'llm_call'
    await fc.assert(
      fc.asyncProperty(fc.nat(events.length), async (length) => {
        const cut = events.slice(0, length)
        const again = modelHere(reply)
        const second = await runHere({ definition, llm: again.llm, journal: journalOf(cut) })
        expect([second.output, second.usage]).toEqual([output, usage])
        const lost = cut.at(-1)?.type === 'llm_call' ? 1 : 0
        expect(again.calls).toHaveLength(10 - cut.filter(isPaid).length + lost)
      }),
      { numRuns: RUNS },
    )
  })
})
