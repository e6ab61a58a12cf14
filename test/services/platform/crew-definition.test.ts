import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fillIn,
  parseCrewDefinition,
  requiredInputs,
} from '../../../services/platform/crew-definition.ts'
import { definition } from '../../support/crew.ts'

const [agent] = definition.agents
const [task] = definition.tasks

describe('a crew definition', () => {
  it('asks for the inputs that its texts name, once each, in order of first use', () => {
    const tasks = [{ ...definition.tasks[0], description: '{b} {topic} {b} {not valid} {0} {}' }]
    expect(requiredInputs(parseCrewDefinition({ ...definition, tasks }))).toEqual(['topic', 'b'])
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
    ['a stray key', { ...definition, extra: 1 }, 'extra: '],
    ['no object', null, 'definition: '],
  ])('is refused with %s', (_, given, message) => {
    expect(() => parseCrewDefinition(given)).toThrow(message)
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
