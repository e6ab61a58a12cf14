import { plainText, TRACE_TERMS, withTerms } from '../../../shared/query-terms.ts'
import type { QueryKeys } from '../../../shared/query-terms.ts'

/** The fields of the filter, by the names of the collector's read API, and what pages call them. */
export const FIELDS = {
  text: 'Text of prompts and answers, or key:value',
  crew: 'Automation',
  service: 'Service',
  model: 'Model',
  agent: 'Agent',
  task: 'Task',
  tool: 'Tool',
  session: 'Session',
  user: 'User',
  error_type: 'Error type',
  min_duration_ms: 'Longer than (ms)',
  min_tokens: 'Tokens from',
  min_cost_usd: 'Cost from (US$)',
  attribute: 'Attribute (key=value)',
} as const

/** A field of the filter. */
export type Field = keyof typeof FIELDS

/** All fields, in the order of the form. */
// The keys of an object are no more than texts.
export const FIELD_NAMES = Object.keys(FIELDS) as readonly Field[]

/** The states that a list can be limited to. */
export const STATUSES = ['ok', 'error', 'running', 'incomplete'] as const
/** A state of a trace. */
export type Status = (typeof STATUSES)[number]

/** What people say of a trace, by which a list can be limited; `any` is any note. */
export const NOTED = ['good', 'bad', 'any'] as const
/** A word of `NOTED`. */
export type Noted = (typeof NOTED)[number]

/** Whether a list has the requests to the platform itself, each of which is a trace. */
const PLATFORM_REQUESTS = ['hidden', 'shown'] as const
/** A word of `PLATFORM_REQUESTS`. */
export type PlatformRequests = (typeof PLATFORM_REQUESTS)[number]

/** The times that a list can go back, in milliseconds; `all` is as long as traces are kept. */
export const WINDOWS = {
  '1h': { name: 'Last hour', ms: 3_600_000 },
  '24h': { name: 'Last 24 hours', ms: 86_400_000 },
  '7d': { name: 'Last 7 days', ms: 7 * 86_400_000 },
  '30d': { name: 'Last 30 days', ms: 30 * 86_400_000 },
  all: { name: 'All time', ms: Infinity },
} as const

/** A time that a list can go back. */
export type Window = keyof typeof WINDOWS

const isWindow = (word: string): word is Window => Object.hasOwn(WINDOWS, word)

/** The columns that people can choose, beside name, status and time. */
export const COLUMNS = {
  input: 'Input',
  output: 'Output',
  duration: 'Duration',
  tokens: 'Tokens',
  cost: 'Cost',
  models: 'Models',
  spans: 'Spans',
  agents: 'Agents',
  service: 'Service',
  session: 'Session',
  user: 'User',
} as const

/** What may be typed beside a text, and the fields that it sets. */
export const TRACE_KEYS: QueryKeys = {
  ...TRACE_TERMS,
  equal: { ...TRACE_TERMS.equal, time: 'window', rated: 'noted' },
}

/** A column that people can choose. */
export type Column = keyof typeof COLUMNS

const USUAL_COLUMNS: readonly Column[] = ['input', 'output', 'duration', 'tokens', 'cost']
const isColumn = (word: string): word is Column => Object.hasOwn(COLUMNS, word)

/** The choices of the filter, by their names in an address, and the words of each. */
export const CHOICES = {
  status: STATUSES,
  window: Object.keys(WINDOWS),
  noted: NOTED,
  platform_requests: PLATFORM_REQUESTS,
} as const satisfies Readonly<Record<string, readonly string[]>>

/** A choice of the filter. */
export type Choice = keyof typeof CHOICES

/** All choices, in the order in which mistakes are shown. */
// The keys of an object are no more than texts.
export const CHOICE_NAMES = Object.keys(CHOICES) as readonly Choice[]

/** What the address of a list of traces asks for. */
export interface ListQuery {
  readonly window: Window
  readonly status: Status | undefined
  readonly noted: Noted | undefined
  readonly platformRequests: PlatformRequests
  /** What was given, by field. */
  readonly fields: Readonly<Partial<Record<Field, string>>>
  readonly columns: readonly Column[]
  readonly cursor: string | undefined
  /** Words that were given for a choice and are none of it. */
  readonly unknown: Readonly<Partial<Record<Choice, string>>>
}

