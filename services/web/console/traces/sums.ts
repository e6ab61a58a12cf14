import type { SkeletonSpan } from '../../traces/skeleton.ts'
import type { TraceTree } from './trace-tree.ts'

/** What a trace adds up to. Tokens and cost are of the model calls that count. */
export interface Sums {
  readonly spans: number
  readonly errors: number
  readonly calls: number
  readonly tokens: number
  /** Of each call what its sender says, else the computed cost. Null when no call has one. */
  readonly costUsd: number | null
  /** What senders say, and what prices say, each of the calls that have it. */
  readonly reportedCostUsd: number | null
  readonly computedCostUsd: number | null
}

const ERROR = 2

/** Returns what a span costs: what its sender says comes before the computed cost. */
export const costOf = ({
  costUsd,
  computedCostUsd,
}: Pick<SkeletonSpan, 'costUsd' | 'computedCostUsd'>): number | null => costUsd ?? computedCostUsd

const plus = (sum: number | null, cost: number | null): number | null =>
  cost === null ? sum : (sum ?? 0) + cost

/** Sums a trace up; which calls count is the collector's to say. */
export function sumUp({ rows }: TraceTree): Sums {
  let errors = 0
  let calls = 0
  let tokens = 0
  let costUsd: number | null = null
  let reportedCostUsd: number | null = null
  let computedCostUsd: number | null = null
  for (const { span } of rows) {
    if (span.status === ERROR) errors++
    if (!span.isCounted) continue
    calls++
    tokens += (span.inputTokens ?? 0) + (span.outputTokens ?? 0)
    costUsd = plus(costUsd, costOf(span))
    reportedCostUsd = plus(reportedCostUsd, span.costUsd)
    computedCostUsd = plus(computedCostUsd, span.computedCostUsd)
  }
  const costs = { costUsd, reportedCostUsd, computedCostUsd }
  return { spans: rows.length, errors, calls, tokens, ...costs }
}
