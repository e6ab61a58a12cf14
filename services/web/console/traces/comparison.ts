import type { KindName } from '../frame/kinds.ts'
import { kindOf } from '../frame/kinds.ts'
import type { SkeletonSpan } from '../../traces/skeleton.ts'
import { costOf, sumUp } from './sums.ts'
import type { Sums } from './sums.ts'
import type { TraceTree } from './trace-tree.ts'

/** What the spans of a group add up to in one of the traces. */
interface GroupSums {
  readonly spans: number
  readonly errors: number
  readonly durationNs: number
  readonly tokens: number
  /** Null when none of them has a cost. */
  readonly costUsd: number | null
}

/** The spans of one name, kind and task, in both traces. */
export interface ComparedGroup {
  readonly name: string
  readonly kind: KindName
  readonly task: string | null
  readonly before: GroupSums
  readonly after: GroupSums
}

/** Two traces beside each other: each as a whole, and by groups of spans. */
export interface Comparison {
  readonly before: Sums & { readonly durationNs: number }
  readonly after: Sums & { readonly durationNs: number }
  /** Those whose durations differ most come first. */
  readonly groups: readonly ComparedGroup[]
}

const ERROR = 2
const NOTHING: GroupSums = { spans: 0, errors: 0, durationNs: 0, tokens: 0, costUsd: null }

/** Compares the spans of two traces by their name, kind and task. */
export function compareTraces(before: TraceTree, after: TraceTree): Comparison {
  const [first, second] = [groupsOf(before), groupsOf(after)]
  const groups = [...new Set([...first.keys(), ...second.keys()])].map((key) => {
    const known = first.get(key) ?? second.get(key)
    return {
      name: known?.name ?? '',
      kind: known?.kind ?? 'span',
      task: known?.task ?? null,
      before: first.get(key)?.sums ?? NOTHING,
      after: second.get(key)?.sums ?? NOTHING,
    } satisfies ComparedGroup
  })
  return {
    before: wholeOf(before),
    after: wholeOf(after),
    groups: groups.sort((a, b) => differenceOf(b) - differenceOf(a)),
  }
}

const wholeOf = (tree: TraceTree) => ({ ...sumUp(tree), durationNs: tree.endNs - tree.beginNs })

const differenceOf = ({ before, after }: ComparedGroup): number =>
  Math.abs(after.durationNs - before.durationNs)

interface Group {
  readonly name: string
  readonly kind: KindName
  readonly task: string | null
  readonly sums: GroupSums
}

function groupsOf({ rows }: TraceTree): Map<string, Group> {
  const groups = new Map<string, Group>()
  for (const { span } of rows) {
    const { name, task } = span
    const kind = kindOf(span.operationKind)
    const key = JSON.stringify([name, kind, task])
    const { sums } = groups.get(key) ?? { sums: NOTHING }
    groups.set(key, { name, kind, task, sums: plusSpan(sums, span) })
  }
  return groups
}

function plusSpan(sums: GroupSums, span: SkeletonSpan): GroupSums {
  const cost = costOf(span)
  return {
    spans: sums.spans + 1,
    errors: sums.errors + (span.status === ERROR ? 1 : 0),
    durationNs: sums.durationNs + Math.max(0, span.durationNs ?? 0),
    tokens: sums.tokens + (span.inputTokens ?? 0) + (span.outputTokens ?? 0),
    costUsd: cost === null ? sums.costUsd : (sums.costUsd ?? 0) + cost,
  }
}
