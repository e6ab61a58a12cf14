import { costOfModels } from '../../shared/prices/find-price.ts'
import type { ModelUse } from '../../shared/prices/find-price.ts'
import { loadPrices } from '../../shared/prices/load-prices.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { contains, keyset } from '../../shared/postgres/paging.ts'
import { listOwnPrices, modelsCalledBy } from '../budgets/model-prices.ts'
import { hasStatus, isListed, newestFirst, runColumns } from './run-list.ts'
import type { ListedRun, RunFilter } from './run-list.ts'

/** The runs that are searched at once: a fraction of a second, however long they are. */
const SEARCHED_MAX = 2000

/** The runs that a search found, in a part of the runs of the filter. */
export interface FoundRuns {
  readonly items: readonly ListedRun[]
  /** The cursor behind which the search goes on; undefined once all were searched. */
  readonly next?: string | undefined
  /** When the oldest run was queued that was searched; null: all were. */
  readonly searchedTo: Date | null
}

interface Looked {
  /** Of inputs and outputs, in any case; undefined: whatever they are. */
  readonly text?: string | undefined
  /** The cursor. */
  readonly after?: string | undefined
  readonly limit: number
}

/** True for what has to be looked up for each run: such filters are searched part by part. */
export const isSearched = ({ model, minCostUsd }: Partial<RunFilter>): boolean =>
  (model ?? minCostUsd) !== undefined

/**
 * Searches runs, from the newest one on or from the one of the cursor `after`: so many at a time
 * that each part takes a fraction of a second.
 */
export async function searchRuns(
  sql: Queryable,
  filter: RunFilter,
  { text, after, limit }: Looked,
): Promise<FoundRuns> {
  const listed = sql`${isListed(sql, filter, undefined)} ${hasStatus(sql, filter)}`
  const page = { after, limit: SEARCHED_MAX - 1 }
  const [boundary] = await sql<{ id: string; queuedAt: Date }[]>`
    select id, queued_at from (
      select e.id, e.queued_at from executions e
      where ${listed} ${keyset(sql, newestFirst(sql, filter), page)}) searched
    offset ${SEARCHED_MAX - 1}`
  const isWithin = boundary
    ? sql`and (e.queued_at, e.id) >= (
        select queued_at, id from executions where id = ${boundary.id})`
    : sql``
  const { minCostUsd } = filter
  const wanted = minCostUsd === undefined ? limit : SEARCHED_MAX
  const found = await sql<PricedRun[]>`
    select ${runColumns(sql)},
      ${minCostUsd === undefined ? sql`null` : modelsCalledBy(sql, sql`e.id`)} as models
    from executions e join deployments d on d.id = e.deployment_id
    where ${listed} ${isWithin} ${hasText(sql, text)}
      ${keyset(sql, newestFirst(sql, filter), { after, limit: wanted })}`
  const rows = await costing(sql, filter, found)
  const items = rows.slice(0, limit)
  if (rows.length > limit) {
    const last = items.at(-1)
    return { items, next: last?.id, searchedTo: last?.queuedAt ?? null }
  }
  return { items, next: boundary?.id, searchedTo: boundary?.queuedAt ?? null }
}

/** JSON has some characters in another way. */
const hasText = (sql: Queryable, text: string | undefined) =>
  text === undefined
    ? sql``
    : sql`and (${contains(sql, [sql`e.inputs::text`], JSON.stringify(text).slice(1, -1))}
        or ${contains(sql, [sql`e.output`], text)})`

interface PricedRun extends ListedRun {
  readonly models: readonly ModelUse[] | null
}

/** Returns the runs that cost so much or more, by the prices of their day. */
async function costing(
  sql: Queryable,
  { organizationId, minCostUsd }: RunFilter,
  runs: readonly PricedRun[],
): Promise<readonly ListedRun[]> {
  if (minCostUsd === undefined || runs.length === 0) return runs
  const prices = [...(await listOwnPrices(sql, organizationId)), ...(await loadPrices(undefined))]
  const organization = String(organizationId)
  return runs.filter(({ models, queuedAt, finishedAt }) => {
    const at = finishedAt ?? queuedAt
    return (costOfModels(models ?? [], prices, { organization, at }) ?? 0) >= minCostUsd
  })
}
