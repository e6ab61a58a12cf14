import * as v from 'valibot'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import type { Inputs, InputType } from '../../../platform/definitions/input-declarations.ts'
import { describeIssue } from '../../../shared/describe-issue.ts'
import { isObject } from '../../../shared/is-object.ts'
import { someText, trueOrFalse } from '../../../shared/schemas.ts'
import { refusal, wrongParams } from './refusals.ts'

const ID_CHARACTERS_MAX = 255
const PARTS_MAX = 100

/** What is not set is the empty text for those who write all fields. */
const optionalText = v.pipe(
  v.optional(v.pipe(v.string('must be a text'), v.maxLength(ID_CHARACTERS_MAX, 'is too long'))),
  v.transform((text) => (text === '' ? undefined : text)),
)
const idText = someText(ID_CHARACTERS_MAX)

const part = v.object({
  text: v.optional(v.string('must be a text')),
  raw: v.optional(
    v.pipe(v.string('must be a text'), v.regex(/^[\w+/-]*={0,2}$/, 'must be in base64')),
  ),
  url: v.optional(v.string('must be a text')),
  data: v.optional(v.unknown()),
  filename: optionalText,
  mediaType: optionalText,
  metadata: v.optional(v.record(v.string(), v.unknown(), 'must be an object')),
})
type Part = v.InferOutput<typeof part>

const message = v.object({
  messageId: idText,
  contextId: optionalText,
  taskId: optionalText,
  role: v.literal('ROLE_USER', 'must be ROLE_USER'),
  parts: v.pipe(
    v.array(part, 'must be a list'),
    v.minLength(1, 'must not be empty'),
    v.maxLength(PARTS_MAX, `must have at most ${PARTS_MAX} entries`),
  ),
})
/** A message of a caller. */
export type Message = v.InferOutput<typeof message>

const historyLength = v.optional(
  v.pipe(v.number('must be a number'), v.integer('must be whole'), v.minValue(0, 'is negative')),
)

/** How the address of push notifications is given. */
export const pushConfig = v.object({
  url: v.string('must be a text'),
  token: v.optional(v.string('must be a text')),
  authentication: v.optional(
    v.object({
      scheme: v.string('must be a text'),
      credentials: v.optional(v.string('must be a text')),
    }),
  ),
})
/** An address of push notifications, as a caller gives it. */
export type PushConfig = v.InferOutput<typeof pushConfig>

const request = v.object({
  message,
  configuration: v.optional(
    v.object({
      taskPushNotificationConfig: v.optional(pushConfig),
      historyLength,
      returnImmediately: v.optional(trueOrFalse),
    }),
    {},
  ),
})

/** The parameters of operations about tasks. */
export const PARAMS = {
  send: request,
  task: v.object({ id: idText, historyLength }),
  ofTask: v.object({ taskId: idText }),
  config: v.object({ taskId: idText, id: idText }),
  list: v.object({
    contextId: optionalText,
    status: optionalText,
    pageSize: v.optional(
      v.pipe(
        v.number('must be a number'),
        v.integer('must be whole'),
        v.minValue(1, 'must be at least 1'),
        v.maxValue(100, 'must be at most 100'),
      ),
      50,
    ),
    pageToken: optionalText,
    historyLength,
    statusTimestampAfter: v.optional(
      v.pipe(v.string('must be a text'), v.isoTimestamp('must be a moment of ISO 8601')),
    ),
    includeArtifacts: v.optional(trueOrFalse, false),
  }),
}

/** Reads parameters; what they have besides is for later versions. Raises `unprocessable`. */
export function readParams<Schema extends v.GenericSchema>(
  schema: Schema,
  params: unknown,
): v.InferOutput<Schema> {
  const read = v.safeParse(schema, params)
  if (read.success) return read.output
  const problems = read.issues.map((issue) => describeIssue(issue, 'params'))
  throw wrongParams(`The parameters are not valid: ${problems.slice(0, 10).join('; ')}.`)
}

/** The inputs that a version takes. */
interface Taken {
  readonly fields: readonly InputField[]
  /** Stores a file, and returns its id. */
  readonly store: (file: { name: string; declared: string; bytes: Buffer }) => Promise<string>
}

/**
 * Makes inputs of the parts of a message: the members of an object, a text or a file for the input
 * that `metadata.input` names, or for the only one of its type. Raises `unprocessable`.
 */
export async function readInputs(parts: readonly Part[], taken: Taken): Promise<Inputs> {
  const inputs = new Map<string, unknown>()
  const put = (name: string, value: unknown): void => {
    if (inputs.has(name))
      throw wrongParams(`The input ${JSON.stringify(name.slice(0, 64))} is given twice.`)
    inputs.set(name, value)
  }
  const texts: string[] = []
  const files: unknown[] = []
  for (const [index, each] of parts.entries()) {
    const name = nameOf(each, index)
    const value = await valueOf(each, taken)
    if (name !== undefined) put(name, value)
    else if (each.raw !== undefined) files.push(value)
    else if (each.text !== undefined) texts.push(each.text)
    else for (const [key, member] of membersOf(value, index)) put(key, member)
  }
  const free = taken.fields.filter(({ name }) => !inputs.has(name))
  if (texts.length > 0) put(onlyOf(free, [undefined, 'string'], 'text'), texts.join('\n'))
  if (files.length > 1) throw wrongParams('Name the input of each file in metadata.input.')
  if (files.length > 0) put(onlyOf(free, ['file'], 'file'), files[0])
  return Object.fromEntries(inputs)
}

async function valueOf({ filename, mediaType, ...content }: Part, { store }: Taken) {
  const { text, raw, data } = content
  if (raw === undefined) return text ?? data
  const bytes = Buffer.from(raw, 'base64')
  return { file_id: await store({ name: filename ?? 'file', declared: mediaType ?? '', bytes }) }
}

function membersOf(data: unknown, index: number): [string, unknown][] {
  if (isObject(data)) return Object.entries(data)
  throw wrongParams(`${place(index)}.data is an object with the inputs by name.`)
}

const place = (index: number): string => `message.parts[${index}]`

/** Returns the input that a part names, of a part with one content that can be taken. */
function nameOf({ metadata = {}, ...content }: Part, index: number): string | undefined {
  const kinds = ['text', 'raw', 'url', 'data'].filter((kind) => Object.hasOwn(content, kind))
  if (kinds.length !== 1) throw wrongParams(`${place(index)} has one of text, raw, url and data.`)
  if (kinds[0] === 'url') {
    throw refusal(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `${place(index)}.url is not fetched. Send the file as raw, or to …/files and then its id.`,
    )
  }
  const { input } = metadata
  if (input === undefined || typeof input === 'string') return input
  throw wrongParams(`${place(index)}.metadata.input is the name of an input.`)
}

/** Of several, the one that is required. */
function onlyOf(
  free: readonly InputField[],
  types: readonly (InputType | undefined)[],
  what: string,
): string {
  const found = free.filter(({ type }) => types.includes(type))
  const required = found.filter(
    ({ required: isRequired, default: value }) => isRequired && value === undefined,
  )
  const [only, ...others] = required.length === 1 ? required : found
  if (only && others.length === 0) return only.name
  if (!only) {
    throw refusal(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `The automation has no input left for a ${what} without a name. ` +
        'Send an object with the inputs by name as data.',
    )
  }
  const names = found.map(({ name }) => name).join(', ')
  throw wrongParams(`Name the input of the ${what} in metadata.input: one of ${names}.`)
}
