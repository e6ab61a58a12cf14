import { ApiObject } from 'cdk8s'
import type { IResolver, ResolutionContext } from 'cdk8s'
import { same, Val } from './expression.ts'
import type { Expression } from './expression.ts'
import type { Condition } from './operators.ts'
import { Given, Instead, Items } from './given.ts'
import { manifestOf } from './strictness.ts'
import type { Existence } from './existence.ts'
import { Member } from './parts.ts'
import { Each, Either, elementOf, isSpread, Noted, Quantities, When } from './structure.ts'

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

const pathKey = (path: readonly string[]): string => path.join('\u0000').toLowerCase()

// cdk8s resolves an object's metadata by itself, with paths that start inside it.
const METADATA_KEYS = new Set(['name', 'namespace', 'labels', 'annotations'])

/**
 * Reads a construct tree as templates: the manifest keeps placeholders, and each symbolic place has
 * a mark by its path.
 */
export class TemplateReading implements IResolver {
  private readonly objects = new Map<ApiObject, Map<string, Mark>>()
  private readonly existence: Existence

  constructor(existence: Existence) {
    this.existence = existence
  }

  /** The manifest with its placeholders; reading it makes the marks. */
  manifestOf(object: ApiObject): unknown {
    // The L1 classes' own `toJson` would resolve twice, and silently drop fields that Kubernetes
    // does not have.
    return manifestOf(object, ApiObject.prototype.toJson.call(object))
  }

  marksOf(object: ApiObject): Marks {
    return this.objects.get(object) ?? new Map()
  }

  resolve(resolution: ResolutionContext): void {
    const node: unknown = resolution.value
    const condition = this.ownCondition(node)
    if (condition) this.guard(resolution, condition.expression)
    if (node instanceof When) resolution.replaceValue(node.inner)
    else if (node instanceof Member) {
      const { parts = [] } = this.at(resolution) ?? {}
      // A tree may be read again.
      this.mark(resolution, { parts: parts.includes(node) ? parts : [...parts, node] })
      resolution.replaceValue(node.definition)
    } else if (node instanceof Noted) {
      this.mark(resolution, { comment: node.comment })
      resolution.replaceValue(node.inner)
    } else this.resolveValue(resolution, node)
  }

  private resolveValue(resolution: ResolutionContext, node: unknown): void {
    if (node instanceof Val) resolution.replaceValue(this.placeholderFor(resolution, node))
    else if (node instanceof Quantities || node instanceof Given)
      resolution.replaceValue(this.placeholderFor(resolution, node.value))
    else if (node instanceof Items) {
      this.mark(resolution, { value: node.value })
      resolution.replaceValue({})
    } else if (node instanceof Instead) {
      this.mark(resolution, { instead: node.value })
      resolution.replaceValue(node.own)
    } else if (node instanceof Either) {
      resolution.replaceValue({ value: this.placeholderFor(resolution, node.value) })
    } else if (node instanceof Each) {
      this.mark(resolution, { range: node.over.expression })
      resolution.replaceValue(elementOf(node))
    }
  }

  /** The guard of a node without what is inside a `when`; a range over nothing needs none. */
  private ownCondition(node: unknown): Condition | undefined {
    if (node instanceof Each || node instanceof Member || node instanceof Noted) return undefined
    return node instanceof When ? node.condition : this.existence(node)
  }

  private placeholderFor(resolution: ResolutionContext, value: Val<unknown>): unknown {
    this.mark(resolution, { value })
    if (isSpread(resolution.key.at(-1) ?? '')) return PLACEHOLDER
    if (value.kind === 'list') return []
    return value.kind === 'map' ? {} : PLACEHOLDER
  }

  private guard(resolution: ResolutionContext, guard: Expression): void {
    const { guards = [] } = this.at(resolution) ?? {}
    if (!guards.some((other) => same(other, guard)))
      this.mark(resolution, { guards: [...guards, guard] })
  }

  private at({ obj, key }: ResolutionContext): Mark | undefined {
    return this.objects.get(obj)?.get(pathKey(fullPath(key)))
  }

  private mark(resolution: ResolutionContext, mark: Partial<Mark>): void {
    const { obj, key } = resolution
    const marks = this.objects.get(obj) ?? new Map<string, Mark>()
    this.objects.set(
      obj,
      marks.set(pathKey(fullPath(key)), { guards: [], ...this.at(resolution), ...mark }),
    )
  }
}

const fullPath = ([first = '', ...rest]: readonly string[]): readonly string[] =>
  METADATA_KEYS.has(first) ? ['metadata', first, ...rest] : [first, ...rest]