const TEXT_MAX = 600
const CURSOR_MAX = 1000

/** Reads the query of a list; whether values make sense is for the collector to say. */
export function readListQuery(address: URLSearchParams): ListQuery {
  const parameters = withTerms(address, TRACE_KEYS)
  const given = (name: string, max = TEXT_MAX): string | undefined =>
    (parameters.get(name) ?? '').trim().slice(0, max) || undefined
  const window = given('window') ?? ''
  const columns = [...new Set(parameters.getAll('column').filter(isColumn))]
  return {
    window: isWindow(window) ? window : '7d',
    status: STATUSES.find((each) => each === given('status')),
    noted: NOTED.find((each) => each === given('noted')),
    platformRequests: given('platform_requests') === 'shown' ? 'shown' : 'hidden',
    fields: Object.fromEntries(
      FIELD_NAMES.flatMap((name) => {
        const value = given(name)
        return value === undefined ? [] : [[name, value]]
      }),
    ),
    columns: columns.length > 0 ? columns : USUAL_COLUMNS,
    cursor: given('cursor', CURSOR_MAX),
    unknown: Object.fromEntries(
      CHOICE_NAMES.flatMap((name) => {
        const word = given(name)
        const isKnown = word === undefined || CHOICES[name].some((each) => each === word)
        return isKnown ? [] : [[name, word]]
      }),
    ),
  }
}

/** Characters of what traces were asked and answered that a list shows. */
const EXCERPT = '160'

/** The parameters of a page of the list, with what its columns need, after those of its filter. */
export function pageParameters(query: ListQuery, filter: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams(filter)
  if (query.cursor !== undefined) parameters.set('cursor', query.cursor)
  const hasExcerpts = query.columns.includes('input') || query.columns.includes('output')
  if (hasExcerpts) parameters.set('excerpts', EXCERPT)
  return parameters
}

/** The parameter of the collector that leaves out the requests to the platform itself. */
export const WITHOUT_REQUESTS = {
  platform_requests: 'hidden',
} satisfies Readonly<Record<string, PlatformRequests>>

/** The parameters of the filter for the collector. A service says whether requests are meant. */
export function filterParameters(
  { window, status, fields, platformRequests }: ListQuery,
  nowMs: number,
): URLSearchParams {
  const isHidden = platformRequests === 'hidden' && fields.service === undefined
  const parameters = new URLSearchParams({ ...fields, ...(isHidden ? WITHOUT_REQUESTS : {}) })
  if (fields.text !== undefined) parameters.set('text', plainText(fields.text, TRACE_KEYS))
  if (status) parameters.set('status', status)
  const { ms } = WINDOWS[window]
  if (ms !== Infinity) parameters.set('from', new Date(nowMs - ms).toISOString())
  return parameters
}

/** The address of what goes with a list, such as its export, with the same filter. */
export const withFilter = (path: string, query: ListQuery): string =>
  listAddress(query).replace('/traces', path)

/** The same list in an address, with some of its parameters changed; without its page. */
export function listAddress(
  query: ListQuery,
  changes: Readonly<Record<string, string>> = {},
): string {
  const parameters = new URLSearchParams({ window: query.window, ...query.fields })
  if (query.status) parameters.set('status', query.status)
  if (query.noted) parameters.set('noted', query.noted)
  if (query.platformRequests === 'shown') parameters.set('platform_requests', 'shown')
  if (query.columns !== USUAL_COLUMNS) {
    for (const column of query.columns) parameters.append('column', column)
  }
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') parameters.delete(name)
    else parameters.set(name, value)
  }
  return `/traces?${parameters.toString()}`
}

/**
 * What the address of a trace carries of the list that leads to it, so that the way back has the
 * same filter; undefined for the usual list.
 */
export function carriedList(query: ListQuery): string | undefined {
  const address = listAddress(query)
  return address === USUAL_ADDRESS ? undefined : address.slice(address.indexOf('?') + 1)
}

/** The address of the list that `carriedList` has told; the usual one for undefined. */
export const carriedAddress = (carried: string | undefined): string =>
  carried === undefined ? '/traces' : listAddress(readListQuery(new URLSearchParams(carried)))

const USUAL_ADDRESS = listAddress(readListQuery(new URLSearchParams()))
