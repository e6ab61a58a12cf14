import type { PendingQuery, Row } from 'postgres'
import type { Queryable } from '../../shared/postgres/database.ts'
import { applyingBudgets, refusalColumns } from './budget-room.ts'
import type { BudgetPeriod, Refusal, RunAndLease } from './budget-room.ts'

/** The part of a limit at which people are warned. */
export const WARNED_AT = 0.8
/** Beyond what any model takes or gives in one call. */
export const CALL_TOKENS_MAX = 1_000_000_000

/** Dollars for a token, as decimals. */
export interface PlainTokenPrice {
  readonly input: string
  readonly output: string
  /** Of input that the provider had in its cache. @default that of other input */
  readonly cached?: string
}

/** The prices of a model. */
export interface TokenPrice extends PlainTokenPrice {
  /** Those of its service tiers, by which calls are charged that were billed so. @default none */
  readonly tiers?: Readonly<Record<string, PlainTokenPrice>>
}

const FREE: TokenPrice = { input: '0', output: '0' }

/** A call of a model, before it is made. */
export interface PlannedCall {
  /** The key of its step. */
  readonly step: string
  /** What it may use at the most, as far as anybody knows. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Undefined: the model has no price. */
  readonly price: TokenPrice | undefined
  /** Instead of the time of the database. */
  readonly at?: Date | undefined
}

/** A budget of which 80 % were spent just now. */
export interface BudgetWarning {
  readonly budgetId: number
  readonly isOfAutomation: boolean
  readonly period: BudgetPeriod
  readonly of: string
  readonly tokensMax: number | null
  readonly spentTokens: number
  readonly usdMax: number | null
  readonly spentUsd: number
}

/** Opens the ledgers that a call of a run goes into. Returns false when it has no budget. */
async function openLedgers(sql: Queryable, lease: RunAndLease, at?: Date): Promise<boolean> {
  const applied = await sql`
    with ${applyingBudgets(sql, lease, at)},
    opened as (
      insert into budget_ledgers (budget_id, period, run_id)
      select id, period, run_id from applying order by id on conflict do nothing)
    select id from applying`
  return applied.length > 0
}

/**
 * Reserves what a call may need in each budget of its run, or in none: returns the refusal of the
 * first budget without room. The same call of the same lease again changes nothing. Returns false
 * for a run that has no budget, or is no longer this worker's.
 */
export async function reserveCall(
  sql: Queryable,
  lease: RunAndLease,
  call: PlannedCall,
): Promise<Refusal | boolean> {
  if (!(await openLedgers(sql, lease, call.at))) return false
  const input = Math.min(call.inputTokens, CALL_TOKENS_MAX)
  const output = Math.min(call.outputTokens, CALL_TOKENS_MAX)
  const price = call.price ?? FREE
  const tiers = price.tiers ? JSON.stringify(price.tiers) : null
  const [refusal] = await sql<Refusal[]>`
    with ${applyingBudgets(sql, lease, call.at)},
    held as (
      -- Nobody takes the run over before this is committed.
      select from executions where id = ${lease.id} and lease_id = ${lease.leaseId}
      for no key update),
    asked as (
      select ${input + output}::bigint as tokens, ${price.input}::text::numeric as input_price,
        ${price.output}::text::numeric as output_price,
        ${price.cached ?? null}::text::numeric as cached_price,
        ${input}::bigint * ${price.input}::text::numeric
          + ${output}::bigint * ${price.output}::text::numeric as usd),
    -- In one order, so that no two calls wait for each other. Rows that somebody else held are
    -- read again once they are free.
    locked as materialized (
      select a.*, l.spent_tokens, greatest(l.reserved_tokens - a.own_tokens, 0) as reserved_tokens,
        l.spent_usd, greatest(l.reserved_usd - a.own_usd, 0) as reserved_usd
      from budget_ledgers l join applying a on a.id = l.budget_id and a.period = l.period
      where exists (select from held)
      order by l.budget_id, l.period for update of l),
    refused as (
      select l.*, tokens, usd, case
          when usd_max is not null and unpriced = 'refuse' and ${call.price === undefined}
            then 'price'
          when spent_tokens + reserved_tokens + tokens > tokens_max then 'tokens'
          when spent_usd + reserved_usd + usd > usd_max then 'usd' end as "limit"
      from locked l, asked),
    given as (
      insert into budget_reservations (run_id, step_key, budget_id, period, lease_id, tokens, usd,
        input_price, output_price, cached_price, tier_prices)
      select ${lease.id}, ${call.step}, l.id, l.period, ${lease.leaseId}, tokens, usd, input_price,
        output_price, cached_price, ${tiers}::text::jsonb
      from locked l, asked where not exists (select from refused where "limit" is not null)
      on conflict do nothing
      returning budget_id, period, tokens, usd),
    reserved as (
      update budget_ledgers l set reserved_tokens = l.reserved_tokens + g.tokens,
        reserved_usd = l.reserved_usd + g.usd
      from given g where l.budget_id = g.budget_id and l.period = g.period)
    select ${refusalColumns(sql)}
    from refused where "limit" is not null
      and not exists (
        select from budget_reservations where run_id = ${lease.id} and step_key = ${call.step}
          and lease_id = ${lease.leaseId})
    order by "limit", id limit 1`
  return refusal ?? true
}

