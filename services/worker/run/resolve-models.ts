import { modelsOf } from '../../platform/definitions/crew-definition.ts'
import { isOwnCrew } from '../../platform/definitions/own-crew-definition.ts'
import type { ModelEndpoint } from '../../platform/connections/model-endpoint.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import type { RunFailure } from '../../platform/runs/run-errors.ts'
import type { Failure } from '../../platform/runs/runs.ts'
import { listConnectionsForModels } from '../../platform/connections/llm-connections.ts'
import type {
  ModelConnection,
  ModelConnections,
} from '../../platform/connections/llm-connections.ts'
import { isInside, modelsOutside, outsideFailure } from '../../platform/connections/regions.ts'
import type { AllowedRegions } from '../../platform/connections/regions.ts'
import { createLlmKeys } from '../../platform/connections/llm-keys.ts'
import { describeRequirements } from '../../platform/connections/llm-providers.ts'
import { usageOf } from '../../platform/connections/llm-usage.ts'
import type { ReadVariable } from '../../platform/connections/llm-usage.ts'
import type { SecretKeys } from '../../shared/crew-token.ts'
import { addressProblem } from '../../shared/outgoing/address.ts'
import type { Database } from '../../shared/postgres/database.ts'

/** Its secret keys open the keys of LLM connections. */
export interface ModelDeps extends SecretKeys {
  readonly sql: Database
  readonly readVariable: ReadVariable
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

/** The endpoint of a connection, or why there is none. */
function endpointOf(deps: ModelDeps, connection: ModelConnection): ModelEndpoint | string {
  const hasKey = connection.sealedKey !== null
  const { chatUrl, platformKey, missing } = usageOf({ ...connection, hasKey }, deps.readVariable)
  if (chatUrl === undefined) {
    return (
      `the provider ${connection.provider} has no OpenAI-compatible address. Give the ` +
      'connection a base URL.'
    )
  }
  const problem = addressProblem(chatUrl)
  if (problem !== undefined) return `its base URL ${problem}. Save it in that form.`
  // An address of its own may take calls without a key: only a call can say.
  if (missing.length > 0 && !connection.baseUrl) {
    const needed = describeRequirements(missing)
    return `it has no key, and the platform has no ${needed}. Enter a key, or set the variable.`
  }
  const { api } = connection
  // Crews of former versions know no other one.
  const base = { base_url: chatUrl, ...(api === 'auto' ? {} : { api }) }
  if (connection.sealedKey) {
    const keys = createLlmKeys(deps.secretKeyBase, deps.previousSecretKeyBase)
    const key = keys.open(connection.sealedKey, connection)
    return key === undefined
      ? 'its key was stored with another SECRET_KEY_BASE. Enter the key again.'
      : { ...base, api_key: key }
  }
  return platformKey === undefined ? base : { ...base, api_key: platformKey }
}

/** Names the LLM connection by which the model of a failure was called, and what to check in it. */
export function nameConnection(failure: Failure, name: string | undefined): Failure {
  const { code, message } = failure
  if (name === undefined || !code.startsWith('llm_')) return failure
  const what = /\bHTTP 40[13]\b/.test(message) ? 'the key of ' : ''
  return { code, message: `${message} Check ${what}the LLM connection "${name}".` }
}

const unusable = ({ name }: ModelConnection, why: string): RunFailure => ({
  code: 'llm_connection_unusable',
  message: `The LLM connection "${name}" cannot be used: ${why}`,
})
