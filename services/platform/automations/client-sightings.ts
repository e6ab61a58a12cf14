import type { Queryable } from '../../shared/postgres/database.ts'

/** The last call of an automation by an OAuth client. */
export interface ClientSighting {
  readonly clientId: string
  readonly seenAt: Date
}

/** Records the client of a well-signed token that was sent to an automation. */
export async function recordClient(
  sql: Queryable,
  deploymentId: number,
  clientId: string,
): Promise<void> {
  await sql`
    insert into client_sightings ${sql({ deploymentId, clientId })}
    on conflict (deployment_id) do update set client_id = excluded.client_id, seen_at = now()`
}

/** The last client that each of these automations was called with, by a well-signed token. */
export async function listClientSightings(
  sql: Queryable,
  deploymentIds: readonly number[],
): Promise<ReadonlyMap<number, ClientSighting>> {
  if (deploymentIds.length === 0) return new Map()
  const rows = await sql<(ClientSighting & { deploymentId: number })[]>`
    select deployment_id, client_id, seen_at from client_sightings
    where deployment_id in ${sql([...deploymentIds])}`
  return new Map(rows.map((row) => [row.deploymentId, row]))
}
