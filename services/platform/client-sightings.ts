import type { Queryable } from '../shared/database.ts'

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

/** The last client of each automation of an organization that was called with a well-signed token. */
export async function listClientSightings(
  sql: Queryable,
  organizationId: number,
): Promise<ReadonlyMap<number, ClientSighting>> {
  const rows = await sql<(ClientSighting & { deploymentId: number })[]>`
    select s.deployment_id, s.client_id, s.seen_at
    from client_sightings s join deployments d on d.id = s.deployment_id
    where d.organization_id = ${organizationId} limit 500`
  return new Map(rows.map((row) => [row.deploymentId, row]))
}
