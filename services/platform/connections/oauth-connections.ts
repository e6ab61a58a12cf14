import { sqlState } from '../../shared/postgres/failures.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

const UNIQUE_VIOLATION = '23505'

type ConnectionStatus = 'pending' | 'connected' | 'needs_authorization'
/** The reason why a connection must be authorized again; `revoked`: a person here wanted that. */
export type StatusReason = 'refresh_refused' | 'no_refresh_token' | 'revoked'

/**
 * The ways to a token: a person authorizes, the client authenticates for itself, somebody enters
 * it, or the platform signs one for each run.
 */
export const CONNECTION_KINDS = [
  'authorization_code',
  'client_credentials',
  'static_token',
  'identity',
] as const
/** The way to the token of a connection. */
export type ConnectionKind = (typeof CONNECTION_KINDS)[number]

/** The ways in which a client authenticates at the token endpoint. */
export const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const
/** The way in which a client authenticates at the token endpoint. */
export type AuthMethod = (typeof AUTH_METHODS)[number]

/**
 * The ways to exchange the identity of a run for a token of the receiver's own: as a subject (RFC
 * 8693), as a grant, or as what a client proves itself with (RFC 7523 §2.1 and §2.2).
 */
export const EXCHANGES = ['token_exchange', 'jwt_bearer', 'client_assertion'] as const
/** The way to exchange the identity of a run. */
export type Exchange = (typeof EXCHANGES)[number]

/** What an organization entered of a provider and its client, or of a static token. No secrets. */
export interface ConnectionSettings {
  /** Without endpoints they are discovered from here. */
  readonly issuer?: string | undefined
  readonly authorization_endpoint?: string | undefined
  readonly token_endpoint?: string | undefined
  readonly revocation_endpoint?: string | undefined
  readonly client_id?: string | undefined
  readonly token_endpoint_auth_method?: AuthMethod | undefined
  readonly scopes?: readonly string[] | undefined
  /** More parameters of the authorization request, or of the token request of a client. */
  readonly parameters?: Readonly<Record<string, string>> | undefined
  /** Answers a GET with the token by a 2xx while the token is good. */
  readonly test_url?: string | undefined
  /** Whom the identity of a run is for. */
  readonly audience?: string | undefined
  /** How that identity is exchanged at the token endpoint. @default it is sent as it is */
  readonly exchange?: Exchange | undefined
  /** The header that the token goes into. @default authorization */
  readonly header?: string | undefined
  /** The word before the token there; '' is none. @default Bearer */
  readonly prefix?: string | undefined
}

/** A connection of an organization to a third-party provider. */
export interface OauthConnection {
  readonly id: string
  readonly organizationId: number
  readonly provider: string
  readonly name: string
  readonly kind: ConnectionKind
  /** null: the provider is one of the operator's. */
  readonly settings: ConnectionSettings | null
  readonly settingsVersion: number
  readonly hasClientSecret: boolean
  /** The places that the token may be sent to; none: wherever a tool calls. */
  readonly hosts: readonly string[]
  /** Where what gets the token is, as people say; null: they say nothing. */
  readonly region: string | null
  readonly status: ConnectionStatus
  readonly statusReason: StatusReason | null
  /** Why the last refresh or test failed. */
  readonly failure: string | null
  readonly failedAt: Date | null
  readonly scope: string | null
  /** The end of the access token; null: there is none, or the provider gave no end. */
  readonly expiresAt: Date | null
  readonly isExpired: boolean
  /** A new token can be had without a person. */
  readonly isRenewable: boolean
  readonly createdAt: Date
  readonly authorizedAt: Date | null
  readonly refreshedAt: Date | null
}

const columns = (sql: Queryable) => sql`
  id, organization_id, provider, name, kind, settings, settings_version,
  client_secret is not null as has_client_secret, hosts, region,
  case when kind = 'identity' then 'connected' else status end as status, status_reason, failure,
  failed_at,
  scope, expires_at, coalesce(expires_at <= now(), false) as is_expired,
  refresh_token is not null or kind in ('client_credentials', 'identity') as is_renewable,
  created_at, authorized_at, refreshed_at`

/** A connection to create. */
export interface NewConnection {
  readonly organizationId: number
  readonly provider: string
  readonly name: string
}

/**
 * Creates a connection to a provider of the operator, or finds the organization's one of that name
 * and provider. Returns undefined when the name is taken by a connection to another provider.
 */
export async function ensureConnection(
  sql: Queryable,
  connection: NewConnection,
): Promise<{ readonly id: string; readonly created: boolean } | undefined> {
  const { organizationId, provider, name } = connection
  const [created] = await sql<{ id: string }[]>`
    insert into oauth_connections ${sql({ organizationId, provider, name })}
    on conflict (organization_id, name) do nothing returning id`
  if (created) return { id: created.id, created: true }
  const [found] = await sql<{ id: string }[]>`
    select id from oauth_connections
    where organization_id = ${organizationId} and name = ${name} and provider = ${provider}
      and settings is null`
  return found && { id: found.id, created: false }
}

