import type { Context, Hono } from 'hono'
import { BUDGET_PERIODS } from '../../../platform/budgets/budget-room.ts'
import { deleteBudget, listBudgets, setBudget } from '../../../platform/budgets/budgets.ts'
import type { Budget, BudgetKey } from '../../../platform/budgets/budgets.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { budgetEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { getAutomation } from './get-automation.ts'
import { readLimits } from './requests.ts'

/** The budgets of an organization and of its automations. */
export function budgetRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const ofAutomation = '/automations/:automationId/budgets'

  api.get('viewer', '/budgets', async (c) => {
    const { organizationId } = c.var.caller
    return c.json(toDocument(await listBudgets(sql, { organizationId })))
  })

  api.get('viewer', ofAutomation, async (c) =>
    c.json(toDocument(await listBudgets(sql, await ownerOf(c, sql)))),
  )

  for (const path of ['/budgets/:period', `${ofAutomation}/:period`]) {
    api.put('admin', path, async (c) => {
      const key = await keyOf(c, sql)
      const limits = await readLimits(c)
      await audited(
        c.var,
        (tx) => setBudget(tx, key, limits),
        budgetEntry('budget_set', key, limits),
      )
      const { organizationId, deploymentId, period } = key
      const budgets = await listBudgets(sql, { organizationId, deploymentId })
      return c.json(budgets.filter((each) => each.period === period).map(budgetDocument)[0])
    })
    api.delete('admin', path, async (c) => {
      const key = await keyOf(c, sql)
      await audited(
        c.var,
        async (tx) => {
          if (await deleteBudget(tx, key)) return
          throw new AppError('not_found', `There is no budget for the ${key.period}.`)
        },
        budgetEntry('budget_deleted', key),
      )
      return c.body(null, 204)
    })
  }

  return api.routes()
}

type Owner = Pick<BudgetKey, 'organizationId' | 'deploymentId'>

async function ownerOf(c: Context<OrganizationCall>, sql: Database): Promise<Owner> {
  const { organizationId } = c.var.caller
  if (c.req.param('automationId') === undefined) return { organizationId, deploymentId: null }
  return { organizationId, deploymentId: (await getAutomation(c, sql)).id }
}

async function keyOf(c: Context<OrganizationCall>, sql: Database): Promise<BudgetKey> {
  const owner = await ownerOf(c, sql)
  const period = BUDGET_PERIODS.find((each) => each === c.req.param('period'))
  if (period) return { ...owner, period }
  throw new AppError('not_found', `A budget is for one of ${BUDGET_PERIODS.join(', ')}.`)
}

const toDocument = (budgets: readonly Budget[]) => ({ budgets: budgets.map(budgetDocument) })

const budgetDocument = (budget: Budget) => ({
  automation_id: budget.automationId,
  period: budget.period,
  tokens_max: budget.tokensMax,
  usd_max: budget.usdMax,
  unpriced: budget.unpriced,
  of: budget.of,
  spent_tokens: budget.spentTokens,
  reserved_tokens: budget.reservedTokens,
  left_tokens: leftOf(budget.tokensMax, budget.spentTokens + budget.reservedTokens),
  spent_usd: budget.spentUsd,
  reserved_usd: budget.reservedUsd,
  left_usd: leftOf(budget.usdMax, budget.spentUsd + budget.reservedUsd),
  warned_at: budget.warnedAt,
  waiting_runs: budget.waitingRuns,
})

/** Without the noise of binary fractions. */
const leftOf = (max: number | null, used: number): number | null =>
  max === null ? null : Math.max(0, Number((max - used).toPrecision(15)))
