import { sqlState } from '../../shared/postgres/failures.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import type { LlmApi } from '../../shared/models/llm-call.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'
import type { Failure } from '../runs/runs.ts'

/** A connection of an organization to a model. */
export interface LlmConnection {
  readonly id: number
  readonly organizationId: number
  readonly name: string
  readonly provider: string
  /** The crews whose definition names this model use the connection. */
  readonly model: string
  /** Set: the provider is specific to this tenant. */
  readonly baseUrl: string | null
  /** The form in which the model is asked. */
  readonly api: LlmApi
  /** It has a key of its own; else the variables of the platform are used. */
  readonly hasKey: boolean
  /** Where it is, as people say; null: they say nothing. */
  readonly region: string | null
  /** The service tier that runs of batches ask for; null: the usual one. */
  readonly batchTier: string | null
}

type Optional = 'api' | 'region' | 'batchTier'

/** The fields of a connection that people enter. */
export type LlmConnectionFields = Omit<LlmConnection, 'id' | 'hasKey' | Optional> &
  Partial<Pick<LlmConnection, Optional>>

/** Names a connection of an organization. */
export interface LlmConnectionKey {
  readonly id: number
  readonly organizationId: number
}

const columns = (sql: Queryable) => sql`
  id, organization_id, name, provider, model, base_url, api, region, batch_tier,
  sealed_key is not null as has_key`

/** The connections of an organization; a definition names fewer models. */
export const LLM_CONNECTIONS_MAX = 1000

/**
 * Creates a connection. Raises `conflict` when the organization has one of that name, or as many as
 * it may.
 */
export async function createLlmConnection(
  sql: Queryable,
  connection: LlmConnectionFields,
): Promise<LlmConnection> {
  const { organizationId, name, provider, model, baseUrl } = connection
  const { api = 'auto', region = null, batchTier = null } = connection
  try {
    return await inTransaction(sql, async (tx) => {
      await tx`select from organizations where id = ${organizationId} for no key update`
      const [row] = await tx<LlmConnection[]>`
        insert into llm_connections (organization_id, name, provider, model, base_url, api, region,
          batch_tier)
        select ${organizationId}, ${name}, ${provider}, ${model}, ${baseUrl}, ${api}, ${region},
          ${batchTier}
        where (select count(*) from llm_connections where organization_id = ${organizationId})
          < ${LLM_CONNECTIONS_MAX}
        returning ${columns(tx)}`
      if (row) return row
      throw new AppError(
        'conflict',
        `An organization has at most ${LLM_CONNECTIONS_MAX} LLM connections. ` +
          'Delete one that is no longer used.',
      )
    })
  } catch (thrown) {
    throw sqlState(thrown) === '23505' ? nameTaken() : thrown
  }
}

/**
 * Changes a connection. Its key is deleted when the provider or the address changes: whoever
 * changes those has to know the key. Returns undefined when there is none; raises `conflict`.
 */
export async function updateLlmConnection(
  sql: Queryable,
  id: number,
  connection: LlmConnectionFields,
): Promise<LlmConnection | undefined> {
  const { organizationId, name, provider, model, baseUrl } = connection
  const { api = 'auto', region = null, batchTier = null } = connection
  try {
    const [row] = await sql<LlmConnection[]>`
      update llm_connections set name = ${name}, provider = ${provider}, model = ${model},
        base_url = ${baseUrl}, api = ${api}, region = ${region}, batch_tier = ${batchTier},
        updated_at = now(),
        sealed_key = case when provider = ${provider} and base_url is not distinct from ${baseUrl}
          then sealed_key end
      where id = ${id} and organization_id = ${organizationId} returning ${columns(sql)}`
    return row
  } catch (thrown) {
    throw sqlState(thrown) === '23505' ? nameTaken() : thrown
  }
}

/**
 * Stores the key of a connection, or deletes it; unless the provider or address of the connection
 * changed in the meantime.
 */
export async function setSealedKey(
  sql: Queryable,
  { id, organizationId, provider, baseUrl }: LlmConnection,
  sealedKey: Buffer | null,
): Promise<void> {
  await sql`
    update llm_connections set sealed_key = ${sealedKey}, updated_at = now()
    where id = ${id} and organization_id = ${organizationId}
      and provider = ${provider} and base_url is not distinct from ${baseUrl}`
}

/**
 * Returns the sealed key of a connection; null when it has none, or when its provider or address
 * changed in the meantime.
 */
export async function findSealedKey(
  sql: Queryable,
  { id, organizationId, provider, baseUrl }: LlmConnection,
): Promise<Buffer | null> {
  const [found] = await sql<{ sealedKey: Buffer | null }[]>`
    select sealed_key from llm_connections
    where id = ${id} and organization_id = ${organizationId}
      and provider = ${provider} and base_url is not distinct from ${baseUrl}`
  return found?.sealedKey ?? null
}

/** Deletes a connection. Returns false when the organization has no such connection. */
export async function deleteLlmConnection(
  sql: Queryable,
  { id, organizationId }: LlmConnectionKey,
): Promise<boolean> {
  const deleted = await sql`
    delete from llm_connections
    where id = ${id} and organization_id = ${organizationId} returning id`
  return deleted.length > 0
}

