import type { Queryable } from '../../shared/postgres/database.ts'
import { findPrice } from '../../shared/prices/find-price.ts'
import { loadPrices } from '../../shared/prices/load-prices.ts'
import type { Automation } from '../automations/automations.ts'
import { modelsOf } from '../definitions/crew-definition.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { isOwnCrew } from '../definitions/own-crew-definition.ts'
import { listOwnPrices } from '../budgets/model-prices.ts'
import { batchTiersOf, listConnectionsForModels } from '../connections/llm-connections.ts'

/** The newest runs of a version that a forecast looks at, and those that are too few. */
const RUNS_MAX = 500
const RUNS_MIN = 20
/** The newest runs of a version whose mean cost a page shows. */
const RUNS_SHOWN = 100
/** Former versions whose models are compared. */
const VERSIONS_MAX = 20
/** Inputs of half the size, and of twice the size, are alike. */
const ALIKE = 2
/** Of the normal distribution. */
const Z95 = 1.645

/** What one run takes, and all of a batch. */
export interface Estimate {
  readonly runP50: number
  readonly runP95: number
  readonly totalP50: number
  readonly totalP95: number
}

/** What a batch will take; null: unknown. */
export interface Forecast {
  readonly rows: number
  /** The runs that it is made of. */
  readonly runs: number
  /** They are those of the version; else also of former ones with the same models. */
  readonly isByVersion: boolean
  /** They are those whose inputs are as large as the rows; else there are too few of them. */
  readonly isBySize: boolean
  readonly tokens: Estimate | null
  /** US dollars. */
  readonly cost: Estimate | null
  /** Milliseconds; of all runs one after the other. */
  readonly time: Estimate | null
}

/** The characters of the inputs of rows, as JSON. */
export interface RowSizes {
  readonly smallest: number
  readonly largest: number
}

/** What a forecast is for. */
interface Forecasted {
  readonly rows: number
  /** @default of any size */
  readonly sizes?: RowSizes | undefined
  /** Models are asked for the service tier of batches. @default true */
  readonly isBatch?: boolean
}

interface MeasuredRun {
  readonly ms: number
  readonly size: number
  /** What the run itself says, where its steps are not there any more. */
  readonly said: number
  readonly models: readonly ModelUse[] | null
}

interface ModelUse {
  readonly model: string
  readonly input: number
  readonly output: number
}

/**
 * Forecasts what runs of the version of an automation take, from its last ones that ended. Where
 * these are too few, those of former versions that name the same models are taken with them.
 */
export async function forecastBatch(
  sql: Queryable,
  automation: Pick<Automation, 'id' | 'organizationId' | 'projectVersionId'>,
  { rows, sizes, isBatch = true }: Forecasted,
): Promise<Forecast> {
  const own = await listMeasured(sql, automation, [[automation.projectVersionId]])
  const isByVersion = own.length >= RUNS_MIN
  const all = isByVersion
    ? own
    : await listMeasured(sql, automation, [await listAlikeVersions(sql, automation)])
  const alike = sizes && all.filter(({ size }) => isAlike(size, sizes))
  const isBySize = alike !== undefined && alike.length >= RUNS_MIN
  const runs = isBySize ? alike : all
  if (runs.length < RUNS_MIN) {
    const none = { tokens: null, cost: null, time: null }
    return { rows, runs: runs.length, isByVersion, isBySize, ...none }
  }
  const costs = await costsOf(sql, runs, { ...automation, isBatch })
  return {
    rows,
    runs: runs.length,
    isByVersion,
    isBySize,
    tokens: estimate(
      runs.map(
        ({ said, models }) =>
          models?.reduce((sum, { input, output }) => sum + input + output, 0) ?? said,
      ),
      rows,
    ),
    cost: costs && estimate(costs, rows),
    time: estimate(
      runs.map(({ ms }) => ms),
      rows,
    ),
  }
}

const isAlike = (size: number, { smallest, largest }: RowSizes): boolean =>
  size >= smallest / ALIKE && size <= largest * ALIKE

/** Forecasts what the rows of a batch take that wait. */
export async function forecastWaiting(
  sql: Queryable,
  batch: {
    readonly id: string
    readonly deploymentId: number
    readonly organizationId: number
    readonly versionId: number
  },
): Promise<Forecast> {
  const [waiting] = await sql<[{ rows: number } & RowSizes]>`
    select count(*)::int as rows, coalesce(min(length(inputs::text)), 0) as smallest,
      coalesce(max(length(inputs::text)), 0) as largest
    from batch_rows where batch_id = ${batch.id} and inputs is not null`
  const { deploymentId: id, organizationId, versionId: projectVersionId } = batch
  const { rows, ...sizes } = waiting
  return forecastBatch(sql, { id, organizationId, projectVersionId }, { rows, sizes })
}

