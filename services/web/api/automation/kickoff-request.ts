import type { Context } from 'hono'
import * as v from 'valibot'
import type { Inputs } from '../../../platform/definitions/input-declarations.ts'
import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { describedBody } from '../openapi/operation.ts'
import { named, schemaOfBody } from '../openapi/parts.ts'
import { inputs as anyInputs } from '../openapi/run-schemas.ts'

/** The longest body of a call that starts a run. */
export const BODY_BYTES_MAX = 256 * 1024
/** The most characters of a step's key. */
const STEP_CHARACTERS_MAX = 64

const INPUTS_WORDS = '"inputs" is an object with the inputs by name.'
const STEP_WORDS = '"from_step" is the key of a step or of a task.'

/** Inputs as a schema describes them, in the form that they were sent in: the automation checks. */
const inputsAs = (described: object) =>
  v.pipe(v.custom<Inputs>(isObject, INPUTS_WORDS), v.metadata({ ...described }))

const fromStep = v.pipe(
  v.string(STEP_WORDS),
  v.minLength(1, STEP_WORDS),
  v.maxLength(STEP_CHARACTERS_MAX, STEP_WORDS),
  v.metadata({
    description: 'The key of a step or of a task: what finished before it began is kept.',
    examples: ['write'],
  }),
)

// The words are for a missing key: only inputs have to be there.
const kickoffParser = (described: object) =>
  v.strictObject({ inputs: inputsAs(described) }, INPUTS_WORDS)
const forkParser = (described: object) =>
  v.strictObject({ inputs: inputsAs(described), from_step: v.optional(fromStep) }, INPUTS_WORDS)

/** Describes the body of a kickoff, and that of a fork, with inputs of this schema. */
export const requestSchemas = (described: object) => ({
  KickoffRequest: schemaOfBody(kickoffParser(described)),
  ForkRequest: schemaOfBody(forkParser(described)),
})

interface Words {
  readonly example: unknown
  /** Refuses what is not an object. */
  readonly shape?: string
  /** Refuses stray keys. @default by naming those that are known */
  readonly stray?: (shown: string) => string
}

/** Creates the body of a call that starts a run: what reads it, and what describes it. */
function runBody<Entries extends v.ObjectEntries>(
  name: string,
  parser: v.StrictObjectSchema<Entries, string | undefined>,
  { example, shape = 'The body is a JSON object.', stray }: Words,
) {
  const keys = Object.keys(parser.entries)
  const known = keys.length === 0 ? 'none' : keys.map((key) => `"${key}"`).join(' and ')
  const { content, errors } = describedBody(
    named(name, () => schemaOfBody(parser)),
    { example, bytesMax: BODY_BYTES_MAX },
  )
  return {
    content,
    errors,
    /** Raises `unprocessable`, naming stray keys, and what `readJson` raises. */
    async read({ req }: Context) {
      const body = await readJson(req.raw, BODY_BYTES_MAX)
      if (!isObject(body)) throw new AppError('unprocessable', shape)
      const strayKeys = Object.keys(body).filter((key) => !keys.includes(key))
      if (strayKeys.length > 0) {
        const shown = strayKeys.map((key) => JSON.stringify(key)).join(', ')
        const message = stray?.(shown) ?? `The body has no key ${shown}. Known: ${known}.`
        throw new AppError('unprocessable', message, { details: { stray_keys: strayKeys } })
      }
      const parsed = v.safeParse(parser, body)
      if (!parsed.success) throw new AppError('unprocessable', parsed.issues[0].message)
      return parsed.output
    },
  }
}

/** The body of a kickoff, which is exactly `{"inputs": {…}}` (SPEC 4.4), of any automation. */
export const kickoffBody = runBody('KickoffRequest', kickoffParser(anyInputs), {
  example: { inputs: { topic: 'tidal power' } },
  shape: 'The body is a JSON object: {"inputs": {…}}.',
  stray: (shown) => `The body has one key, "inputs". Remove ${shown}.`,
})
/** The body that continues a run. */
export const retryBody = runBody(
  'RetryRequest',
  v.strictObject({ from_step: v.optional(fromStep) }),
  { example: { from_step: 'write' } },
)
/** The body that runs with other inputs, all of it or from a step on. */
export const forkBody = runBody('ForkRequest', forkParser(anyInputs), {
  example: { inputs: { topic: 'wave power' }, from_step: 'write' },
})
/** The empty body that runs with the same inputs. */
export const rerunBody = runBody('RerunRequest', v.strictObject({}), { example: {} })

/**
 * Reads an `Idempotency-Key` of 1 to 255 visible ASCII characters; undefined if none is sent.
 * Raises `invalid_request`.
 */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || /^[\x21-\x7e]{1,255}$/.test(header)) return header
  throw new AppError(
    'invalid_request',
    'An Idempotency-Key has 1 to 255 visible ASCII characters, without spaces.',
  )
}
