import { Hono } from 'hono'
import type { Context } from 'hono'
import type { Automation } from '../../../platform/automations.ts'
import { BUDGET_PERIODS } from '../../../platform/budget-room.ts'
import type { BudgetPeriod } from '../../../platform/budget-room.ts'
import { resumeAllStopped, resumeStopped } from '../../../platform/budget-stops.ts'
import { deleteBudget, listBudgets, setBudget } from '../../../platform/budgets.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { budgetEntry, runEntry } from '../../callers/audit-entries.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { noticeOf } from '../frame/notices.ts'
import { getOwnAutomation, getOwnRun } from '../frame/own-automation.ts'
import { readBudgetForm } from './form.ts'
import { budgetsPage } from './page.ts'
import type { BudgetsPage } from './page.ts'

const OF_AUTOMATION = '/automations/:automationId/budgets'

/** Serves the budgets of an organization and of its automations, and takes their limits. */
export function budgetPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  for (const path of ['/budgets', OF_AUTOMATION]) {
    routes.get(path, session, async (c) => {
      const notice = noticeOf(c.req.query('notice'))
      return c.html(budgetsPage({ ...(await readPage(c, sql)), notice }))
    })

    routes.post(`${path}/:period`, session, form, async (c) => {
      const view = await readPage(c, sql)
      const { period, ...owner } = keyOf(c, view.automation)
      const read = readBudgetForm(c.var.form)
      if ('problem' in read) {
        const refused = { period, typed: read.typed, problem: read.problem }
        return c.html(budgetsPage({ ...view, refused }), 422)
      }
      const { limits } = read
      const key = { ...owner, period }
      await audited(
        c.var,
        async (tx) => (limits ? setBudget(tx, key, limits) : void (await deleteBudget(tx, key))),
        budgetEntry(limits ? 'budget_set' : 'budget_deleted', key, limits),
      )
      const notice = limits ? 'budget-saved' : 'budget-deleted'
      return c.redirect(`${pathOf(view.automation)}?notice=${notice}`, 303)
    })

    routes.post(`${path}/:period/resume`, session, form, async (c) => {
      const { automation, budgets } = await readPage(c, sql)
      const { period, organizationId, deploymentId } = keyOf(c, automation)
      const budget = budgets.find(
        (each) => each.period === period && each.deploymentId === deploymentId,
      )
      if (!budget) throw new AppError('not_found', `There is no budget for the ${period}.`)
      const which = { organizationId, budgetId: budget.id }
      await audited(
        c.var,
        (tx) => resumeAllStopped(tx, which),
        (runs) => ({ ...budgetEntry('budget_stops_resumed', budget), after: { runs } }),
      )
      return c.redirect(`${pathOf(automation)}?notice=budget-resumed`, 303)
    })
  }

  const run = '/automations/:automationId/executions/:kickoffId'
  routes.post(`${run}/resume`, session, form, async (c) => {
    const { automation, run: stopped } = await getOwnRun(c, sql)
    c.var.wide['kickoff_id'] = stopped.id
    const entry = runEntry('budget_stop_resumed', stopped.id)
    await audited(c.var, (tx) => resumeStopped(tx, { runId: stopped.id }), entry)
    return c.redirect(`${runPath(automation, stopped)}?notice=budget-run-resumed`, 303)
  })

  return routes
}

async function readPage(c: Context<SignedIn>, sql: Database): Promise<BudgetsPage> {
  const { session } = c.var
  const { organizationId } = session.user
  if (c.req.param('automationId') === undefined) {
    return { session, budgets: await listBudgets(sql, { organizationId }) }
  }
  const automation = await getOwnAutomation(c, sql)
  const budgets = await listBudgets(sql, { organizationId, deploymentId: automation.id })
  return { session, automation, budgets }
}

function keyOf(c: Context<SignedIn>, automation: Automation | undefined) {
  const { organizationId } = c.var.session.user
  const period: BudgetPeriod | undefined = BUDGET_PERIODS.find(
    (each) => each === c.req.param('period'),
  )
  if (period && (automation || period !== 'run')) {
    return { organizationId, deploymentId: automation?.id ?? null, period }
  }
  throw new AppError('not_found', 'There is no such budget.')
}

const pathOf = (automation: Automation | undefined): string =>
  automation ? `/automations/${automation.automationId}/budgets` : '/budgets'
