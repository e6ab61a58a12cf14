import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { orderTasks } from '../../../../services/platform/definitions/task-order.ts'
import type { OrderedTask } from '../../../../services/platform/definitions/task-order.ts'
import { definition } from '../../../support/crew.ts'
import { taskGraphs } from '../../../support/task-graphs.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 200)

const order = (tasks: readonly OrderedTask[]) =>
  Object.fromEntries(orderTasks(tasks).map((each, index) => [tasks[index]?.key, each]))

describe('the order of tasks', () => {
  it('is one after the other, each with the outputs of all before it', () => {
    expect(order([{ key: 'a' }, { key: 'b' }, { key: 'c' }])).toEqual({
      a: { after: [], context: [] },
      b: { after: ['a'], context: ['a'] },
      c: { after: ['a', 'b'], context: ['a', 'b'] },
    })
  })

  it('gives exactly the context that is named, in that order, and none for an empty list', () => {
    const tasks = [
      { key: 'a' },
      { key: 'b' },
      { key: 'c', context: ['b', 'a'] },
      { key: 'd', context: [] },
    ]
    expect(order(tasks)).toMatchObject({
      c: { context: ['b', 'a'] },
      d: { after: ['a', 'b', 'c'], context: [] },
    })
  })

  it('lets async tasks run beside each other, up to the next task that is not', () => {
    const tasks = [
      { key: 'a' },
      { key: 'b', async: true },
      { key: 'c', async: true, context: ['a'] },
      { key: 'd', async: true, context: ['b'] },
      { key: 'e' },
    ]
    expect(order(tasks)).toMatchObject({
      b: { after: ['a'], context: [] },
      c: { after: ['a'], context: ['a'] },
      d: { after: ['a', 'b'], context: ['b'] },
      e: { after: ['a', 'b', 'c', 'd'], context: ['a', 'b', 'c', 'd'] },
    })
  })

  it('never lets a task wait for itself or for a later one, nor start before its context', () => {
    fc.assert(
      fc.property(taskGraphs, (tasks) => {
        const keys = tasks.map(({ key }) => key)
        for (const [index, { after, context }] of orderTasks(tasks).entries()) {
          expect(after.every((key) => keys.indexOf(key) < index)).toBe(true)
          expect(context.every((key) => after.includes(key))).toBe(true)
        }
      }),
      { numRuns: RUNS },
    )
  })
})

describe('a task’s context', () => {
  const [first, second] = definition.tasks
  const withContext = (context: readonly string[]) =>
    parseCrewDefinition({ ...definition, tasks: [{ ...first, context }, second] })

  it.each([
    [['nobody'], 'the context of the task research names nobody, which is not a task of this crew'],
    [['research'], 'names research, the task itself; it can only name tasks before it'],
    [['write'], 'names write, which comes after it; move that task before it, or leave it out'],
    [['write', 'write'], 'tasks[0].context: must not name one twice'],
  ])('is refused with %j', (context, message) => {
    expect(() => withContext(context)).toThrow(message)
  })

  it('may be empty', () => {
    expect(withContext([]).tasks[0]?.context).toEqual([])
  })
})