/** Returns a connection of the organization; undefined for a connection of another one. */
export async function findLlmConnection(
  sql: Queryable,
  { id, organizationId }: LlmConnectionKey,
): Promise<LlmConnection | undefined> {
  const [found] = await sql<LlmConnection[]>`
    select ${columns(sql)} from llm_connections
    where id = ${id} and organization_id = ${organizationId}`
  return found
}

/** Returns the connection of an organization that the error of a run names. */
export async function findConnectionOfError(
  sql: Queryable,
  organizationId: number,
  { message }: Failure,
): Promise<LlmConnection | undefined> {
  const [found] = await sql<LlmConnection[]>`
    select ${columns(sql)} from llm_connections
    where organization_id = ${organizationId}
      and strpos(${message}, 'LLM connection "' || name || '"') > 0 limit 1`
  return found
}

/**
 * Returns the connections of an organization by name; the search looks into names, providers and
 * models.
 */
export async function listLlmConnections(
  sql: Queryable,
  organizationId: number,
  page: PageRequest,
): Promise<Page<LlmConnection>> {
  const byName = { columns: [sql`name`], at: (cursor: string) => sql`(${cursor})` }
  const searched = [sql`name`, sql`provider`, sql`model`]
  const isListed = sql`
    organization_id = ${organizationId} and (${contains(sql, searched, page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<LlmConnection[]>`
      select ${columns(sql)} from llm_connections where ${isListed} ${keyset(sql, byName, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from llm_connections where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ name }) => name })
}

/** A connection by which a model is called, with its sealed key. */
export interface ModelConnection extends LlmConnection {
  readonly sealedKey: Buffer | null
}

/** The connections of an organization, one for each model, and its rule on regions. */
export interface ModelConnections {
  /** The regions in which its data stays; none: it may go anywhere. */
  readonly allowedRegions: readonly string[]
  readonly connections: readonly ModelConnection[]
}

type RuledConnection = Pick<ModelConnections, 'allowedRegions'> &
  (ModelConnection | { readonly id: null })

/**
 * Returns the connections of an organization, one for each model: of several, the first by name
 * that its rule on regions lets data go to, or the first of all where there is none.
 */
export async function listConnectionsForModels(
  sql: Queryable,
  organizationId: number,
): Promise<ModelConnections> {
  const rows = await sql<RuledConnection[]>`
    select o.allowed_regions, c.* from organizations o left join lateral (
      select distinct on (model) ${columns(sql)}, sealed_key from llm_connections
      where organization_id = o.id
      order by model, o.allowed_regions <> '{}' and (region = any(o.allowed_regions)) is not true,
        name
      limit ${LLM_CONNECTIONS_MAX}) c on true
    where o.id = ${organizationId}`
  const connections = rows.flatMap((row) => (row.id === null ? [] : row))
  return { allowedRegions: rows[0]?.allowedRegions ?? [], connections }
}

/** Returns the service tiers that runs of batches ask for, by models. */
export const batchTiersOf = (
  connections: readonly Pick<LlmConnection, 'model' | 'batchTier'>[],
): ReadonlyMap<string, string> =>
  new Map(connections.flatMap(({ model, batchTier: tier }) => (tier ? [[model, tier]] : [])))

interface SealedKey extends LlmConnectionKey {
  readonly sealedKey: Buffer
}

/**
 * Returns the keys of all organizations after the connection `afterId`, by id; fewer than `limit`
 * are the last.
 */
export async function listSealedKeys(
  sql: Queryable,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<SealedKey[]> {
  return sql<SealedKey[]>`
    select id, organization_id, sealed_key from llm_connections
    where sealed_key is not null and id > ${afterId} order by id limit ${limit}`
}

/** Puts another seal on a key, unless somebody has changed it in the meantime. */
export async function replaceSealedKey(
  sql: Queryable,
  { id, sealedKey }: SealedKey,
  resealed: Buffer,
): Promise<void> {
  await sql`
    update llm_connections set sealed_key = ${resealed}
    where id = ${id} and sealed_key = ${sealedKey}`
}

const MODELS_SUGGESTED = 100

/**
 * Returns models that the crews of an organization name, for which a connection can be; at most
 * 100.
 */
export async function suggestModels(sql: Queryable, organizationId: number): Promise<string[]> {
  const rows = await sql<{ model: string }[]>`
    select distinct model from deployments d
      join project_versions v on v.id = d.project_version_id,
      lateral (
        select v.definition #>> '{llm,model}' as model
        union all
        select agent #>> '{llm,model}'
        from jsonb_path_query(v.definition, '$.agents[*]') agent) named
    where d.organization_id = ${organizationId} and model is not null
    order by model limit ${MODELS_SUGGESTED}`
  return rows.map(({ model }) => model)
}

/** Returns the models that an organization has connections for, by name; at most 100. */
export async function listConnectedModels(
  sql: Queryable,
  organizationId: number,
): Promise<string[]> {
  const rows = await sql<{ model: string }[]>`
    select distinct model from llm_connections where organization_id = ${organizationId}
    order by model limit ${MODELS_SUGGESTED}`
  return rows.map(({ model }) => model)
}

const nameTaken = (): AppError =>
  new AppError('conflict', 'Your organization has a connection of that name. Choose another name.')
