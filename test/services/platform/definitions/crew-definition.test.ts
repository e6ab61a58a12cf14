import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fillIn,
  modelsOf,
  parseCrewDefinition,
  placesOf,
} from '../../../../services/platform/definitions/crew-definition.ts'
import { toError } from '../../../../services/shared/errors.ts'
import { definition } from '../../../support/crew.ts'

const [agent] = definition.agents
const [task] = definition.tasks
const polite = { type: 'llm', instruction: 'Be polite.' }
const SAME_OBJECTS = [
  { a: 1, b: { c: 2, d: 3 } },
  { b: { d: 3, c: 2 }, a: 1 },
]

describe('a crew definition', () => {
  it('asks for the inputs that its texts name, once each, in order of first use', () => {
    const tasks = [{ ...definition.tasks[0], description: '{b} {topic} {b} {not valid} {0} {}' }]
    expect(placesOf(parseCrewDefinition({ ...definition, tasks }))).toEqual(['topic', 'b'])
  })

  it('asks for no input that is the item of a list', () => {
    const each = { ...task, description: '{item} of {topic}', for_each: '$.inputs.topic' }
    const tasks = [each, { ...task, key: 'other', description: '{topic}' }]
    expect(placesOf(parseCrewDefinition({ ...definition, tasks }))).toEqual(['topic'])
  })

  it.each([
    ['no agents', { ...definition, agents: [] }, 'agents: '],
    [
      'a task without its agent',
      { ...definition, tasks: [{ ...task, agent: 'nobody' }] },
      'every task names an agent',
    ],
    [
      'two agents with one key',
      { ...definition, agents: [agent, agent], tasks: [task] },
      'unique keys',
    ],
    [
      'a stray key',
      { ...definition, extra: 1 },
      'definition: extra is not known; allowed: name, llm, inputs, process, manager_llm,',
    ],
    [
      'a misspelt key',
      { ...definition, agents: [{ ...agent, gol: 'x' }] },
      'agents[0]: gol is not known. Did you mean goal?; allowed: key, role, goal, backstory, llm',
    ],
    ['no object', null, 'definition: must be an object'],
    ['a missing key', { ...definition, llm: {} }, 'llm: model is required'],
    ['nothing in it', {}, 'definition: name is required'],
    ['an agent that is a text', { ...definition, agents: ['x'] }, 'agents[0]: must be an object'],
    ['a number', { ...definition, name: 7 }, 'name: must be a text'],
    [
      'an unknown effort',
      { ...definition, llm: { model: 'x', reasoning_effort: 'most' } },
      'llm.reasoning_effort: must be one of none, minimal, low, medium, high, xhigh, max',
    ],
    [
      'too high a temperature',
      { ...definition, llm: { model: 'x', temperature: 3 } },
      'llm.temperature: must be at most 2',
    ],
    ['an input without a name', { ...definition, inputs: [{}] }, 'inputs[0]: name is required'],
    [
      'an input of no type',
      { ...definition, inputs: [{ name: 'n', type: 'int' }] },
      'inputs[0].type: must be one of string, number, integer, boolean, object, array',
    ],
    [
      'a default of another type',
      { ...definition, inputs: [{ name: 'n', type: 'number', default: 'x' }] },
      'inputs[0]: default must be of the type of its input',
    ],
    [
      'a guardrail of no type',
      { ...definition, tasks: [{ ...task, guardrail: { type: 'python' } }] },
      'tasks[0].guardrail.type: must be one of schema, expression, llm',
    ],
    [
      'a guardrail that is a text',
      { ...definition, tasks: [{ ...task, guardrails: ['Be nice.'] }] },
      'tasks[0].guardrails[0]: must be an object',
    ],
    [
      'a condition that cannot be read',
      { ...definition, tasks: [{ ...task, guardrail: { type: 'expression', expression: 'a b' } }] },
      'tasks[0].guardrail.expression: cannot be read: ',
    ],
    [
      'two conditions',
      {
        ...definition,
        tasks: [{ ...task, guardrail: { type: 'expression', expression: '@.a), ?(@.b' } }],
      },
      'must be one condition',
    ],
    [
      'guardrail and guardrails',
      {
        ...definition,
        tasks: [{ ...task, guardrail: polite, guardrails: [polite] }],
      },
      'the task research has both guardrail and guardrails',
    ],
    [
      'a schema that is none',
      { ...definition, tasks: [{ ...task, output_schema: { type: 'text' } }] },
      'tasks[0].output_schema: #/type must be one or more of string',
    ],
    [
      'too many retries',
      { ...definition, tasks: [{ ...task, guardrail_max_retries: 11 }] },
      'tasks[0].guardrail_max_retries: must be at most 10',
    ],
    [
      'a condition on a task that comes later',
      {
        ...definition,
        tasks: [
          { ...task, when: '@.outputs.later' },
          { ...task, key: 'later' },
        ],
      },
      'tasks[0].when: names the output of later, which this task does not wait for',
    ],
    [
      'a condition on a task that is not there',
      { ...definition, tasks: [{ ...task, when: 'length(@.outputs["x"].output) > 1' }] },
      'tasks[0].when: names the output of x, which is not a task of this crew',
    ],
    [
      'a condition on an input that is not there',
      { ...definition, tasks: [{ ...task, when: '@.inputs.topic == 1 || !@.inputs.x' }] },
      'tasks[0].when: names the input x; declare it under inputs',
    ],
    [
      'a condition on what no task has',
      { ...definition, tasks: [{ ...task, when: '@.json.score > 1' }] },
      'tasks[0].when: looks at json; there are only inputs and outputs',
    ],
    [
      'a condition that never holds',
      { ...definition, tasks: [{ ...task, when: '$.inputs.topic == 1' }] },
      'tasks[0].when: has a path that begins with $; in a condition it begins with @',
    ],
    [
      'a list that is no path',
      { ...definition, tasks: [{ ...task, for_each: 'cities' }] },
      'tasks[0].for_each: cannot be read: ',
    ],
    [
      'a list of all inputs',
      { ...definition, tasks: [{ ...task, for_each: '$.inputs' }] },
      'tasks[0].for_each: names none of the inputs',
    ],
    [
      'items that are asked the same',
      { ...definition, tasks: [{ ...task, for_each: '$.inputs.topic' }] },
      'tasks[0].for_each: needs {item} in the description',
    ],
    [
      'an input with the name of the item',
      {
        ...definition,
        inputs: ['item'],
        tasks: [{ ...task, description: '{item}', for_each: '$.inputs.topic' }],
      },
      'tasks[0].for_each: gives {item} to its texts, so no input can have this name',
    ],
    [
      'too many items at a time',
      { ...definition, tasks: [{ ...task, parallel: 17 }] },
      'tasks[0].parallel: must be a whole number from 1 to 16',
    ],
    [
      'items at a time of none',
      { ...definition, tasks: [{ ...task, parallel: 2 }] },
      'tasks[0].parallel: needs for_each',
    ],
    [
      'a failure that is not retried',
      { ...definition, tasks: [{ ...task, retry: { times: 1, on: ['internal'] } }] },
      'tasks[0].retry.on[0]: must be one of llm_rejected, ',
    ],
    [
      'a retry without a number',
      { ...definition, tasks: [{ ...task, retry: {} }] },
      'tasks[0].retry: times is required',
    ],
    [
      'no time at all',
      { ...definition, tasks: [{ ...task, timeout_seconds: 0 }] },
      'tasks[0].timeout_seconds: must be a whole number from 1 to 86400',
    ],
    [
      'an enum of another type',
      { ...definition, inputs: [{ name: 'n', type: 'string', enum: ['a', 2] }] },
      'inputs[0]: enum must have values of the type of its input only, and no null',
    ],
    [
      'a default that is not in its enum',
      { ...definition, inputs: [{ name: 'n', enum: ['a'], default: 'b' }] },
      'inputs[0]: default must be one of enum',
    ],
    ['one input twice', { ...definition, inputs: ['n', { name: 'n' }] }, 'must have unique names'],
  ])('is refused with %s', (_, given, message) => {
    expect(() => parseCrewDefinition(given)).toThrow(message)
  })

  it('calls the models of its agents and guardrails', () => {
    const agents = [{ ...agent, llm: { model: 'own' } }, definition.agents[1]]
    const tasks = [{ ...task, guardrail: { ...polite, model: 'critic' } }, definition.tasks[1]]
    const crew = parseCrewDefinition({ ...definition, agents, tasks })
    expect(modelsOf(crew)).toEqual(['test-model', 'own', 'critic'])
    const manager_llm = { model: 'boss' }
    const managed = parseCrewDefinition({ ...definition, process: 'hierarchical', manager_llm })
    expect(modelsOf(managed)).toEqual(['test-model', 'boss'])
  })

  it.each<[string, unknown, string]>([
    ['no list', 'a', 'inputs[0].enum: must be a list'],
    ['an empty list', [], 'inputs[0].enum: must not be empty'],
    ['101 values', Array.from({ length: 101 }, (_, at) => at), 'must have at most 100 values'],
    ['a value twice', ['a', 'b', 'a'], 'must not have two values that read the same'],
    ['a number and its text', [1, '1'], 'must not have two values that read the same'],
    ['an object in two orders', SAME_OBJECTS, 'must not have two values that read the same'],
    ['an empty text', ['a', ' '], 'inputs[0].enum: must not have an empty text'],
    ['null', ['a', null], 'inputs[0]: enum must have values of the type of its input only'],
  ])('is refused with an enum of %s', (_, values, message) => {
    const inputs = [{ name: 'n', enum: values }]
    expect(() => parseCrewDefinition({ ...definition, inputs })).toThrow(message)
  })

  it('is never refused in the words of a library', () => {
    const anything = fc.jsonValue()
    const broken = fc.oneof(
      anything,
      fc.record({ name: anything, llm: anything, inputs: anything, agents: anything }),
      fc.record({
        ...Object.fromEntries(
          Object.entries(definition).map(([key, of]) => [key, fc.constant(of)]),
        ),
        inputs: fc.array(fc.record({ name: anything, type: anything }, { requiredKeys: [] })),
        tasks: fc.array(
          fc.record(
            { key: anything, agent: anything, guardrail: anything, output_schema: anything },
            { requiredKeys: [] },
          ),
        ),
      }),
    )
    fc.assert(
      fc.property(broken, (given) => {
        try {
          parseCrewDefinition(given)
        } catch (thrown) {
          expect(toError(thrown).message).not.toMatch(/Invalid|Expected|received|undefined/)
        }
      }),
    )
  })
})

describe('fillIn', () => {
  it('fills places, shows other values as JSON, and leaves unknown places alone', () => {
    expect(fillIn('{a} {b} {c} {toString}', { a: 'x', b: { c: 1 } })).toBe(
      'x {"c":1} {c} {toString}',
    )
  })

  it('never reads an input as a template: what a caller sends arrives as it is', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(fillIn('<{a}>', { a: value, b: 'B' })).toBe(`<${value}>`)
      }),
    )
  })
})
