import type { JsonSchema } from '../../shared/json-schema.ts'
import { problemsUnder } from '../../shared/json-schema.ts'
import type { AgentTalk } from '../run-agent.ts'

/** An answer as JSON, or what is wrong with it. */
type JsonAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string }

const FENCED = /```(?:json)?[^\S\n]*\n([\s\S]*?)\n[^\S\n]*```/gi

/** Asks for JSON; ready to be the end of a prompt. */
export const askForJson = (schema: JsonSchema): string =>
  'Answer with JSON only: no other text, and no code fence. It has to be valid under this JSON ' +
  `Schema:\n${JSON.stringify(schema)}`

/**
 * Asks for an answer under a schema, once more if it is wrong, and returns the last one. What is
 * said goes before the first.
 */
export async function askJson(
  talk: AgentTalk,
  schema: JsonSchema,
  said?: string,
): Promise<JsonAnswer> {
  const first = readJsonAnswer(await talk.ask(said), schema)
  if (first.ok) return first
  const correction = `${first.problem} Correct it, and answer with the JSON only.`
  return readJsonAnswer(await talk.ask(correction), schema)
}

/** Reads JSON from the whole of an answer, or from the only block of code in it. */
export function readJsonAnswer(answer: string, schema: JsonSchema): JsonAnswer {
  const blocks = [...answer.matchAll(FENCED)].map(([, block = '']) => block)
  const [block = answer] = blocks.length === 1 ? blocks : []
  const value = parse(answer) ?? parse(block)
  if (value === undefined) return { ok: false, problem: 'Your answer is not JSON.' }
  const problems = problemsUnder(schema, value.json)
  if (problems.length === 0) return { ok: true, value: value.json }
  const problem = `Your answer is not valid under the JSON Schema: ${problems.join(' ')}`
  return { ok: false, problem }
}

function parse(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}
