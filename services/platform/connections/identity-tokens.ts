import type { Queryable } from '../../shared/postgres/database.ts'

/** A run that may have an identity, as its tokens say who it is. */
export interface RunIdentity {
  readonly runId: string
  readonly organizationId: number
  readonly automationId: string
  readonly slug: string
  readonly version: number
}

/** Returns a run of the organization that a worker performs; undefined for any other. */
export async function findRunningRun(
  sql: Queryable,
  { runId, organizationId }: Pick<RunIdentity, 'runId' | 'organizationId'>,
): Promise<RunIdentity | undefined> {
  const [found] = await sql<RunIdentity[]>`
    select e.id as run_id, e.organization_id, d.automation_id, d.slug, v.number as version
    from executions e
      join deployments d on d.id = e.deployment_id
      join project_versions v on v.id = e.project_version_id
    where e.id = ${runId} and e.organization_id = ${organizationId} and e.status = 'running'
    for share of e`
  return found
}

/** An identity that a run got, without the token. */
export interface IdentityToken {
  readonly id: string
  readonly connection: string
  readonly audience: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** Records that a run got an identity. */
export async function recordIdentityToken(
  sql: Queryable,
  runId: string,
  { id, connection, audience, expiresAt }: Omit<IdentityToken, 'issuedAt'>,
): Promise<void> {
  await sql`
    insert into identity_tokens (id, run_id, connection, audience, expires_at)
    values (${id}, ${runId}, ${connection}, ${audience}, ${expiresAt})`
}

const LISTED_MAX = 100

/** Returns the identities that a run got, the newest first. */
export const listIdentityTokens = (sql: Queryable, runId: string): Promise<IdentityToken[]> =>
  sql<IdentityToken[]>`
    select id, connection, audience, issued_at, expires_at from identity_tokens
    where run_id = ${runId} order by issued_at desc, id limit ${LISTED_MAX}`
