import type { Context } from 'hono'
import { BUDGET_PERIODS } from '../../../platform/budgets/budget-room.ts'
import {
  budgetLimits,
  deleteBudget,
  listBudgets,
  setBudget,
  UNPRICED,
  USD_MAX,
} from '../../../platform/budgets/budgets.ts'
import type { Budget, BudgetKey } from '../../../platform/budgets/budgets.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { budgetEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { getAutomation } from './get-automation.ts'
import * as s from '../openapi/parts.ts'
import { describing, jsonBody } from '../openapi/operation.ts'

const limitsBody = jsonBody('BudgetRequest', budgetLimits, {
  example: { tokens_max: 2_000_000, usd_max: 25 },
  description: 'One limit at least. One that is null or left out does not hold.',
  more: { not: { properties: { tokens_max: { type: 'null' }, usd_max: { type: 'null' } } } },
})
const budgetDocument = s.document(
  'Budget',
  {
    automation_id: s.say(s.perhapsUuid, 'Null: the budget of the organization.'),
    period: s.words(BUDGET_PERIODS),
    tokens_max: s.nullable('integer', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    usd_max: s.nullable('number', {
      minimum: 0.01,
      maximum: USD_MAX,
      description: 'US dollars, in whole cents.',
    }),
    unpriced: s.say(
      s.words(UNPRICED),
      'What becomes of calls of a model without a price, where money is limited.',
    ),
    of: s.nullable('string', {
      description: 'The day or the month of now, in UTC; null where each run has its own ledger.',
      examples: ['2026-11-22'],
    }),
    spent_tokens: s.integer,
    reserved_tokens: s.integer,
    left_tokens: s.nullable('integer'),
    spent_usd: s.number,
    reserved_usd: s.number,
    left_usd: s.nullable('number'),
    warned_at: s.say(s.perhapsMoment, 'When 80 % of a limit were spent.'),
    waiting_runs: s.integer,
  },
  (budget: Budget) => ({
    ...budget,
    leftTokens: leftOf(budget.tokensMax, budget.spentTokens + budget.reservedTokens),
    leftUsd: leftOf(budget.usdMax, budget.spentUsd + budget.reservedUsd),
  }),
)
const budgets = s.document('Budgets', { budgets: s.list(budgetDocument) })

const operation = describing({ tag: 'Budgets' })
const listing = (id: string, summary: string) =>
  operation(id, summary, { 200: ['They, with what is used of each now.', budgets] })
/** The operations on one budget: of the organization, or of an automation. */
const changing = (owner: string, of: string, periods: readonly string[]) => {
  const parameters = [s.parameter('period', 'path', { schema: s.words(periods) })]
  return {
    set: operation(`set${owner}Budget`, `Set a budget of ${of}`, {
      parameters,
      body: limitsBody,
      200: ['It applies from the next call on.', budgetDocument],
    }),
    remove: operation(`delete${owner}Budget`, `Delete a budget of ${of}`, {
      parameters,
      204: 'It is gone, with its ledger.',
    }),
  }
}
const ofAll = listing('listBudgets', 'The budgets of the organization and of its automations')
const ofOne = listing('listAutomationBudgets', 'The budgets of an automation')
const AUTOMATION = '/automations/:automationId/budgets'
const PATHS = [
  ['/budgets/:period', changing('', 'the organization', ['day', 'month'])],
  [`${AUTOMATION}/:period`, changing('Automation', 'an automation', BUDGET_PERIODS)],
] as const

/** The budgets of an organization and of its automations. */
export function budgetRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)

  api.get('viewer', ['/budgets', ofAll], async (c) => {
    const { organizationId } = c.var.caller
    return c.json(toDocument(await listBudgets(sql, { organizationId })))
  })

  api.get('viewer', [AUTOMATION, ofOne], async (c) =>
    c.json(toDocument(await listBudgets(sql, await ownerOf(c, sql)))),
  )

  for (const [path, { set, remove }] of PATHS) {
    api.put('admin', [path, set], async (c) => {
      const key = await keyOf(c, sql)
      const limits = await limitsBody.read(c)
      await audited(
        c.var,
        (tx) => setBudget(tx, key, limits),
        budgetEntry('budget_set', key, limits),
      )
      const { organizationId, deploymentId, period } = key
      const all = await listBudgets(sql, { organizationId, deploymentId })
      return c.json(all.filter((each) => each.period === period).map(budgetDocument.of)[0])
    })
    api.delete('admin', [path, remove], async (c) => {
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

const toDocument = (all: readonly Budget[]) => ({ budgets: all.map(budgetDocument.of) })

/** Without the noise of binary fractions. */
const leftOf = (max: number | null, used: number): number | null =>
  max === null ? null : Math.max(0, Number((max - used).toPrecision(15)))
