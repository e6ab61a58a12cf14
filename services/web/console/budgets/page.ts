import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { BudgetPeriod } from '../../../platform/budgets/budget-room.ts'
import { USD_MAX } from '../../../platform/budgets/budgets.ts'
import type { Budget } from '../../../platform/budgets/budgets.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { budgetPill, budgetUse, periodName } from '../frame/budget-use.ts'
import { count, plural } from '../frame/format.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page } from '../frame/layout.ts'
import { csrfField, listTable, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { toTyped } from './form.ts'
import type { TypedLimits } from './form.ts'

/** A form that was refused. */
interface RefusedBudget {
  readonly period: BudgetPeriod
  readonly typed: TypedLimits
  readonly problem: string
}

/** The budgets of an organization or of one of its automations. */
export interface BudgetsPage {
  readonly session: Session
  /** Absent: those of the organization, with those of its automations below. */
  readonly automation?: Automation | undefined
  readonly budgets: readonly Budget[]
  readonly notice?: string | undefined
  readonly refused?: RefusedBudget | undefined
}

/** The limits on what models cost, what is used of them, and the forms that change them. */
export function budgetsPage(view: BudgetsPage): Html {
  const { session, automation, notice } = view
  const name = automation?.name ?? session.organization
  const periods = automation ? (['run', 'day', 'month'] as const) : (['day', 'month'] as const)
  const title = 'Budgets'
  const hint =
    `Limits on what the models of ${name} cost. A run without room waits before its next call, ` +
    'and continues once it is resumed. Days and months are those of UTC.'
  const head = html`<div class="page-head">
    <div>
      <h1>${title}</h1>
      <p class="hint">${hint}</p>
    </div>
    <p><a class="button" href="/prices">Prices of models</a></p>
  </div>`
  return page(
    { title, session, current: automation ? '/automations' : '/budgets' },
    html`${automation ? automationHead({ automation, tab: 'settings', title, hint }) : head}
      ${noticeBox(notice)}
      <div class="beside">${periods.map((period) => budgetCard(view, period))}</div>
      ${automation ? '' : ofAutomations(view)}`,
  )
}

const pathOf = ({ automation }: BudgetsPage): string =>
  automation ? `/automations/${automation.automationId}/budgets` : '/budgets'

function budgetCard(view: BudgetsPage, period: BudgetPeriod): Html {
  const deploymentId = view.automation?.id ?? null
  const budget = view.budgets.find(
    (each) => each.period === period && each.deploymentId === deploymentId,
  )
  const refused = view.refused?.period === period ? view.refused : undefined
  const path = `${pathOf(view)}/${period}`
  return html`<section class="card narrow" aria-labelledby="${period}">
    <div class="card-head">
      <h2 id="${period}">${periodName(period)}</h2>
      ${budget ? budgetPill(budget) : ''}
    </div>
    ${problemBox(refused?.problem)} ${budget ? budgetUse(budget) : ''}
    ${limitsForm(view, { path, period, typed: refused?.typed ?? toTyped(budget) })}
    ${budget && budget.waitingRuns > 0 ? resumeForm(view, path, budget.waitingRuns) : ''}
  </section>`
}

interface LimitsForm {
  readonly path: string
  readonly period: BudgetPeriod
  readonly typed: TypedLimits
}

function limitsForm({ session }: BudgetsPage, { path, period, typed }: LimitsForm): Html {
  const name = periodName(period).toLowerCase()
  return html`<form method="post" action="${path}" class="stack" aria-label="Limits for ${name}">
    ${csrfField(session.csrfToken)}
    <label
      >Tokens
      <input
        name="tokens_max"
        value="${typed.tokensMax}"
        inputmode="numeric"
        placeholder="No limit"
        autocomplete="off"
      />
    </label>
    <label
      >US dollars
      <input
        name="usd_max"
        value="${typed.usdMax}"
        inputmode="decimal"
        placeholder="No limit"
        autocomplete="off"
        aria-describedby="usd-hint-${period}"
      />
    </label>
    <p class="hint under" id="usd-hint-${period}">At most ${count(USD_MAX)}, in whole cents.</p>
    <label
      >Models without a price
      <select name="unpriced">
        ${option('refuse', 'Do not call them while money is limited', typed)}
        ${option('free', 'Count them as free', typed)}
      </select>
    </label>
    <div><button class="button primary" aria-label="Save ${name}">Save</button></div>
    <p class="hint">Without both limits there is no budget, and what it counted is deleted.</p>
  </form>`
}

const option = (value: string, text: string, { unpriced }: TypedLimits): Html =>
  html`<option value="${value}" ${value === unpriced ? 'selected' : ''}>${text}</option>`

const resumeForm = ({ session }: BudgetsPage, path: string, runs: number): Html =>
  html`<form method="post" action="${path}/resume" class="stack">
    ${csrfField(session.csrfToken)}
    <p>${plural(runs, 'run')} waiting for this budget.</p>
    <div><button class="button">Resume ${plural(runs, 'run')}</button></div>
  </form>`

function ofAutomations({ budgets }: BudgetsPage): Html | string {
  const others = budgets.filter(({ deploymentId }) => deploymentId !== null)
  if (others.length === 0) {
    return html`<p class="hint">
      Automations have budgets of their own, also for each run: set them on their pages.
    </p>`
  }
  return html`<section class="card flush" aria-labelledby="automations">
    <div class="card-head"><h2 id="automations">Of automations</h2></div>
    ${listTable(
      'Budgets of automations',
      ['Automation', 'Period', 'Used', 'Waiting'],
      others.map(automationRow),
    )}
  </section>`
}

const automationRow = (budget: Budget): Html =>
  html`<tr>
    <td class="lead">
      <a href="/automations/${budget.automationId}/budgets">${budget.automationName}</a>
    </td>
    <td data-label="Period">${periodName(budget.period)} ${budgetPill(budget)}</td>
    <td data-label="Used" class="row-wide">${budgetUse(budget)}</td>
    <td data-label="Waiting">${plural(budget.waitingRuns, 'run')}</td>
  </tr>`
