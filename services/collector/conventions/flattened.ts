import type { JsonObject } from './json.ts'
import { MAX_MESSAGES } from './message.ts'

type Tree = Map<string, unknown>

const INDEX = /^\d{1,4}$/
const MAX_STEPS = 12

/**
 * The list that attributes such as `prefix.0.message.role` were made of; empty when there are none.
 */
export function unflatten(attributes: JsonObject, prefix: string): unknown[] {
  // Most spans have no attribute of most prefixes.
  const keys = Object.keys(attributes).filter((key) => key.startsWith(prefix))
  if (keys.length === 0) return []
  const root: Tree = new Map()
  for (const key of keys) put(root, key.slice(prefix.length).split('.'), attributes[key])
  const list = toLists(root)
  return Array.isArray(list) ? list : []
}

function put(root: Tree, path: readonly string[], value: unknown): void {
  const last = path.at(-1)
  if (last === undefined || path.length > MAX_STEPS) return
  let tree = root
  for (const name of path.slice(0, -1)) {
    const next = tree.get(name)
    const inner: Tree = isTree(next) ? next : new Map()
    if (inner !== next) tree.set(name, inner)
    tree = inner
  }
  tree.set(last, tree.get(last) ?? value)
}

/** Made here: no attribute is one. */
const isTree = (value: unknown): value is Tree => value instanceof Map

/** Objects whose names are all numbers as the lists that they were. */
function toLists(value: unknown): unknown {
  if (!isTree(value)) return value
  const names = [...value.keys()]
  if (names.length > 0 && names.every((name) => INDEX.test(name))) {
    const inOrder = names.toSorted((a, b) => Number(a) - Number(b) || a.length - b.length)
    return inOrder.slice(0, MAX_MESSAGES).map((name) => toLists(value.get(name)))
  }
  return Object.fromEntries(names.map((name) => [name, toLists(value.get(name))]))
}
