import { BUDGET_EXCEEDED, describeStop, toWireStop } from '../budgets/budget-stops.ts'
import { refusalColumns } from '../budgets/budget-room.ts'
import type { Refusal } from '../budgets/budget-room.ts'
import { AppError } from '../../shared/errors.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'
import type { Batch } from './batches.ts'
import { forecastBatch, forecastWaiting } from './forecast.ts'
import type { Forecast } from './forecast.ts'

const LOOK_SECONDS = 2

type Reserving = Pick<Batch, 'id' | 'organizationId' | 'deploymentId'>

/**
 * Reserves what the waiting rows of a batch take by the 95 % of its forecast, in each budget of the
 * day and the month that applies, or in none. Its own runs may use it, and others may not. Raises
 * `conflict` when there is no room or no budget, and when the forecast is unknown.
 */
export async function reserveBatch(
  tx: Queryable,
  batch: Reserving & Pick<Batch, 'versionId'>,
): Promise<void> {
  const { id } = batch
  const [held] = await tx<{ waiting: number; isReserved: boolean }[]>`
    select waiting, exists (select from batch_reservations where batch_id = b.id) as is_reserved
    from batches b where id = ${id} for update`
  if (!held || held.waiting === 0) {
    throw new AppError('conflict', 'The batch has no rows that wait.')
  }
  if (held.isReserved) throw new AppError('conflict', 'The batch has a reservation already.')
  await reserveForecast(tx, { ...batch, what: 'batch' }, await forecastWaiting(tx, batch))
}

/**
 * Reserves what a run that was just queued takes by the 95 % of its forecast, likewise: until it
 * has ended, however that is.
 */
export async function reserveRun(
  tx: Queryable,
  run: Pick<Automation, 'organizationId'> & { readonly deploymentId: number; readonly id: string },
): Promise<void> {
  const { id, organizationId, deploymentId } = run
  const [queued] = await tx<[{ size: number; projectVersionId: number }]>`
    select length(inputs::text) as size, project_version_id from executions where id = ${id}`
  const { size, projectVersionId } = queued
  const forecast = await forecastBatch(
    tx,
    { id: deploymentId, organizationId, projectVersionId },
    { rows: 1, sizes: { smallest: size, largest: size }, isBatch: false },
  )
  await reserveForecast(tx, { ...run, what: 'run' }, forecast)
}

/**
 * Forecasts what a run takes that reserves it, with inputs of any size; undefined where there is no
 * budget to reserve from.
 */
export async function forecastReserve(
  sql: Queryable,
  automation: Pick<Automation, 'id' | 'organizationId' | 'projectVersionId'>,
): Promise<Forecast | undefined> {
  const { id: deploymentId, organizationId } = automation
  const [budget] = await sql`
    with ${applying(sql, { organizationId, deploymentId })} select from applying limit 1`
  return budget && forecastBatch(sql, automation, { rows: 1, isBatch: false })
}

async function reserveForecast(
  tx: Queryable,
  { what, ...batch }: Reserving & { readonly what: 'batch' | 'run' },
  { tokens, cost, rows }: Forecast,
): Promise<void> {
  if (!tokens) {
    throw new AppError('conflict', `What the ${what} takes is unknown: too few runs have ended.`)
  }
  const asked = { tokens: Math.ceil(tokens.totalP95), usd: cost ? cost.totalP95 : undefined }
  const budgets = await openLedgers(tx, batch)
  if (budgets.length === 0) {
    throw new AppError('conflict', 'There is no budget of a day or a month to reserve from.')
  }
  if (asked.usd === undefined && budgets.some(({ isOfMoney }) => isOfMoney)) {
    throw new AppError('conflict', `What the ${what} costs is unknown: a model has no price.`)
  }
  await reserve(tx, batch, { ...asked, rows })
}

/** The budgets of days and months that apply, with the names of their periods. */
const applying = (sql: Queryable, { organizationId, deploymentId }: Omit<Reserving, 'id'>) => sql`
  applying as (
    select id, deployment_id, period as kind, tokens_max, usd_max,
      to_char(now() at time zone 'UTC',
        case period when 'day' then 'YYYY-MM-DD' else 'YYYY-MM' end) as period
    from budgets
    where organization_id = ${organizationId} and period <> 'run'
      and (deployment_id is null or deployment_id = ${deploymentId}))`

const openLedgers = (tx: Queryable, batch: Reserving) => tx<{ isOfMoney: boolean }[]>`
  with ${applying(tx, batch)},
  opened as (
    insert into budget_ledgers (budget_id, period)
    select id, period from applying order by id on conflict do nothing)
  select usd_max is not null as is_of_money from applying`

