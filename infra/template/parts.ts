import { Val } from './expression.ts'
import type { About, Entries, Expression } from './expression.ts'
import { argumentsOf, parametersLike } from './parameters.ts'
import { Each, elementOf, Noted, When } from './structure.ts'

/** One use of a named part, with what is given to it where it has parameters. */
export interface Use extends About {
  readonly given?: Entries
  /** The part in terms of its parameters; uses that have the same one are written alike. */
  readonly definition: object
}

/** An element or an entry of a part that templates include by its name. */
export class Member {
  readonly use: Use
  /** The element in terms of the part's parameters. */
  readonly definition: unknown
  /** The element as it is at this place. */
  readonly content: unknown

  constructor(use: Use, definition: unknown, content: unknown) {
    this.use = use
    this.definition = definition
    this.content = content
  }
}

/**
 * Gives a list of elements or some entries of a map a name: templates define it once and include
 * it. What comes back is spread or placed like the list or the map itself.
 */
export function part<T extends object>(about: About, build: () => T): () => T {
  let content: T | undefined
  return () => {
    content ??= build()
    return membersOf({ ...about, definition: content }, content, content)
  }
}

/** The same for a part with parameters, which are symbolic values or groups of them. */
export function partWith<P extends object, T extends object>(
  about: About,
  build: (parameters: P) => T,
): (given: P) => T {
  const definitions = new Map<string, T>()
  return (given) => {
    const parameters = parametersLike(given)
    const shape = JSON.stringify(parameters)
    const definition = definitions.get(shape) ?? build(parameters)
    definitions.set(shape, definition)
    return membersOf({ ...about, given: argumentsOf(given), definition }, definition, build(given))
  }
}

function membersOf<T extends object>(use: Use, definition: T, content: T): T {
  const contents: readonly unknown[] = Object.values(content)
  const members = Object.entries(definition).map(
    ([key, member], index) => [key, new Member(use, member, contents[index])] as const,
  )
  // Both readings look for members before they look at what an element or an entry is.
  const made = Array.isArray(definition)
    ? members.map(([, member]) => member)
    : Object.fromEntries(members)
  return made as unknown as T
}

/** Makes elements of one that may be in a part; what comes of a member is in the same part. */
export const mapMember = <T, R>(one: T, change: (one: T) => readonly R[]): readonly R[] =>
  // The type of an element does not show that it is a member.
  one instanceof Member
    ? Object.values(membersOf(one.use, change(one.definition as T), change(one.content as T)))
    : change(one)

/** The node inside of one that only says something of it; undefined for any other one. */
export function nodeWithin(node: unknown): unknown {
  if (node instanceof Member) return node.content
  return node instanceof When || node instanceof Noted ? node.inner : undefined
}

/** Every expression of a definition, as it is at its place. */
export function expressionsIn(node: unknown): readonly Expression[] {
  if (node instanceof Val) return [node.expression]
  if (node instanceof Member) return expressionsIn(node.content)
  if (node instanceof When) return [node.condition, node.inner].flatMap(expressionsIn)
  if (node instanceof Each) return [node.over.expression, ...expressionsIn(elementOf(node))]
  if (Array.isArray(node)) return node.flatMap(expressionsIn)
  return typeof node === 'object' && node !== null ? Object.values(node).flatMap(expressionsIn) : []
}
