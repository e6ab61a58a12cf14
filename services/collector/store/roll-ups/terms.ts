/** Names in a trace by which lists find it. Those of a kind are one parameter of the read API. */
export const TERM_KINDS = ['service', 'model', 'agent', 'task', 'tool', 'error_type'] as const

/** One of `TERM_KINDS`. */
type TermKind = (typeof TERM_KINDS)[number]

/** Of a trace with more, the first in their order are kept. */
const MAX_TERMS = 500

/** A name as `traces.terms` has it. */
export const toTerm = (kind: TermKind, name: string): string => `${kind}:${name}`

/** The columns of `spans` from which the terms follow, beside those that roll-ups read anyway. */
export const TERM_COLUMNS: readonly string[] = ['task', 'task_id', 'tool', 'error_type']

interface Source {
  readonly kind: TermKind
  readonly column: string
  /** The spans whose names count, in SQL. */
  readonly where: string
}

/**
 * In the order of the kinds, as terms are sorted. A call counts by the model that was asked for and
 * by the one that answered, a task by its name and by its id.
 */
const SOURCES: readonly Source[] = [
  { kind: 'agent', column: 'agent', where: 'agent is not null' },
  { kind: 'error_type', column: 'error_type', where: 'error_type is not null' },
  { kind: 'model', column: 'request_model', where: 'llm_call and request_model is not null' },
  {
    kind: 'model',
    column: 'response_model',
    where: 'llm_call and response_model is distinct from request_model',
  },
  { kind: 'task', column: 'task', where: 'task is not null' },
  { kind: 'task', column: 'task_id', where: 'task_id is distinct from task' },
  { kind: 'tool', column: 'tool', where: 'tool is not null' },
]

const listOf = ({ kind, column, where }: Source, nr: number): string =>
  `array_agg(distinct ('${kind}:' || ${column}) collate "C") filter (where ${where}) as terms_${nr}`

/** An array for each source of terms, over the spans of one trace, in SQL; null without any. */
export const TERM_LISTS = SOURCES.map(listOf).join(',\n      ')

/** The terms of a trace, of these arrays, without those of its root. One may be in it twice. */
export const TERMS = `(${SOURCES.map((_, nr) => `terms_${nr}`).join(' || ')})[:${MAX_TERMS}]`
