import { same } from './expression.ts'
import type { Expression } from './expression.ts'
import type { Member } from './parts.ts'
import type { Branch } from './tree.ts'

/** Conditions of which all hold at some place of a template. */
type Known = readonly Expression[]

/** The parts of a guard that all have to hold. */
const atomsOf = (guard: Expression): readonly Expression[] =>
  guard.op === 'call' && guard.fn === 'and' ? guard.args.flatMap(atomsOf) : [guard]

/** The conditions that hold where a guard does: itself, and all of its parts. */
export const holdingWith = (guard: Expression): Known => [guard, ...atomsOf(guard)]

const isIn = (known: Known, condition: Expression): boolean =>
  known.some((other) => same(other, condition))

/** All of some conditions as one; undefined for none. */
function join([first, ...others]: readonly Expression[]): Expression | undefined {
  if (!first || others.length === 0) return first
  return { op: 'call', fn: 'and', args: [first, ...others] }
}

/** All guards as one condition without repetitions; undefined for none. */
export const allOf = (guards: readonly Expression[]): Expression | undefined => {
  const atoms = guards.flatMap(atomsOf)
  return join(atoms.filter((atom, index) => !isIn(atoms.slice(0, index), atom)))
}

/** What is left of a guard where some of its parts hold already. */
export function leftOf(guard: Expression, known: Known): Expression | undefined {
  if (isIn(known, guard)) return undefined
  const atoms = atomsOf(guard)
  const left = atoms.filter((atom) => !isIn(known, atom))
  return left.length === atoms.length ? guard : join(left)
}

const atomsLeft = ({ guards }: Branch, known: Known): readonly Expression[] =>
  guards.flatMap(atomsOf).filter((atom) => !isIn(known, atom))

/** Neighbours that can share a condition. */
export interface Run<Kind extends Branch> {
  readonly members: readonly Kind[]
  /** What all of them need, where there are several. */
  readonly shared?: Expression
}

/** Splits branches into runs, each as long as its members begin with the same condition. */
export function runsOf<Kind extends Branch>(
  branches: readonly Kind[],
  known: Known,
): readonly Run<Kind>[] {
  const runs: Kind[][] = []
  for (const branch of branches) {
    const last = runs.at(-1)
    const [former] = last?.[0] ? atomsLeft(last[0], known) : []
    const [own] = atomsLeft(branch, known)
    if (last && former && own && same(former, own)) last.push(branch)
    else runs.push([branch])
  }
  return runs.map((members) => {
    const shared = members.length > 1 ? join(commonStart(members, known)) : undefined
    return { members, ...(shared ? { shared } : {}) }
  })
}

function commonStart(members: readonly Branch[], known: Known): readonly Expression[] {
  const [first = [], ...others] = members.map((member) => atomsLeft(member, known))
  const end = first.findIndex((atom, index) =>
    others.some((atoms) => !atoms[index] || !same(atoms[index], atom)),
  )
  return end === -1 ? first : first.slice(0, end)
}

/**
 * Tells whether a run exists exactly when the one before it does not. A run of which all conditions
 * hold already is written without one, and has no `else`.
 */
export function areOpposites(before: Run<Branch>, after: Run<Branch>, known: Known): boolean {
  const [former, guard] = [before, after].map((run) => leftOfRun(run, known))
  if (!former || !guard) return false
  const negates = (one: Expression, other: Expression): boolean =>
    negatedBy(one).some((negated) => {
      const left = leftOf(negated, known)
      return left !== undefined && same(left, other)
    })
  return negates(guard, former) || negates(former, guard)
}

function leftOfRun(run: Run<Branch>, known: Known): Expression | undefined {
  const condition = conditionOf(run)
  return condition && leftOf(condition, known)
}

const negatedBy = (guard: Expression): readonly Expression[] =>
  guard.op === 'call' && guard.fn === 'not' ? guard.args : []

/** Tells whether a run exists while a condition does not hold. */
export function isNegated(run: Run<Branch>): boolean {
  const condition = conditionOf(run)
  return condition !== undefined && negatedBy(condition).length > 0
}

/** The branches of a map, with those that share a part or a condition side by side. */
export function gathered<Kind extends Branch>(branches: readonly Kind[]): readonly Kind[] {
  const groups: Kind[][] = []
  for (const branch of branches) {
    const group = groups.find(([first]) => first && belongTogether(first, branch))
    if (group) group.push(branch)
    else groups.push([branch])
  }
  return groups.flat()
}

function belongTogether(one: Branch, other: Branch): boolean {
  const [part, guard, otherGuard] = [partOf(one), one.guards[0], other.guards[0]]
  if (part || partOf(other)) return part?.use === partOf(other)?.use
  return guard !== undefined && otherGuard !== undefined && same(guard, otherGuard)
}

const partOf = ({ parts = [] }: Branch): Member | undefined => parts[0]

/** Neighbours of one named part, or of none. */
export interface Segment<Kind extends Branch> {
  readonly part?: Member
  readonly members: readonly Kind[]
}

/** Splits branches where one named part ends or another one begins. */
export function segmentsOf<Kind extends Branch>(
  branches: readonly Kind[],
): readonly Segment<Kind>[] {
  const segments: { part: Member | undefined; members: Kind[] }[] = []
  for (const branch of branches) {
    const [last, part] = [segments.at(-1), partOf(branch)]
    if (last && last.part?.use === part?.use) last.members.push(branch)
    else segments.push({ part, members: [branch] })
  }
  return segments
}

/** The one condition of a run; undefined where there is none, or one inside of another. */
function conditionOf({ members, shared }: Run<Branch>): Expression | undefined {
  const [guard, ...others] = members[0]?.guards ?? []
  return shared ?? (others.length === 0 ? guard : undefined)
}
