import type { PendingQuery, Row } from 'postgres'
import { isUuid } from '../automations/automations.ts'
import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { Price, TokenPrices } from '../../shared/prices/price-table.ts'

/** The most prices that one organization enters. */
export const MODEL_PRICES_MAX = 200

/** What is said of a price: the days are `2026-11-22`, in UTC. */
export interface ModelPriceFields {
  readonly name: string
  /** In lower case, without what stands before the last slash of a name. */
  readonly models: readonly string[]
  /** The first day; null: without a beginning. */
  readonly begins: string | null
  /** The day after the last one; null: without an end. */
  readonly ends: string | null
  readonly perMillion: TokenPrices
}

/** What models cost an organization by its own contract, in a span of time. */
export interface ModelPrice extends ModelPriceFields {
  readonly id: string
  readonly organizationId: number
}

type ModelPriceKey = Pick<ModelPrice, 'id' | 'organizationId'>

const columns = (sql: Queryable) => sql`
  id, organization_id, name, models, begins::text, ends::text, per_million`

/** Returns the prices of an organization by name. */
export const listModelPrices = (sql: Queryable, organizationId: number): Promise<ModelPrice[]> =>
  sql<ModelPrice[]>`
    select ${columns(sql)} from model_prices where organization_id = ${organizationId}
    order by name, id`

/** Returns a price; undefined for one of another organization. */
export async function findModelPrice(
  sql: Queryable,
  { id, organizationId }: ModelPriceKey,
): Promise<ModelPrice | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await sql<ModelPrice[]>`
    select ${columns(sql)} from model_prices
    where id = ${id} and organization_id = ${organizationId}`
  return found
}

/** Creates a price. Raises `conflict` when the organization has as many as it may. */
export async function createModelPrice(
  sql: Queryable,
  organizationId: number,
  fields: ModelPriceFields,
): Promise<ModelPrice> {
  return inTransaction(sql, async (tx) => {
    await tx`select from organizations where id = ${organizationId} for no key update`
    const [{ count }] = await tx<[{ count: number }]>`
      select count(*)::int as count from model_prices where organization_id = ${organizationId}`
    if (count >= MODEL_PRICES_MAX) {
      throw new AppError(
        'conflict',
        `An organization has at most ${MODEL_PRICES_MAX} prices. Delete one that has ended.`,
      )
    }
    const [created] = await tx<[ModelPrice]>`
      insert into model_prices ${tx({ ...toRow(tx, fields), organizationId })}
      returning ${columns(tx)}`
    return created
  })
}

/** Changes a price. Returns false when there is none. */
export async function updateModelPrice(
  sql: Queryable,
  { id, organizationId }: ModelPriceKey,
  fields: ModelPriceFields,
): Promise<boolean> {
  const { count } = await sql`
    update model_prices set ${sql(toRow(sql, fields))}
    where id = ${id} and organization_id = ${organizationId}`
  return count > 0
}

/** Deletes a price. */
export async function deleteModelPrice(
  sql: Queryable,
  { id, organizationId }: ModelPriceKey,
): Promise<boolean> {
  const { count } = await sql`
    delete from model_prices where id = ${id} and organization_id = ${organizationId}`
  return count > 0
}

/**
 * Returns the prices of some organizations as the table of prices has them, one a model and day:
 * where several apply, the one that began last counts.
 */
export async function listOwnPrices(
  sql: Queryable,
  ...organizationIds: readonly number[]
): Promise<Price[]> {
  const rows = await sql<ModelPrice[]>`
    select ${columns(sql)} from model_prices where organization_id = any(${[...organizationIds]})
    order by name, id`
  return toTable(rows)
}

/** Returns those of all organizations that have a budget, likewise. */
export async function listBudgetedPrices(sql: Queryable): Promise<Price[]> {
  const rows = await sql<ModelPrice[]>`
    select ${columns(sql)} from model_prices
    where organization_id in (select organization_id from budgets)
    order by name, id`
  return toTable(rows)
}

/** Before and after all days. */
const [ALWAYS, NEVER] = ['', '9999-12-31']

function toTable(prices: readonly ModelPrice[]): Price[] {
  const rows = prices
    .flatMap(({ models, begins, ends, ...price }) =>
      models.map((model) => ({ ...price, model, from: begins ?? ALWAYS, until: ends ?? NEVER })),
    )
    .toSorted((a, b) => Number(a.from > b.from) - Number(a.from < b.from))
  const ofOne = new Map<string, typeof rows>()
  for (const row of rows) {
    const key = `${row.organizationId} ${row.model}`
    ofOne.set(key, [...(ofOne.get(key) ?? []), row])
  }
  return [...ofOne.values()].flatMap((own) => {
    const days = [...new Set(own.flatMap(({ from, until }) => [from, until]))].toSorted()
    return days.slice(0, -1).flatMap((from, index) => {
      const price = own.findLast((row) => row.from <= from && from < row.until)
      if (!price) return []
      return [toPrice(price, { from, until: days[index + 1] ?? NEVER })]
    })
  })
}

const toPrice = (
  {
    model,
    organizationId,
    perMillion,
  }: Pick<ModelPrice, 'organizationId' | 'perMillion'> & {
    readonly model: string
  },
  { from, until }: { readonly from: string; readonly until: string },
): Price => ({
  models: [model],
  organization: String(organizationId),
  from: from === ALWAYS ? undefined : from,
  until,
  perMillion,
  readOn: undefined,
})

const toRow = (sql: Queryable, { models, perMillion, ...rest }: ModelPriceFields) => ({
  ...rest,
  models: [...models],
  perMillion: sql.json(perMillion),
})

/** The models that the run of an id in SQL called, with their calls and tokens, as JSON. */
export const modelsCalledBy = (sql: Queryable, runId: PendingQuery<Row[]>) => sql`(
  select coalesce(json_agg(
    (to_jsonb(m) - 'tier')
      || case when tier is null then '{}' else jsonb_build_object('service_tier', tier) end
    order by model, tier nulls first), '[]') from (
    select name as model, usage ->> 'service_tier' as tier, count(*) as calls,
      coalesce(sum((usage ->> 'input_tokens')::bigint), 0) as input_tokens,
      coalesce(sum((usage ->> 'cached_input_tokens')::bigint), 0) as cached_input_tokens,
      coalesce(sum((usage ->> 'output_tokens')::bigint), 0) as output_tokens
    from run_steps where run_id = ${runId} and kind = 'llm' and attempt > 0 group by 1, 2) m)`