/**
 * Replaces the reservations of steps that have ended by what they used, as their journal says: a
 * call without a usage is taken to have used all that was reserved, and a failed one nothing.
 */
export async function settleCalls(
  sql: Queryable,
  { id, leaseId }: RunAndLease,
  steps: readonly string[],
): Promise<BudgetWarning[]> {
  const which = sql`r.run_id = ${id} and r.lease_id = ${leaseId}
    and r.step_key = any (${[...steps]}::text[])`
  return settle(sql, which, { isAbandoned: false })
}

/**
 * Gives up the reservations of a run that other leases hold, or with `leaseId` those of that one:
 * what finished is paid for, and the rest is free again.
 */
export async function closeCalls(
  sql: Queryable,
  { id, leaseId }: RunAndLease,
  whose: 'own' | 'former',
): Promise<BudgetWarning[]> {
  const lease = whose === 'own' ? sql`r.lease_id = ${leaseId}` : sql`r.lease_id <> ${leaseId}`
  return settle(sql, sql`r.run_id = ${id} and ${lease}`, { isAbandoned: true })
}

const isAbandoned = (sql: Queryable) => sql`not exists (
  select from executions e where e.id = r.run_id and e.lease_id = r.lease_id)`

/** Holds while there are reservations whose lease no longer holds their run. */
export const hasAbandonedCalls = (sql: Queryable) => sql`
  exists (select from budget_reservations r where ${isAbandoned(sql)})`

/** Gives up the reservations whose lease no longer holds their run. */
export async function closeAbandonedCalls(sql: Queryable): Promise<void> {
  await settle(sql, isAbandoned(sql), { isAbandoned: true })
}

/** The one statement that turns reservations into what was spent. */
async function settle(
  sql: Queryable,
  which: PendingQuery<Row[]>,
  { isAbandoned }: { readonly isAbandoned: boolean },
): Promise<BudgetWarning[]> {
  const rows = await sql<Booked[]>`
    with locked as materialized (
      select l.budget_id, l.period from budget_ledgers l
      where (l.budget_id, l.period) in (
        select r.budget_id, r.period from budget_reservations r where ${which})
      order by l.budget_id, l.period for update),
    given_up as (
      delete from budget_reservations r using locked l
      where r.budget_id = l.budget_id and r.period = l.period and ${which}
      returning r.*),
    due as (
      select d.*, coalesce(s.state, 'started') as state, s.usage
      from given_up d left join run_steps s on s.run_id = d.run_id and s.step_key = d.step_key),
    ${toUsedTokens(sql, { isAbandoned })},
    sums as (select * from settled)
    ${spend(sql)}`
  return ofNow(rows)
}

