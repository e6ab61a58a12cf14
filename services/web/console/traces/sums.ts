import type { TraceTree } from './trace-tree.ts'

/** What a trace adds up to. Tokens and cost are of model calls with no other one below them. */
export interface Sums {
  readonly spans: number
  readonly errors: number
  readonly calls: number
  readonly tokens: number
  /** Null when no call has a cost. */
  readonly costUsd: number | null
}

const ERROR = 2

/** Sums a trace up, in one pass from its last row: what is below a call has been seen by then. */
export function sumUp({ rows }: TraceTree): Sums {
  let errors = 0
  let calls = 0
  let tokens = 0
  let costUsd: number | null = null
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
    if (span.costUsd !== null) costUsd = (costUsd ?? 0) + span.costUsd
  }
  return { spans: rows.length, errors, calls, tokens, costUsd }
}
