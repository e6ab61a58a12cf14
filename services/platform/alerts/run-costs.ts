import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import { costOfModels } from '../../shared/prices/find-price.ts'
import type { ModelUse } from '../../shared/prices/find-price.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { listOwnPrices, modelsCalledBy } from '../budgets/model-prices.ts'
import { readRunQuery } from '../runs/run-terms.ts'
import type { Watched } from './watches.ts'

/** The runs that are priced at a time. */
const RUNS_MAX = 2000
/** Longer than any alert looks back. */
const DAYS_KEPT = 2
const BATCH_SIZE = 1000

interface EndedRun {
  readonly id: string
  readonly organizationId: number
  readonly finishedAt: Date
  readonly models: readonly ModelUse[]
}

/**
 * Keeps what the runs cost, by the prices of their day, that the alerts over costs among these look
 * back at: each run once, however many rules there are. `isAll` is false while there are more.
 */
export async function priceRuns(
  tx: Transaction,
  due: readonly { readonly id: string; readonly watches: Watched; readonly filter: string }[],
  { prices, at }: { readonly prices: readonly Price[]; readonly at: Date },
): Promise<{ readonly priced: number; readonly isAll: boolean }> {
  const ids = due.flatMap(({ id, watches, filter }) => {
    const isOfCosts = watches === 'cost_per_run' || watches === 'cost_total'
    return isOfCosts || readRunQuery(filter).terms.minCostUsd !== undefined ? [id] : []
  })
  const ended = ids.length > 0 ? await listUnpriced(tx, ids, at) : []
  if (ended.length === 0) return { priced: 0, isAll: true }
  const organizations = new Set(ended.map(({ organizationId }) => organizationId))
  const own = await listOwnPrices(tx, ...organizations)
  const known = [...own, ...prices]
  const rows = ended.map(({ id, finishedAt, organizationId, models }) => ({
    id,
    finishedAt,
    usd: costOfModels(models, known, { organization: String(organizationId), at: finishedAt }),
  }))
  await tx`
    insert into run_costs (run_id, finished_at, usd)
    select e.id, g."finishedAt", g.usd
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as g (
      id uuid, "finishedAt" timestamptz, usd float8)
    -- One may be deleted meanwhile.
    join executions e on e.id = g.id
    on conflict (run_id) do nothing`
  return { priced: ended.length, isAll: ended.length < RUNS_MAX }
}

const listUnpriced = (tx: Transaction, ids: readonly string[], at: Date) => tx<EndedRun[]>`
  with rules as materialized (
    select organization_id, deployment_id, max(window_minutes) as minutes from alerts
    where id = any(${[...ids]}::uuid[]) group by organization_id, deployment_id),
  ended as materialized (
    select e.id, e.organization_id, e.finished_at from executions e
    where e.finished_at <= ${at}::timestamptz and e.finished_at > ${at}::timestamptz
        - make_interval(mins => (select max(minutes) from rules))
      and e.status in ('completed', 'error') and exists (
        select from rules r where r.organization_id = e.organization_id
          and e.deployment_id = coalesce(r.deployment_id, e.deployment_id)
          and e.finished_at > ${at}::timestamptz - make_interval(mins => r.minutes))
      and not exists (select from run_costs where run_id = e.id)
    limit ${RUNS_MAX})
  select e.*, ${modelsCalledBy(tx, tx`e.id`)} as models
  from ended e`

/** Deletes one batch of costs that no alert looks back at. Returns how many. */
export async function deleteOldCosts(sql: Queryable): Promise<number> {
  const { count } = await sql`
    delete from run_costs where run_id in (
      select run_id from run_costs
      where finished_at < now() - make_interval(days => ${DAYS_KEPT}) limit ${BATCH_SIZE})`
  return count
}
