import type { PendingQuery, Row } from 'postgres'
import type { Queryable } from '../../shared/postgres/database.ts'

/** The periods for which a budget may hold. */
export const BUDGET_PERIODS = ['run', 'day', 'month'] as const
/** The period for which a budget holds; days and months are those of UTC. */
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/** Why a call may not be made: the first limit that it would break. */
export interface Refusal {
  readonly budgetId: number
  /** Of one automation rather than of the organization. */
  readonly isOfAutomation: boolean
  readonly period: BudgetPeriod
  /** The day, the month, or the id of the run. */
  readonly of: string
  /** The limit that is in the way; `price`: money is limited, and the model has no price. */
  readonly limit: 'tokens' | 'usd' | 'price'
  readonly max: number | null
  readonly spent: number
  readonly reserved: number
  readonly asked: number
}

/** A run, and the lease that holds it, if any. */
export interface RunAndLease {
  readonly id: string
  readonly leaseId: string | null
}

/** The name of the period of a budget `b` for a run `o` at a time. */
export const periodOf = (sql: Queryable, at?: Date) => sql`
  case b.period when 'run' then o.id::text
    else to_char(coalesce(${at ?? null}::timestamptz, now()) at time zone 'UTC',
      case b.period when 'day' then 'YYYY-MM-DD' else 'YYYY-MM' end) end`

/**
 * What a run or its batch, or one that waits for it, has reserved in a budget `b` for a run `o`:
 * there is room for its own calls.
 */
export const ownReserved = (
  sql: Queryable,
  of: { readonly what: 'tokens' | 'usd'; readonly runId: PendingQuery<Row[]> },
  at?: Date,
) => sql`case when exists (select from batch_reservations) then coalesce((
  select max(w.${sql(of.what)}) from run_family(${of.runId}) m
    join executions x on x.id = m.id
    join batch_reservations w on w.batch_id = coalesce(x.batch_id, x.id) and w.budget_id = b.id
      and w.period = ${periodOf(sql, at)}), 0) else 0 end`

/**
 * The budgets of a run, and of those that wait for it, with the name of the period at a time. With
 * a lease: if that one holds the run.
 */
export const applyingBudgets = (sql: Queryable, { id, leaseId }: RunAndLease, at?: Date) => sql`
  owned as (
    select id from executions
    where id = ${id} and lease_id is not distinct from ${leaseId}::uuid),
  applying as (
    select distinct b.id, b.deployment_id, b.period as kind, b.tokens_max, b.usd_max, b.unpriced,
      ${periodOf(sql, at)} as period,
      case b.period when 'run' then o.id end as run_id,
      ${ownReserved(sql, { what: 'tokens', runId: sql`owned.id` }, at)} as own_tokens,
      ${ownReserved(sql, { what: 'usd', runId: sql`owned.id` }, at)} as own_usd
    from owned cross join lateral run_family(owned.id) o
      join budgets b on b.organization_id = o.organization_id
      and (b.deployment_id is null or b.deployment_id = o.deployment_id))`

/**
 * Returns the budget of a run that has no room for a call of the size that is asked, calls in
 * flight included; undefined when each has some.
 */
export async function findExhausted(
  sql: Queryable,
  run: RunAndLease,
  { asked, at }: { readonly asked?: Refusal | undefined; readonly at?: Date | undefined } = {},
): Promise<Refusal | undefined> {
  const tokens = asked?.limit === 'tokens' ? asked.asked : 1
  const usd = asked?.limit === 'usd' ? asked.asked : 0
  const [refusal] = await sql<Refusal[]>`
    with ${applyingBudgets(sql, run, at)},
    asked as (select ${tokens}::bigint as tokens, ${usd}::numeric as usd),
    states as (
      select a.*, coalesce(l.spent_tokens, 0) as spent_tokens,
        greatest(coalesce(l.reserved_tokens, 0) - a.own_tokens, 0) as reserved_tokens,
        coalesce(l.spent_usd, 0) as spent_usd,
        greatest(coalesce(l.reserved_usd, 0) - a.own_usd, 0) as reserved_usd
      from applying a left join budget_ledgers l on l.budget_id = a.id and l.period = a.period),
    refused as (
      select *, case
          when spent_tokens + reserved_tokens + tokens > tokens_max then 'tokens'
          when spent_usd + reserved_usd >= usd_max
            or spent_usd + reserved_usd + usd > usd_max then 'usd' end as "limit"
      from states, asked)
    select ${refusalColumns(sql)} from refused where "limit" is not null order by id limit 1`
  return refusal
}

/** The columns of a refusal, by `limit`. */
export const refusalColumns = (sql: Queryable) => sql`
  id as budget_id, deployment_id is not null as is_of_automation, kind as period, period as of,
  "limit", case "limit" when 'tokens' then tokens_max else usd_max end::float8 as max,
  case "limit" when 'tokens' then spent_tokens else spent_usd end::float8 as spent,
  case "limit" when 'tokens' then reserved_tokens else reserved_usd end::float8 as reserved,
  case "limit" when 'tokens' then tokens else usd end::float8 as asked`
