import { wrap } from './comments.ts'
import { same, Val } from './expression.ts'
import type { About, Expression, Helper, Labels } from './expression.ts'
import { insideOf, printGo, printScalar, printText, TOP } from './go.ts'
import type { Scope } from './go.ts'
import type { Use } from './parts.ts'
import { yamlScalar } from './scalar.ts'

/** A named template, which other templates include. */
interface Named extends About {
  readonly lines: readonly string[]
}

/** Collects the named expressions and parts that templates include, and defines each once. */
export class Helpers {
  private readonly expressions = new Map<string, Helper | Labels>()
  /** What was looked through. */
  private readonly added = new WeakSet<Expression>()
  private readonly parts = new Map<string, Named & Use>()

  add(expression: Expression): void {
    if (this.added.has(expression)) return
    this.added.add(expression)
    if (expression.op === 'call') expression.args.forEach((argument) => this.add(argument))
    if (expression.op !== 'helper' && expression.op !== 'labels') return
    const known = this.expressions.get(expression.name)
    if (known && !isSameDefinition(known, expression)) throw twoOf(expression)
    this.expressions.set(expression.name, expression)
    if (expression.op === 'labels') return
    this.add(definitionOf(expression))
    Object.values(expression.parametrized?.given ?? {}).forEach((given) => this.add(given))
  }

  define(use: Use, write: () => readonly string[]): void {
    const known = this.parts.get(use.name)
    if (known?.definition === use.definition) return
    const lines = write()
    if (known && known.lines.join('\n') !== lines.join('\n')) throw twoOf(use)
    this.parts.set(use.name, { ...use, lines })
  }

  /** The text of `_helpers.tpl`. */
  helpersTemplate(): string {
    return template(
      [...this.expressions.values()].map((expression) => ({
        ...expression,
        lines: linesOf(expression),
      })),
    )
  }

  /** The text of `_parts.tpl`; empty without a part. */
  partsTemplate(): string {
    return template([...this.parts.values()])
  }
}

const twoOf = ({ name }: About): Error => new Error(`two helpers are named ${name}`)

/** The expression that a definition prints, in terms of its parameters. */
const definitionOf = ({ body, parametrized }: Helper): Expression => parametrized?.body ?? body

const isSameDefinition = (a: Helper | Labels, b: Helper | Labels): boolean =>
  a.op === 'helper' && b.op === 'helper'
    ? same(definitionOf(a), definitionOf(b))
    : JSON.stringify(a) === JSON.stringify(b)

function template(all: readonly Named[]): string {
  const sorted = [...all].sort((a, b) => (a.name < b.name ? -1 : 1))
  return sorted
    .map(
      ({ name, comment, lines }) =>
        `{{/*\n${wrap(comment).join('\n')}\n*/}}\n` +
        `{{- define "${name}" -}}\n${lines.join('\n')}\n{{- end }}\n`,
    )
    .join('\n')
}

function linesOf(named: Helper | Labels): readonly string[] {
  if (named.op === 'helper')
    return statement(definitionOf(named), insideOf(named.parametrized !== undefined))
  return [
    ...Object.entries(named.entries).map(([key, entry]) => `${yamlScalar(key)}: ${textOf(entry)}`),
    ...(named.more ? entriesOver(printGo(named.more, TOP)) : []),
  ]
}

/**
 * The lines of the entries of a map. Not toYaml: it loses line breaks at the end of a text, and the
 * whole map over a control character.
 */
export const entriesOver = (map: string): readonly string[] => [
  `{{- range $key, $value := ${map} }}`,
  '{{ $key | quote }}: {{ $value | quote }}',
  '{{- end }}',
]

const textOf = (entry: Expression): string =>
  entry.op === 'literal' && typeof entry.value === 'string'
    ? yamlScalar(entry.value)
    : printScalar(new Val(entry, 'string'), TOP)

/** A choice as if and else, a text with its parts in place, anything else as one action. */
function statement(body: Expression, scope: Scope): readonly string[] {
  const [yes, no, condition] = body.op === 'call' && body.fn === 'ternary' ? body.args : []
  if (!yes || !no || !condition) return [printText(body, scope)]
  const [first = '', ...others] = statement(no, scope)
  const isChoice = first.startsWith('{{- if ')
  const isEmpty = no.op === 'literal' && no.value === ''
  return [
    `{{- if ${printGo(condition, scope)} -}}`,
    ...statement(yes, scope),
    ...(isChoice ? [first.replace('{{- if ', '{{- else if '), ...others] : []),
    ...(isChoice || isEmpty ? [] : ['{{- else -}}', first, ...others]),
    ...(isChoice ? [] : ['{{- end -}}']),
  ]
}
