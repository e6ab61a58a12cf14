import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { oneOf } from '../../shared/schemas.ts'
import { WARNED_AT } from './budget-ledger.ts'
import type { BudgetPeriod } from './budget-room.ts'

/** The highest limit in US dollars. */
export const USD_MAX = 1_000_000
/** The budgets of an organization that are listed at the most. */
const LIST_MAX = 1000

const whole = 'must be a whole number from 1 to 9007199254740991'
const tokens = v.pipe(v.number(whole), v.safeInteger(whole), v.minValue(1, whole))
const dollars = `must be dollars from 0.01 to ${USD_MAX}, in whole cents`
const usd = v.pipe(
  v.number(dollars),
  v.finite(dollars),
  v.minValue(0.01, dollars),
  v.maxValue(USD_MAX, dollars),
  v.check((usd) => Number(usd.toFixed(2)) === usd, dollars),
  v.description('US dollars, in whole cents.'),
)

/** What becomes of calls of a model without a price, where money is limited. */
export const UNPRICED = ['refuse', 'free'] as const
const unpriced = v.pipe(
  oneOf(UNPRICED),
  v.description('What becomes of calls of a model without a price, where money is limited.'),
)

/** The limits of a budget; at least one is set. */
export const budgetLimits = v.pipe(
  v.strictObject({
    tokens_max: v.optional(v.nullable(tokens), null),
    usd_max: v.optional(v.nullable(usd), null),
    unpriced: v.optional(unpriced, 'refuse'),
  }),
  v.check(
    ({ tokens_max, usd_max }) => tokens_max !== null || usd_max !== null,
    'needs tokens_max, usd_max or both; delete the budget to have no limit',
  ),
  v.transform(({ tokens_max: tokensMax, usd_max: usdMax, unpriced }) => ({
    tokensMax,
    usdMax,
    unpriced,
  })),
)
/** The limits of a budget. */
export type BudgetLimits = v.InferOutput<typeof budgetLimits>

/** Names a budget: of an organization, or of one of its automations. */
export interface BudgetKey {
  readonly organizationId: number
  /** Null: all automations of the organization together. */
  readonly deploymentId: number | null
  readonly period: BudgetPeriod
}

/** The ledger of a budget, in its period of now. */
interface BudgetUse {
  /** The day or the month; null: each run has a ledger of its own. */
  readonly of: string | null
  readonly spentTokens: number
  readonly reservedTokens: number
  readonly spentUsd: number
  readonly reservedUsd: number
  readonly warnedAt: Date | null
}

/** A budget, and how much of it is used. */
export interface Budget extends BudgetKey, BudgetLimits, BudgetUse {
  readonly id: number
  readonly automationId: string | null
  readonly automationName: string | null
  /** The runs that wait for it. */
  readonly waitingRuns: number
}

/** Sets the limits of a budget. What was spent since it is there goes on counting. */
export async function setBudget(
  sql: Queryable,
  { organizationId, deploymentId, period }: BudgetKey,
  { tokensMax, usdMax, unpriced }: BudgetLimits,
): Promise<void> {
  if (period === 'run' && deploymentId === null) {
    throw new AppError(
      'unprocessable',
      'An organization has budgets for a day and a month; one for each run is of an automation.',
    )
  }
  await sql`
    with saved as (
      insert into budgets (organization_id, deployment_id, period, tokens_max, usd_max, unpriced)
      values (${organizationId}, ${deploymentId}, ${period}, ${tokensMax}::bigint,
        ${usdMax}::numeric, ${unpriced})
      on conflict (organization_id, coalesce(deployment_id, 0), period) do update set
        tokens_max = excluded.tokens_max, usd_max = excluded.usd_max,
        unpriced = excluded.unpriced, updated_at = now()
      returning id)
    -- With a higher limit people are warned again.
    update budget_ledgers l set warned_at = null from saved s
    where l.budget_id = s.id and l.warned_at is not null
      and (l.spent_tokens < ${tokensMax}::bigint * ${WARNED_AT}::numeric) is not false
      and (l.spent_usd < ${usdMax}::numeric * ${WARNED_AT}::numeric) is not false`
}