/** Makes of `due`, reservations with the state and the usage of their steps, what was `settled`. */
export function toUsedTokens(sql: Queryable, { isAbandoned }: { readonly isAbandoned: boolean }) {
  const tokensOf = (field: string) =>
    sql`least(coalesce((d.usage ->> ${field})::numeric, 0), ${CALL_TOKENS_MAX})`
  return sql`
    used as (
      select d.*, ${tokensOf('input_tokens')} as input, ${tokensOf('output_tokens')} as output,
        ${tokensOf('cached_input_tokens')} as said_cached,
        -- billed by a tier that has a price of its own
        d.tier_prices -> (d.usage ->> 'service_tier') as tier
      from due d),
    charged as (
      select *, coalesce((tier ->> 'input')::numeric, input_price) as by_input,
        coalesce((tier ->> 'output')::numeric, output_price) as by_output,
        coalesce((tier ->> 'cached')::numeric, (tier ->> 'input')::numeric, cached_price,
          input_price) as by_cached,
        input + output = 0
          and (state = 'finished' or (state = 'started' and ${!isAbandoned})) as is_unknown,
        least(said_cached, input) as cached
      from used),
    settled as (
      select budget_id, period, sum(tokens) as tokens, sum(usd) as usd,
        sum(case when is_unknown then tokens else input + output end) as spent_tokens,
        sum(case when is_unknown then usd
          else (input - cached) * by_input + cached * by_cached + output * by_output end
        ) as spent_usd
      from charged group by budget_id, period)`
}

/** Books `sums`: what was reserved goes, what was spent comes. Notes the first 80 % of a limit. */
export const spend = (sql: Queryable) => sql`
  update budget_ledgers l set
    reserved_tokens = l.reserved_tokens - s.tokens, reserved_usd = l.reserved_usd - s.usd,
    spent_tokens = l.spent_tokens + s.spent_tokens, spent_usd = l.spent_usd + s.spent_usd,
    warned_at = case
      when l.warned_at is null and (
        l.spent_tokens + s.spent_tokens >= b.tokens_max * ${WARNED_AT}::numeric
        or l.spent_usd + s.spent_usd >= b.usd_max * ${WARNED_AT}::numeric) then now()
      else l.warned_at end
  from sums s join budgets b on b.id = s.budget_id
  where l.budget_id = s.budget_id and l.period = s.period
  returning b.id as budget_id, b.deployment_id is not null as is_of_automation, b.period,
    l.period as of, b.tokens_max::float8, l.spent_tokens::float8, b.usd_max::float8,
    l.spent_usd::float8, coalesce(l.warned_at = now(), false) as is_new`

interface Booked extends BudgetWarning {
  /** It was this statement that noted the warning. */
  readonly isNew: boolean
}

const ofNow = (rows: readonly Booked[]): BudgetWarning[] =>
  rows.filter(({ isNew }) => isNew).map(({ isNew: _isNew, ...warning }) => warning)

/** A call that was made without a reservation. */
interface MadeCall {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Those of the input that the provider had in its cache. @default 0 */
  readonly cachedInputTokens?: number
  readonly price: TokenPrice | undefined
  readonly at?: Date | undefined
}

/** Adds a call that nobody had reserved, as a crew without a journal makes it. */
export async function chargeCall(
  sql: Queryable,
  lease: RunAndLease,
  { inputTokens, outputTokens, cachedInputTokens = 0, price = FREE, at }: MadeCall,
): Promise<BudgetWarning[]> {
  if (!(await openLedgers(sql, lease, at))) return []
  const input = Math.min(inputTokens, CALL_TOKENS_MAX)
  const output = Math.min(outputTokens, CALL_TOKENS_MAX)
  const cached = Math.min(cachedInputTokens, input)
  const rows = await sql<Booked[]>`
    with ${applyingBudgets(sql, lease, at)},
    locked as materialized (
      select l.budget_id, l.period from budget_ledgers l
        join applying a on a.id = l.budget_id and a.period = l.period
      order by l.budget_id, l.period for update of l),
    sums as (
      select budget_id, period, 0 as tokens, 0 as usd, ${input + output}::bigint as spent_tokens,
        ${input - cached}::bigint * ${price.input}::text::numeric
          + ${cached}::bigint * ${price.cached ?? price.input}::text::numeric
          + ${output}::bigint * ${price.output}::text::numeric as spent_usd
      from locked)
    ${spend(sql)}`
  return ofNow(rows)
}
