import { AppError } from '../../shared/errors.ts'
import { parseStrictJson } from '../../shared/http/strict-json.ts'
import { parseCrewDefinition } from '../definitions/crew-definition.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import type { Tools } from '../tools/tool-definitions.ts'

/** The longest definition in bytes, as the designer API takes one from people. */
export const DEFINITION_BYTES_MAX = 256 * 1024
const PROBLEMS_MAX = 20
const PROBLEM_CHARACTERS_MAX = 500

/** The definition in an answer, or what is wrong with it. */
export type ReadAnswer =
  | { readonly definition: CrewDefinition }
  | { readonly problems: readonly string[] }

/** Reads the definition that a model has answered with, as strictly as one that a person sends. */
export function readAnswer(answer: string): ReadAnswer {
  const bytes = Buffer.byteLength(answer)
  if (bytes > DEFINITION_BYTES_MAX) {
    return { problems: [`The answer has ${bytes} bytes; ${DEFINITION_BYTES_MAX} are allowed.`] }
  }
  return readDefinitionText(objectIn(answer))
}

/** Reads a definition as text. Each problem names its place. */
export function readDefinitionText(text: string): ReadAnswer {
  try {
    return { definition: parseCrewDefinition(parseStrictJson(Buffer.from(text), 'The definition')) }
  } catch (thrown) {
    if (thrown instanceof AppError) return { problems: problemsOf(thrown) }
    throw thrown
  }
}

/** Models like to wrap JSON in a fence of Markdown, or to say something before it. */
function objectIn(answer: string): string {
  const start = answer.indexOf('{')
  const end = answer.lastIndexOf('}')
  return start < 0 || end < start ? answer : answer.slice(start, end + 1)
}

/** Returns the problems that an error lists, or its message; bounded for prompts and pages. */
export function problemsOf({ details, message }: AppError): readonly string[] {
  const { problems: listed } = details
  const all = Array.isArray(listed) && listed.length > 0 ? listed.map(String) : [message]
  const more = all.length - PROBLEMS_MAX
  const shown = all.slice(0, PROBLEMS_MAX).map((each) => each.slice(0, PROBLEM_CHARACTERS_MAX))
  return more > 0 ? [...shown, `and ${more} more`] : shown
}

/**
 * Returns a definition as text, as people read and write it: in the order of the schema, whatever
 * order the database keeps, and without what publishing adds.
 */
export function definitionText(definition: CrewDefinition): string {
  const ordered = inOrder(definition)
  const { tools } = ordered
  const written = tools ? { ...ordered, tools: withoutPins(tools) } : ordered
  return JSON.stringify(written, null, 2)
}

/** A definition that was stored by an earlier version may not fit the rules of now. */
function inOrder(definition: CrewDefinition): CrewDefinition {
  try {
    return parseCrewDefinition(definition)
  } catch (thrown) {
    if (thrown instanceof AppError) return definition
    throw thrown
  }
}

const withoutPins = (tools: Tools): Tools =>
  Object.fromEntries(
    Object.entries(tools).map(([key, tool]) => {
      if (!('pinned' in tool)) return [key, tool]
      const { pinned: _, ...written } = tool
      return [key, written]
    }),
  )
