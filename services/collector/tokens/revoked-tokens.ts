import { MAX_REVOCABLE_SECONDS } from '../../shared/collector-token.ts'
import type { Database } from '../../shared/postgres/database.ts'

/** A token that is refused although its signature is good. */
interface RevokedToken {
  readonly id: string
  readonly revokedAt: Date
  readonly reason: string | null
}

/** More than anyone revokes in a year; each replica has them in memory. */
const MAX_REVOKED = 100_000

/** Clocks that differ must not bring a token back to life. */
const GRACE_SECONDS = 86_400
const KEPT_SECONDS = MAX_REVOCABLE_SECONDS + GRACE_SECONDS

/**
 * The ids of all revoked tokens that may not have expired. Raises an error for more than a process
 * can remember.
 */
export async function listRevokedIds(sql: Database): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from revoked_tokens where expires_at > now() limit ${MAX_REVOKED + 1}`
  if (rows.length <= MAX_REVOKED) return rows.map(({ id }) => id)
  throw new Error(`More than ${MAX_REVOKED} tokens are revoked; replace COLLECTOR_JWT_SECRET.`)
}

/** The tokens revoked last. */
export async function listRevokedTokens(sql: Database, limit: number): Promise<RevokedToken[]> {
  return sql<RevokedToken[]>`
    select id, revoked_at, reason from revoked_tokens order by revoked_at desc, id limit ${limit}`
}

/**
 * Revokes the token of this id, for as long as any token can live, and forgets those that have
 * expired since. False when it was revoked already.
 */
export async function revokeToken(
  sql: Database,
  { id, reason }: { readonly id: string; readonly reason: string | undefined },
): Promise<boolean> {
  await sql`delete from revoked_tokens where expires_at < now()`
  const inserted = await sql`
    insert into revoked_tokens (id, expires_at, reason)
    values (${id}, now() + ${KEPT_SECONDS}::int * interval '1 second', ${reason ?? null})
    on conflict (id) do nothing returning id`
  return inserted.length > 0
}
