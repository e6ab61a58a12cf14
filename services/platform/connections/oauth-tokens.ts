import type { Queryable } from '../../shared/postgres/database.ts'
import { noTokens } from './oauth-connections.ts'
import type { ConnectionKind, ConnectionSettings, StatusReason } from './oauth-connections.ts'

/**
 * The time for one refresh before another replica may try: longer than its call to the provider.
 */
const REFRESH_LEASE_SECONDS = 30
/**
 * A token is refreshed this long before it ends, so that whoever gets it can work with it for that
 * long at least; one that lives shorter than four times this, in its last quarter.
 */
const REFRESH_EARLY_SECONDS = 300
const EXPIRY_SECONDS_MAX = 10 * 365 * 86_400

/** Tokens as they are stored: encrypted by the OAuth service, which alone has the key. */
export interface SealedTokens {
  readonly accessToken: Buffer
  readonly refreshToken: Buffer | null
  readonly tokenType: string
  readonly scope: string | null
  readonly expiresAt: Date | null
}

/** Tokens that a provider just issued. */
export interface NewTokens extends Omit<SealedTokens, 'expiresAt'> {
  /** null: the provider gave no end. */
  readonly expiresInSeconds: number | null
}

/** The provider of a connection: one of the operator's by its name, or settings of its own. */
export interface ProviderOfConnection {
  readonly id: string
  readonly organizationId: number
  readonly provider: string
  readonly kind: ConnectionKind
  readonly settings: ConnectionSettings | null
  readonly settingsVersion: number
  /** Sealed like the tokens. */
  readonly clientSecret: Buffer | null
}

/** A connection with what is needed to hand out its token. */
export interface TokenHolder extends ProviderOfConnection {
  /** The places that the token may be sent to; none: wherever a tool calls. */
  readonly hosts: readonly string[]
  readonly region: string | null
  readonly statusReason: StatusReason | null
  /** null: nobody has authorized it yet. */
  readonly tokens: SealedTokens | null
  /** The token should be refreshed before it is handed out. */
  readonly isDue: boolean
  readonly isExpired: boolean
}

/** Deletes a connection and returns its tokens, so that they can be revoked. */
export async function deleteConnection(
  sql: Queryable,
  id: string,
): Promise<TokenHolder | undefined> {
  const [deleted] = await sql<HolderRow[]>`
    delete from oauth_connections where id = ${id} returning ${holderColumns(sql)}`
  return deleted && toHolder(deleted)
}

interface HolderRow
  extends Omit<TokenHolder, 'tokens'>, Omit<SealedTokens, 'accessToken' | 'tokenType'> {
  readonly accessToken: Buffer | null
  readonly tokenType: string | null
}

const holderColumns = (sql: Queryable) => sql`
  id, organization_id, provider, kind, settings, settings_version, client_secret, hosts,
  region, status_reason,
  access_token, refresh_token, token_type, scope, expires_at,
  coalesce(refresh_at <= now(), false) as is_due,
  coalesce(expires_at <= now(), false) as is_expired`

function toHolder(row: HolderRow): TokenHolder {
  const { accessToken, refreshToken, tokenType, scope, expiresAt, ...holder } = row
  const tokens =
    accessToken && tokenType ? { accessToken, refreshToken, tokenType, scope, expiresAt } : null
  return { ...holder, tokens }
}

/** Returns a connection with its sealed tokens, if it exists. */
export async function findTokenHolder(
  sql: Queryable,
  id: string,
): Promise<TokenHolder | undefined> {
  const [found] = await sql<HolderRow[]>`
    select ${holderColumns(sql)} from oauth_connections where id = ${id}`
  return found && toHolder(found)
}

/** The assignments for new tokens, by the database's clock, like everything that reads them. */
function newTokens(sql: Queryable, tokens: NewTokens) {
  const { accessToken, refreshToken, tokenType, scope, expiresInSeconds } = tokens
  const seconds = expiresInSeconds === null ? null : Math.min(expiresInSeconds, EXPIRY_SECONDS_MAX)
  const untilRefresh =
    seconds === null ? null : seconds - Math.min(REFRESH_EARLY_SECONDS, seconds / 4)
  return sql`
    access_token = ${accessToken}, refresh_token = ${refreshToken}, token_type = ${tokenType},
    scope = ${scope}, expires_at = now() + make_interval(secs => ${seconds}),
    refresh_at = now() + make_interval(secs => ${untilRefresh}),
    refresh_lease_id = null, refresh_lease_expires_at = null`
}

