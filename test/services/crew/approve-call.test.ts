import * as fc from 'fast-check'
import { createDocumentReader } from '../../../services/shared/documents/read-document.ts'
import { describe, expect, it } from 'vitest'
import { createReplaySteps } from '../../../services/crew/replay-steps.ts'
import { runCrew } from '../../../services/crew/run-crew.ts'
import type {
  CrewEvent,
  RecordedStep,
} from '../../../services/platform/crew-contract/crew-protocol.ts'
import { requestDigest } from '../../../services/platform/crew-contract/step-request.ts'
import type { Approve } from '../../../services/platform/approvals/call-approval.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { guardFor } from '../../support/outgoing.ts'
import { journalOf, modelHere, pathsOf, promptOf, runHere } from './run-here.ts'
import type { Reply } from './run-here.ts'

type Call = readonly [name: string, given: unknown]

const crewWith = (approve: Approve): CrewDefinition => ({
  name: 'Crew',
  llm: { model: 'test-model' },
  tools: { sum: { type: 'calculator', approve }, pick: { type: 'json_query', approve } },
  agents: [{ key: 'ada', role: 'Ada', goal: 'Compute', tools: ['sum', 'pick'] }],
  tasks: [{ key: 'task', agent: 'ada', description: 'Do it.', expected_output: 'A number' }],
})

const toReply = (calls: readonly Call[]): Reply => ({
  toolCalls: calls.map(([name, given], index) => ({
    id: `call-${index}`,
    name,
    arguments: JSON.stringify(given),
  })),
})

/** A crew whose model asks for these calls, turn by turn, and then answers. */
function crewOf(approve: Approve, ...turns: readonly (readonly Call[])[]) {
  const definition = crewWith(approve)
  const replies = [...turns.map(toReply), 'Done.']
  const model = modelHere(({ messages }) => {
    const turn = messages.filter(({ role }) => role === 'assistant').length
    return replies[turn] ?? 'Done.'
  })
  const journal: RecordedStep[] = []
  const all: CrewEvent[] = []
  return {
    definition,
    model,
    all,
    /** An attempt, which may be killed after some of its events. */
    async attempt(inputs = {}, killedAfter = Infinity) {
      const ran = await runHere({ definition, llm: model.llm, inputs, journal })
      const events = ran.events.slice(0, killedAfter)
      all.push(...events)
      journal.push(...journalOf(events))
      const isKilled = events.length < ran.events.length
      return isKilled ? { ...ran, events, asked: undefined, output: undefined } : ran
    },
    /** Decides about what was asked last, as the platform does. */
    decide(decision: 'approve' | 'edit' | 'reject', text?: string) {
      const asked = all.findLast((each) => each.type === 'approval_requested')
      const result = { decision, text, proposed: asked?.output }
      journal.push({ step: asked?.step ?? '', kind: 'approval', result })
    },
    journal,
  }
}

const sum = (expression: string): Call => ['sum', { expression }]
const sentBy = (events: readonly CrewEvent[]) =>
  events.flatMap((each) => (each.type === 'tool_call' ? [each.arguments] : []))
const expression = (text: string) => JSON.stringify({ expression: text })