/** The fields of a connection that people enter, with what was sealed of them. */
export interface ConnectionFields {
  readonly provider: string
  readonly kind: ConnectionKind
  readonly settings: ConnectionSettings | null
  readonly clientSecret: Buffer | null
  readonly hosts: readonly string[]
  readonly region: string | null
}

/** Creates a connection. Returns false when the organization has one of that name. */
export async function createConnection(
  sql: Queryable,
  { id, organizationId, name }: Pick<OauthConnection, 'id' | 'organizationId' | 'name'>,
  fields: ConnectionFields,
): Promise<boolean> {
  const { provider, kind, settings, clientSecret, hosts, region } = fields
  try {
    await sql`
      insert into oauth_connections
        (id, organization_id, name, provider, kind, settings, client_secret, hosts, region)
      values (${id}, ${organizationId}, ${name}, ${provider}, ${kind}, ${jsonOf(sql, settings)},
        ${clientSecret}, ${[...hosts]}::text[], ${region})`
    return true
  } catch (thrown) {
    if (sqlState(thrown) === UNIQUE_VIOLATION) return false
    throw thrown
  }
}

const jsonOf = (sql: Queryable, settings: ConnectionSettings | null) =>
  settings === null ? null : sql.json({ ...settings })

/**
 * Changes a connection that is still as it was read. Unless `keepsTokens`, its tokens and whatever
 * was begun for it end. Returns false when it was changed or deleted in the meantime.
 */
export async function updateConnection(
  sql: Queryable,
  { id, settingsVersion }: Pick<OauthConnection, 'id' | 'settingsVersion'>,
  { keepsTokens, ...fields }: ConnectionFields & { readonly keepsTokens: boolean },
): Promise<boolean> {
  const { provider, kind, settings, clientSecret, hosts, region } = fields
  const forgotten = keepsTokens
    ? sql``
    : sql`, status = 'pending', status_reason = null, authorized_at = null, refreshed_at = null,
        scope = null, failure = null, failed_at = null, ${noTokens(sql)}`
  const [row] = await sql<{ changed: boolean }[]>`
    with changed as (
      update oauth_connections set provider = ${provider}, kind = ${kind},
        settings = ${jsonOf(sql, settings)}, client_secret = ${clientSecret},
        hosts = ${[...hosts]}::text[], region = ${region},
        settings_version = settings_version + 1 ${forgotten}
      where id = ${id} and settings_version = ${settingsVersion} returning id),
    closed as (
      delete from oauth_authorizations where connection_id in (select id from changed))
    select exists (select from changed) as changed`
  return row?.changed === true
}

/** The assignments that delete the tokens of a connection, and end a refresh. */
export const noTokens = (sql: Queryable) => sql`
  access_token = null, refresh_token = null, token_type = null, expires_at = null,
  refresh_at = null, refresh_lease_id = null, refresh_lease_expires_at = null`

/** Returns the connections of an organization by name, those after `after`. */
export async function listConnections(
  sql: Queryable,
  organizationId: number,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<OauthConnection[]> {
  const follows = after === undefined ? sql`` : sql`and name > ${after}`
  return sql<OauthConnection[]>`
    select ${columns(sql)} from oauth_connections
    where organization_id = ${organizationId} ${follows} order by name limit ${limit}`
}

/**
 * Returns one page of the connections of an organization by name; the search looks into names and
 * providers.
 */
export async function pageConnections(
  sql: Queryable,
  organizationId: number,
  page: PageRequest,
): Promise<Page<OauthConnection>> {
  const byName = { columns: [sql`name`], at: (cursor: string) => sql`(${cursor})` }
  const isListed = sql`
    organization_id = ${organizationId}
    and (${contains(sql, [sql`name`, sql`provider`], page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<OauthConnection[]>`
      select ${columns(sql)} from oauth_connections where ${isListed} ${keyset(sql, byName, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from oauth_connections where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ name }) => name })
}

/** Returns a connection, if it exists. */
export async function findConnection(
  sql: Queryable,
  id: string,
): Promise<OauthConnection | undefined> {
  const [found] = await sql<OauthConnection[]>`
    select ${columns(sql)} from oauth_connections where id = ${id}`
  return found
}

/** Returns the connections of an organization that have these names. */
export async function findNamedConnections(
  sql: Queryable,
  organizationId: number,
  names: readonly string[],
): Promise<OauthConnection[]> {
  if (names.length === 0) return []
  return sql<OauthConnection[]>`
    select ${columns(sql)} from oauth_connections
    where organization_id = ${organizationId} and name in ${sql([...names])}`
}

/** Notes why a refresh or a test failed; null: the last one did not. */
export async function noteFailure(
  sql: Queryable,
  connectionId: string,
  failure: string | null,
): Promise<void> {
  const text = failure?.slice(0, 1000) ?? null
  await sql`
    update oauth_connections
    set failure = ${text}, failed_at = case when ${text}::text is not null then now() end
    where id = ${connectionId} and (${text}::text is not null or failure is not null)`
}
