import { same, Val } from './expression.ts'
import { FreePart, Instead } from './given.ts'
import { isObject } from './json.ts'
import { all, any, isSet, not } from './operators.ts'
import type { Condition } from './operators.ts'
import { Member, nodeWithin } from './parts.ts'
import { Each, isSpread, Noted, When } from './structure.ts'

/**
 * The condition under which a node of a definition exists; undefined when it always does. A list or
 * map all of whose members are conditional exists while one of them does: Kubernetes takes
 * `volumes:` without a volume for a mistake.
 */
export type Existence = (node: unknown) => Condition | undefined

/** Creates an `Existence` that computes the condition of each node once. */
export function createExistence(): Existence {
  const known = new WeakMap<object, { readonly condition: Condition | undefined }>()
  const existence: Existence = (node) => {
    if (typeof node !== 'object' || node === null) return undefined
    const found = known.get(node)
    if (found) return found.condition
    const condition = conditionOf(node, existence)
    known.set(node, { condition })
    return condition
  }
  return existence
}

function conditionOf(node: object, existence: Existence): Condition | undefined {
  if (node instanceof Member || node instanceof Noted) return existence(nodeWithin(node))
  if (node instanceof When) return allOf(node.condition, existence(node.inner))
  if (node instanceof Each) return isSet(node.over)
  if (node instanceof FreePart) return node instanceof Instead ? undefined : isSet(node.value)
  if (Array.isArray(node)) return anyOf(node, existence)
  if (!isObject(node)) return undefined
  return anyOf(Object.entries(node), ([key, entry]) => {
    const member = entry instanceof Member ? entry.content : entry
    return isSpread(key) && member instanceof Val && member.expression.op !== 'labels'
      ? isSet(member)
      : existence(member)
  })
}

function anyOf<T>(
  members: readonly T[],
  conditionOf: (member: T) => Condition | undefined,
): Condition | undefined {
  const conditions: Condition[] = []
  for (const member of members) {
    const condition = conditionOf(member)
    if (condition === undefined) return undefined
    conditions.push(condition)
  }
  return conditions.length > 0 && !hasOpposites(conditions) ? any(...conditions) : undefined
}

/** One of a condition and its opposite always holds. */
const hasOpposites = (conditions: readonly Condition[]): boolean =>
  conditions.some((one) => {
    const opposite = not(one).expression
    return conditions.some(({ expression }) => same(expression, opposite))
  })

const allOf = (condition: Condition, inner: Condition | undefined): Condition =>
  inner === undefined ? condition : all(condition, inner)
