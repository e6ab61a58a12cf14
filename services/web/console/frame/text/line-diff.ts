/** A line of one text, of the other one, or of both. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Texts that differ in more lines are told as one block that was replaced. */
const EDITS_MAX = 1000

/**
 * Returns the lines of two texts, those that only the first one has as removed and those that only
 * the second one has as added: the fewest of both, as Myers' algorithm finds them.
 */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  const start = sharedStart(old, now)
  const end = sharedStart(old.slice(start).toReversed(), now.slice(start).toReversed())
  const middle = diffMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end))
  const same = (lines: readonly string[]) => lines.map((text) => ({ kind: 'same', text }) as const)
  return [...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))]
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.split('\n'))

function sharedStart(a: readonly string[], b: readonly string[]): number {
  let count = 0
  while (count < a.length && count < b.length && a[count] === b[count]) count += 1
  return count
}

/** The furthest place on each diagonal, after each number of edits. */
type Trail = readonly ReadonlyMap<number, number>[]

function diffMiddle(old: readonly string[], now: readonly string[]): DiffLine[] {
  const trail = findTrail(old, now)
  return trail ? walkBack(trail, old, now) : replaced(old, now)
}

const replaced = (old: readonly string[], now: readonly string[]): DiffLine[] => [
  ...old.map((text) => ({ kind: 'removed', text }) as const),
  ...now.map((text) => ({ kind: 'added', text }) as const),
]

/** Undefined when there are too many edits. */
function findTrail(old: readonly string[], now: readonly string[]): Trail | undefined {
  const trail: Map<number, number>[] = []
  let last = new Map([[1, 0]])
  for (let edits = 0; edits <= Math.min(EDITS_MAX, old.length + now.length); edits += 1) {
    const furthest = new Map<number, number>()
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = stepOf(last, diagonal, edits).x
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x += 1
      furthest.set(diagonal, x)
      if (x >= old.length && x - diagonal >= now.length) return [...trail, furthest]
    }
    trail.push(furthest)
    last = furthest
  }
  return undefined
}

/** Comes to a diagonal by a line that is added, or by a removed one: whichever gets further. */
function stepOf(last: ReadonlyMap<number, number>, diagonal: number, edits: number) {
  const above = last.get(diagonal + 1) ?? -1
  const beside = last.get(diagonal - 1) ?? -1
  const isAdded = diagonal === -edits || (diagonal !== edits && beside < above)
  return isAdded ? { x: above, from: diagonal + 1 } : { x: beside + 1, from: diagonal - 1 }
}

function walkBack(trail: Trail, old: readonly string[], now: readonly string[]): DiffLine[] {
  const lines: DiffLine[] = []
  let at = { x: old.length, y: now.length }
  for (let edits = trail.length - 1; edits > 0; edits -= 1) {
    const last = trail[edits - 1] ?? new Map<number, number>()
    const { from } = stepOf(last, at.x - at.y, edits)
    const x = last.get(from) ?? 0
    const start = { x, y: x - from }
    const isAdded = at.x - at.y < from
    const shared = isAdded ? at.x - x : at.x - x - 1
    lines.push(...sharedLines(old, at.x, shared))
    lines.push(
      isAdded
        ? { kind: 'added', text: now[start.y] ?? '' }
        : { kind: 'removed', text: old[start.x] ?? '' },
    )
    at = start
  }
  return [...lines, ...sharedLines(old, at.x, at.x)].reverse()
}

/** Those before a place, the last one first. */
const sharedLines = (old: readonly string[], end: number, count: number): DiffLine[] =>
  old
    .slice(end - count, end)
    .toReversed()
    .map((text) => ({ kind: 'same', text }))
