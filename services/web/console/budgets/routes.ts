import type { Context, Hono } from 'hono'
import type { Automation } from '../../../platform/automations/automations.ts'
import { BUDGET_PERIODS } from '../../../platform/budgets/budget-room.ts'
import type { BudgetPeriod } from '../../../platform/budgets/budget-room.ts'
import { resumeAllStopped, resumeStopped } from '../../../platform/budgets/budget-stops.ts'
import { deleteBudget, listBudgets, setBudget } from '../../../platform/budgets/budgets.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { budgetEntry, runEntry } from '../../gate/callers/audit-entries.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { getOwnAutomation, getOwnRun } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import type { Room } from '../frame/room.ts'
import { readBudgetForm } from './form.ts'
import { budgetsPage } from './page.ts'
import type { BudgetsPage } from './page.ts'

const OF_AUTOMATION = '/automations/:automationId/budgets'

const NOTICES = {
  'budget-run-resumed': 'The run is resumed.',
  'budget-saved': 'The budget is saved. It applies from the next model call on.',
  'budget-deleted': 'The budget is deleted, with what it had counted.',
  'budget-resumed': 'The runs are resumed. Those for which there is no room yet will wait again.',
}

/** Serves the budgets of an organization and of its automations, and takes their limits. */
export function budgetPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, NOTICES)
  for (const path of ['/budgets', OF_AUTOMATION]) addBudgets(room, sql, path)

  room.action('admin', '/automations/:automationId/executions/:kickoffId/resume', {
    async find(c) {
      const found = await getOwnRun(c, sql)
      c.var.wide['kickoff_id'] = found.run.id
      return found
    },
    change: (tx, { run }) => resumeStopped(tx, { runId: run.id }),
    entry: ({ run }) => runEntry('budget_stop_resumed', run.id),
    done: ({ automation, run }) => [runPath(automation, run), 'budget-run-resumed'],
  })

  return room.routes
}

function addBudgets({ page, action }: Room, sql: Database, path: string): void {
  page('viewer', path, async (c) =>
    c.html(budgetsPage({ ...(await readPage(c, sql)), notice: c.var.notice })),
  )

  action('admin', `${path}/:period`, {
    async find(c) {
      const view = await readPage(c, sql)
      const key = keyOf(c, view.automation)
      const read = readBudgetForm(c.var.form)
      if ('limits' in read) return { key, limits: read.limits, automation: view.automation }
      const refused = { period: key.period, typed: read.typed, problem: read.problem }
      return c.html(budgetsPage({ ...view, refused }), 422)
    },
    change: async (tx, { key, limits }) =>
      limits ? setBudget(tx, key, limits) : void (await deleteBudget(tx, key)),
    entry: ({ key, limits }) => budgetEntry(limits ? 'budget_set' : 'budget_deleted', key, limits),
    done: ({ automation, limits }) => [
      pathOf(automation),
      limits ? 'budget-saved' : 'budget-deleted',
    ],
  })

  action('admin', `${path}/:period/resume`, {
    async find(c) {
      const { automation, budgets } = await readPage(c, sql)
      const { period, organizationId, deploymentId } = keyOf(c, automation)
      const budget = budgets.find(
        (each) => each.period === period && each.deploymentId === deploymentId,
      )
      if (budget) return { automation, budget, organizationId }
      throw new AppError('not_found', `There is no budget for the ${period}.`)
    },
    change: (tx, { organizationId, budget }) =>
      resumeAllStopped(tx, { organizationId, budgetId: budget.id }),
    entry: ({ budget }, runs) => ({
      ...budgetEntry('budget_stops_resumed', budget),
      after: { runs },
    }),
    done: ({ automation }) => [pathOf(automation), 'budget-resumed'],
  })
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
