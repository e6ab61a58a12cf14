import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LlmCall } from '../../../../services/shared/models/llm-call.ts'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import type { CrewEvent } from '../../../../services/platform/crew-contract/crew-protocol.ts'
import { journalOf, modelHere, pathsOf, promptOf, runHere } from '../run-here.ts'
import type { Reply } from '../run-here.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 30)

const agents = [
  { key: 'ada', role: 'Researcher of {topic}', goal: 'Find facts' },
  { key: 'bob', role: 'Writer', goal: 'Write', tools: ['sum'], llm: { model: 'bobs' } },
]
const base = {
  name: 'Crew',
  llm: { model: 'test-model' },
  tools: { sum: { type: 'calculator' } },
  agents,
  tasks: [{ key: 'report', description: 'Report.', expected_output: 'Text' }],
}
const hierarchical = { ...base, process: 'hierarchical', manager_llm: { model: 'bosses' } }
const inputs = { topic: 'whales' }

const crew = (given: object): CrewDefinition => parseCrewDefinition({ ...base, ...given })
const managed = (given: object = {}): CrewDefinition => crew({ ...hierarchical, ...given })

const delegate = (given: object): Reply => ({
  toolCalls: [{ id: 'c', name: 'delegate_work_to_coworker', arguments: JSON.stringify(given) }],
})
const ask = (given: object): Reply => ({
  toolCalls: [{ id: 'c', name: 'ask_question_to_coworker', arguments: JSON.stringify(given) }],
})

const script = (...replies: Reply[]) => {
  const left = [...replies]
  return modelHere(() => left.shift() ?? 'out of script')
}
const toolsOf = (call: LlmCall | undefined) => call?.tools?.map((each) => each.function.name)
const offered = (call: LlmCall | undefined): string => call?.tools?.[0]?.function.description ?? ''
const systemOf = (call: LlmCall | undefined) => call?.messages[0]?.content
const lastOf = (call: LlmCall | undefined) => call?.messages.at(-1)?.content
const DELEGATION = ['delegate_work_to_coworker', 'ask_question_to_coworker']

describe('a manager', () => {
  it('gives work to agents, asks them, and answers for the task', async () => {
    const { llm, calls } = script(
      delegate({
        task: 'Find {topic}.',
        context: 'For a report.',
        coworker: 'RESEARCHER of "whales"',
      }),
      'Whales are large.',
      ask({ question: 'Is it fine?', context: 'Whales are large.', coworker: 'bob' }),
      { toolCalls: [{ id: 's', name: 'sum', arguments: '{"expression":"6*7"}' }] },
      'Yes, 42 times.',
      'The report.',
    )
    const { output, events } = await runHere({ definition: managed(), llm, inputs })
    expect(output).toBe('The report.')
    expect(calls.map(({ model }) => model)).toEqual([
      'bosses',
      'test-model',
      'bosses',
      'bobs',
      'bobs',
      'bosses',
    ])
    expect(toolsOf(calls[0])).toEqual(DELEGATION)
    expect(offered(calls[0])).toContain('coworkers: Researcher of whales, Writer.')
    expect(systemOf(calls[0])).toContain('You are Crew Manager.')
    expect(systemOf(calls[1])).toContain('You are Researcher of whales.')
    expect(calls[1] && promptOf(calls[1])).toMatch(/Task: Find \{topic\}\.[^]*For a report\./)
    expect(toolsOf(calls[1])).toBeUndefined()
    expect(toolsOf(calls[3])).toEqual(['sum'])
    expect(lastOf(calls[5])).toBe('Yes, 42 times.')
    const asked = 'report/crew_manager/ask_question_to_coworker/1.0'
    expect(pathsOf(events)).toEqual([
      'report',
      'report/crew_manager/llm/0',
      'report/crew_manager/delegate_work_to_coworker/0.0',
      'report/crew_manager/delegate_work_to_coworker/0.0/ada/llm/0',
      'report/crew_manager/llm/1',
      asked,
      `${asked}/bob/llm/0`,
      `${asked}/bob/sum/0.0`,
      `${asked}/bob/llm/1`,
      'report/crew_manager/llm/2',
    ])
    const steps = events.flatMap((each) => (each.type === 'step_started' ? [each] : []))
    const stepAt = (path: string) => steps.find((each) => each.path.join('/') === path)
    expect(stepAt(`${asked}/bob/sum/0.0`)?.parent).toBe(stepAt(asked)?.step)
    expect(stepAt(asked)?.parent).toBe(stepAt('report')?.step)
    const bobs = events.find((each) => each.type === 'llm_call' && each.agent === 'bob')
    expect(bobs).toMatchObject({ task: 'report', parent: stepAt(asked)?.step })
  })

  it('may be an agent, which is no coworker, and a task may be for one agent only', async () => {
    const boss = { key: 'boss', role: 'Boss', goal: 'Lead' }
    const { llm, calls } = script('Done.')
    const tasks = [{ ...base.tasks[0], agent: 'bob' }]
    const given = {
      agents: [...agents, boss],
      manager_llm: undefined,
      manager_agent: 'boss',
      tasks,
    }
    const { output, events } = await runHere({ definition: managed(given), llm, inputs })
    expect(output).toBe('Done.')
    expect(systemOf(calls[0])).toContain('You are Boss.')
    expect(offered(calls[0])).toContain('coworkers: Writer.')
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'task_started', agent: 'boss', agent_role: 'Boss' }),
    )
  })

  it('is told of a coworker that there is not, and of one that fails', async () => {
    const given = { task: 'T', context: 'C' }
    const again: Reply = { toolCalls: [{ id: 's', name: 'none', arguments: '{}' }] }
    const { llm, calls } = script(
      delegate({ ...given, coworker: 'Painter' }),
      delegate({ ...given, coworker: '[Writer, Researcher]' }),
      again,
      again,
      'Without them.',
    )
    const { output } = await runHere({ definition: managed(), llm, inputs })
    expect(output).toBe('Without them.')
    expect(lastOf(calls[1])).toBe(
      'There is no such coworker. There are:\n- Researcher of whales\n- Writer',
    )
    expect(lastOf(calls[4])).toContain('The coworker failed: The model bobs of the agent bob made')
  })

  it('fails its run with a coworker whose model cannot be called', async () => {
    const { llm } = script(delegate({ task: 'T', context: 'C', coworker: 'Writer' }))
    const failure = { code: 'llm_rejected', message: 'No.' } as const
    const failing = {
      ...llm,
      complete: async (...[call, signal]: Parameters<typeof llm.complete>) =>
        call.model === 'bobs'
          ? { ok: false as const, attempts: 1, failure }
          : llm.complete(call, signal),
    }
    const { last, journal } = await runHere({ definition: managed(), llm: failing, inputs })
    expect(last).toMatchObject({ type: 'failed', error: failure })
    const second = script('Written.', 'The report.')
    const retried = await runHere({ definition: managed(), llm: second.llm, inputs, journal })
    expect(retried.output).toBe('The report.')
    expect(second.calls.map(({ model }) => model)).toEqual(['bobs', 'bosses'])
  })

  it('is not paid for again, nor are its coworkers, wherever an attempt ends', async () => {
    const reply = (call: LlmCall): Reply => {
      const told = call.messages.filter(({ role }) => role === 'tool').length
      if (call.model !== 'bosses') return `Work ${promptOf(call).length}.`
      const coworker = told === 0 ? 'Writer' : 'ada'
      return told < 2 ? delegate({ task: `T${told}`, context: '', coworker }) : 'The report.'
    }
    const whole = modelHere(reply)
    const definition = managed()
    const { events, output, usage } = await runHere({ definition, llm: whole.llm, inputs })
    expect([output, whole.calls.length]).toEqual(['The report.', 5])
    const isPaid = ({ type }: CrewEvent): boolean => type === 'llm_call'
    await fc.assert(
      fc.asyncProperty(fc.nat(events.length), async (length) => {
        const cut = events.slice(0, length)
        const again = modelHere(reply)
        const journal = journalOf(cut)
        const second = await runHere({ definition, llm: again.llm, inputs, journal })
        expect([second.output, second.usage]).toEqual([output, usage])
        const lost = cut.at(-1)?.type === 'llm_call' ? 1 : 0
        expect(again.calls).toHaveLength(5 - cut.filter(isPaid).length + lost)
      }),
      { numRuns: RUNS },
    )
  })

  it('is handed over with its coworkers after the calls in flight', async () => {
    const stop = new AbortController()
    const { llm, calls } = modelHere((call) => {
      if (call.model === 'bosses') return delegate({ task: 'T', context: 'C', coworker: 'bob' })
      stop.abort()
      return { toolCalls: [{ id: 's', name: 'sum', arguments: '{"expression":"1"}' }] }
    })
    const definition = managed()
    const { last } = await runHere({ definition, llm, inputs, stopping: stop.signal })
    expect([last?.type, calls.length]).toEqual(['handed_over', 2])
  })
})

