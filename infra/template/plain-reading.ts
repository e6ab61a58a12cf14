import type { ApiObject } from 'cdk8s'
import { evaluate, truthyIn, Val } from './expression.ts'
import type { Context } from './expression.ts'
import { asProps, withoutLeaves } from './free.ts'
import { truthy } from './functions.ts'
import { FreePart, Instead, Items } from './given.ts'
import { isObject } from './json.ts'
import { manifestOf } from './strictness.ts'
import type { SourceTree } from './objects.ts'
import { nodeWithin } from './parts.ts'
import { definitionOf, Each, Either, isSpread, Quantities, repeatedOver } from './structure.ts'

/** What is known of the nodes of a tree. */
type Found = Pick<SourceTree, 'existence' | 'constants'>

/**
 * Reads a construct tree as manifests: every symbolic value becomes its value, and what is not
 * wanted is gone.
 */
export class PlainReading {
  private readonly tree: Found
  private readonly context: Context
  /** The object that is read has free values. */
  private hasFree = false

  constructor(tree: Found, context: Context) {
    this.tree = tree
    this.context = context
  }

  /** The objects that a source stands for: one, or one for each element of a list. */
  manifestsOf(object: ApiObject): readonly Readonly<Record<string, unknown>>[] {
    const repeated = repeatedOver(object)
    if (!repeated) return [this.manifestOf(object, definitionOf(object))]
    return this.definitionsOver(repeated).map((definition) => this.manifestOf(object, definition))
  }

  private manifestOf(object: ApiObject, definition: unknown): Readonly<Record<string, unknown>> {
    const { apiVersion, kind } = object
    this.hasFree = false
    const manifest = manifestOf(object, this.read(definition))
    // The scalars of what is given are wrapped.
    const plain = this.hasFree ? withoutLeaves(manifest) : manifest
    return { apiVersion, kind, ...(isObject(plain) ? plain : {}) }
  }

  /** A part of a definition, as the L1 classes take it. */
  contentOf(node: unknown): unknown {
    return this.read(node)
  }

  private read(node: unknown): unknown {
    if (typeof node !== 'object' || node === null || this.tree.constants.has(node)) return node
    if (!this.exists(node)) return undefined
    if (node instanceof Val) return evaluate(node.expression, this.context)
    const inner = nodeWithin(node)
    if (inner !== undefined) return this.read(inner)
    if (node instanceof FreePart) return this.freePart(node)
    if (node instanceof Either) return { value: evaluate(node.value.expression, this.context) }
    if (node instanceof Quantities) return wrapped(evaluate(node.value.expression, this.context))
    if (Array.isArray(node)) return this.list(node)
    return isObject(node) ? this.map(node) : node
  }

  private freePart(part: FreePart): unknown {
    const value = evaluate(part.value.expression, this.context)
    if (part instanceof Instead && !truthy(value)) return this.read(part.own)
    this.hasFree = true
    return asProps(value)
  }

  private list(node: readonly unknown[]): readonly unknown[] {
    const items = node.flatMap((item) => this.elements(item))
    if (items.length !== node.length || items.some((item, index) => item !== node[index]))
      return items
    this.tree.constants.add(node)
    return node
  }

  private map(node: Readonly<Record<string, unknown>>): unknown {
    const map: Record<string, unknown> = {}
    let isConstant = true
    for (const [key, value] of Object.entries(node)) {
      const read = this.read(value)
      if (isSpread(key)) Object.assign(map, read)
      else if (read !== undefined) map[key] = read
      isConstant &&= read === value
    }
    if (!isConstant) return map
    this.tree.constants.add(node)
    return node
  }

  private exists(node: unknown): boolean {
    const condition = this.tree.existence(node)
    return condition === undefined || truthyIn(condition.expression, this.context)
  }

  private elements(item: unknown): readonly unknown[] {
    const inner = nodeWithin(item)
    if (inner !== undefined) return this.exists(item) ? this.elements(inner) : []
    if (item instanceof Items) return asList(this.freePart(item))
    return item instanceof Each ? this.repeat(item) : [this.read(item)]
  }

  private repeat(each: Each<unknown>): readonly unknown[] {
    return this.definitionsOver(each).map((definition) => this.read(definition))
  }

  private definitionsOver({ over, element }: Each<unknown>): readonly unknown[] {
    const items = evaluate(over.expression, this.context)
    if (!Array.isArray(items)) throw new Error('only a list can be repeated over')
    return items.map((item) => element((key) => memberOf(item, key)))
  }
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Each amount as the L1 classes read it. */
const wrapped = (amounts: unknown): unknown =>
  isObject(amounts)
    ? Object.fromEntries(Object.entries(amounts).map(([key, member]) => [key, wrapped(member)]))
    : { value: amounts }

const memberOf = (item: unknown, key: string): Val<string> => {
  const value = isObject(item) ? item[key] : item
  return new Val({ op: 'literal', value: typeof value === 'string' ? value : '' }, 'string')
}
