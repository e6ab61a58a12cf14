import type { ApiObject } from 'cdk8s'
import { same, Val } from './expression.ts'
import type { Expression } from './expression.ts'
import type { Condition } from './operators.ts'
import { Given, Instead, Items } from './given.ts'
import { isObject } from './json.ts'
import { manifestOf } from './strictness.ts'
import type { Existence } from './existence.ts'
import { Member } from './parts.ts'
import {
  definitionOf,
  Each,
  Either,
  elementOf,
  isSpread,
  Noted,
  Quantities,
  When,
} from './structure.ts'

/** One symbolic place of a manifest. */
export interface Mark {
  /** The place exists while all of these hold. */
  readonly guards: readonly Expression[]
  /** The value that is printed here. */
  readonly value?: Val<unknown>
  /** The list value over which the element here is repeated. */
  readonly range?: Expression
  /** The free value that stands here while it is not empty. */
  readonly instead?: Val<unknown>
  /** The named parts that it is an element of, outermost first. */
  readonly parts?: readonly Member[]
  readonly comment?: string
}

/** The marks of one object, by path. */
export type Marks = ReadonlyMap<string, Mark>

/** Stands where a symbolic value will be printed; it never reaches a file. */
export const PLACEHOLDER = '\u0000symbolic\u0000'

/**
 * The key of a path one step longer; that of the whole object is empty. The L1 classes change the
 * case of a few acronyms (clusterIp to clusterIP), so paths are compared without case.
 */
export const childKey = (parent: string, step: string): string =>
  parent === '' ? step.toLowerCase() : `${parent}\u0000${step.toLowerCase()}`

/** A manifest with placeholders, and what is to be known of them. */
interface Marked {
  readonly manifest: Readonly<Record<string, unknown>>
  readonly marks: Marks
}

/** Reads an object as a template: each symbolic place gets a placeholder and a mark by its path. */
export function readMarked(object: ApiObject, existence: Existence): Marked {
  const reading = new TemplateReading(existence)
  const { apiVersion, kind } = object
  const manifest = manifestOf(object, reading.read(definitionOf(object), ''))
  return { manifest: { apiVersion, kind, ...manifest }, marks: reading.marks }
}

class TemplateReading {
  readonly marks = new Map<string, Mark>()
  private readonly existence: Existence

  constructor(existence: Existence) {
    this.existence = existence
  }

  read(node: unknown, place: string): unknown {
    const condition = this.ownCondition(node)
    if (condition) this.guard(place, condition.expression)
    if (node instanceof When) return this.read(node.inner, place)
    if (node instanceof Member) {
      const { parts = [] } = this.marks.get(place) ?? {}
      this.mark(place, { parts: [...parts, node] })
      return this.read(node.definition, place)
    }
    if (node instanceof Noted) {
      this.mark(place, { comment: node.comment })
      return this.read(node.inner, place)
    }
    return this.readValue(node, place)
  }

  private readValue(node: unknown, place: string): unknown {
    if (node instanceof Val) return this.placeholderFor(node, place)
    if (node instanceof Quantities || node instanceof Given)
      return this.placeholderFor(node.value, place)
    if (node instanceof Items) {
      this.mark(place, { value: node.value })
      return {}
    }
    if (node instanceof Instead) {
      this.mark(place, { instead: node.value })
      return this.read(node.own, place)
    }
    if (node instanceof Either) return { value: this.placeholderFor(node.value, place) }
    if (node instanceof Each) {
      this.mark(place, { range: node.over.expression })
      return this.read(elementOf(node), place)
    }
    return this.readMembers(node, place)
  }

  private readMembers(node: unknown, place: string): unknown {
    if (Array.isArray(node))
      return node.map((item, index) => this.read(item, childKey(place, `${index}`)))
    if (!isObject(node)) return node
    const entries = Object.entries(node).filter(([, member]) => member !== undefined)
    return Object.fromEntries(
      entries.map(([key, member]) => [key, this.read(member, childKey(place, key))]),
    )
  }

  /** The guard of a node without what is inside a `when`; a range over nothing needs none. */
  private ownCondition(node: unknown): Condition | undefined {
    if (node instanceof Each || node instanceof Member || node instanceof Noted) return undefined
    return node instanceof When ? node.condition : this.existence(node)
  }

  private placeholderFor(value: Val<unknown>, place: string): unknown {
    this.mark(place, { value })
    if (isSpread(place.slice(place.lastIndexOf('\u0000') + 1))) return PLACEHOLDER
    if (value.kind === 'list') return []
    return value.kind === 'map' ? {} : PLACEHOLDER
  }

  private guard(place: string, guard: Expression): void {
    const { guards = [] } = this.marks.get(place) ?? {}
    if (!guards.some((other) => same(other, guard)))
      this.mark(place, { guards: [...guards, guard] })
  }

  private mark(place: string, mark: Partial<Mark>): void {
    this.marks.set(place, { guards: [], ...this.marks.get(place), ...mark })
  }
}
