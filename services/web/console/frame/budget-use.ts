import { html } from 'hono/html'
import { WARNED_AT } from '../../../platform/budgets/budget-ledger.ts'
import type { BudgetPeriod } from '../../../platform/budgets/budget-room.ts'
import type { Budget } from '../../../platform/budgets/budgets.ts'
import { dollars } from './amounts.ts'
import { count } from './format.ts'
import { pill } from './parts.ts'
import type { Html } from './parts.ts'

const NAMES = {
  run: 'Each run',
  day: 'Each day',
  month: 'Each month',
} as const satisfies Record<BudgetPeriod, string>

/** Returns the period of a budget as pages say it. */
export const periodName = (period: BudgetPeriod): string => NAMES[period]

interface Line {
  readonly name: string
  readonly max: number
  readonly spent: number
  readonly reserved: number
  readonly show: (amount: number) => string
}

function linesOf(budget: Budget): Line[] {
  const { tokensMax, usdMax, spentTokens, reservedTokens, spentUsd, reservedUsd } = budget
  const tokens = { name: 'tokens', spent: spentTokens, reserved: reservedTokens, show: count }
  const usd = { name: 'money', spent: spentUsd, reserved: reservedUsd, show: dollars }
  return [
    ...(tokensMax === null ? [] : [{ ...tokens, max: tokensMax }]),
    ...(usdMax === null ? [] : [{ ...usd, max: usdMax }]),
  ]
}

/** What is spent, reserved and left of a budget, each limit with a bar. */
export function budgetUse(budget: Budget): Html | string {
  const lines = linesOf(budget)
  if (budget.of === null) {
    const limits = lines.map(({ name, max, show }) =>
      name === 'money' ? show(max) : `${show(max)} tokens`,
    )
    return html`<p>${limits.join(' and ')} <span class="sub">counted for each run alone</span></p>`
  }
  return html`<div class="budget">${lines.map((line) => useOf(budget, line))}</div>`
}

function useOf(budget: Budget, { name, max, spent, reserved, show }: Line): Html {
  const label = `${periodName(budget.period)}: ${name} used`
  const left = Math.max(0, max - spent - reserved)
  const unit = name === 'money' ? '' : ' tokens'
  return html`<div>
    <meter
      min="0"
      max="${max}"
      high="${max * WARNED_AT}"
      optimum="0"
      value="${Math.min(max, spent + reserved)}"
      aria-label="${label}"
    ></meter>
    <p>
      ${show(spent)} of ${show(max)}${unit} spent
      <span class="sub">${show(reserved)} reserved, ${show(left)} left</span>
    </p>
  </div>`
}

/** The state of a budget in a word or two, if there is anything to say. */
export function budgetPill(budget: Budget): Html | string {
  const lines = budget.of === null ? [] : linesOf(budget)
  if (lines.some(({ spent, max }) => spent >= max)) return pill('bad', 'used up')
  return budget.warnedAt === null ? '' : pill('waiting', '80 % spent')
}
