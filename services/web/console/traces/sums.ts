import type { SkeletonSpan } from '../../traces/skeleton.ts'
import type { TraceTree } from './trace-tree.ts'

/** What a trace adds up to. Tokens and cost are of model calls with no other one below them. */
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

/** Sums a trace up, in one pass from its last row: what is below a call has been seen by then. */
export function sumUp({ rows }: TraceTree): Sums {
  let errors = 0
  let calls = 0
  let tokens = 0
  let costUsd: number | null = null
  let reportedCostUsd: number | null = null
  let computedCostUsd: number | null = null
  let nextCall = Infinity
  for (let place = rows.length - 1; place >= 0; place--) {
    const row = rows[place]
    if (!row) continue
    const { span, below } = row
    if (span.status === ERROR) errors++
    if (!span.isCall) continue
    const isLeaf = nextCall > place + below
    nextCall = place
    if (!isLeaf) continue
    calls++
    tokens += (span.inputTokens ?? 0) + (span.outputTokens ?? 0)
    costUsd = plus(costUsd, costOf(span))
    reportedCostUsd = plus(reportedCostUsd, span.costUsd)
    computedCostUsd = plus(computedCostUsd, span.computedCostUsd)
  }
  const costs = { costUsd, reportedCostUsd, computedCostUsd }
  return { spans: rows.length, errors, calls, tokens, ...costs }
}