describe('a tool whose calls a person approves', () => {
  it('is called after the decision, with the arguments that the person saw', async () => {
    const crew = crewOf('always', [sum('6 * 7')])
    const { asked, events } = await crew.attempt()
    expect(asked).toMatchObject({
      task: 'task',
      output: expression('6 * 7'),
      call: { name: 'sum', tool: 'sum', parameters: { type: 'object' } },
    })
    expect(pathsOf(events).at(-1)).toBe('task/ada/sum/0.0/decision')
    crew.decide('approve')
    const last = await crew.attempt()
    expect(last.output).toBe('Done.')
    expect(sentBy(crew.all)).toEqual([expression('6 * 7')])
    expect(crew.model.calls.at(-1)?.messages.at(-1)).toMatchObject({ content: '42' })
  })

  it('sends what was approved, also when the model asks for something else by then', async () => {
    const crew = crewOf('always', [sum('6 * 7')])
    await crew.attempt()
    crew.decide('approve')
    const changed = crewOf('always', [sum('10 ^ 9')])
    changed.journal.push(...crew.journal.filter(({ kind }) => kind === 'approval'))
    await changed.attempt()
    expect(sentBy(changed.all)).toEqual([expression('6 * 7')])
  })

  it('sends the arguments that a person wrote instead, and tells the model', async () => {
    const crew = crewOf('always', [sum('6 * 7')])
    await crew.attempt()
    crew.decide('edit', expression('1 + 1'))
    await crew.attempt()
    expect(sentBy(crew.all)).toEqual([expression('1 + 1')])
    const content = `A person changed the arguments of this call to ${expression('1 + 1')}.\n\n2`
    expect(crew.model.calls.at(-1)?.messages.at(-1)).toMatchObject({ content })
  })

  it.each([
    ['reject', 'Too dear.', 'A person refused this call. Reason: Too dear.'],
    ['edit', '{"expression": 7}', 'The arguments of sum are not valid'],
    ['edit', 'nothing', 'must be a JSON object'],
  ] as const)('is not called after %s with %s', async (decision, text, told) => {
    const crew = crewOf('always', [sum('6 * 7')])
    await crew.attempt()
    crew.decide(decision, text)
    const { calls } = { calls: (await crew.attempt()).events }
    expect(calls.find((each) => each.type === 'tool_call')).toMatchObject({
      error: { message: expect.stringContaining(told) },
    })
    const [lastCall] = crew.model.calls.slice(-1)
    expect(lastCall && promptOf(lastCall)).toContain(told)
  })

  it('is asked about once in a run, by function, whichever call is the first', async () => {
    const calls = [sum('1 + 1'), sum('2 + 2')]
    const crew = crewOf('once_per_run', calls, [sum('3 + 3'), ['pick', { json: '{}', path: '$' }]])
    expect((await crew.attempt()).asked?.output).toBe(expression('1 + 1'))
    crew.decide('edit', expression('5 + 5'))
    const second = await crew.attempt()
    expect(sentBy(crew.all)).toEqual(['5 + 5', '2 + 2', '3 + 3'].map(expression))
    expect(second.asked?.call?.name).toBe('pick')
    crew.decide('reject')
    expect((await crew.attempt()).output).toBe('Done.')
  })

  it('is asked about under a condition over arguments and inputs', async () => {
    const when = '@.inputs.country != "de" && @.arguments.expression != "1 + 1"'
    const free = crewOf({ when }, [sum('1 + 1')])
    expect((await free.attempt({ country: 'at' })).output).toBe('Done.')
    const inside = crewOf({ when }, [sum('2 + 2')])
    expect((await inside.attempt({ country: 'de' })).output).toBe('Done.')
    const crew = crewOf({ when }, [sum('1 + 1'), sum('2 + 2')])
    expect((await crew.attempt({ country: 'at' })).asked?.output).toBe(expression('2 + 2'))
  })

  it('is sent what was decided and nothing before, whenever its crew is killed', async () => {
    const decision = fc.constantFrom('approve', 'edit', 'reject')
    const turns = fc.array(fc.array(decision, { minLength: 1, maxLength: 2 }), { maxLength: 2 })
    const kills = fc.array(fc.nat(12), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(turns, kills, async (decisions, killedAfter) => {
        const calls = decisions.map((turn, at) => turn.map((_, index) => sum(`${at} + ${index}`)))
        const crew = crewOf('always', ...calls)
        const undecided = decisions.flat()
        const wanted: string[] = []
        const allowed: unknown[] = []
        const deaths = [...killedAfter]
        for (let output; output === undefined;) {
          const ran = await crew.attempt({}, deaths.pop())
          const sent = ran.events.flatMap((each) =>
            each.type === 'step_started' && each.kind === 'tool' ? [String(each.input)] : [],
          )
          expect(sent.filter((each) => !wanted.includes(each))).toEqual([])
          output = ran.output
          if (!ran.asked) continue
          const next = undecided.pop() ?? 'reject'
          const edited = ran.asked.output.replace('+', '-')
          crew.decide(next, next === 'edit' ? edited : undefined)
          wanted.push(next === 'edit' ? edited : ran.asked.output)
          if (next !== 'reject') allowed.push(wanted.at(-1))
        }
        const steps = crew.all.filter((each) => each.type === 'step_finished')
        expect(new Set(steps.map(({ step }) => step)).size).toBe(steps.length)
        expect(wanted).toHaveLength(decisions.flat().length)
        const made = crew.all.filter((each) => each.type === 'tool_call' && !each.error)
        expect(new Set(sentBy(made))).toEqual(new Set(allowed))
      }),
      { numRuns: 10 },
    )
  })

  it.each(['always', 'once_per_run'] as const)('is replayed (%s) by its record', async (mode) => {
    const crew = crewOf(mode, [sum('6 * 7')], [sum('1 + 1')])
    await crew.attempt()
    crew.decide('edit', expression('2 + 2'))
    while ((await crew.attempt()).asked) crew.decide('approve')
    const results = new Map([
      ...crew.all.flatMap((each) =>
        each.type === 'step_finished' ? [[each.step, each.result] as const] : [],
      ),
      ...crew.journal.map(({ step, result }) => [step, result] as const),
    ])
    const started = crew.all.flatMap((each) =>
      each.type === 'step_started' && each.request ? [[each.step, each] as const] : [],
    )
    const answers = [...new Map(started).values()].map(({ kind, path, step, request = {} }) => ({
      kind,
      path,
      request_sha256: requestDigest(request),
      result: results.get(step),
    }))
    const events: CrewEvent[] = []
    const { signal } = new AbortController()
    const channel = { write: (event: CrewEvent) => events.push(event), committed: async () => {} }
    const steps = createReplaySteps({ answers, channel, signal, stopping: signal })
    const { definition, model } = crew
    const toolDeps = { guard: guardFor(), connections: {}, readDocument: createDocumentReader() }
    await runCrew({ definition, llmFor: () => model.llm, steps, toolDeps }, {})
    expect(events.at(-1)).toMatchObject({ type: 'crew_completed', output: 'Done.' })
    expect(events.filter((each) => each.type === 'replay_answered')).toHaveLength(answers.length)
  })
})
