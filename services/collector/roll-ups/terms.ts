/** Names in a trace by which lists find it. Those of a kind are one parameter of the read API. */
export const TERM_KINDS = ['service', 'model', 'agent', 'task', 'tool', 'error_type'] as const

/** One of `TERM_KINDS`. */
export type TermKind = (typeof TERM_KINDS)[number]

/** Of a trace with more, the first in their order are kept. */
const MAX_TERMS = 500

/** A name as `traces.terms` has it. */
export const toTerm = (kind: TermKind, name: string): string => `${kind}:${name}`

/** The columns of `spans` from which the terms follow, beside those that roll-ups read anyway. */
export const TERM_COLUMNS: readonly string[] = ['task', 'task_id', 'tool', 'error_type']

const SOURCES: readonly (readonly [TermKind, string])[] = [
  ['model', 'case when llm_call then request_model end'],
  ['model', 'case when llm_call then response_model end'],
  ['agent', 'agent'],
  ['task', 'task'],
  ['task', 'task_id'],
  ['tool', 'tool'],
  ['error_type', 'error_type'],
]

/**
 * The terms of each trace in `trace_spans`, in SQL, without those of its root. A call counts by the
 * model that was asked for and by the one that answered, a task by its name and by its id.
 */
export const TERMS = `
  select nr, (array_agg(distinct kind || ':' || term))[:${MAX_TERMS}] as terms
  from trace_spans cross join lateral (values
    ${SOURCES.map(([kind, column]) => `('${kind}', ${column})`).join(', ')}
  ) as named (kind, term)
  where term is not null group by nr`
