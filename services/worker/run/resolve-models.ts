import { modelsOf } from '../../platform/definitions/crew-definition.ts'
import { isOwnCrew } from '../../platform/definitions/own-crew-definition.ts'
import type { ModelEndpoint } from '../../platform/connections/model-endpoint.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import type { RunFailure } from '../../platform/runs/run-errors.ts'
import { endpointOf } from '../../platform/connections/connection-endpoint.ts'
import type { EndpointDeps } from '../../platform/connections/connection-endpoint.ts'
import {
  batchTiersOf,
  listConnectionsForModels,
} from '../../platform/connections/llm-connections.ts'
import type {
  ModelConnection,
  ModelConnections,
} from '../../platform/connections/llm-connections.ts'
import { isInside, modelsOutside, outsideFailure } from '../../platform/connections/regions.ts'
import type { AllowedRegions } from '../../platform/connections/regions.ts'
import { listOwnPrices } from '../../platform/budgets/model-prices.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import type { Database } from '../../shared/postgres/database.ts'

/** What opens connections, and the database that has them. */
export interface ModelDeps extends EndpointDeps {
  readonly sql: Database
  /** @default by a statement each time */
  readonly connectionsOf?: (organizationId: number) => Promise<ModelConnections>
}

/** Lists the connections of an organization for all runs that ask at a time, after they asked. */
export function shareConnections(sql: Database): NonNullable<ModelDeps['connectionsOf']> {
  const asked = new Map<number, Promise<ModelConnections>>()
  async function list(organizationId: number): Promise<ModelConnections> {
    await new Promise(setImmediate)
    asked.delete(organizationId)
    return listConnectionsForModels(sql, organizationId)
  }
  return (organizationId) => {
    const listing = asked.get(organizationId) ?? list(organizationId)
    asked.set(organizationId, listing)
    return listing
  }
}

/** The endpoints of a run's models, and the names of the connections that they are from. */
interface ResolvedModels {
  readonly models?: Readonly<Record<string, ModelEndpoint>>
  readonly names: Readonly<Record<string, string>>
  /** The rule of the organization, for what else the run calls. */
  readonly allowedRegions: AllowedRegions
  /** The organization's own prices, of a run that asks for service tiers. */
  readonly tierPrices?: readonly Price[]
}

interface Resolved extends Pick<LeasedRun, 'organizationId' | 'definition'> {
  /** The run, which may be of a batch. @default it is none */
  readonly batchedRun?: string
}

/** Returns the service tiers to ask for, by models: a run of no batch asks for none. */
async function findTiers(
  sql: Database,
  connections: readonly ModelConnection[],
  { organizationId, batchedRun }: Resolved,
) {
  const none = { tiers: new Map<string, string>(), tierPrices: undefined }
  const tiers = batchTiersOf(connections)
  if (batchedRun === undefined || tiers.size === 0) return none
  const found = await sql`
    select from executions where id = ${batchedRun} and batch_id is not null`
  if (found.length === 0) return none
  return { tiers, tierPrices: await listOwnPrices(sql, organizationId) }
}

/**
 * Returns the addresses and keys of a run's models for which its organization has LLM connections;
 * the crew calls the others as it was deployed to. Nobody knows the models of a crew that is made
 * from a source: it gets all that can be used. Under a rule on regions a run gets nothing outside,
 * and a model that has nothing inside fails it: the credentials of the platform say no region.
 * Runs of batches ask for the service tier that a connection has for them.
 */
export async function resolveModels(
  deps: ModelDeps,
  run: Resolved,
): Promise<ResolvedModels | { failure: RunFailure }> {
  const { organizationId, definition } = run
  const isOwn = isOwnCrew(definition)
  const needed = isOwn ? undefined : modelsOf(definition)
  const { connectionsOf = (of: number) => listConnectionsForModels(deps.sql, of) } = deps
  const { allowedRegions, connections: all } = await connectionsOf(organizationId)
  const outside = modelsOutside(allowedRegions, needed ?? [], all)
  if (outside.length > 0) return { failure: outsideFailure(allowedRegions, outside) }
  const connections = all.filter(
    (each) => (needed?.includes(each.model) ?? true) && isInside(allowedRegions, each),
  )
  if (connections.length === 0) return { names: {}, allowedRegions }
  const { tiers, tierPrices } = await findTiers(deps.sql, connections, run)
  const models: [string, ModelEndpoint][] = []
  for (const connection of connections) {
    const endpoint = endpointOf(deps, connection)
    if (typeof endpoint !== 'string') {
      const service_tier = tiers.get(connection.model)
      models.push([connection.model, service_tier ? { ...endpoint, service_tier } : endpoint])
    } else if (!isOwn) return { failure: unusable(connection, endpoint) }
  }
  const names = Object.fromEntries(connections.map(({ model, name }) => [model, name]))
  return { models: Object.fromEntries(models), names, allowedRegions, tierPrices }
}

const unusable = ({ name }: ModelConnection, why: string): RunFailure => ({
  code: 'llm_connection_unusable',
  message: `The LLM connection "${name}" cannot be used: ${why}`,
})
