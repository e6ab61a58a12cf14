import * as v from 'valibot'
import { closedObject } from '../../shared/describe-issue.ts'
import { isObject } from '../../shared/is-object.ts'
import { toolKey } from '../tools/tool-definitions.ts'

const TEXTS_MAX = 100
/** All texts of a version together, in bytes of UTF-8. */
const BYTES_MAX = 1_048_576

const someText = v.pipe(v.string('must be a text'), v.regex(/\S/, 'must not be empty'))
const short = (max: number) =>
  v.pipe(someText, v.maxLength(max, `must have at most ${max} characters`))

const skillFiles = v.pipe(
  v.record(short(300), someText, 'must hold paths with texts'),
  v.check(
    (files) => Object.keys(files).length <= TEXTS_MAX,
    `must have at most ${TEXTS_MAX} files`,
  ),
)

const knowledgeText = v.pipe(
  closedObject({
    /** As it is: braces in it are no placeholders. Of a skill, its instructions. */
    text: someText,
    /** How much it is of the document that it was read from: `12 pages`. */
    extent: v.optional(short(50)),
    /** What a skill is for, and when: agents read its `text` only then. */
    description: v.optional(short(1024)),
    /** The texts of the other files of a skill, by their paths. */
    files: v.optional(skillFiles),
  }),
  v.check(
    ({ description, files }) => description !== undefined || files === undefined,
    'has files, as a skill has, and lacks a description',
  ),
)
/** A text that agents may name, or a skill. */
export type KnowledgeText = v.InferOutput<typeof knowledgeText>

const bytesOf = ({ text, description = '', files = {} }: KnowledgeText): number =>
  sum([text, description, ...Object.entries(files).flat()].map((each) => Buffer.byteLength(each)))

/** The texts that agents may name, by their names. */
export const knowledgeTexts = v.pipe(
  v.custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object'),
  v.record(toolKey, knowledgeText),
  v.check(
    (texts) => Object.keys(texts).length <= TEXTS_MAX,
    `must have at most ${TEXTS_MAX} texts`,
  ),
  v.check(
    (texts) => sum(Object.values(texts).map(bytesOf)) <= BYTES_MAX,
    `must have at most ${BYTES_MAX} bytes together`,
  ),
)
/** The texts that agents may name, by their names. */
export type KnowledgeTexts = v.InferOutput<typeof knowledgeTexts>

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

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