async function reserve(
  tx: Queryable,
  batch: Reserving,
  { tokens, usd = 0, rows }: { tokens: number; usd?: number | undefined; rows: number },
): Promise<void> {
  const [refusal] = await tx<Refusal[]>`
    with ${applying(tx, batch)},
    asked as (select ${tokens}::bigint as tokens, ${String(usd)}::text::numeric as usd),
    locked as materialized (
      select a.*, l.spent_tokens, l.reserved_tokens, l.spent_usd, l.reserved_usd
      from budget_ledgers l join applying a on a.id = l.budget_id and a.period = l.period
      order by l.budget_id, l.period for update of l),
    refused as (
      select *, case when spent_tokens + reserved_tokens + tokens > tokens_max then 'tokens'
          when spent_usd + reserved_usd + usd > usd_max then 'usd' end as "limit"
      from locked, asked),
    given as (
      insert into batch_reservations (batch_id, budget_id, period, tokens, usd, all_tokens,
        all_usd, all_rows)
      select ${batch.id}, id, period, tokens, usd, tokens, usd, ${rows} from locked, asked
      where not exists (select from refused where "limit" is not null)
      returning *),
    reserved as (
      update budget_ledgers l set reserved_tokens = l.reserved_tokens + g.tokens,
        reserved_usd = l.reserved_usd + g.usd
      from given g where l.budget_id = g.budget_id and l.period = g.period)
    select ${refusalColumns(tx)} from refused where "limit" is not null
    order by "limit", id limit 1`
  if (!refusal) return
  throw new AppError('conflict', `Nothing is reserved. ${describeStop(refusal)}`, {
    details: { code: BUDGET_EXCEEDED, ...toWireStop(refusal) },
  })
}

/** Gives up what a batch has reserved. Raises `conflict` where that is nothing. */
export async function releaseBatch(sql: Queryable, { id }: Pick<Batch, 'id'>): Promise<void> {
  const { count } = await sql`
    update batch_reservations set all_tokens = 0, all_usd = 0, looked_at = '-infinity'
    where batch_id = ${id} and tokens + usd > 0`
  if (count === 0) throw new AppError('conflict', 'The batch has no reservation.')
}

/** Holds while there are reservations of batches to look at. */
export const hasDueReservations = (sql: Queryable) => sql`
  exists (select from batch_reservations
    where looked_at < now() - make_interval(secs => ${LOOK_SECONDS}))`

/**
 * Releases what batches reserved for rows whose runs have ended, or are deleted. What is free is
 * taken out of the ledgers by the look after that: calls that began before still take it for the
 * batch's own.
 */
export async function releaseEnded(sql: Database): Promise<number> {
  await sql.begin(async (tx) => {
    await tx`
      with due as materialized (
        select l.budget_id, l.period from budget_ledgers l
        where (l.budget_id, l.period) in (
          select budget_id, period from batch_reservations where freed_tokens + freed_usd > 0)
        order by l.budget_id, l.period for update),
      freed as (
        select r.budget_id, r.period, sum(freed_tokens) as tokens, sum(freed_usd) as usd
        from batch_reservations r join due using (budget_id, period) group by 1, 2),
      gone as (
        delete from batch_reservations r using due d
        where r.budget_id = d.budget_id and r.period = d.period and r.tokens + r.usd = 0),
      kept as (
        update batch_reservations r set freed_tokens = 0, freed_usd = 0 from due d
        where r.budget_id = d.budget_id and r.period = d.period and r.tokens + r.usd > 0)
      update budget_ledgers l set reserved_tokens = l.reserved_tokens - f.tokens,
        reserved_usd = l.reserved_usd - f.usd
      from freed f where l.budget_id = f.budget_id and l.period = f.period`
  })
  await sql`
    with open as materialized (
      select r.batch_id, coalesce((select waiting from batches where id = r.batch_id), 0) + (
        select count(*) from executions e
        where e.batch_id = r.batch_id and e.status in ('queued', 'running', 'waiting')) + (
        -- of a run alone it has the id of that
        select count(*) from executions e
        where e.id = r.batch_id and e.status in ('queued', 'running', 'waiting')) as rows
      from (select distinct batch_id from batch_reservations) r),
    left_over as (
      select r.batch_id, r.budget_id, r.period,
        least(r.tokens, ceil(r.all_tokens::numeric * least(o.rows, r.all_rows) / r.all_rows))
          ::bigint as tokens,
        least(r.usd, r.all_usd * least(o.rows, r.all_rows) / r.all_rows) as usd
      from batch_reservations r join open o using (batch_id))
    update batch_reservations r set tokens = k.tokens, usd = k.usd, looked_at = now(),
      freed_tokens = r.freed_tokens + r.tokens - k.tokens, freed_usd = r.freed_usd + r.usd - k.usd
    from left_over k
    where k.batch_id = r.batch_id and k.budget_id = r.budget_id and k.period = r.period`
  return 0
}
