import type { ProjectParts } from './crew-files.ts'
import { checkKeys, isOff, isPython, readText } from './fields.ts'
import type { KnowledgeReader } from './knowledge.ts'
import { readKnowledge } from './knowledge.ts'
import { DEFAULT_MODEL, readModel } from './models.ts'
import type { ImportedModel } from './models.ts'
import { readInputs } from './placeholders.ts'
import { PYTHON } from './report.ts'
import type { Report, Place } from './report.ts'
import { CREW_RULES } from './rules.ts'
import { toAgent } from './to-agents.ts'
import type { ImportedAgent } from './to-agents.ts'
import { toTask } from './to-tasks.ts'
import type { ImportedTools } from './tools.ts'

const DEFINITION_KEY = /^[A-Za-z][\w-]{0,63}$/

const NAME = 'Imported crew'

/** Maps the parts of a project to a definition, which is yet to be checked. */
export function toDefinition(
  parts: ProjectParts,
  { files, read, report }: Pick<KnowledgeReader, 'files' | 'read' | 'report'>,
): Readonly<Record<string, unknown>> {
  const { crew } = parts
  checkKeys(crew, CREW_RULES, report)
  const tools: ImportedTools = new Map()
  const reader = { files, root: parts.root, report, read, knowledge: new Map() }
  const agentKeys = toKeys(parts.agents, report)
  const taskKeys = toKeys(parts.tasks, report)
  const common = readKnowledge(crew.get('knowledge_sources'), reader)
  const context = { keys: agentKeys, tools, reader, report }
  const agents = parts.agents.map((part) => withKnowledge(toAgent(part, context), common))
  const llm = commonModel(agents, parts, report)
  const process = processOf(parts, agentKeys, report)
  const isManaged = process.process !== undefined
  const tasks = parts.tasks.map((part) =>
    toTask(part, { agents: agentKeys, tasks: taskKeys, isManaged, report }),
  )
  const inputs = readInputs(crew.get('inputs'), report)
  return {
    name: parts.name ?? NAME,
    llm,
    ...process,
    ...(inputs.length > 0 ? { inputs } : {}),
    ...(tools.size > 0 ? { tools: Object.fromEntries(tools) } : {}),
    ...(reader.knowledge.size > 0 ? { knowledge: Object.fromEntries(reader.knowledge) } : {}),
    agents: agents.map((agent) => withoutCommon(agent, llm)),
    tasks,
  }
}

function withKnowledge(agent: ImportedAgent, common: readonly string[]): ImportedAgent {
  const knowledge = [...new Set([...common, ...(agent.knowledge ?? [])])]
  return knowledge.length === 0 ? agent : { ...agent, knowledge }
}

/** The model of the first agent that names one is that of the crew. */
function commonModel(
  agents: readonly ImportedAgent[],
  { read }: ProjectParts,
  report: Report,
): ImportedModel {
  const named = agents.find(({ llm }) => llm !== undefined)?.llm
  if (named && agents.every(({ llm }) => llm !== undefined)) return named
  const without = agents.filter(({ llm }) => llm === undefined).map(({ key }) => key)
  report.note(
    { file: read[0] ?? '', key: '' },
    `These agents name no model: ${without.join(', ')}. They get ${DEFAULT_MODEL}, as in CrewAI ` +
      'when MODEL is not set. Set another one as llm of the definition.',
  )
  return { model: DEFAULT_MODEL }
}

function withoutCommon({ llm, ...agent }: ImportedAgent, common: ImportedModel): ImportedAgent {
  const isCommon = llm === undefined || JSON.stringify(llm) === JSON.stringify(common)
  return isCommon ? agent : { ...agent, llm }
}

interface Process {
  readonly process?: 'hierarchical'
  readonly manager_agent?: string
  readonly manager_llm?: ImportedModel
}

function processOf(
  { crew }: ProjectParts,
  agents: ReadonlyMap<string, string>,
  report: Report,
): Process {
  const field = crew.get('process')
  const name = readText(field, report) ?? 'sequential'
  if (name === 'sequential' || !field) return {}
  if (name !== 'hierarchical') {
    report.refuse(field, `The process ${name} is not known: it is sequential or hierarchical.`)
    return {}
  }
  const manager = crew.get('manager_agent')
  if (manager && !isOff(manager.value)) {
    const key = agents.get(String(manager.value))
    if (key === undefined) {
      report.refuse(manager, isPython(manager.value) ? PYTHON : 'There is no agent of this name.')
    }
    return { process: 'hierarchical', ...(key === undefined ? {} : { manager_agent: key }) }
  }
  const llm = readModel(crew.get('manager_llm'), report)
  if (!llm) report.refuse(field, 'A crew with this process needs manager_llm or manager_agent.')
  return { process: 'hierarchical', ...(llm ? { manager_llm: llm } : {}) }
}

/**
 * Gives each name of a project a key of a definition: the name itself where it is allowed, else one
 * like it. Keys are unique.
 */
function toKeys(
  names: readonly (Place & { readonly name: string })[],
  report: Report,
): Map<string, string> {
  const keys = new Map<string, string>()
  const taken = new Set(names.map(({ name }) => name).filter((name) => DEFINITION_KEY.test(name)))
  for (const place of names) {
    const { name } = place
    if (keys.has(name)) report.refuse(place, `There are two of the name ${name}.`)
    else if (DEFINITION_KEY.test(name)) keys.set(name, name)
    else {
      const key = freeKey(name, taken)
      taken.add(key)
      keys.set(name, key)
      report.note(place, `A key holds letters, digits, _ and -, so ${name} becomes ${key}.`)
    }
  }
  return keys
}

function freeKey(name: string, taken: ReadonlySet<string>): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '')
  const base = plain.replace(/[^\w-]+/g, '_').slice(0, 50)
  const start = /^[A-Za-z]/.test(base) ? base : `k_${base.replace(/^_+/, '')}`
  let key = start
  for (let number = 2; taken.has(key); number += 1) key = `${start}_${number}`
  return key
}
