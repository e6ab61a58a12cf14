import type { Expression, Val } from './expression.ts'
import { insideOf, printBlock, printGo, printInclude, printScalar, TOP } from './go.ts'
import type { Scope } from './go.ts'
import { entriesOver } from './helpers.ts'
import { literalBlock, yamlScalar } from './scalar.ts'
import { isSpread } from './structure.ts'
import {
  areOpposites,
  gathered,
  holdingWith,
  isNegated,
  leftOf,
  runsOf,
  segmentsOf,
} from './neighbours.ts'
import type { Run, Segment } from './neighbours.ts'
import { expressionsIn } from './parts.ts'
import type { Member, Use } from './parts.ts'
import { wrap } from './comments.ts'
import { binding, isCollection, isEmpty, leadFirst } from './tree.ts'
import type { Branch, Entry, Tree } from './tree.ts'

/** Told of what a template needs besides itself. */
export interface Visitor {
  /** Called with each expression that it prints. */
  readonly visit: (expression: Expression) => void
  /** Called with each named part that it includes, and what writes the lines of that. */
  readonly define: (part: Use, write: () => readonly string[]) => void
}

const NOBODY: Visitor = { visit: () => {}, define: () => {} }

/** A tree without symbolic places as YAML. */
export const writeManifest = (tree: Tree): string => write(new Writer(NOBODY, false), tree, TOP)

/** A tree as a template, where the given guards already hold. */
export const writeTemplate = (
  tree: Tree,
  guards: readonly Expression[],
  visitor: Visitor,
): string => write(new Writer(visitor, true), tree, { ...TOP, known: guards.flatMap(holdingWith) })

/** A tree as a template that is repeated for each element of a list. */
export function writeRepeated(
  tree: Tree,
  { over, guards }: { readonly over: Expression; readonly guards: readonly Expression[] },
  visitor: Visitor,
): string {
  visitor.visit(over)
  const scope: Scope = { root: '$', isItem: true, known: guards.flatMap(holdingWith) }
  const body = write(new Writer(visitor, true), tree, scope)
  return `{{- range ${printGo(over, TOP)} }}\n---\n${body}{{- end }}\n`
}

const write = (writer: Writer, tree: Tree, scope: Scope): string =>
  `${writer.block(tree, { depth: 0, scope }).join('\n')}\n`

type Lines = readonly string[]

interface Position {
  readonly depth: number
  readonly scope: Scope
}

type Write<Kind> = (one: Kind, at: Position) => Lines

const line = (depth: number, text: string): string => `${' '.repeat(depth)}${text}`
const action = (depth: number, inside: string): string => line(depth, `{{- ${inside} }}`)

const block = (lead: string, lines: readonly string[], depth: number): Lines => [
  line(depth, `${lead} |-`),
  ...lines.map((text) => line(depth + 2, text).trimEnd()),
]

/** The entries of a map of texts. */
const ENTRIES: Use = {
  name: 'map.entries',
  comment: 'The entries of a map of texts, where toYaml would lose line breaks at their ends.',
  definition: {},
}

type PartSegment<Kind extends Branch> = Required<Segment<Kind>>

/** The parts of a branch within the outermost one. */
const innerOf = ({ parts = [] }: Branch): readonly Member[] | undefined =>
  parts.length > 1 ? parts.slice(1) : undefined

/** Returns true for a branch that is always there, in its own words. */
const isPlain = ({ guards, parts, comment }: Branch): boolean =>
  guards.length === 0 && parts === undefined && comment === undefined

const commentLines = ({ comment }: Branch, depth: number): Lines =>
  comment === undefined ? [] : wrap(comment).map((text) => line(depth, `# ${text}`))

class Writer {
  private readonly visitor: Visitor
  private readonly isTemplate: boolean

  constructor(visitor: Visitor, isTemplate: boolean) {
    this.visitor = visitor
    this.isTemplate = isTemplate
  }

