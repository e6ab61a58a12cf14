import * as v from 'valibot'
import { dictionary } from '../dictionary.ts'
import { isObject } from '../is-object.ts'
import type { Questions } from './messages.ts'

/** The longest question of a server, in characters. */
const QUESTION_CHARACTERS_MAX = 4000
/** The most that a server may ask at a time. */
const QUESTIONS_MAX = 5
const KEY_CHARACTERS_MAX = 200
const SCHEMA_BYTES_MAX = 16_384
const STATE_CHARACTERS_MAX = 65_536
const FIELDS_MAX = 30

const words = v.pipe(v.string(), v.maxLength(1000))
const about = { title: v.optional(words), description: v.optional(words) }
const size = v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)))
const bound = v.optional(v.pipe(v.number(), v.finite()))
const names = v.pipe(v.array(words), v.minLength(1))
const options = v.pipe(
  v.array(v.object({ const: words, title: v.optional(words) })),
  v.minLength(1),
)
const FORMATS = ['email', 'uri', 'date', 'date-time'] as const

const field = v.variant('type', [
  v.object({
    ...about,
    type: v.literal('string'),
    minLength: size,
    maxLength: size,
    // Another format is a hint that is not known here.
    format: v.fallback(v.optional(v.picklist(FORMATS)), undefined),
    enum: v.optional(names),
    /** The titles of `enum`, as before 2025-11-25. */
    enumNames: v.optional(v.array(words)),
    oneOf: v.optional(options),
    default: v.optional(words),
  }),
  v.object({
    ...about,
    type: v.picklist(['number', 'integer']),
    minimum: bound,
    maximum: bound,
    default: bound,
  }),
  v.object({ ...about, type: v.literal('boolean'), default: v.optional(v.boolean()) }),
  v.object({
    ...about,
    type: v.literal('array'),
    minItems: size,
    maxItems: size,
    items: v.union([
      v.object({ type: v.literal('string'), enum: names }),
      v.object({ anyOf: options }),
    ]),
    default: v.optional(v.array(words)),
  }),
])
/** One field of what a server asks for. */
export type AskedField = v.InferOutput<typeof field>

/**
 * The schema of what a server asks for (MCP, elicitation): a flat object of texts, numbers, yes or
 * no, and choices. All else in it, such as a `pattern`, is left out.
 */
export const askedForm = v.pipe(
  v.object({
    type: v.literal('object'),
    properties: v.pipe(dictionary(words, field), v.maxEntries(FIELDS_MAX)),
    required: v.optional(v.array(v.string()), []),
  }),
  v.check(
    ({ properties, required }) => required.every((key) => Object.hasOwn(properties, key)),
    'required names a field that is not there',
  ),
)

const elicitation = v.object({
  params: v.object({
    message: v.pipe(v.string(), v.maxLength(QUESTION_CHARACTERS_MAX)),
    requestedSchema: askedForm,
  }),
})

/**
 * Reads what a server asks in the middle of a call, by its own keys, with the state that it wants
 * back. Raises an `Error` whose message ends `The server answered with …`.
 */
export function readQuestions(
  requests: Readonly<Record<string, { readonly method: string }>>,
  requestState = '',
): Questions {
  const entries = Object.entries(requests)
  if (entries.length > QUESTIONS_MAX) {
    throw new Error(`${entries.length} questions at a time; at most ${QUESTIONS_MAX} are asked`)
  }
  if (entries.some(([key]) => key.length > KEY_CHARACTERS_MAX)) {
    throw new Error(`a question whose key has more than ${KEY_CHARACTERS_MAX} characters`)
  }
  if (requestState.length > STATE_CHARACTERS_MAX) {
    throw new Error(`a requestState of more than ${STATE_CHARACTERS_MAX} characters`)
  }
  // Journals keep neither NUL nor half a surrogate pair.
  if (/\\u(0000|d[89a-f])/.test(JSON.stringify([requests, requestState]))) {
    throw new Error('a question or a requestState with characters that cannot be stored')
  }
  return Object.fromEntries(entries.map(([key, request]) => [key, readQuestion(request)]))
}

function readQuestion(request: { readonly method: string }): Questions[string] {
  const { method } = request
  const params: unknown = 'params' in request ? request.params : undefined
  if (method !== 'elicitation/create') {
    throw new Error(`a request for ${method.slice(0, 64)}; only forms are answered here`)
  }
  if (isObject(params) && params['mode'] === 'url') {
    throw new Error('a request to open a page (elicitation by URL); only forms are answered here')
  }
  const read = v.safeParse(elicitation, request)
  if (!read.success) {
    const [issue] = read.issues
    const place = v.getDotPath(issue) ?? 'params'
    throw new Error(`a question that cannot be asked (${place.slice(0, 200)}: ${issue.message})`)
  }
  const { message, requestedSchema } = read.output.params
  const { length } = JSON.stringify(requestedSchema)
  if (length > SCHEMA_BYTES_MAX) {
    throw new Error(`a form of ${length} bytes; at most ${SCHEMA_BYTES_MAX} are asked for`)
  }
  return { message, schema: { ...requestedSchema, additionalProperties: false } }
}
