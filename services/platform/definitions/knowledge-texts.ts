import * as v from 'valibot'
import { closedObject } from '../../shared/describe-issue.ts'
import { isObject } from '../../shared/is-object.ts'
import { toolKey } from '../tools/tool-definitions.ts'

const TEXTS_MAX = 100
/** All texts of a version together, in bytes of UTF-8. */
const BYTES_MAX = 1_048_576

const knowledgeText = closedObject({
  /** As it is: braces in it are no placeholders. */
  text: v.pipe(v.string('must be a text'), v.regex(/\S/, 'must not be empty')),
})

/** The texts that agents may name, by their names. */
export const knowledgeTexts = v.pipe(
  v.custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object'),
  v.record(toolKey, knowledgeText),
  v.check(
    (texts) => Object.keys(texts).length <= TEXTS_MAX,
    `must have at most ${TEXTS_MAX} texts`,
  ),
  v.check(
    (texts) => sum(Object.values(texts).map(({ text }) => Buffer.byteLength(text))) <= BYTES_MAX,
    `must have at most ${BYTES_MAX} bytes together`,
  ),
)
/** The texts that agents may name, by their names. */
export type KnowledgeTexts = v.InferOutput<typeof knowledgeTexts>

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0)

/** The names of the texts that an agent knows. */
export const knowledgeNames = v.pipe(
  v.array(toolKey, 'must be a list'),
  v.check((list) => new Set(list).size === list.length, 'must not name one twice'),
)

interface KnowingAgent {
  readonly key: string
  readonly knowledge?: readonly string[] | undefined
}

/** Returns the problems of agents that name a text which is not there. */
export const knowledgeProblems = (
  agents: readonly KnowingAgent[],
  texts: KnowledgeTexts = {},
): string[] =>
  agents.flatMap(({ key, knowledge = [] }) =>
    knowledge
      .filter((name) => !Object.hasOwn(texts, name))
      .map((name) => `the agent ${key} names the text ${name}, which is not in knowledge.`),
  )
