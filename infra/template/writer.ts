import type { Expression, Val } from './expression.ts'
import { printBlock, printGo, printScalar, TOP } from './go.ts'
import type { Scope } from './go.ts'
import { entriesOver } from './helpers.ts'
import { literalBlock, yamlScalar } from './scalar.ts'
import { isSpread } from './structure.ts'
import { holdingWith, isOpposite, leftOf, runsOf } from './neighbours.ts'
import type { Run } from './neighbours.ts'
import { binding, isCollection, isEmpty, leadFirst } from './tree.ts'
import type { Branch, Entry, Tree } from './tree.ts'

/** Called with each expression that a template prints. */
export type Visitor = (expression: Expression) => void

/** A tree without symbolic places as YAML. */
export const writeManifest = (tree: Tree): string => write(new Writer(() => {}, false), tree, TOP)

/** A tree as a template, where the given guards already hold. */
export const writeTemplate = (tree: Tree, guards: readonly Expression[], visit: Visitor): string =>
  write(new Writer(visit, true), tree, { ...TOP, known: guards.flatMap(holdingWith) })

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

class Writer {
  private readonly visit: Visitor
  private readonly isTemplate: boolean

  constructor(visit: Visitor, isTemplate: boolean) {
    this.visit = visit
    this.isTemplate = isTemplate
  }

  /** The lines of a map or a list. */
  block(tree: Tree, at: Position): Lines {
    if (tree.kind === 'map')
      return this.branches(tree.entries, at, (entry, inner) => this.entry(entry, inner))
    if (tree.kind === 'list') return this.list(tree.items, at)
    throw new Error('only a map or a list is a block')
  }

  private entry(entry: Entry, at: Position): Lines {
    return this.guarded(entry, at, (inner) =>
      isSpread(entry.key) && entry.tree.kind === 'value'
        ? this.spreadEntries(entry.tree.value, inner)
        : this.keyed(`${yamlScalar(entry.key)}:`, entry.tree, inner),
    )
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
    return entriesOver(printed).map((text) => line(depth, text))
  }

  private list(items: readonly Branch[], at: Position): Lines {
    return this.branches(items, at, (item, inner) =>
      this.guarded(item, inner, (own) => this.repeated(item, own)),
    )
  }

  /** Neighbours that exist under the same condition share it, and the opposite is its `else`. */
  private branches<Kind extends Branch>(
    all: readonly Kind[],
    at: Position,
    one: Write<Kind>,
  ): Lines {
    const lines: string[] = []
    const { known = [] } = at.scope
    const runs = runsOf(all, known)
    for (const [index, run] of runs.entries()) {
      const own = this.run(run, at, one)
      if (isOpposite(runs[index - 1], run, known)) {
        lines.splice(-1, 1, action(at.depth, 'else'), ...own.slice(1))
      } else {
        lines.push(...own)
      }
    }
    return lines
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
    if (!whole) return body(at)
    const known = scope.known ?? []
    const guard = leftOf(whole, known)
    if (!guard) return this.guarded({ ...branch, guards }, at, body)
    const bound = binding(guard, branch)
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
      this.visit(tree.value.expression)
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
    this.visit(expression)
    return printGo(expression, scope)
  }
}
