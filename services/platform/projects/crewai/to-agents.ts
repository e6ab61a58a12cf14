import { checkKeys, isOff, isPython, readFlag, readNumber, requireText } from './fields.ts'
import type { Part } from './fields.ts'
import { readKnowledge } from './knowledge.ts'
import type { KnowledgeReader } from './knowledge.ts'
import { readModel } from './models.ts'
import type { ImportedModel } from './models.ts'
import { checkPlaceholders } from './placeholders.ts'
import { PYTHON } from './report.ts'
import type { Report } from './report.ts'
import { AGENT_RULES } from './rules.ts'
import { readMcpServers, reportTools } from './tools.ts'
import type { ImportedTools } from './tools.ts'

/** An agent as a definition has it; its model is the crew's when it has none. */
export interface ImportedAgent {
  readonly key: string
  readonly role: string
  readonly goal: string
  readonly backstory?: string
  readonly llm?: ImportedModel
  readonly tools?: readonly string[]
  readonly knowledge?: readonly string[]
  readonly max_iterations?: number
  readonly allow_delegation?: true
}

interface AgentContext {
  readonly keys: ReadonlyMap<string, string>
  readonly tools: ImportedTools
  readonly reader: KnowledgeReader
  readonly report: Report
}

const TYPES = ['agent', 'Agent', 'crewai.Agent', 'crewai.agent.core.Agent']
const ITERATIONS_MAX = 100

/** Maps an agent; what it has no equivalent for is reported. */
export function toAgent(part: Part, context: AgentContext): ImportedAgent {
  const { report, keys, tools, reader } = context
  const { fields } = part
  checkKeys(fields, AGENT_RULES, report)
  checkType(part, TYPES, report)
  const repository = fields.get('from_repository')
  if (repository && !isOff(repository.value)) {
    const message = 'The agent is in a repository of the CrewAI platform. Write its role, goal and '
    report.refuse(repository, `${message}backstory into the project.`)
  }
  const backstory = fields.get('backstory')?.value === '' ? '' : textOf(part, 'backstory', report)
  const mcp = readMcpServers(fields, tools, report)
  reportTools(fields.get('tools'), report)
  const knowledge = readKnowledge(fields.get('knowledge_sources'), reader)
  const iterations = readIterations(part, report)
  const llm = modelOf(part, report)
  return {
    key: keys.get(part.name) ?? part.name,
    role: textOf(part, 'role', report),
    goal: textOf(part, 'goal', report),
    ...(backstory === '' ? {} : { backstory }),
    ...(llm ? { llm } : {}),
    ...(mcp.length > 0 ? { tools: mcp } : {}),
    ...(knowledge.length > 0 ? { knowledge } : {}),
    ...(iterations === undefined ? {} : { max_iterations: iterations }),
    ...(canDelegate(part, report) ? { allow_delegation: true } : {}),
  }
}

/** Reads a text that a run fills in. */
export function textOf(part: Part, name: string, report: Report): string {
  const text = requireText(part, name, report)
  checkPlaceholders(text, part.fields.get(name) ?? part, report)
  return text
}

/** Refuses an agent or a task of a class of the project's own. */
export function checkType(part: Part, types: readonly string[], report: Report): void {
  const field = part.fields.get('type')
  if (!field || isOff(field.value) || types.includes(String(field.value))) return
  if (isPython(field.value)) return report.refuse(field, PYTHON)
  report.refuse(
    field,
    'A class other than Agent and Task has no equivalent. It needs a crew of its own: see ' +
      'docs/crew-contract.md.',
  )
}

function readIterations({ fields }: Part, report: Report): number | undefined {
  const field = fields.get('max_iter')
  const iterations = readNumber(field, report)
  if (!field || iterations === undefined || iterations <= ITERATIONS_MAX) return iterations
  report.note(field, `An agent has at most ${ITERATIONS_MAX} calls of its model for one task.`)
  return ITERATIONS_MAX
}

function modelOf({ fields }: Part, report: Report): ImportedModel | undefined {
  const model = readModel(fields.get('llm'), report)
  const field = fields.get('max_tokens')
  const max_tokens = readNumber(field, report)
  if (!field || max_tokens === undefined || model?.max_tokens !== undefined) return model
  if (model) return { ...model, max_tokens }
  report.leaveOut(field, 'Name the model of the agent beside max_tokens.')
  return undefined
}

function canDelegate({ fields }: Part, report: Report): boolean {
  const field = fields.get('allow_delegation')
  return readFlag(field, report) === true
}
