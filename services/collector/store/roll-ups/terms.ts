/** Names in a trace by which lists find it. Those of a kind are one parameter of the read API. */
export const TERM_KINDS = ['service', 'model', 'agent', 'task', 'tool', 'error_type'] as const

/** One of `TERM_KINDS`. */
type TermKind = (typeof TERM_KINDS)[number]

/** Names that a trace shows of its agents and of its models. */
export const MAX_NAMES = 20

/** Of a trace with more, the first in their order are kept. */
const MAX_TERMS = 500

/** A name as `traces.terms` has it. */
export const toTerm = (kind: TermKind, name: string): string => `${kind}:${name}`

/** The columns of `spans` from which the terms follow, beside those that roll-ups read anyway. */
export const TERM_COLUMNS: readonly string[] = ['task', 'task_id', 'tool', 'error_type']

/** Where names of a kind are found. */
interface Source {
  readonly kind: TermKind
  readonly column: string
  /** Only calls of models count. */
  readonly isOfCalls?: true
  /** Another column: what it has, too, counts once. */
  readonly unlike?: string
}

/**
 * In the order of the kinds, as terms are sorted. A call counts by the model that was asked for and
 * by the one that answered, a task by its name and by its id.
 */
export const TERM_SOURCES: readonly Source[] = [
  { kind: 'agent', column: 'agent' },
  { kind: 'error_type', column: 'error_type' },
  { kind: 'model', column: 'request_model', isOfCalls: true },
  { kind: 'model', column: 'response_model', isOfCalls: true, unlike: 'request_model' },
  { kind: 'task', column: 'task' },
  { kind: 'task', column: 'task_id', unlike: 'task' },
  { kind: 'tool', column: 'tool' },
]

const conditionOf = ({ column, isOfCalls, unlike }: Source): string =>
  [
    isOfCalls && 'llm_call',
    `${column} is not null`,
    unlike && `${column} is distinct from ${unlike}`,
  ]
    .filter(Boolean)
    .join(' and ')

const listOf = (source: Source, nr: number): string => `array_agg(
        distinct ('${source.kind}:' || ${source.column}) collate "C"
      ) filter (where ${conditionOf(source)}) as terms_${nr}`

/** An array for each source of terms, over the spans of one trace, in SQL; null without any. */
export const TERM_LISTS = TERM_SOURCES.map(listOf).join(',\n      ')

/** The terms of a trace, of these arrays, without those of its root. One may be in it twice. */
export const TERMS = `(${TERM_SOURCES.map((_, nr) => `terms_${nr}`).join(' || ')})[:${MAX_TERMS}]`
