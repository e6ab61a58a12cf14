import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLlm } from '../../../../../services/shared/models/llm.ts'
import type { CrewDefinition } from '../../../../../services/platform/definitions/crew-definition.ts'
import type { CrewEvent } from '../../../../../services/platform/crew-contract/crew-protocol.ts'
import { pinTools } from '../../../../../services/web/intake/tool-pins/pin-tools.ts'
import { startMcpServer, textResult } from '../../../../support/mcp-server.ts'
import { guardFor } from '../../../../support/outgoing.ts'
import { runHere } from '../../../crew/run-here.ts'
import { PROJECTS, importCorpus, readScript } from './corpus.ts'
import { CREWAI_VERSION, startCrewAi, whyNotLive } from './live-crews.ts'
import { startScriptedModel } from './scripted-model.ts'
import type { SeenAside, SeenTask } from './scripted-model.ts'

/** What a run of a project was: its tasks in their order, and what came out. */
interface Outcome {
  readonly tasks: readonly SeenTask[]
  readonly output: string | undefined
  /** What was asked beside the tasks, if anything was. */
  readonly asides?: readonly SeenAside[]
  /** The files that tasks left, with their texts, if there are any. */
  readonly files?: Readonly<Record<string, string>>
}

/** What came out of a run. */
interface Ended {
  readonly output?: string | undefined
  readonly files?: Outcome['files']
}

const RECORDED = new URL('recorded.json', import.meta.url).pathname
const recorded: { crewai: string; projects: Record<string, Outcome> } = JSON.parse(
  readFileSync(RECORDED, 'utf8'),
)
const isRecording = process.env['CREWAI'] === 'record'
const whyNot = whyNotLive()
if (whyNot !== undefined) console.warn(`CrewAI itself is not run: ${whyNot}`)

let mcp: Awaited<ReturnType<typeof startMcpServer>>

const tool = (name: string, ...keys: readonly string[]) => ({
  name,
  description: `The tool ${name}`,
  inputSchema: {
    type: 'object' as const,
    properties: Object.fromEntries(keys.map((key) => [key, {}])),
  },
})

beforeAll(async () => {
  const tools = [tool('add', 'a', 'b'), tool('lookup', 'name'), tool('delete_all')]
  mcp = await startMcpServer(tools, {
    stateless: true,
    answer: ({ name, arguments: given }) => textResult(`${name}: ${JSON.stringify(given)}`),
  })
})

afterAll(() => mcp.stop())

async function definitionOf(project: string): Promise<CrewDefinition> {
  const { definition, problems } = importCorpus(project, mcp.url)
  expect(problems.filter(({ level }) => level !== 'note')).toEqual([])
  if (!definition) throw new Error(`${project} has no definition`)
  return pinTools({ guard: guardFor(mcp.origin), subject: 'test' }, definition)
}

/** Runs a project with the model that plays its script. */
async function outcomeOf(
  project: string,
  run: (definition: CrewDefinition, model: PlayingModel) => Promise<Ended>,
): Promise<Outcome> {
  const definition = await definitionOf(project)
  const model = await startScriptedModel(definition, readScript(project))
  try {
    const { output, files = {} } = await run(definition, model)
    const asides = model.asides()
    return {
      tasks: model.seen(),
      output,
      ...(asides.length > 0 ? { asides } : {}),
      ...(Object.keys(files).length > 0 ? { files } : {}),
    }
  } finally {
    await model.stop()
  }
}

const filesOf = (events: readonly CrewEvent[]): Record<string, string> =>
  Object.fromEntries(
    events.flatMap((each) => (each.type === 'artifact' ? [[each.name, each.content]] : [])),
  )

type PlayingModel = Awaited<ReturnType<typeof startScriptedModel>>

describe('an imported project', () => {
  it.each(PROJECTS)('runs as CrewAI runs it: %s', async (project) => {
    const outcome = await outcomeOf(project, async (definition, { baseUrl, inputs }) => {
      const llm = createLlm({ baseUrl, timeoutMs: 30_000 })
      const ended = await runHere({ definition, llm, inputs, origins: [mcp.origin] })
      expect(ended.failure).toBeUndefined()
      return { output: ended.output, files: filesOf(ended.events) }
    })
    expect(outcome).toEqual(recorded.projects[project])
  })

  it('is one of those that were recorded', () => {
    expect(recorded.crewai).toBe(CREWAI_VERSION)
    expect(Object.keys(recorded.projects).toSorted()).toEqual(PROJECTS)
  })
})

describe.skipIf(whyNot !== undefined)('CrewAI', () => {
  it('does as it was recorded', { timeout: 600_000 }, async () => {
    const crewAi = await startCrewAi()
    const projects: Record<string, Outcome> = {}
    try {
      for (const project of PROJECTS) {
        projects[project] = await outcomeOf(project, async (_, { baseUrl, inputs }) => {
          const answer = await crewAi.run({ project, baseUrl, mcpUrl: mcp.url, inputs })
          expect(answer.error).toBeUndefined()
          return answer
        })
      }
    } finally {
      crewAi.stop()
    }
    const found = { crewai: CREWAI_VERSION, projects }
    if (isRecording) writeFileSync(RECORDED, `${JSON.stringify(found, null, 2)}\n`)
    else expect(found).toEqual(recorded)
  })
})
