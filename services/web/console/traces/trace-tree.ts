import type { SkeletonSpan } from '../../traces/skeleton.ts'

/**
 * What is odd about a span: its parent is not stored; it is its own ancestor; it has no end; it
 * ends before it starts; it is not within the time of its parent.
 */
export type Oddity = 'orphan' | 'cycle' | 'open' | 'negative' | 'outside'

/** A span at its place in the tree. */
export interface TreeRow {
  readonly span: SkeletonSpan
  /** 0 for a root. */
  readonly depth: number
  /** How many spans are below it: they are the rows that follow. */
  readonly below: number
  readonly oddities: readonly Oddity[]
  /** On the path that decides how long the trace takes. */
  readonly isCritical: boolean
}

/** A trace in the order in which a tree is read. */
export interface TraceTree {
  readonly rows: readonly TreeRow[]
  /** From the first start to the last end. */
  readonly beginNs: number
  readonly endNs: number
}

/**
 * Orders the spans of a trace as a tree: children below their parent, in the order of their start.
 * Every span has exactly one row, whatever the spans say of each other.
 */
export function toTree(spans: readonly SkeletonSpan[]): TraceTree {
  const family = familyOf(spans)
  const { order, depths, cycles } = walk(spans, family)
  const below = countBelow(order, depths)
  const critical = criticalPath(spans, family)
  const rows = order.flatMap((index, place) => {
    const span = spans[index]
    if (!span) return []
    const relations = { parent: family.parentOf(index), isCycle: cycles.has(index) }
    return {
      span,
      depth: depths[place] ?? 0,
      below: below[place] ?? 0,
      oddities: odditiesOf(span, relations),
      isCritical: critical.has(index),
    }
  })
  return { rows, ...extentOf(spans) }
}

/** The end of a span; its start while it has none, or when it ends before. */
export const endOf = ({ startNs, durationNs }: SkeletonSpan): number =>
  startNs + Math.max(0, durationNs ?? 0)

interface Family {
  /** Spans without a parent that is stored, by their index. */
  readonly roots: readonly number[]
  readonly childrenOf: (index: number) => readonly number[]
  readonly parentOf: (index: number) => SkeletonSpan | undefined
  /** -1 for a root. */
  readonly parentIndexOf: (index: number) => number
}

const NONE: readonly number[] = []

/** Of spans with the same id the first one has the children. */
function familyOf(spans: readonly SkeletonSpan[]): Family {
  const indexes = new Map<string, number>()
  for (const [index, { id }] of spans.entries()) if (!indexes.has(id)) indexes.set(id, index)
  const parents = spans.map(({ parentId }) =>
    parentId === null ? -1 : (indexes.get(parentId) ?? -1),
  )
  const children = new Map<number, number[]>()
  for (const [index, parent] of parents.entries()) {
    const list = children.get(parent)
    if (list) list.push(index)
    else children.set(parent, [index])
  }
  const byStart = (a: number, b: number): number =>
    (spans[a]?.startNs ?? 0) - (spans[b]?.startNs ?? 0) || a - b
  for (const list of children.values()) list.sort(byStart)
  return {
    roots: children.get(-1) ?? NONE,
    childrenOf: (index) => children.get(index) ?? NONE,
    parentOf: (index) => spans[parents[index] ?? -1],
    parentIndexOf: (index) => parents[index] ?? -1,
  }
}

interface Walk {
  readonly order: readonly number[]
  readonly depths: readonly number[]
  /** Spans that no root leads to, at which a circle was cut open. */
  readonly cycles: ReadonlySet<number>
}

/** Without recursion: a chain may be as long as the trace. */
function walk(spans: readonly SkeletonSpan[], family: Family): Walk {
  const { roots, childrenOf } = family
  const order: number[] = []
  const depths: number[] = []
  const isPlaced = new Uint8Array(spans.length)
  const cycles = new Set<number>()
  const place = (root: number): void => {
    const waiting = [{ index: root, depth: 0 }]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { index, depth } = next
      if (isPlaced[index] === 1) continue
      isPlaced[index] = 1
      order.push(index)
      depths.push(depth)
      for (const child of childrenOf(index).toReversed()) {
        if (isPlaced[child] !== 1) waiting.push({ index: child, depth: depth + 1 })
      }
    }
  }
  for (const root of roots) place(root)
  for (let index = 0; index < spans.length; index++) {
    if (isPlaced[index] === 1) continue
    // What hangs below a circle may come before it.
    const member = memberOfCycle(index, family)
    cycles.add(member)
    place(member)
  }
  return { order, depths, cycles }
}

/** Upwards from a span that no root leads to, there is a circle. */
function memberOfCycle(index: number, { parentIndexOf }: Family): number {
  const seen = new Set<number>()
  let at = index
  while (!seen.has(at)) {
    seen.add(at)
    at = parentIndexOf(at)
  }
  return at
}

/** The rows that follow with a greater depth. */
function countBelow(order: readonly number[], depths: readonly number[]): Uint32Array {
  const below = new Uint32Array(order.length)
  const open: number[] = []
  const close = (depth: number, end: number): void => {
    while (open.length > 0 && (depths[open.at(-1) ?? 0] ?? 0) >= depth) {
      const place = open.pop() ?? 0
      below[place] = end - place - 1
    }
  }
  for (let place = 0; place < order.length; place++) {
    close(depths[place] ?? 0, place)
    open.push(place)
  }
  close(0, order.length)
  return below
}

/**
 * The path that decides how long the trace takes: from the root's end backwards, always the child
 * that ended last before what was waited for.
 */
function criticalPath(spans: readonly SkeletonSpan[], { roots, childrenOf }: Family): Set<number> {
  const path = new Set<number>()
  const ends = spans.map(endOf)
  const endAt = (index: number): number => ends[index] ?? 0
  const last = roots.reduce((a, b) => (endAt(b) > endAt(a) ? b : a), roots[0] ?? -1)
  const waiting = last < 0 ? [] : [last]
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    if (path.has(index)) continue
    path.add(index)
    let until = endAt(index)
    for (const child of childrenOf(index).toSorted((a, b) => endAt(b) - endAt(a))) {
      if (endAt(child) > until) continue
      waiting.push(child)
      until = spans[child]?.startNs ?? 0
    }
  }
  return path
}

interface Relations {
  readonly parent: SkeletonSpan | undefined
  readonly isCycle: boolean
}

function odditiesOf(span: SkeletonSpan, { parent, isCycle }: Relations): Oddity[] {
  const { parentId, startNs, durationNs } = span
  const isOutside =
    parent !== undefined &&
    !isCycle &&
    (startNs < parent.startNs || (parent.durationNs !== null && endOf(span) > endOf(parent)))
  const oddities: [Oddity, boolean][] = [
    ['orphan', parentId !== null && parent === undefined],
    ['cycle', isCycle],
    ['open', durationNs === null],
    ['negative', durationNs !== null && durationNs < 0],
    ['outside', isOutside],
  ]
  return oddities.filter(([, is]) => is).map(([name]) => name)
}

function extentOf(spans: readonly SkeletonSpan[]): { beginNs: number; endNs: number } {
  let beginNs = spans[0]?.startNs ?? 0
  let endNs = beginNs
  for (const span of spans) {
    beginNs = Math.min(beginNs, span.startNs)
    endNs = Math.max(endNs, endOf(span))
  }
  return { beginNs, endNs }
}
