import type { Queryable } from '../../shared/postgres/database.ts'
import type { ProviderOfConnection } from './oauth-tokens.ts'

/** The time that a person has for an authorization. */
const AUTHORIZATION_MINUTES = 10

interface NewAuthorization {
  readonly connectionId: string
  readonly stateHash: Buffer
  readonly codeVerifier: Buffer
  /** Set: only this session may complete it. */
  readonly session: SessionOfAuthorization | undefined
}

interface SessionOfAuthorization {
  readonly hash: Buffer
  /** The page of that session which takes the answer of the provider. */
  readonly returnTo: string
}

/**
 * Opens an authorization and returns its end. It replaces one that was open before, whose link no
 * longer works.
 */
export async function openAuthorization(
  sql: Queryable,
  authorization: NewAuthorization,
): Promise<Date> {
  const { connectionId, stateHash, codeVerifier, session } = authorization
  const [row] = await sql<[{ expiresAt: Date }]>`
    insert into oauth_authorizations
      (connection_id, state_hash, code_verifier, session_hash, return_to, expires_at)
    values (${connectionId}, ${stateHash}, ${codeVerifier}, ${session?.hash ?? null},
      ${session?.returnTo ?? null}, now() + make_interval(mins => ${AUTHORIZATION_MINUTES}))
    on conflict (connection_id) do update set state_hash = excluded.state_hash,
      code_verifier = excluded.code_verifier, session_hash = excluded.session_hash,
      return_to = excluded.return_to, expires_at = excluded.expires_at
    returning expires_at`
  return row.expiresAt
}

/** Returns the page that takes the answer to an open authorization; undefined: whoever has it. */
export async function findReturnPage(
  sql: Queryable,
  stateHash: Buffer,
): Promise<string | undefined> {
  const [found] = await sql<{ returnTo: string | null }[]>`
    select return_to from oauth_authorizations where state_hash = ${stateHash}`
  return found?.returnTo ?? undefined
}

/** An authorization that a callback took, with the connection that it is for. */
export interface TakenAuthorization extends ProviderOfConnection {
  readonly organization: string
  readonly name: string
  readonly codeVerifier: Buffer
}

/**
 * Takes an open authorization by its state and, if it belongs to one, by its session: the same
 * state never works twice.
 */
export async function takeAuthorization(
  sql: Queryable,
  { stateHash, sessionHash }: { stateHash: Buffer; sessionHash: Buffer | null },
): Promise<TakenAuthorization | undefined> {
  const [taken] = await sql<(TakenAuthorization & { live: boolean })[]>`
    with taken as (
      delete from oauth_authorizations
      where state_hash = ${stateHash} and session_hash is not distinct from ${sessionHash}::bytea
      returning connection_id, code_verifier, expires_at > now() as live)
    select t.code_verifier, t.live, c.id, c.organization_id, c.provider, c.kind, c.settings,
      c.settings_version, c.client_secret, c.name, o.name as organization
    from taken t join oauth_connections c on c.id = t.connection_id
      join organizations o on o.id = c.organization_id`
  return taken?.live ? taken : undefined
}
