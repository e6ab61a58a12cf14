import { evaluate, referencesOf, truthyIn } from './expression.ts'
import type { Context, Expression, Reference, Val } from './expression.ts'
import { printGo, TOP } from './go.ts'
import { isObject } from './json.ts'
import type { Json } from './json.ts'
import type { Condition } from './operators.ts'
import { isMoreTemplate } from './quantity.ts'
import { showAt } from './validate.ts'

/** A combination of values that must not be. */
export type Rule = Refusal | Distinct

interface Refusal {
  readonly refuse: Condition
  /** The demand, beginning with the key to change. */
  readonly message: string
}

/** One member of the elements of some lists that must never be the same twice. */
interface Distinct {
  readonly lists: readonly Val<readonly object[]>[]
  readonly member: string
  /** Values that are in use already. */
  readonly taken: readonly string[]
  readonly message: string
}

/**
 * The rules that a context breaks, each with the values that break it; rules about values in doubt
 * are left out.
 */
export function brokenRules(
  rules: readonly Rule[],
  context: Context,
  inDoubt: readonly string[],
): readonly string[] {
  return rules
    .filter((rule) => {
      const isInDoubt = (value: Reference): boolean =>
        inDoubt.some((path) => isAtOrBelow(path, nameOf(value)))
      const isLeftOut =
        inDoubt.length > 0 && expressionsOf(rule).flatMap(referencesOf).some(isInDoubt)
      return !isLeftOut && isBroken(rule, context)
    })
    .map((rule) => `${rule.message} (${givenIn(rule, context)})`)
}

const expressionsOf = (rule: Rule): readonly Expression[] =>
  'refuse' in rule ? [rule.refuse.expression] : rule.lists.map(({ expression }) => expression)

const isAtOrBelow = (path: string, key: string): boolean =>
  path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`)

function isBroken(rule: Rule, context: Context): boolean {
  if ('refuse' in rule) return truthyIn(rule.refuse.expression, context)
  const taken = [
    ...rule.taken,
    ...rule.lists.flatMap(({ expression }) =>
      membersOf(evaluate(expression, context), rule.member),
    ),
  ]
  return new Set(taken).size < taken.length
}

const membersOf = (list: Json, member: string): readonly (Json | undefined)[] =>
  Array.isArray(list)
    ? list.map((item: Json) => (isObject(item) ? asJson(item[member]) : undefined))
    : []

// What a context holds is JSON throughout.
const asJson = (value: unknown): Json | undefined => value as Json | undefined

const nameOf = ({ path }: Reference): string => path.join('.').replace(/^Values\./, '')

function givenIn(rule: Rule, context: Context): string {
  const shown = expressionsOf(rule)
    .flatMap(referencesOf)
    .map((reference) => {
      const name = nameOf(reference)
      return `${name}: ${showAt(name, evaluate(reference, context))}`
    })
  return [...new Set(shown)].join(', ')
}

/** The same rules as a template that collects every broken one before it fails. */
export function rulesTemplate(rules: readonly Rule[]): string {
  return [
    isMoreTemplate,
    '{{- $mistakes := list }}\n',
    '{{- $taken := list }}\n',
    ...rules.map(check),
    '{{- if $mistakes }}\n',
    '{{- fail (printf "The values are not valid:\\n%s" (join "\\n" $mistakes)) }}\n',
    '{{- end }}\n',
  ].join('')
}

function check(rule: Rule): string {
  const mistake = JSON.stringify(`  - ${rule.message}`)
  const refusal = `{{- $mistakes = append $mistakes ${mistake} }}\n{{- end }}\n`
  if ('refuse' in rule) return `{{- if ${printGo(rule.refuse.expression, TOP)} }}\n${refusal}`
  const lists = rule.lists.map(({ expression }) => printGo(expression, TOP)).join(' ')
  return [
    `{{- $taken = list ${rule.taken.map((text) => JSON.stringify(text)).join(' ')} }}\n`,
    `{{- range concat ${lists} }}\n{{- $taken = append $taken .${rule.member} }}\n{{- end }}\n`,
    `{{- if ne (len $taken) (len (uniq $taken)) }}\n${refusal}`,
  ].join('')
}