/**
 * Stores the tokens that a connection was connected with, in place of earlier ones. Returns false
 * when the connection was deleted, or its settings changed.
 */
export async function storeAuthorizedTokens(
  sql: Queryable,
  { id, settingsVersion }: Pick<ProviderOfConnection, 'id' | 'settingsVersion'>,
  tokens: NewTokens,
): Promise<boolean> {
  const stored = await sql`
    update oauth_connections
    set ${newTokens(sql, tokens)}, status = 'connected', status_reason = null,
      authorized_at = now(), refreshed_at = null, failure = null, failed_at = null
    where id = ${id} and settings_version = ${settingsVersion} returning id`
  return stored.length > 0
}

/**
 * Takes the right to refresh a connection's token. Returns undefined when somebody else has it, or
 * when there is no longer a token that is due.
 */
export async function takeRefreshLease(
  sql: Queryable,
  connectionId: string,
): Promise<RefreshLease | undefined> {
  const [taken] = await sql<(HolderRow & { leaseId: string })[]>`
    update oauth_connections set refresh_lease_id = gen_random_uuid(),
      refresh_lease_expires_at = now() + make_interval(secs => ${REFRESH_LEASE_SECONDS})
    where id = ${connectionId} and refresh_at <= now()
      and (refresh_token is not null or kind = 'client_credentials')
      and (refresh_lease_id is null or refresh_lease_expires_at <= now())
    returning ${holderColumns(sql)}, refresh_lease_id as lease_id`
  return taken && { connectionId, leaseId: taken.leaseId, holder: toHolder(taken) }
}

/** The exclusive right to refresh the tokens of a connection. */
export interface RefreshLease {
  readonly connectionId: string
  readonly leaseId: string
  readonly holder: TokenHolder
}

/**
 * Stores refreshed tokens. Returns false when the lease is over: the connection was deleted or
 * authorized anew.
 */
export async function storeRefreshedTokens(
  sql: Queryable,
  { connectionId, leaseId }: RefreshLease,
  tokens: NewTokens,
): Promise<boolean> {
  const stored = await sql`
    update oauth_connections
    set ${newTokens(sql, tokens)}, refreshed_at = now(), failure = null, failed_at = null
    where id = ${connectionId} and refresh_lease_id = ${leaseId} returning id`
  return stored.length > 0
}

/** Gives the right to refresh back, after a call that may succeed the next time. */
export async function releaseRefreshLease(
  sql: Queryable,
  { connectionId, leaseId }: RefreshLease,
): Promise<void> {
  await sql`
    update oauth_connections set refresh_lease_id = null, refresh_lease_expires_at = null
    where id = ${connectionId} and refresh_lease_id = ${leaseId}`
}

/**
 * Deletes the tokens of a connection, if they are still the given ones: a person has to authorize
 * again. Returns false when they are not.
 */
export async function requireAuthorization(
  sql: Queryable,
  holder: TokenHolder,
  reason: StatusReason,
): Promise<boolean> {
  const changed = await sql`
    update oauth_connections
    set status = 'needs_authorization', status_reason = ${reason}, ${noTokens(sql)}
    where id = ${holder.id} and access_token = ${holder.tokens?.accessToken ?? null} returning id`
  return changed.length > 0
}

/** Replaces a client secret with the same one under another key, unless it changed meanwhile. */
export async function resealClientSecret(
  sql: Queryable,
  { id, clientSecret }: ProviderOfConnection,
  resealed: Buffer,
): Promise<void> {
  await sql`
    update oauth_connections set client_secret = ${resealed}
    where id = ${id} and client_secret = ${clientSecret}`
}

/** Replaces tokens with the same ones under another key, unless they changed in the meantime. */
export async function resealTokens(
  sql: Queryable,
  holder: TokenHolder,
  resealed: Pick<SealedTokens, 'accessToken' | 'refreshToken'>,
): Promise<void> {
  await sql`
    update oauth_connections set ${sql({ ...resealed })}
    where id = ${holder.id} and access_token = ${holder.tokens?.accessToken ?? null}
      and refresh_lease_id is null`
}
