import { same } from './expression.ts'
import type { Expression } from './expression.ts'
import type { Branch } from './tree.ts'

/** Conditions of which all hold at some place of a template. */
export type Known = readonly Expression[]

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

/** Tells whether a run exists exactly when the one before it does not. */
export function isOpposite(
  before: Run<Branch> | undefined,
  after: Run<Branch>,
  known: Known,
): boolean {
  const [former, guard] = [before && conditionOf(before), conditionOf(after)]
  if (!former || guard?.op !== 'call' || guard.fn !== 'not') return false
  const left = (condition: Expression): Expression => leftOf(condition, known) ?? condition
  return guard.args.some((argument) => same(left(argument), left(former)))
}

/** The one condition of a run; undefined where there is none, or one inside of another. */
function conditionOf({ members, shared }: Run<Branch>): Expression | undefined {
  const [guard, ...others] = members[0]?.guards ?? []
  return shared ?? (others.length === 0 ? guard : undefined)
}
