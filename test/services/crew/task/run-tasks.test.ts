import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LlmCall } from '../../../../services/shared/models/llm-call.ts'
import type {
  CrewDefinition,
  Task,
} from '../../../../services/platform/definitions/crew-definition.ts'
import type { CrewEvent } from '../../../../services/platform/crew-contract/crew-protocol.ts'
import { taskGraphs } from '../../../support/task-graphs.ts'
import { journalOf, modelHere, pathsOf, promptOf, runHere } from '../run-here.ts'
import type { Reply } from '../run-here.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 60)

type GivenTask = Pick<Task, 'key'> & Partial<Task>

const crewOf = (tasks: readonly GivenTask[]): CrewDefinition => ({
  name: 'Crew',
  llm: { model: 'test-model' },
  agents: [{ key: 'ada', role: 'Ada', goal: 'Work' }],
  tasks: tasks.map((task) => ({
    agent: 'ada',
    description: `Do ${task.key}.`,
    expected_output: 'Text',
    ...task,
  })),
})

const taskOf = (call: LlmCall): string => /Task: Do (\w+)\./.exec(promptOf(call))?.[1] ?? ''
/** The outputs that a prompt holds, in their order. */
const contextOf = (call: LlmCall): string[] =>
  [...promptOf(call).matchAll(/^output of (\w+)$/gm)].map(([, key = '']) => key)

/** The places of a task’s events among all. */
const placeOf = (events: readonly CrewEvent[], type: string, task: string): number =>
  events.findIndex((each) => each.type === type && 'task' in each && each.task === task)

/** What a task gets, in the words of the manual. */
function ruleOf(tasks: readonly GivenTask[], index: number): readonly string[] {
  const task = tasks[index]
  if (task?.context) return task.context
  return task?.async ? [] : tasks.slice(0, index).map(({ key }) => key)
}

function held() {
  const waiting = new Map<string, () => void>()
  const { llm, calls } = modelHere(async (call): Promise<Reply> => {
    const task = taskOf(call)
    await new Promise<void>((resolve) => waiting.set(task, resolve))
    return `output of ${task}`
  })
  return {
    llm,
    asked: () => calls.map(taskOf),
    /** Lets the model answer for a task, and waits until all that follows has been asked. */
    async answer(task: string): Promise<void> {
      waiting.get(task)?.()
      for (let turns = 0; turns < 10; turns += 1) await turn()
    },
  }
}

