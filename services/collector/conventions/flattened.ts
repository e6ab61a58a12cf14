import type { JsonObject } from './json.ts'
import { isObject } from './json.ts'
import { MAX_MESSAGES } from './message.ts'

type Tree = { [name: string]: unknown }

const INDEX = /^\d{1,4}$/
const MAX_STEPS = 12

/**
 * The list that attributes such as `prefix.0.message.role` were made of; empty when there are none.
 */
export function unflatten(attributes: JsonObject, prefix: string): unknown[] {
  // Most spans have no attribute of most prefixes.
  const keys = Object.keys(attributes).filter((key) => key.startsWith(prefix))
  if (keys.length === 0) return []
  const root: Tree = Object.create(null)
  for (const key of keys) put(root, key.slice(prefix.length).split('.'), attributes[key])
  const list = toLists(root)
  return Array.isArray(list) ? list : []
}

function put(root: Tree, path: readonly string[], value: unknown): void {
  const last = path.at(-1)
  if (last === undefined || path.length > MAX_STEPS) return
  let tree = root
  for (const name of path.slice(0, -1)) {
    const next = tree[name]
    if (isTree(next)) tree = next
    else tree = tree[name] = Object.create(null) as Tree
  }
  tree[last] ??= value
}

/** Made here, without a prototype: attributes cannot be. */
const isTree = (value: unknown): value is Tree =>
  isObject(value) && Object.getPrototypeOf(value) === null

/** Objects whose names are all numbers as the lists that they were. */
function toLists(value: unknown): unknown {
  if (!isTree(value)) return value
  const entries = Object.entries(value).map(([name, child]) => [name, toLists(child)] as const)
  if (entries.length > 0 && entries.every(([name]) => INDEX.test(name))) {
    const inOrder = entries.toSorted(([a], [b]) => Number(a) - Number(b))
    return inOrder.slice(0, MAX_MESSAGES).map(([, child]) => child)
  }
  return Object.fromEntries(entries)
}
