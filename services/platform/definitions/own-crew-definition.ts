import type { CrewDefinition } from './crew-definition.ts'
import type { InputDeclaration } from './input-declarations.ts'

/** What is known of a crew that is made from a source: what it said of itself when it ran. */
interface OwnCrew {
  readonly name: string
  /** The names of the inputs that it needs, and declarations of others that it may get. */
  readonly inputs: readonly (string | InputDeclaration)[]
}

/**
 * Returns the definition of a version that is a source: no agents and no tasks that the platform
 * knew of, and inputs once the crew has told them.
 */
export const ownCrewDefinition = ({ name, inputs }: OwnCrew): CrewDefinition => ({
  name,
  llm: { model: '' },
  ...(inputs.length > 0 ? { inputs: [...inputs] } : {}),
  agents: [],
  tasks: [],
})

/** Recognizes the definition of a version that is a source; a designed one has agents. */
export const isOwnCrew = ({ agents }: Pick<CrewDefinition, 'agents'>): boolean =>
  agents.length === 0
