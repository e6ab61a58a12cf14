import { BUDGET_EXCEEDED } from '../../../platform/budgets/budget-stops.ts'
import { BUDGET_PERIODS } from '../../../platform/budgets/budget-room.ts'
import { UNPRICED, USD_MAX } from '../../../platform/budgets/budgets.ts'
import {
  body,
  closed,
  integer,
  json,
  list,
  moment,
  nullable,
  parameter,
  perhapsMoment,
  problem,
  refusedTokens,
  retryAfter,
  schema,
  text,
} from './parts.ts'

const limits = {
  tokens_max: nullable('integer', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  usd_max: nullable('number', {
    minimum: 0.01,
    maximum: USD_MAX,
    description: 'US dollars, in whole cents.',
  }),
  unpriced: {
    ...text,
    enum: UNPRICED,
    description: 'What becomes of calls of a model without a price, where money is limited.',
  },
}
const dollars = { type: 'number' }

/** The schemas of budgets. */
export const BUDGET_SCHEMAS = {
  BudgetRequest: {
    type: 'object',
    additionalProperties: false,
    description: 'One limit at least. One that is null or left out does not hold.',
    properties: { ...limits, unpriced: { ...limits.unpriced, default: 'refuse' } },
    not: { properties: { tokens_max: { type: 'null' }, usd_max: { type: 'null' } } },
  },
  Budget: closed({
    automation_id: nullable('string', {
      format: 'uuid',
      description: 'Null: the budget of the organization.',
    }),
    period: { ...text, enum: BUDGET_PERIODS },
    ...limits,
    of: nullable('string', {
      description: 'The day or the month of now, in UTC; null where each run has its own ledger.',
      examples: ['2026-11-22'],
    }),
    spent_tokens: integer,
    reserved_tokens: integer,
    left_tokens: nullable('integer'),
    spent_usd: dollars,
    reserved_usd: dollars,
    left_usd: nullable('number'),
    warned_at: { ...perhapsMoment, description: 'When 80 % of a limit were spent.' },
    waiting_runs: integer,
  }),
  Budgets: closed({ budgets: list(schema('Budget')) }),
  BudgetStop: closed({
    code: { const: BUDGET_EXCEEDED },
    message: { ...text, description: 'Which budget, how much of it is used, and what to do.' },
    budget: { ...text, enum: ['automation', 'organization'] },
    period: { ...text, enum: BUDGET_PERIODS },
    of: { ...text, description: 'The day, the month, or the id of the run.' },
    limit: {
      ...text,
      enum: ['tokens', 'usd', 'price'],
      description: '`price`: money is limited, and the model has no price.',
    },
    max: nullable('number'),
    spent: { type: 'number' },
    reserved: { type: 'number' },
    asked: { type: 'number', description: 'What the next call may need.' },
    model: nullable('string'),
    stopped_at: moment,
  }),
}

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem(
    'A role in the organization, or a scope of the token, that does not allow this; for anything ' +
      'but reading, a session without its `X-CSRF-Token`.',
  ),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const period = (periods: readonly string[]) =>
  parameter('period', 'path', { schema: { ...text, enum: periods } })
const operation = (operationId: string, summary: string, rest: Record<string, unknown>) => ({
  operationId,
  tags: ['Budgets'],
  summary,
  ...rest,
})
const NONE = { '404': problem('The organization has no such automation or budget.') }
const sets = (operationId: string, summary: string) =>
  operation(operationId, summary, {
    requestBody: body('BudgetRequest', { tokens_max: 2_000_000, usd_max: 25 }),
    responses: {
      '200': json('It applies from the next call on.', 'Budget'),
      ...COMMON,
      ...NONE,
      '400': problem('The body is not JSON.'),
      '413': problem('The body is larger than 256 KiB.'),
      '415': problem('Not application/json.'),
      '422': problem('The limits are not valid; details.problems has each place.'),
    },
  })
const deletes = (operationId: string, summary: string) =>
  operation(operationId, summary, {
    responses: { '204': { description: 'It is gone, with its ledger.' }, ...COMMON, ...NONE },
  })
const lists = (operationId: string, summary: string) =>
  operation(operationId, summary, {
    responses: {
      '200': json('They, with what is used of each now.', 'Budgets'),
      ...COMMON,
      ...NONE,
    },
  })

const automation = parameter('automation_id', 'path')

/** The paths of budgets. */
export const BUDGET_PATHS = {
  '/designer/v2/budgets': {
    get: lists('listBudgets', 'The budgets of the organization and of its automations'),
  },
  '/designer/v2/budgets/{period}': {
    parameters: [period(['day', 'month'])],
    put: sets('setBudget', 'Set a budget of the organization'),
    delete: deletes('deleteBudget', 'Delete a budget of the organization'),
  },
  '/designer/v2/automations/{automation_id}/budgets': {
    parameters: [automation],
    get: lists('listAutomationBudgets', 'The budgets of an automation'),
  },
  '/designer/v2/automations/{automation_id}/budgets/{period}': {
    parameters: [automation, period(BUDGET_PERIODS)],
    put: sets('setAutomationBudget', 'Set a budget of an automation'),
    delete: deletes('deleteAutomationBudget', 'Delete a budget of an automation'),
  },
}