describe('an agent with allow_delegation', () => {
  it('has the same tools beside its own, for the other agents', async () => {
    const [ada, bob] = agents
    const { llm, calls } = script('Done.', 'Done.')
    const definition = crew({
      agents: [ada, { ...bob, allow_delegation: true }],
      tasks: [
        { ...base.tasks[0], key: 'one', agent: 'ada' },
        { ...base.tasks[0], key: 'two', agent: 'bob' },
      ],
    })
    await runHere({ definition, llm, inputs })
    expect(calls.map(toolsOf)).toEqual([undefined, ['sum', ...DELEGATION]])
    expect(calls[1]?.tools?.[1]?.function.description).toContain('coworkers: Researcher of whales.')
  })

  it('has none when it is alone', async () => {
    const [ada] = agents
    const { llm, calls } = script('Done.')
    const task = { ...base.tasks[0], agent: 'ada' }
    const definition = crew({ agents: [{ ...ada, allow_delegation: true }], tasks: [task] })
    await runHere({ definition, llm, inputs })
    expect(toolsOf(calls[0])).toBeUndefined()
  })
})

describe('the process of a crew', () => {
  const boss = { manager_llm: undefined, manager_agent: 'ada' }
  it.each<[object, string]>([
    [base, 'the task report has no agent, which only process hierarchical allows'],
    [{ ...hierarchical, process: 'parallel' }, 'process: must be one of sequential, hierarchical'],
    [
      { ...hierarchical, process: undefined },
      'a manager is for process hierarchical; set it, or leave the manager out',
    ],
    [
      { ...hierarchical, manager_llm: undefined },
      'process hierarchical needs either manager_llm or manager_agent',
    ],
    [{ ...hierarchical, manager_agent: 'ada' }, 'needs either manager_llm or manager_agent'],
    [{ ...hierarchical, ...boss, manager_agent: 'eve' }, 'manager_agent names eve, which is not'],
    [{ ...hierarchical, ...boss, manager_agent: 'bob' }, 'the manager bob cannot have tools'],
    [
      { ...hierarchical, ...boss, agents: agents.slice(0, 1) },
      'the manager needs another agent to give work to',
    ],
    [
      { ...hierarchical, tools: { ...base.tools, ask_question_to_coworker: { type: 'time' } } },
      'the tool ask_question_to_coworker would be shown to the model as ask_question_to_coworker',
    ],
  ])('is refused when it cannot work: %#', (given, message) => {
    expect(() => parseCrewDefinition(given)).toThrow(message)
  })
})