describe('the tasks of a crew', () => {
  it('begin when those are done that they wait for, whatever takes how long', async () => {
    const definition = crewOf([
      { key: 'a', async: true },
      { key: 'b', async: true },
      { key: 'c', async: true, context: ['a'] },
      { key: 'd' },
    ])
    const model = held()
    const running = runHere({ definition, llm: model.llm })
    await model.answer('none')
    expect(model.asked()).toEqual(['a', 'b'])
    await model.answer('a')
    expect(model.asked()).toEqual(['a', 'b', 'c'])
    await model.answer('c')
    expect(model.asked()).toHaveLength(3)
    await model.answer('b')
    await model.answer('d')
    expect((await running).output).toBe('output of d')
  })

  it('get what the manual says, and a new attempt repeats none that finished', async () => {
    const delays = fc.infiniteStream(fc.integer({ min: 0, max: 3 }))
    await fc.assert(
      fc.asyncProperty(taskGraphs, delays, fc.double({ min: 0, max: 1, noNaN: true }), checkRun),
      { numRuns: RUNS },
    )
  })

  async function checkRun(tasks: GivenTask[], delays: fc.Stream<number>, share: number) {
    const definition = crewOf(tasks)
    const reply = async (call: LlmCall): Promise<Reply> => {
      const { value = 0 } = delays.next()
      for (let turns = 0; turns < value; turns += 1) await turn()
      return `output of ${taskOf(call)}`
    }
    const model = modelHere(reply)
    const { events, output, usage } = await runHere({ definition, llm: model.llm })
    expect(output).toBe(`output of ${tasks.at(-1)?.key}`)
    for (const [index, { key }] of tasks.entries()) {
      const context = ruleOf(tasks, index)
      const call = model.calls.find((each) => taskOf(each) === key)
      expect(call && contextOf(call)).toEqual(context)
      for (const before of context) {
        const done = placeOf(events, 'task_completed', before)
        expect(done).toBeLessThan(placeOf(events, 'task_started', key))
      }
    }
    const cut = events.slice(0, Math.floor(share * events.length))
    const again = modelHere(reply)
    const second = await runHere({ definition, llm: again.llm, journal: journalOf(cut) })
    expect([second.output, second.usage]).toEqual([output, usage])
    const paid = cut.flatMap((each) =>
      each.type === 'step_finished'
        ? events.flatMap((one) =>
            one.type === 'llm_call' && one.step === each.step ? [one.task] : [],
          )
        : [],
    )
    expect(again.calls.map(taskOf).filter((task) => paid.includes(task))).toEqual([])
    expect(again.calls).toHaveLength(tasks.length - paid.length)
  }

  it('begin no more when one has failed; the calls that go on are still recorded', async () => {
    const definition = crewOf([{ key: 'a', async: true }, { key: 'b', async: true }, { key: 'c' }])
    const model = modelHere((call) => `output of ${taskOf(call)}`)
    const { llm } = model
    const failure = { code: 'llm_rejected', message: 'No.' } as const
    const failing = {
      ...llm,
      complete: async (...[call, signal]: Parameters<typeof llm.complete>) => {
        if (taskOf(call) === 'a') return { ok: false as const, attempts: 1, failure }
        await turn()
        return llm.complete(call, signal)
      },
    }
    const { last, journal, events } = await runHere({ definition, llm: failing })
    expect(last).toMatchObject({ type: 'failed', error: failure })
    expect(pathsOf(events)).toEqual(['a', 'a/ada/llm/0', 'b', 'b/ada/llm/0'])
    const second = await runHere({ definition, llm, journal })
    expect(second.output).toBe('output of c')
    expect(model.calls.map(taskOf)).toEqual(['b', 'a', 'c'])
  })

  it('are handed over after the calls in flight when the crew stops', async () => {
    const definition = crewOf([{ key: 'a', async: true }, { key: 'b', async: true }, { key: 'c' }])
    const stop = new AbortController()
    const first = modelHere((call) => {
      stop.abort()
      return `output of ${taskOf(call)}`
    })
    const { last, journal } = await runHere({
      definition,
      llm: first.llm,
      stopping: stop.signal,
    })
    expect(last?.type).toBe('handed_over')
    const { llm, calls } = modelHere((call) => `output of ${taskOf(call)}`)
    expect((await runHere({ definition, llm, journal })).output).toBe('output of c')
    expect([...first.calls, ...calls].map(taskOf)).toEqual(['a', 'b', 'c'])
  })
})

describe('tasks that ask a person beside others', () => {
  const definition = crewOf([
    { key: 'a', async: true, human_input: true },
    { key: 'b', async: true, human_input: true },
    { key: 'c', async: true },
    { key: 'd', async: true, context: ['c'] },
    { key: 'e' },
  ])

  it('let the others finish, ask one after the other, and call no model again', async () => {
    const { llm, calls } = modelHere((call) => `output of ${taskOf(call)}`)
    const first = await runHere({ definition, llm })
    expect(first.asked).toMatchObject({ task: 'a', output: 'output of a' })
    expect(calls.map(taskOf)).toEqual(['a', 'b', 'c', 'd'])
    const decide = (step: string | undefined, decision: object) =>
      ({ step: step ?? '', kind: 'approval', result: decision }) as const
    const approved = decide(first.asked?.step, { decision: 'approve' })
    const second = await runHere({ definition, llm, journal: [...first.journal, approved] })
    expect(second.asked).toMatchObject({ task: 'b', output: 'output of b' })
    const edited = decide(second.asked?.step, { decision: 'edit', text: 'output of nobody' })
    const journal = [...first.journal, ...second.journal, edited]
    const third = await runHere({ definition, llm, journal })
    expect(third.output).toBe('output of e')
    expect(calls.map(taskOf)).toEqual(['a', 'b', 'c', 'd', 'e'])
    const last = calls.at(-1)
    expect(last && contextOf(last)).toEqual(['a', 'nobody', 'c', 'd'])
  })
})
