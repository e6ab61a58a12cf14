import { same } from './expression.ts'
import type { Expression } from './expression.ts'
import { printGo, printScalar, TOP } from './go.ts'
import { yamlScalar } from './scalar.ts'
import { Val } from './expression.ts'

type Named = Extract<Expression, { op: 'helper' | 'labels' }>

/** Collects the named expressions that templates include, and defines each once. */
export class Helpers {
  private readonly named = new Map<string, Named>()

  add(expression: Expression): void {
    if (expression.op === 'call') expression.args.forEach((argument) => this.add(argument))
    if (expression.op !== 'helper' && expression.op !== 'labels') return
    const known = this.named.get(expression.name)
    if (known && !same(known, expression))
      throw new Error(`two helpers are named ${expression.name}`)
    this.named.set(expression.name, expression)
    if (expression.op === 'helper') this.add(expression.body)
  }

  /** The text of `_helpers.tpl`. */
  template(): string {
    const sorted = [...this.named.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    return sorted
      .map((helper) => `{{- define "${helper.name}" -}}\n${definition(helper)}\n{{- end }}\n`)
      .join('\n')
  }
}

function definition(helper: Named): string {
  if (helper.op === 'helper') return statement(helper.body)
  return [
    ...Object.entries(helper.entries).map(
      ([key, entry]) => `${yamlScalar(key)}: ${entryText(entry)}`,
    ),
    ...(helper.more ? entriesOver(printGo(helper.more, TOP)) : []),
  ].join('\n')
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

const entryText = (entry: Expression): string =>
  entry.op === 'literal' && typeof entry.value === 'string'
    ? yamlScalar(entry.value)
    : printScalar(new Val(entry, 'string'), TOP)

/** A choice as if and else, anything else as one action. */
function statement(body: Expression): string {
  const [yes, no, condition] = body.op === 'call' && body.fn === 'ternary' ? body.args : []
  if (!yes || !no || !condition) return `{{- ${printGo(body, TOP)} }}`
  return [
    `{{- if ${printGo(condition, TOP)} }}`,
    statement(yes),
    statement(no).startsWith('{{- if ')
      ? statement(no).replace('{{- if ', '{{- else if ')
      : `{{- else }}\n${statement(no)}\n{{- end }}`,
  ].join('\n')
}
