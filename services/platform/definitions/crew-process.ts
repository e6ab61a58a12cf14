import { offeredTools } from './offered-tools.ts'
import type { Tools } from '../tools/tool-definitions.ts'

/** The ways in which the tasks of a crew are given to its agents. */
export const PROCESSES = ['sequential', 'hierarchical'] as const

/** The tools with which an agent gives work to others, by the names that its model sees. */
export const DELEGATION_TOOLS = ['delegate_work_to_coworker', 'ask_question_to_coworker'] as const

/** What a crew says about who does its tasks. */
interface Staffed {
  readonly process?: (typeof PROCESSES)[number] | undefined
  readonly manager_llm?: unknown
  readonly manager_agent?: string | undefined
  readonly tools?: Tools | undefined
  readonly agents: readonly {
    readonly key: string
    readonly tools?: readonly string[] | undefined
    readonly allow_delegation?: boolean | undefined
  }[]
  readonly tasks: readonly { readonly key: string; readonly agent?: string | undefined }[]
}

/** Returns the problems with who does the tasks of a crew. */
export function processProblems(crew: Staffed): string[] {
  const { process = 'sequential' } = crew
  return [
    ...(process === 'sequential' ? sequentialProblems(crew) : managerProblems(crew)),
    ...unknownAgents(crew),
    ...nameProblems(crew),
  ]
}

function sequentialProblems({ manager_llm, manager_agent, tasks }: Staffed): string[] {
  const alone = tasks.filter(({ agent }) => agent === undefined).map(({ key }) => key)
  return [
    ...alone.map((key) => `the task ${key} has no agent, which only process hierarchical allows`),
    ...(manager_llm === undefined && manager_agent === undefined
      ? []
      : ['a manager is for process hierarchical; set it, or leave the manager out']),
  ]
}

function managerProblems({ manager_llm, manager_agent, agents }: Staffed): string[] {
  if ((manager_llm === undefined) === (manager_agent === undefined)) {
    return ['process hierarchical needs either manager_llm or manager_agent']
  }
  if (manager_agent === undefined) return []
  const manager = agents.find(({ key }) => key === manager_agent)
  if (!manager) return [`manager_agent names ${manager_agent}, which is not an agent of this crew`]
  return [
    ...(manager.tools?.length ? [`the manager ${manager_agent} cannot have tools of its own`] : []),
    ...(agents.length === 1 ? ['the manager needs another agent to give work to'] : []),
  ]
}

function unknownAgents({ agents, tasks }: Staffed): string[] {
  const known = new Set<string | undefined>(agents.map(({ key }) => key))
  return tasks.every(({ agent }) => agent === undefined || known.has(agent))
    ? []
    : ['every task names an agent of this crew']
}

function nameProblems({ process, tools = {}, agents }: Staffed): string[] {
  const delegates = process === 'hierarchical' || agents.some((each) => each.allow_delegation)
  const reserved: readonly string[] = delegates ? DELEGATION_TOOLS : []
  return offeredTools(tools)
    .filter(({ name }) => reserved.includes(name))
    .map(
      ({ tool, name }) =>
        `the tool ${tool} would be shown to the model as ${name}, by which agents give work to ` +
        'others; rename it',
    )
}
