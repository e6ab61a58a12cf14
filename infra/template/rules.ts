import { evaluate, referencesOf, truthyIn } from './expression.ts'
import type { Context, Expression, Reference } from './expression.ts'
import { printGo, TOP } from './go.ts'
import type { Condition } from './operators.ts'
import { showAt } from './validate.ts'

/** A combination of values that must not be. */
export interface Rule {
  readonly refuse: Condition
  /** What is asked for, beginning with the key to change. */
  readonly message: string
}

/** The rules that a context breaks, each with the values that break it; rules about values in doubt are left out. */
export function brokenRules(
  rules: readonly Rule[],
  context: Context,
  inDoubt: readonly string[],
): readonly string[] {
  return rules
    .filter(({ refuse: { expression } }) => {
      const isInDoubt = referencesOf(expression).some((value) => inDoubt.includes(nameOf(value)))
      return !isInDoubt && truthyIn(expression, context)
    })
    .map(({ refuse, message }) => `${message} (${givenIn(refuse.expression, context)})`)
}

const nameOf = ({ path }: Reference): string => path.join('.').replace(/^Values\./, '')

function givenIn(refuse: Expression, context: Context): string {
  const shown = referencesOf(refuse).map((reference) => {
    const name = nameOf(reference)
    return `${name}: ${showAt(name, evaluate(reference, context))}`
  })
  return [...new Set(shown)].join(', ')
}

/** The same rules as a template that collects every broken one before it fails. */
export function rulesTemplate(rules: readonly Rule[]): string {
  const checks = rules.map(
    ({ refuse, message }) =>
      `{{- if ${printGo(refuse.expression, TOP)} }}\n{{- $mistakes = append $mistakes ${JSON.stringify(`  - ${message}`)} }}\n{{- end }}\n`,
  )
  return [
    '{{- $mistakes := list }}\n',
    ...checks,
    '{{- if $mistakes }}\n',
    '{{- fail (printf "The values are not valid:\\n%s" (join "\\n" $mistakes)) }}\n',
    '{{- end }}\n',
  ].join('')
}
