import { createDocumentReader } from '../../../shared/documents/read-document.ts'
import type { SentContent } from '../../../platform/crew-contract/file-types.ts'
import { createTurns } from '../../http/file-uploads.ts'
import { readKnowledge } from './read-knowledge.ts'
import type { UploadedKnowledge } from './read-knowledge.ts'
import { parseCrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { KnowledgeTexts } from '../../../platform/definitions/knowledge-texts.ts'
import { AppError } from '../../../shared/errors.ts'

/** Reads an upload in turn, and makes knowledge of it. Raises as `readKnowledge` does. */
export type TakeKnowledge = (read: () => Promise<SentContent>) => Promise<UploadedKnowledge>

/** Creates what reads uploads, a few at a time, with one process for the documents of all. */
export function createKnowledgeIntake(): TakeKnowledge {
  const takeTurn = createTurns()
  const readDocument = createDocumentReader()
  return (read) => takeTurn(async () => readKnowledge(await read(), readDocument))
}

/**
 * Adds knowledge to a definition, in the place of what has the same names, and lets agents know it:
 * those that are named, or all. Raises `unprocessable` for an agent that is not there, and for more
 * than a version may have.
 */
export function addKnowledge(
  definition: CrewDefinition,
  texts: KnowledgeTexts,
  agentKeys: readonly string[] = definition.agents.map(({ key }) => key),
): CrewDefinition {
  const known = definition.agents.map(({ key }) => key)
  const unknown = agentKeys.find((key) => !known.includes(key))
  if (unknown !== undefined) {
    throw new AppError(
      'unprocessable',
      `There is no agent ${unknown.slice(0, 100)}. Known: ${known.join(', ')}.`,
    )
  }
  const names = Object.keys(texts)
  return parseCrewDefinition({
    ...definition,
    knowledge: { ...definition.knowledge, ...texts },
    agents: definition.agents.map((agent) =>
      agentKeys.includes(agent.key)
        ? { ...agent, knowledge: [...new Set([...(agent.knowledge ?? []), ...names])] }
        : agent,
    ),
  })
}

/**
 * Removes a text from a definition, and from the agents that know it. Raises `not_found` for one
 * that it does not have.
 */
export function removeKnowledge(definition: CrewDefinition, name: string): CrewDefinition {
  if (!Object.hasOwn(definition.knowledge ?? {}, name)) {
    throw new AppError('not_found', 'The draft has no such knowledge.')
  }
  const { [name]: _, ...knowledge } = definition.knowledge ?? {}
  return parseCrewDefinition({
    ...definition,
    knowledge,
    agents: definition.agents.map(({ knowledge: known, ...agent }) => ({
      ...agent,
      ...(known && { knowledge: known.filter((each) => each !== name) }),
    })),
  })
}
