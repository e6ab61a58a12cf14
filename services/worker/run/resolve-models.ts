import { modelsOf } from '../../platform/definitions/crew-definition.ts'
import { isOwnCrew } from '../../platform/definitions/own-crew-definition.ts'
import type { ModelEndpoint } from '../../platform/connections/model-endpoint.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import type { RunFailure } from '../../platform/runs/run-errors.ts'
import { endpointOf } from '../../platform/connections/connection-endpoint.ts'
import type { EndpointDeps } from '../../platform/connections/connection-endpoint.ts'
import { listConnectionsForModels } from '../../platform/connections/llm-connections.ts'
import type {
  ModelConnection,
  ModelConnections,
} from '../../platform/connections/llm-connections.ts'
import { isInside, modelsOutside, outsideFailure } from '../../platform/connections/regions.ts'
import type { AllowedRegions } from '../../platform/connections/regions.ts'
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
}

/**
 * Returns the addresses and keys of a run's models for which its organization has LLM connections;
 * the crew calls the others as it was deployed to. Nobody knows the models of a crew that is made
 * from a source: it gets all that can be used. Under a rule on regions a run gets nothing outside,
 * and a model that has nothing inside fails it: the credentials of the platform say no region.
 */
export async function resolveModels(
  deps: ModelDeps,
  { organizationId, definition }: Pick<LeasedRun, 'organizationId' | 'definition'>,
): Promise<ResolvedModels | { failure: RunFailure }> {
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
  const models: [string, ModelEndpoint][] = []
  for (const connection of connections) {
    const endpoint = endpointOf(deps, connection)
    if (typeof endpoint !== 'string') models.push([connection.model, endpoint])
    else if (!isOwn) return { failure: unusable(connection, endpoint) }
  }
  const names = Object.fromEntries(connections.map(({ model, name }) => [model, name]))
  return { models: Object.fromEntries(models), names, allowedRegions }
}

const unusable = ({ name }: ModelConnection, why: string): RunFailure => ({
  code: 'llm_connection_unusable',
  message: `The LLM connection "${name}" cannot be used: ${why}`,
})
