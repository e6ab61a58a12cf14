import * as v from 'valibot'
import { budgetLimits } from '../../../platform/budgets/budgets.ts'
import type { Budget, BudgetLimits } from '../../../platform/budgets/budgets.ts'

/** The fields of a budget, as they were typed. */
export interface TypedLimits {
  readonly tokensMax: string
  readonly usdMax: string
  readonly unpriced: string
}

/** Returns the fields of a budget; empty ones where there is none. */
export const toTyped = (budget: Budget | undefined): TypedLimits => ({
  tokensMax: budget?.tokensMax?.toString() ?? '',
  usdMax: budget?.usdMax?.toString() ?? '',
  unpriced: budget?.unpriced ?? 'refuse',
})

/** Limits that were read from a form, or what is wrong; null: no limit at all. */
type ReadBudget = { readonly typed: TypedLimits } & (
  | { readonly limits: BudgetLimits | null }
  | { readonly problem: string }
)

const NAMES: Readonly<Record<string, string>> = {
  tokens_max: 'Tokens',
  usd_max: 'US dollars',
  unpriced: 'Models without a price',
}

/** Reads the form of a budget. */
export function readBudgetForm(form: URLSearchParams): ReadBudget {
  const field = (name: string): string => (form.get(name) ?? '').trim()
  const typed = {
    tokensMax: field('tokens_max'),
    usdMax: field('usd_max'),
    unpriced: field('unpriced') || 'refuse',
  }
  if (typed.tokensMax === '' && typed.usdMax === '') return { typed, limits: null }
  const read = v.safeParse(budgetLimits, {
    tokens_max: numberOf(typed.tokensMax),
    usd_max: numberOf(typed.usdMax),
    unpriced: typed.unpriced,
  })
  if (read.success) return { typed, limits: read.output }
  const problems = read.issues.map((issue) => {
    const name = v.getDotPath(issue) ?? ''
    return `${NAMES[name] ?? 'The budget'} ${issue.message}.`
  })
  return { typed, problem: problems.join(' ') }
}

/** `1,000` is a thousand to the people who type it, and `1e9` no number. */
function numberOf(text: string): number | null {
  if (text === '') return null
  const plain = text.replace(/(?<=\d),(?=\d{3}(\D|$))/g, '')
  return /^\d{1,20}(\.\d{1,20})?$/.test(plain) ? Number(plain) : Number.NaN
}
