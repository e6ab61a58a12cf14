import type { Queryable } from '../../shared/postgres/database.ts'
import { CALL_TOKENS_MAX, spend, toUsedTokens } from './budget-ledger.ts'
import type { BudgetWarning, PlannedCall } from './budget-ledger.ts'
import { ownReserved, periodOf } from './budget-room.ts'

/** What a commit of the journal booked for a run. */
export interface Booking {
  /** What was reserved for, or what no budget is for; the others are to be asked for one by one. */
  readonly reserved: ReadonlySet<string>
  readonly free: ReadonlySet<string>
  /** The steps whose reservations were settled. */
  readonly settled: ReadonlySet<string>
  readonly warnings: readonly BudgetWarning[]
}

/** The columns of `bookedColumns`; null: none. */
export interface BookingColumns {
  readonly asked: readonly (readonly [string, 'reserved' | 'free' | 'open'])[] | null
  readonly settled: readonly string[] | null
  readonly warnings: readonly BudgetWarning[] | null
}

/** Reads the columns of a run. */
export function bookingOf({ asked, settled, warnings }: BookingColumns): Booking {
  const having = (wanted: string): Set<string> =>
    new Set((asked ?? []).filter(([, outcome]) => outcome === wanted).map(([step]) => step))
  return {
    reserved: having('reserved'),
    free: having('free'),
    settled: new Set(settled),
    warnings: warnings ?? [],
  }
}

/** Encodes a call as `bookCalls` reads it. */
export function toCallRow({ step, inputTokens, outputTokens, price }: PlannedCall): string {
  return JSON.stringify({
    step,
    input: Math.min(inputTokens, CALL_TOKENS_MAX),
    output: Math.min(outputTokens, CALL_TOKENS_MAX),
    input_price: price?.input,
    output_price: price?.output,
    cached_price: price?.cached,
    tier_prices: price?.tiers,
  })
}

/**
 * Settles the calls that end, and reserves for those that begin, within the statement that writes
 * them: `given` has the steps of runs, `owned` the runs. A call gets its reservations at once where
 * all that this statement asks for has room in each of its budgets; otherwise it gets none, and is
 * to be asked for by itself, as is the first one of a period, whose ledger is not there.
 */
export const bookCalls = (sql: Queryable, calls: string) => sql`,
  ${endCalls(sql, calls)},
  ${beginCalls(sql)},
  sums as (
    select budget_id, period, sum(tokens) as tokens, sum(usd) as usd,
      sum(spent_tokens) as spent_tokens, sum(spent_usd) as spent_usd
    from (
      select * from settled
      union all select budget_id, period, -tokens, -usd, 0, 0 from reserved) changes
    group by budget_id, period),
  booked as (${spend(sql)})`

/** Locks the ledgers of all calls, and makes `settled` of those that end. */
const endCalls = (sql: Queryable, calls: string) => sql`
  asked as materialized (
    select o.id as run_id, c.*, c.input + c.output as tokens,
      coalesce(c.input * c.input_price + c.output * c.output_price, 0) as usd
    from owned o join json_to_recordset(${calls}::text::json) as c (lease uuid, step text,
      input bigint, output bigint, input_price numeric, output_price numeric, cached_price numeric,
      tier_prices jsonb) on c.lease = o.lease),
  -- What this lease has reserved already is in the ledgers.
  fresh as (
    select * from asked a where not exists (
      select from budget_reservations r
      where r.run_id = a.run_id and r.step_key = a.step and r.lease_id = a.lease)),
  limits as materialized (
    select distinct f.*, b.id as budget_id, b.tokens_max, b.usd_max, b.unpriced,
      ${periodOf(sql)} as period,
      ${ownReserved(sql, { what: 'tokens', runId: sql`f.run_id` })} as own_tokens,
      ${ownReserved(sql, { what: 'usd', runId: sql`f.run_id` })} as own_usd
    from fresh f cross join lateral run_family(f.run_id) o
      join budgets b on b.organization_id = o.organization_id
        and (b.deployment_id is null or b.deployment_id = o.deployment_id)),
  over as materialized (
    select g.lease, g.state, g.usage, r.run_id, r.step_key, r.budget_id, r.period
    from given g join budget_reservations r
      on r.run_id = g.id and r.step_key = g.key and r.lease_id = g.lease
    where g.state <> 'started'),
  -- In one order, so that no two workers wait for each other.
  locked as materialized (
    select * from budget_ledgers l
    where (l.budget_id, l.period) in (
      select budget_id, period from limits union select budget_id, period from over)
    order by l.budget_id, l.period for update),
  due as (
    delete from budget_reservations r using locked l, over o
    where o.budget_id = l.budget_id and o.period = l.period
      and r.run_id = o.run_id and r.step_key = o.step_key and r.budget_id = o.budget_id
      and r.lease_id = o.lease
    returning r.*, o.lease, o.state, o.usage),
  ${toUsedTokens(sql, { isAbandoned: false })}`

/** Makes `reserved` of the calls that begin and have room. */
const beginCalls = (sql: Queryable) => sql`
  rooms as (
    select l.budget_id, l.period,
      l.spent_tokens + l.reserved_tokens - coalesce(s.tokens - s.spent_tokens, 0) as tokens,
      l.spent_usd + l.reserved_usd - coalesce(s.usd - s.spent_usd, 0) as usd
    from locked l left join settled s on s.budget_id = l.budget_id and s.period = l.period),
  totals as (
    select budget_id, period, sum(tokens) as tokens, sum(usd) as usd
    from limits group by budget_id, period),
  judged as materialized (
    select m.run_id, m.step, bool_and(r.budget_id is not null
      and (r.tokens + t.tokens - m.own_tokens <= m.tokens_max) is not false
      and (r.usd + t.usd - m.own_usd <= m.usd_max) is not false
      and (m.usd_max is null or m.unpriced = 'free' or m.input_price is not null)) as fits
    from limits m join totals t on t.budget_id = m.budget_id and t.period = m.period
      left join rooms r on r.budget_id = m.budget_id and r.period = m.period
    group by m.run_id, m.step),
  reserved as (
    insert into budget_reservations (run_id, step_key, budget_id, period, lease_id, tokens, usd,
      input_price, output_price, cached_price, tier_prices)
    select m.run_id, m.step, m.budget_id, m.period, m.lease, m.tokens, m.usd,
      coalesce(m.input_price, 0), coalesce(m.output_price, 0), m.cached_price, m.tier_prices
    from limits m join judged j on j.run_id = m.run_id and j.step = m.step and j.fits
    on conflict do nothing
    returning budget_id, period, tokens, usd)`

/** What was booked for the run of a lease `p.lease`. */
export const bookedColumns = (sql: Queryable) => sql`,
  (select json_agg(json_build_array(a.step, case
      when j.fits then 'reserved' when j.fits is not null then 'open'
      when f.step is null then 'reserved' else 'free' end))
    from asked a left join fresh f on f.run_id = a.run_id and f.step = a.step
      left join judged j on j.run_id = a.run_id and j.step = a.step
    where a.lease = p.lease) as asked,
  (select json_agg(d.step_key) from due d where d.lease = p.lease) as settled,
  (select json_agg(json_build_object(
      'budgetId', w.budget_id, 'isOfAutomation', w.is_of_automation, 'period', w.period,
      'of', w.of, 'tokensMax', w.tokens_max, 'spentTokens', w.spent_tokens,
      'usdMax', w.usd_max, 'spentUsd', w.spent_usd))
    from booked w where w.is_new and p.lease = (
      select d.lease from due d where d.budget_id = w.budget_id and d.period = w.of
      order by d.lease limit 1)) as warnings`
