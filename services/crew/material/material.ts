import type { Agent, CrewDefinition } from '../../platform/definitions/crew-definition.ts'
import type { CrewTool } from '../tools/tool.ts'
import type { Toolbox } from '../tools/toolbox.ts'
import { openFiles } from './files.ts'
import type { DocumentReading, GivenFiles, RunFiles } from './files.ts'
import { createKnowledgeSearch, createReadSkill, divideKnowledge } from './knowledge.ts'
import { createReadFile } from './read-file.ts'

type KnowingAgent = Pick<Agent, 'knowledge'>

/** What the agents of a run are given to read. */
export interface Material extends RunFiles {
  /** Returns what the prompt of an agent says of its knowledge; undefined: nothing. */
  knowledgeFor(agent: KnowingAgent): string | undefined
  /** Adds the tools that read it to those of each agent. */
  withTools(toolbox: Toolbox): Toolbox
}

interface Given extends GivenFiles {
  readonly definition: Pick<CrewDefinition, 'inputs' | 'knowledge'>
}

/** Opens what the agents of a run are given to read. Raises `unprocessable` as `openFiles` does. */
export async function openMaterial(given: Given, reading: DocumentReading): Promise<Material> {
  const opened = await openFiles(given, reading)
  const { knowledge: texts = {} } = given.definition
  const searches = new Map<string, CrewTool>()

  /** One for each set of texts, and so for each agent: it keeps what it read. */
  function searchFor({ knowledge }: KnowingAgent, own: readonly CrewTool[]): CrewTool[] {
    const { searched: names } = divideKnowledge(texts, knowledge)
    if (names.length === 0) return []
    const name = freeName('search_knowledge', own)
    const key = JSON.stringify([name, ...names])
    const tool = searches.get(key) ?? createKnowledgeSearch(name, { texts, names })
    searches.set(key, tool)
    return [tool]
  }

  function skillsFor({ knowledge }: KnowingAgent, own: readonly CrewTool[]): CrewTool[] {
    const { skills: names } = divideKnowledge(texts, knowledge)
    return names.length === 0
      ? []
      : [createReadSkill(freeName('read_skill', own), { texts, names })]
  }

  const readersFor = (own: readonly CrewTool[]): CrewTool[] =>
    opened.texts.size === 0 ? [] : [createReadFile(freeName('read_file', own), opened.texts)]

  return {
    ...opened,
    knowledgeFor: (agent) => divideKnowledge(texts, agent.knowledge).shown,
    withTools: (toolbox) => ({
      ...toolbox,
      toolsFor(agent) {
        const own = toolbox.toolsFor(agent)
        return [...own, ...readersFor(own), ...skillsFor(agent, own), ...searchFor(agent, own)]
      },
    }),
  }
}

/** A tool of the version keeps its name: what reads gets another one beside it. */
function freeName(wanted: string, own: readonly CrewTool[]): string {
  const taken = new Set(own.map(({ name }) => name))
  let name = wanted
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`
  return name
}
