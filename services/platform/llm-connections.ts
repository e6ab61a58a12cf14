import type { Queryable } from '../shared/database.ts'

export interface LlmConnection {
  readonly id: number
  readonly organizationId: number
  readonly name: string
  readonly provider: string
  readonly model: string
  /** Set: the provider is specific to this tenant. */
  readonly baseUrl: string | null
}

/** Creates a connection of an organization, or updates the one of that name. Keys of providers live in the environment, never here. */
export async function ensureLlmConnection(
  sql: Queryable,
  connection: Omit<LlmConnection, 'id'>,
): Promise<LlmConnection> {
  const [row] = await sql<[LlmConnection]>`
    insert into llm_connections ${sql({ ...connection })}
    on conflict (organization_id, name) do update set
      provider = excluded.provider, model = excluded.model, base_url = excluded.base_url
    returning id, organization_id, name, provider, model, base_url`
  return row
}

export async function listLlmConnections(
  sql: Queryable,
  organizationId: number,
): Promise<LlmConnection[]> {
  return sql<LlmConnection[]>`
    select id, organization_id, name, provider, model, base_url from llm_connections
    where organization_id = ${organizationId} order by name limit 500`
}
