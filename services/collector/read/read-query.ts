import * as v from 'valibot'
import { describeIssue } from '../../shared/describe-issue.ts'
import { integer } from '../../shared/env.ts'
import { readJson } from '../../shared/http/json-body.ts'
import { oneOf } from '../../shared/schemas.ts'
import { isOrganizationName } from '../../shared/organization-name.ts'
import { AppError } from '../../shared/errors.ts'
import { readSearchCursor } from './trace-search.ts'
import type { SearchQuery } from './trace-search.ts'
import { MAX_SKELETON_SPANS, readSkeletonCursor } from './trace-skeleton.ts'
import type { SkeletonQuery } from './trace-skeleton.ts'

const MAX_TEXT = 512
const BODY_BYTES_MAX = 1 << 20
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** A text of a parameter. */
export const name = v.pipe(
  v.string(),
  v.check(
    (text) => text !== '' && text.length <= MAX_TEXT && !text.includes('\0'),
    `must have 1 to ${MAX_TEXT} characters`,
  ),
)

/** A time as RFC 3339 has it; a day alone begins at midnight UTC. */
export const time = v.pipe(
  v.string(),
  v.check(
    (text) => TIME.test(text) && !Number.isNaN(Date.parse(text)),
    'must be a time such as 2026-11-21T09:30:00Z, or a day such as 2026-11-21',
  ),
  v.transform((text) => new Date(text)),
)

const traceParameters = v.object({
  view: v.optional(oneOf(['otlp', 'summary', 'skeleton'] as const), 'otlp'),
  limit: v.optional(integer(1, MAX_SKELETON_SPANS)),
  cursor: v.optional(v.pipe(v.string(), v.transform(readSkeletonCursor))),
})

const MAX_MATCHES = 200
const MAX_SEARCHED = 200

const searchParameters = v.object({
  q: v.pipe(
    v.string(),
    v.check(
      (text) => text !== '' && text.length <= MAX_SEARCHED && !text.includes('\0'),
      `must have 1 to ${MAX_SEARCHED} characters`,
    ),
  ),
  limit: v.optional(integer(1, MAX_MATCHES), '50'),
  cursor: v.optional(v.pipe(v.string(), v.transform(readSearchCursor))),
})

/** The requested form of a trace; only the skeleton has pages. */
type ViewQuery =
  | { readonly view: 'otlp' | 'summary' }
  | ({ readonly view: 'skeleton' } & Omit<SkeletonQuery, 'traceId'>)

/** The requested form of a trace. Raises `invalid_request`. */
export function readView(parameters: URLSearchParams): ViewQuery {
  const { view, limit, cursor } = readParameters(traceParameters, parameters)
  if (view === 'skeleton') return { view, limit: limit ?? MAX_SKELETON_SPANS, after: cursor }
  for (const name of ['limit', 'cursor']) {
    if (parameters.has(name)) throw invalid(name, `${name} is for view=skeleton only.`)
  }
  return { view }
}

/** What to look for in a trace. Raises `invalid_request`. */
export function readSearch(parameters: URLSearchParams): Omit<SearchQuery, 'traceId'> {
  const { q, limit, cursor } = readParameters(searchParameters, parameters)
  return { text: q, limit, after: cursor }
}

/** Every question has it: `admitRead` reads it. */
const ORGANIZATION = 'organization'

/**
 * The organization that is asked for: that of the token, which may name no other; of the platform's
 * tokens the one that is named, where an empty text is the platform itself, and without a name
 * undefined, which is all. Raises `invalid_request`.
 */
export function readOrganization(
  parameters: URLSearchParams,
  own: string | undefined,
): string | undefined {
  const [named, ...others] = parameters.getAll(ORGANIZATION)
  if (others.length > 0) throw givenTwice(ORGANIZATION)
  if (named === undefined || named === own) return own
  const given = `(given: ${quote(named)})`
  if (own !== undefined) {
    throw invalid(
      ORGANIZATION,
      `organization must be that of the token, ${quote(own)} ${given}; leave it out.`,
    )
  }
  if (named === '' || isOrganizationName(named)) return named
  throw invalid(
    ORGANIZATION,
    'organization must be the name of one, with 1 to 64 characters and no control characters, ' +
      `or empty for the platform itself ${given}.`,
  )
}

const givenTwice = (name: string): AppError => invalid(name, `${name} was given more than once.`)

const TRACE_ID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i

/** A trace id, or the kickoff id that it equals, as a UUID. Raises `invalid_request`. */
export function readTraceId(given: string): string {
  const [, ...parts] = TRACE_ID.exec(given.toLowerCase()) ?? []
  if (parts.length > 0) return parts.join('-')
  throw invalid(
    'trace_id',
    'A trace id has 32 hexadecimal digits, with or without the dashes of a kickoff id ' +
      `(given: ${quote(given)}).`,
  )
}

/** Returns whether `readTraceId` takes it. */
export const isTraceId = (given: string): boolean => TRACE_ID.test(given)

/** A parameter that is a trace id, as a UUID. */
export const traceId = v.pipe(
  v.string(),
  v.check(isTraceId, 'must be a trace id of 32 hexadecimal digits'),
  v.transform(readTraceId),
)

const SPAN_ID = /^[0-9a-f]{16}$/

/** A span id as the signed decimal that the database has. Raises `invalid_request`. */
export function readSpanId(given: string): string {
  const digits = given.toLowerCase()
  if (SPAN_ID.test(digits)) return `${BigInt.asIntN(64, BigInt(`0x${digits}`))}`
  throw invalid('span_id', `A span id has 16 hexadecimal digits (given: ${quote(given)}).`)
}

/** Raises `invalid_request` when there are parameters other than the organization. */
export function requireNoParameters(parameters: URLSearchParams): void {
  readParameters(v.object({}), parameters)
}

type Parameters = v.ObjectSchema<v.ObjectEntries, undefined>

/**
 * Reads the parameters that the schema names, beside the organization. Raises `invalid_request`
 * that names the parameter, what was given and what is allowed.
 */
export function readParameters<Schema extends Parameters>(
  schema: Schema,
  parameters: URLSearchParams,
): v.InferOutput<Schema> {
  const known = [ORGANIZATION, ...Object.keys(schema.entries)]
  for (const name of parameters.keys()) {
    if (!known.includes(name)) {
      throw invalid(name, `There is no parameter ${quote(name)}; there are ${known.join(', ')}.`)
    }
    if (parameters.getAll(name).length > 1) throw givenTwice(name)
  }
  const result = v.safeParse(schema, Object.fromEntries(parameters), { abortEarly: true })
  if (result.success) return result.output
  const [issue] = result.issues
  const name = v.getDotPath(issue) ?? ''
  throw invalid(name, `${name} ${issue.message} (given: ${quote(parameters.get(name) ?? '')}).`)
}

/** Reads a body of JSON. Raises `invalid_request` that names what is wrong. */
export async function readBody<Schema extends v.GenericSchema>(
  request: Request,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const result = v.safeParse(schema, await readJson(request, BODY_BYTES_MAX))
  if (result.success) return result.output
  throw new AppError('invalid_request', `${describeIssue(result.issues[0], 'The body')}.`)
}

const SHOWN_MAX = 100
/** The beginning of what was given, for a message. */
const quote = (text: string): string => JSON.stringify(text.slice(0, SHOWN_MAX))

/** Builds the 400 for a parameter. */
export const invalid = (parameter: string, message: string): AppError =>
  new AppError('invalid_request', message, {
    details: { parameter: parameter.slice(0, SHOWN_MAX) },
  })
