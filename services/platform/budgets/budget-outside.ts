import type { Queryable } from '../../shared/postgres/database.ts'
import { CALL_TOKENS_MAX, spend } from './budget-ledger.ts'

/** An automation whose models are called without a run. */
interface Spender {
  readonly organizationId: number
  /** null: none, so that only the organization's own budgets apply. */
  readonly deploymentId: number | null
}

/** The budgets for days and months that apply, each with the name of its period. */
const applying = (sql: Queryable, { organizationId, deploymentId }: Spender) => sql`
  applying as (
    select id, tokens_max, usd_max, unpriced, to_char(now() at time zone 'UTC',
      case period when 'day' then 'YYYY-MM-DD' else 'YYYY-MM' end) as period
    from budgets
    where organization_id = ${organizationId} and period <> 'run'
      and (deployment_id is null or deployment_id = ${deploymentId}::int))`

/** What is to be called. */
interface Wanted {
  readonly isPriced: boolean
  /** What one call may need. @default nothing is known of it */
  readonly tokens?: number
  readonly usd?: number
}

/**
 * Returns true while no budget of a day or a month is used up, what runs have reserved included,
 * each has room for what is wanted, and money is not limited for models without a price.
 */
export async function hasRoom(
  sql: Queryable,
  { isPriced, tokens = 0, usd = 0, ...spender }: Spender & Wanted,
): Promise<boolean> {
  const full = await sql`
    with ${applying(sql, spender)}
    select from applying a left join budget_ledgers l on l.budget_id = a.id and l.period = a.period
    where coalesce(l.spent_tokens + l.reserved_tokens, 0) >= a.tokens_max - ${tokens}::bigint
      or coalesce(l.spent_usd + l.reserved_usd, 0) >= a.usd_max - ${String(usd)}::text::numeric
      or (a.usd_max is not null and a.unpriced = 'refuse' and ${!isPriced})
    limit 1`
  return full.length === 0
}

/** Adds what calls without a run took to the budgets of days and months. */
export async function chargeOutside(
  sql: Queryable,
  spender: Spender & { readonly tokens: number; readonly usd: number },
): Promise<void> {
  const tokens = Math.min(Math.ceil(spender.tokens), CALL_TOKENS_MAX)
  await sql`
    with ${applying(sql, spender)}
    insert into budget_ledgers (budget_id, period)
    select id, period from applying order by id on conflict do nothing`
  await sql`
    with ${applying(sql, spender)},
    locked as materialized (
      select l.budget_id, l.period from budget_ledgers l
        join applying a on a.id = l.budget_id and a.period = l.period
      order by l.budget_id, l.period for update of l),
    sums as (
      select budget_id, period, 0 as tokens, 0 as usd, ${tokens}::bigint as spent_tokens,
        ${String(spender.usd)}::text::numeric as spent_usd
      from locked)
    ${spend(sql)}`
}
