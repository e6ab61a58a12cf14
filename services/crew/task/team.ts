import type { Agent, CrewDefinition, Task } from '../../platform/definitions/crew-definition.ts'

/** The agent that does a task, and those that it may give work to. */
export interface Team {
  readonly agent: Agent
  readonly coworkers: readonly Agent[]
}

const MANAGER: Agent = {
  key: 'crew_manager',
  role: 'Crew Manager',
  goal: 'Get each task done as well as the team can.',
  backstory:
    'You lead a team. You do not do the work yourself: you give it to the coworkers who are best ' +
    'at it, ask them what you need to know, and check what they bring.',
}

/** Finds out who does a task. */
export function teamOf(definition: CrewDefinition, task: Task): Team {
  const { agents, process, manager_agent, manager_llm } = definition
  if (process !== 'hierarchical') {
    const agent = find(agents, task.agent)
    const others = agents.filter(({ key }) => key !== agent.key)
    return { agent, coworkers: agent.allow_delegation === true ? others : [] }
  }
  const agent =
    manager_agent === undefined ? { ...MANAGER, llm: manager_llm } : find(agents, manager_agent)
  const others = agents.filter(({ key }) => key !== manager_agent)
  const asked = others.filter(({ key }) => key === task.agent)
  return { agent, coworkers: asked.length > 0 ? asked : others }
}

function find(agents: readonly Agent[], named: string | undefined): Agent {
  const agent = agents.find(({ key }) => key === named)
  if (!agent) throw new Error(`no agent ${named}: the definition was not checked`)
  return agent
}
