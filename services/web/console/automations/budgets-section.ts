import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Budget } from '../../../platform/budgets/budgets.ts'
import { budgetPill, budgetUse, periodName } from '../frame/budget-use.ts'
import type { Html } from '../frame/parts.ts'

/** The automation whose budgets the section shows. */
interface BudgetsSection {
  readonly automation: Automation
  readonly budgets: readonly Budget[]
}

/** The limits on what the models of an automation cost. */
export function budgetsSection({ automation, budgets }: BudgetsSection): Html {
  const path = `/automations/${automation.automationId}/budgets`
  return html`<section class="card" aria-labelledby="budgets">
    <div class="card-head"><h2 id="budgets">Budgets</h2></div>
    ${
      budgets.length > 0
        ? html`<ul class="plan">
            ${budgets.map(
              (budget) =>
                html`<li>
                  <strong>${periodName(budget.period)}</strong> ${budgetPill(budget)}
                  ${budgetUse(budget)}
                </li>`,
            )}
          </ul>`
        : html`<p class="hint">
            This automation has no budget of its own. Those of the organization apply.
          </p>`
    }
    <p>
      <a class="button" href="${path}">${budgets.length > 0 ? 'Manage budgets' : 'Set a budget'}</a>
    </p>
  </section>`
}
