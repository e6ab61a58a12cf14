import * as v from 'valibot'
import { integer } from '../../../shared/env.ts'
import { TRACE_TERMS, termsOf } from '../../../shared/query-terms.ts'
import { oneOf } from '../../../shared/schemas.ts'
import { TRACE_STATUSES } from '../../../shared/trace-answers/lists.ts'
import { invalid, isTraceId, name, readTraceId, time } from '../read-query.ts'
import type { Reader } from '../reader.ts'

const MAX_DURATION_MS = 365 * 86_400_000
const MAX_TOKENS = 10 ** 15
const MAX_COST_USD = 10 ** 9
const MAX_TEXT = 200
const MAX_IDS = 200

const amount = v.pipe(
  v.string(),
  v.regex(/^\d{1,10}(\.\d{1,12})?$/, 'must be an amount of US dollars such as 0.25'),
  v.check((text) => Number(text) <= MAX_COST_USD, `must be at most ${MAX_COST_USD}`),
)

/** A key and its value; the first `=` lies between them. */
const attribute = v.pipe(
  v.string(),
  v.regex(/^[^=\0]{1,256}=[^\0]{1,512}$/, 'must be a key and a value such as tier=gold'),
  v.transform((text): Attribute => {
    const end = text.indexOf('=')
    return { key: text.slice(0, end), value: text.slice(end + 1) }
  }),
)

/** Its index knows words by three letters or digits that follow each other. */
const soughtText = v.pipe(
  v.string(),
  v.check(
    (text) => /[\p{L}\p{N}]{3}/u.test(text) && text.length <= MAX_TEXT && !text.includes('\0'),
    `must have at least 3 letters or digits in a row, and at most ${MAX_TEXT} characters`,
  ),
)

const traceIds = v.pipe(
  v.string(),
  v.transform((list) => list.split(',')),
  v.check(
    (list) => list.length <= MAX_IDS && list.every(isTraceId),
    `must be a list of at most ${MAX_IDS} trace ids`,
  ),
  v.transform((list) => list.map(readTraceId)),
)

/** The parameters that say which traces are meant; all of them must hold. */
export const filterParameters = {
  trace: v.optional(traceIds),
  crew: v.optional(name),
  kickoff: v.optional(name),
  session: v.optional(name),
  user: v.optional(name),
  service: v.optional(name),
  status: v.optional(oneOf(TRACE_STATUSES)),
  model: v.optional(name),
  agent: v.optional(name),
  task: v.optional(name),
  tool: v.optional(name),
  error_type: v.optional(name),
  from: v.optional(time),
  to: v.optional(time),
  min_duration_ms: v.optional(integer(0, MAX_DURATION_MS)),
  max_duration_ms: v.optional(integer(0, MAX_DURATION_MS)),
  min_tokens: v.optional(integer(0, MAX_TOKENS)),
  max_tokens: v.optional(integer(0, MAX_TOKENS)),
  min_cost_usd: v.optional(amount),
  max_cost_usd: v.optional(amount),
  attribute: v.optional(attribute),
  text: v.optional(soughtText),
  platform_requests: v.optional(oneOf(['shown', 'hidden'] as const)),
}

/**
 * Returns the parameters with what their `query` says in the language of query boxes, as in
 * `status:failed model:gpt* cost>0.1 "out of memory"`. Raises `invalid_request` for a parameter
 * that is given beside it as well.
 */
export function withQuery(given: URLSearchParams): URLSearchParams {
  const [typed, ...others] = given.getAll('query')
  if (typed === undefined || others.length > 0) return given
  const { parameters, text } = termsOf(typed, TRACE_TERMS)
  const read = new URLSearchParams(given)
  read.delete('query')
  for (const [parameter, value] of parameters) read.append(parameter, value)
  if (text !== '') read.append('text', text)
  return read
}

/** An attribute of a span or of its resource, and the text of its value. */
export interface Attribute {
  readonly key: string
  readonly value: string
}

const filter = v.object(filterParameters)

/** Whose rows are meant, as `limitTo` says; undefined for all. */
export interface OfOrganization {
  readonly organization?: string | undefined
}

/** Which traces are meant. */
export type TraceFilter = Readonly<v.InferOutput<typeof filter>> & OfOrganization

const RANGES = [
  ['min_duration_ms', 'max_duration_ms'],
  ['min_tokens', 'max_tokens'],
  ['min_cost_usd', 'max_cost_usd'],
] as const

/** Raises `invalid_request` for a range that ends before it begins. */
export function requireRanges(filter: TraceFilter, parameters: URLSearchParams): void {
  requireTimeRange(filter, parameters)
  for (const [least, most] of RANGES) {
    const [low, high] = [filter[least], filter[most]]
    if (low === undefined || high === undefined || Number(low) <= Number(high)) continue
    throw invalid(least, `${least} (${low}) must not be above ${most} (${high}).`)
  }
}

/** Raises `invalid_request` unless `from` is before `to`. */
export function requireTimeRange(
  { from, to }: Pick<TraceFilter, 'from' | 'to'>,
  parameters: URLSearchParams,
): void {
  if (!from || !to || from < to) return
  const [begins, ends] = [parameters.get('from'), parameters.get('to')]
  throw invalid('from', `from (${begins}) must be before to (${ends}).`)
}

/**
 * Names the reader's organization in what is asked, so that its index is used; the platform may
 * have none.
 */
export const limitTo = <Asked extends OfOrganization>(
  { organization }: Reader,
  asked: Asked,
): Asked => ({ ...asked, organization })