  /** The lines of a map or a list. */
  block(tree: Tree, at: Position): Lines {
    if (tree.kind === 'map') {
      const { entries } = tree
      // Most maps are there whole, and without a part.
      if (entries.every(isPlain)) return entries.flatMap((entry) => this.plainEntry(entry, at))
      return this.segments(gathered(entries), at, (entry, inner) =>
        this.guarded(entry, inner, (own) => this.plainEntry(entry, own)),
      )
    }
    if (tree.kind === 'list') return this.list(tree.items, at)
    throw new Error('only a map or a list is a block')
  }

  /** An entry behind what it needs to be there. */
  private plainEntry({ key, tree }: Entry, at: Position): Lines {
    return isSpread(key) && tree.kind === 'value'
      ? this.spreadEntries(tree.value, at)
      : this.keyed(`${yamlScalar(key)}:`, tree, at)
  }

  private keyed(key: string, tree: Tree, { depth, scope }: Position): Lines {
    const inner = { depth: depth + 2, scope }
    if (isEmpty(tree)) return [line(depth, `${key} ${tree.kind === 'list' ? '[]' : '{}'}`)]
    if (tree.kind === 'value' && isCollection(tree.value)) {
      return [line(depth, key), this.wholeValue(tree.value, inner)]
    }
    if (tree.kind === 'instead') return [line(depth, key), ...this.instead(tree, inner)]
    if (tree.kind === 'map' || tree.kind === 'list')
      return [line(depth, key), ...this.block(tree, inner)]
    return this.scalar(key, tree, { depth, scope })
  }

  /** A free value, or else the chart's own map or list. */
  private instead({ value, own }: Extract<Tree, { kind: 'instead' }>, at: Position): Lines {
    const { expression } = value
    return [
      action(at.depth, `with ${this.print(expression, at.scope)}`),
      this.wholeValue(value, { depth: at.depth, scope: { ...at.scope, dot: expression } }),
      action(at.depth, 'else'),
      ...this.block(own, at),
      action(at.depth, 'end'),
    ]
  }

  private wholeValue({ expression }: Val<unknown>, { depth, scope }: Position): string {
    return action(depth, `toYaml ${this.print(expression, scope)} | nindent ${depth}`)
  }

  /** The entries of a whole map, among the other entries of this depth. */
  private spreadEntries({ expression }: Val<unknown>, { depth, scope }: Position): Lines {
    const printed = this.print(expression, scope)
    if (expression.op === 'labels') return [action(depth, `${printed} | nindent ${depth}`)]
    this.visitor.define(ENTRIES, () => entriesOver('.'))
    const map = printed.includes(' ') ? `(${printed})` : printed
    return [action(depth, `include "${ENTRIES.name}" ${map} | nindent ${depth}`)]
  }

  private list(items: readonly Branch[], at: Position): Lines {
    if (items.every(isPlain)) return items.flatMap((item) => this.repeated(item, at))
    return this.segments(items, at, (item, inner) =>
      this.guarded(item, inner, (own) => this.repeated(item, own)),
    )
  }

  /** Branches of a named part are included, the others written out. */
  private segments<Kind extends Branch>(
    all: readonly Kind[],
    at: Position,
    one: Write<Kind>,
  ): Lines {
    return segmentsOf(all).flatMap(({ part, members }) =>
      part ? this.included({ part, members }, at, one) : this.branches(members, at, one),
    )
  }

  private included<Kind extends Branch>(
    { part: { use }, members }: PartSegment<Kind>,
    { depth, scope }: Position,
    one: Write<Kind>,
  ): Lines {
    const own = members.map((member) => ({ ...member, parts: innerOf(member) }))
    const inside = { depth: 0, scope: insideOf(use.given !== undefined) }
    this.visitor.define(use, () => this.segments(own, inside, one))
    members.flatMap(({ parts }) => expressionsIn(parts?.[0])).forEach(this.visitor.visit)
    return [action(depth, `${printInclude(use.name, use.given, scope)} | nindent ${depth}`)]
  }