/** Deletes a budget with its ledgers. Returns false when there was none. */
export async function deleteBudget(
  sql: Queryable,
  { organizationId, deploymentId, period }: BudgetKey,
): Promise<boolean> {
  const { count } = await sql`
    delete from budgets where organization_id = ${organizationId} and period = ${period}
      and deployment_id is not distinct from ${deploymentId}::int`
  return count > 0
}

/** Which budgets are listed: those of an organization, or of one of its automations. */
interface BudgetFilter {
  readonly organizationId: number
  /** Null: only the organization's own. Undefined: all, the automations' included. */
  readonly deploymentId?: number | null
  /** Instead of the time of the database. */
  readonly at?: Date | undefined
}

/** Lists budgets with what is used of them now; the organization's own come first. */
export async function listBudgets(
  sql: Queryable,
  { organizationId, deploymentId, at }: BudgetFilter,
): Promise<Budget[]> {
  const only =
    deploymentId === undefined
      ? sql``
      : sql`and b.deployment_id is not distinct from ${deploymentId}::int`
  return sql<Budget[]>`
    with named as (
      select b.*, d.automation_id, d.name as automation_name,
        case when b.period <> 'run' then
          to_char(coalesce(${at ?? null}::timestamptz, now()) at time zone 'UTC',
            case b.period when 'day' then 'YYYY-MM-DD' else 'YYYY-MM' end) end as of
      from budgets b left join deployments d on d.id = b.deployment_id
      where b.organization_id = ${organizationId} ${only})
    select n.id, n.organization_id, n.deployment_id, n.automation_id, n.automation_name, n.period,
      n.tokens_max::float8, n.usd_max::float8, n.unpriced, n.of,
      coalesce(l.spent_tokens, 0)::float8 as spent_tokens,
      coalesce(l.reserved_tokens, 0)::float8 as reserved_tokens,
      coalesce(l.spent_usd, 0)::float8 as spent_usd,
      coalesce(l.reserved_usd, 0)::float8 as reserved_usd, l.warned_at,
      (select count(*)::int from budget_stops s join executions e on e.id = s.run_id
        where s.budget_id = n.id and e.status = 'waiting') as waiting_runs
    from named n left join budget_ledgers l on l.budget_id = n.id and l.period = n.of
    order by n.deployment_id is not null, n.automation_name, n.deployment_id,
      array_position(array['run', 'day', 'month'], n.period) limit ${LIST_MAX}`
}

/** Returns the organizations that have budgets, of their own or of an automation. */
export async function listBudgetedOrganizations(sql: Queryable): Promise<ReadonlySet<number>> {
  const rows = await sql<{ organizationId: number }[]>`
    select distinct organization_id from budgets`
  return new Set(rows.map(({ organizationId }) => organizationId))
}

/** The budgets of all organizations, as operators see them. */
export interface BudgetCounts {
  /** Those of which 80 % are spent in their day or month of now. */
  readonly warned: number
  /** Those of which everything is spent. */
  readonly exhausted: number
  /** The runs that wait for a budget. */
  readonly waitingRuns: number
}

/** Counts the budgets that are nearly or wholly spent now. */
export async function measureBudgets(sql: Queryable, at?: Date): Promise<BudgetCounts> {
  const [counts] = await sql<[BudgetCounts]>`
    select count(*) filter (where l.warned_at is not null)::int as warned,
      count(*) filter (
        where l.spent_tokens >= b.tokens_max or l.spent_usd >= b.usd_max)::int as exhausted,
      (select count(*)::int from budget_stops s join executions e on e.id = s.run_id
        where e.status = 'waiting') as waiting_runs
    from budgets b join budget_ledgers l on l.budget_id = b.id
      and l.period = to_char(coalesce(${at ?? null}::timestamptz, now()) at time zone 'UTC',
        case b.period when 'day' then 'YYYY-MM-DD' else 'YYYY-MM' end)
    where b.period <> 'run'`
  return counts
}