/** Returns the version, and those of the automation's last runs that name the same models. */
async function listAlikeVersions(
  sql: Queryable,
  { id, projectVersionId }: Pick<Automation, 'id' | 'projectVersionId'>,
): Promise<number[]> {
  const versions = await sql<{ id: number; definition: CrewDefinition }[]>`
    select id, definition from project_versions
    where id = ${projectVersionId} or id in (
      select project_version_id from (
        select project_version_id from executions
        where deployment_id = ${id} and status in ('completed', 'error')
        order by queued_at desc limit ${RUNS_MAX}) last)
    order by id = ${projectVersionId} desc, id desc limit ${VERSIONS_MAX}`
  const [version, ...others] = versions
  if (!version || isOwnCrew(version.definition)) return [projectVersionId]
  const models = namedBy(version.definition)
  const alike = others.filter(
    ({ definition }) => !isOwnCrew(definition) && namedBy(definition) === models,
  )
  return [version, ...alike].map((each) => each.id)
}

const namedBy = (definition: CrewDefinition): string => modelsOf(definition).toSorted().join('\n')

/**
 * Returns the mean cost of the last runs of the version of an automation, in US dollars; null where
 * it has none, or one of them called a model without a price.
 */
export async function meanCost(
  sql: Queryable,
  automation: Pick<Automation, 'id' | 'organizationId' | 'projectVersionId'>,
): Promise<number | null> {
  const runs = await listMeasured(sql, automation, [[automation.projectVersionId], RUNS_SHOWN])
  const costs = await costsOf(sql, runs, { ...automation, isBatch: false })
  return costs && costs.length > 0
    ? costs.reduce((sum, cost) => sum + cost, 0) / costs.length
    : null
}

const listMeasured = (
  sql: Queryable,
  { id }: Pick<Automation, 'id'>,
  [versionIds, runsMax = RUNS_MAX]: readonly [versionIds: readonly number[], runsMax?: number],
): Promise<MeasuredRun[]> => sql<MeasuredRun[]>`
  with ended as materialized (
    select id, usage, length(inputs::text) as size,
      extract(epoch from finished_at - started_at)::float8 * 1000 as ms
    from executions
    where deployment_id = ${id} and project_version_id = any(${[...versionIds]}::int[])
      and status in ('completed', 'error') and started_at is not null
    order by queued_at desc limit ${runsMax})
  select e.ms, e.size, m.models, coalesce(
    (e.usage ->> 'inputTokens')::float8 + (e.usage ->> 'outputTokens')::float8, 0) as said
  from ended e cross join lateral (
    select json_agg(json_build_object('model', name, 'input', input, 'output', output)) as models
    from (
      select name, sum((usage ->> 'input_tokens')::float8) as input,
        sum((usage ->> 'output_tokens')::float8) as output
      from run_steps where run_id = e.id and kind = 'llm' and usage is not null and attempt > 0
      group by name) used) m`

/** Null when a model of one of the runs has no price today, or is not known any more. */
async function costsOf(
  sql: Queryable,
  runs: readonly MeasuredRun[],
  { organizationId, isBatch }: Pick<Automation, 'organizationId'> & { readonly isBatch: boolean },
): Promise<number[] | null> {
  const prices = [...(await listOwnPrices(sql, organizationId)), ...(await loadPrices(undefined))]
  const names = new Set(runs.flatMap(({ models }) => models?.map(({ model }) => model) ?? []))
  const { connections } = await listConnectionsForModels(sql, organizationId)
  const tiers = batchTiersOf(isBatch ? connections : [])
  const at = new Date()
  const organization = String(organizationId)
  const priceOf = new Map(
    [...names].map((model) => [
      model,
      findPrice(prices, { model, tier: tiers.get(model), organization, at }),
    ]),
  )
  const costs = runs.map(({ said, models }) => {
    if (!models) return said === 0 ? 0 : undefined
    return models.reduce<number | undefined>((sum, { model, input, output }) => {
      const price = priceOf.get(model)
      if (sum === undefined || !price) return undefined
      return sum + (input * price.input + output * (price.output ?? price.input)) / 1e6
    }, 0)
  })
  const known = costs.filter((cost) => cost !== undefined)
  return known.length === costs.length ? known : null
}

/**
 * A run takes at most the value of the rank ⌈0.95 (n + 1)⌉ of those measured with a probability of
 * 95 %, whatever the distribution: 20 runs are the fewest that have the rank. The sum of many runs
 * is near the normal distribution; its spread has that of the mean of those measured in it.
 */
export function estimate(values: readonly number[], rows: number): Estimate {
  const sorted = values.toSorted((a, b) => a - b)
  const { length: n } = sorted
  const rank = (share: number): number => sorted[Math.min(n, Math.ceil(share * (n + 1))) - 1] ?? 0
  const [runP50, runP95] = [rank(0.5), rank(0.95)]
  if (rows === 1) return { runP50, runP95, totalP50: runP50, totalP95: runP95 }
  const mean = sorted.reduce((sum, each) => sum + each, 0) / n
  const variance = sorted.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (n - 1)
  const spread = Z95 * Math.sqrt(variance * (rows + rows ** 2 / n))
  const totalP50 = rows * mean
  return { runP50, runP95, totalP50, totalP95: Math.max(runP95, totalP50 + spread) }
}
