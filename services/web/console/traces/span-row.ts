import { visibleText } from '../frame/text/visible-text.ts'
import { kindOf } from '../frame/kinds.ts'
import type { KindName } from '../frame/kinds.ts'
import { costOf } from './sums.ts'
import type { TraceTree, TreeRow } from './trace-tree.ts'

/** A row of the tree as pages and scripts show it. */
export interface SpanRow {
  readonly id: string
  readonly depth: number
  readonly below: number
  readonly name: string
  readonly kind: KindName
  /** From the beginning of the trace. */
  readonly startNs: number
  /** Null while the span has no end. */
  readonly durationNs: number | null
  readonly isError: boolean
  readonly isCritical: boolean
  /** Something about it is explained beside it. */
  readonly isOdd: boolean
  /** The model, the tool or the agent, where the name does not say it. */
  readonly label: string | null
  readonly tokens: number | null
  readonly costUsd: number | null
}

const ERROR = 2

/** Returns a row of the tree as it is shown. */
export function toSpanRow(
  { span, depth, below, oddities, isCritical }: TreeRow,
  { beginNs }: Pick<TraceTree, 'beginNs'>,
): SpanRow {
  const { id, name, operationKind, startNs, durationNs, status, inputTokens, outputTokens } = span
  const label = span.tool ?? span.model ?? span.agent
  return {
    id,
    depth,
    below,
    name: visibleText(name) || '(no name)',
    kind: kindOf(operationKind),
    startNs: startNs - beginNs,
    durationNs: durationNs === null ? null : Math.max(0, durationNs),
    isError: status === ERROR,
    isCritical,
    // A span without an end is usual while a trace goes on.
    isOdd: oddities.some((oddity) => oddity !== 'open'),
    label: label !== null && !name.includes(label) ? visibleText(label) : null,
    tokens:
      inputTokens === null && outputTokens === null
        ? null
        : (inputTokens ?? 0) + (outputTokens ?? 0),
    costUsd: costOf(span),
  }
}

const FLAGS = { error: 1, critical: 2, odd: 4 }

/** The rows as the script of the page reads them: an array for each, without names. */
export function toRowsDocument({ rows, beginNs, endNs }: TraceTree) {
  return {
    length_ns: endNs - beginNs,
    rows: rows.map((row) => {
      const shown = toSpanRow(row, { beginNs })
      const flags =
        (shown.isError ? FLAGS.error : 0) +
        (shown.isCritical ? FLAGS.critical : 0) +
        (shown.isOdd ? FLAGS.odd : 0)
      const { id, depth, below, name, kind, startNs, durationNs, label, tokens, costUsd } = shown
      return [id, depth, below, name, kind, startNs, durationNs, flags, label, tokens, costUsd]
    }),
  }
}
