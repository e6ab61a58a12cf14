import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { LlmCall } from '../../../../services/shared/models/llm-call.ts'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { modelHere, promptOf, runHere } from '../run-here.ts'
import type { Reply } from '../run-here.ts'

/** A crew, and what crewai did with it: `record.py` has written it. */
interface Recorded {
  readonly name: string
  readonly process?: 'hierarchical'
  readonly manager_agent?: string
  readonly agents: Readonly<Record<string, { role?: string; allow_delegation?: boolean }>>
  readonly tasks: readonly {
    key: string
    agent?: string
    async?: boolean
    context?: string[]
    guardrails?: string[]
  }[]
  readonly answers?: readonly string[]
  readonly recorded: {
    readonly refused?: string
    readonly failed?: string
    readonly output?: string
    readonly calls?: readonly { role: string; task: string | null; context: string[] }[]
  }
}

const cases = readFileSync(new URL('runs.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded)

function definitionOf(given: Recorded): CrewDefinition {
  const { process, manager_agent } = given
  const manager = manager_agent === undefined ? { manager_llm: { model: 'm' } } : { manager_agent }
  return parseCrewDefinition({
    name: 'Crew',
    llm: { model: 'm' },
    ...(process === undefined ? {} : { process, ...manager }),
    agents: Object.entries(given.agents).map(([key, agent]) => ({
      key,
      role: key,
      goal: 'Work',
      ...agent,
    })),
    tasks: given.tasks.map(({ guardrails, ...task }) => ({
      description: `do-${task.key}`,
      expected_output: 'x',
      ...task,
      ...(guardrails
        ? { guardrails: guardrails.map((instruction) => ({ type: 'llm', instruction })) }
        : {}),
    })),
  })
}

/** What the model says in the words of crewai, as it says it here. */
function replyOf(answer: string): Reply {
  const [, name, given] = /Action: (\w+)\nAction Input: (.*)/.exec(answer) ?? []
  if (name && given) return { toolCalls: [{ id: 'c', name, arguments: given }] }
  return /Final Answer: (.*)/s.exec(answer)?.[1] ?? answer
}

const textOf = (message: LlmCall['messages'][number] | undefined): string =>
  typeof message?.content === 'string' ? message.content : ''

function toRecord(call: LlmCall) {
  const user = textOf(call.messages.find(({ role }) => role === 'user'))
  const [asked = '', context = ''] = user.split(/Context.*:\n\n/)
  const [, role] = /You are (.+?)\./.exec(textOf(call.messages[0])) ?? []
  return {
    role: role ?? 'Guardrail Agent',
    task: /Task: do-(\w+)/.exec(asked)?.[1] ?? null,
    context: [...context.matchAll(/out-(\w+)/g)].map(([, key]) => key ?? ''),
  }
}

async function run(given: Recorded) {
  const answers = given.answers?.map(replyOf)
  const { llm, calls } = modelHere((call) => answers?.shift() ?? `out-${toRecord(call).task}`)
  const ended = await runHere({ definition: definitionOf(given), llm })
  return { ...ended, calls }
}

describe('a crew that crewai runs, too', () => {
  const graphs = cases.filter(({ answers, recorded }) => !answers && !recorded.refused)
  it.each(graphs)('gets the same contexts and output: $name, %#', async (given) => {
    const { output, calls } = await run(given)
    const byTask = (one: { task: string | null }, other: { task: string | null }) =>
      (one.task ?? '').localeCompare(other.task ?? '')
    expect(output).toBe(given.recorded.output)
    expect(calls.map(toRecord).toSorted(byTask)).toEqual(given.recorded.calls?.toSorted(byTask))
  })

  const scripted = cases.filter(({ answers, tasks }) => answers && !tasks[0]?.guardrails)
  it.each(scripted)(
    'asks the same agents for the same, in the same order: $name',
    async (given) => {
      const { output, calls } = await run(given)
      expect(output).toBe(given.recorded.output)
      expect(calls.map(toRecord)).toEqual(given.recorded.calls)
    },
  )

  const guarded = cases.filter(({ tasks }) => tasks[0]?.guardrails)
  it.each(guarded)('goes back as often, with the feedback: $name', async (given) => {
    const { output, failure, calls } = await run(given)
    expect(output).toBe(given.recorded.output)
    expect(failure?.code).toBe(given.recorded.failed && 'guardrail_failed')
    expect(calls.map((call) => toRecord(call).role)).toEqual(
      given.recorded.calls?.map(({ role }) => role),
    )
    const again = calls[2]
    expect(again && promptOf(again)).toMatch(/out-x[^]*out-rude/)
  })
})

describe('a crew that crewai refuses, for its threads', () => {
  const refused = cases.filter(({ recorded }) => recorded.refused)
  it.each(refused)('is run all the same: $name, %#', async (given) => {
    expect(given.recorded.refused).toMatch(/at most one asynchronous|sequential asynchronous/)
    const { output } = await run(given)
    expect(output).toBe(`out-${given.tasks.at(-1)?.key}`)
  })
})
