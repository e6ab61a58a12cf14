import { TRACE_SCOPES } from '../../../platform/traces/trace-tokens.ts'
import type { TraceScope } from '../../../platform/traces/trace-tokens.ts'

/** What the form that issues a token has, and its problems by field. */
export interface TokenForm {
  readonly name: string
  readonly scope: TraceScope
  readonly days: string
  readonly problems: Readonly<Partial<Record<'name' | 'days', string>>>
}

const NAME_LENGTH_MAX = 100
/** A token with an id is good for 366 days at the most; one day is for clocks that differ. */
export const DAYS_MAX = 365

/** The form before anybody has filled it in. */
export const EMPTY_FORM: TokenForm = { name: '', scope: 'traces:write', days: '90', problems: {} }

/** Reads the fields; a form without problems has a name and whole days. */
export function readTokenForm(fields: URLSearchParams): TokenForm {
  const name = (fields.get('name') ?? '').trim()
  const days = (fields.get('days') ?? '').trim()
  const scope = TRACE_SCOPES.find((each) => each === fields.get('scope')) ?? 'traces:write'
  const [nameProblem, daysProblem] = [problemOfName(name), problemOfDays(days)]
  const problems = {
    ...(nameProblem === undefined ? {} : { name: nameProblem }),
    ...(daysProblem === undefined ? {} : { days: daysProblem }),
  }
  return { name, scope, days, problems }
}

function problemOfName(name: string): string | undefined {
  if (name === '') return 'Give the token a name, such as that of the program that will use it.'
  if (name.length > NAME_LENGTH_MAX)
    return `A name must have at most ${NAME_LENGTH_MAX} characters.`
  return /\p{Cc}|\p{Cs}/u.test(name) ? 'A name must have no control characters.' : undefined
}

const problemOfDays = (days: string): string | undefined =>
  /^[1-9]\d{0,2}$/.test(days) && Number(days) <= DAYS_MAX
    ? undefined
    : `Days must be a whole number from 1 to ${DAYS_MAX} (given: “${days.slice(0, 20)}”).`