  /** Neighbours that exist under the same condition share it, and the opposite is its `else`. */
  private branches<Kind extends Branch>(
    all: readonly Kind[],
    at: Position,
    one: Write<Kind>,
  ): Lines {
    const written: Lines[] = []
    const { known = [] } = at.scope
    const runs = runsOf(all, known)
    for (const [index, run] of runs.entries()) {
      const [before, own] = [runs[index - 1], this.run(run, at, one)]
      if (before && areOpposites(before, run, known)) {
        const former = written.pop() ?? []
        const [yes, no] = isNegated(run) ? [former, own] : [own, former]
        written.push([...yes.slice(0, -1), action(at.depth, 'else'), ...no.slice(1)])
      } else written.push(own)
    }
    return written.flat()
  }

  private run<Kind extends Branch>(
    { members, shared }: Run<Kind>,
    { depth, scope }: Position,
    one: Write<Kind>,
  ): Lines {
    if (!shared) return members.flatMap((member) => one(member, { depth, scope }))
    const known = [...(scope.known ?? []), ...holdingWith(shared)]
    return [
      action(depth, `if ${this.print(shared, scope)}`),
      ...this.branches(members, { depth, scope: { ...scope, known } }, one),
      action(depth, 'end'),
    ]
  }

  private repeated(item: Branch, { depth, scope }: Position): Lines {
    if (!item.range) return this.element(item.tree, { depth, scope })
    const range = action(depth, `range ${this.print(item.range, scope)}`)
    const inner: Scope = { root: '$', known: scope.known }
    return [range, ...this.element(item.tree, { depth, scope: inner }), action(depth, 'end')]
  }

  private element(tree: Tree, { depth, scope }: Position): Lines {
    if (tree.kind === 'value' && isCollection(tree.value))
      return [this.wholeValue(tree.value, { depth, scope })]
    if (tree.kind === 'scalar' || tree.kind === 'value')
      return this.scalar('-', tree, { depth, scope })
    if (isEmpty(tree)) return [line(depth, tree.kind === 'list' ? '- []' : '- {}')]
    const [first = '', ...rest] = this.block(leadFirst(tree), { depth: depth + 2, scope })
    return [line(depth, `- ${first.trimStart()}`), ...rest]
  }

  private guarded(branch: Branch, at: Position, body: (inner: Position) => Lines): Lines {
    const { depth, scope } = at
    const [whole, ...guards] = branch.guards
    if (!whole) return [...commentLines(branch, depth), ...body(at)]
    const known = scope.known ?? []
    const guard = leftOf(whole, known)
    if (!guard) return this.guarded({ ...branch, guards }, at, body)
    const bound = scope.isItem ? undefined : binding(guard, branch)
    const inner: Scope = {
      ...(bound ? { root: '$', dot: bound } : scope),
      known: [...known, ...holdingWith(whole)],
    }
    return [
      action(depth, `${bound ? 'with' : 'if'} ${this.print(guard, scope)}`),
      ...this.guarded({ ...branch, guards }, { depth, scope: inner }, body),
      action(depth, 'end'),
    ]
  }

  /** A scalar behind its key or its dash. */
  private scalar(lead: string, tree: Tree, { depth, scope }: Position): Lines {
    if (tree.kind === 'value') {
      this.visitor.visit(tree.value.expression)
      const lines = printBlock(tree.value.expression, scope)
      if (lines) return block(lead, lines, depth)
      return [line(depth, `${lead} ${printScalar(tree.value, scope)}`)]
    }
    if (tree.kind !== 'scalar') throw new Error('not a scalar')
    const script = literalBlock(tree.value)
    if (script) return block(lead, script, depth)
    return [line(depth, `${lead} ${this.literal(tree.value)}`)]
  }

  private literal(value: string | number | boolean): string {
    const isAction = this.isTemplate && typeof value === 'string' && value.includes('{{')
    return isAction ? `{{ ${JSON.stringify(value)} | quote }}` : yamlScalar(value)
  }

  private print(expression: Expression, scope: Scope): string {
    this.visitor.visit(expression)
    return printGo(expression, scope)
  }
}
