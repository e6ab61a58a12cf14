import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { writeAudit } from '../platform/audit/audit.ts'
import { createConnection, updateConnection } from '../platform/connections/oauth-connections.ts'
import type {
  ConnectionFields,
  ConnectionSettings,
} from '../platform/connections/oauth-connections.ts'
import { findAllowedRegions, regionProblem } from '../platform/connections/regions.ts'
import { findTokenHolder, storeAuthorizedTokens } from '../platform/connections/oauth-tokens.ts'
import type { TokenHolder } from '../platform/connections/oauth-tokens.ts'
import type { Queryable, Transaction } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import { connectionEntry, toFacts } from './connection-entry.ts'
import type { ActingDeps, TokenDeps } from './context.ts'
import { unusableFields } from './routes/settings-request.ts'
import type { GivenConnection } from './routes/settings-request.ts'
import { sealGrant } from './sealed-grant.ts'

const NAME_TAKEN = 'is taken by another connection of your organization'

/**
 * Creates a connection; one with a token of its own is connected then. Returns its id. Raises
 * `unprocessable` with the problem of each field.
 */
export async function addConnection(
  deps: ActingDeps,
  { organizationId, name }: { readonly organizationId: number; readonly name: string },
  given: GivenConnection,
): Promise<string> {
  refuseMissingSecret(given, { hasSecret: false, hasToken: false })
  const id = randomUUID()
  await deps.sql.begin(async (sql) => {
    await refuseOutside(sql, organizationId, given)
    const fields = toFields(deps, { id, kept: null }, given)
    if (!(await createConnection(sql, { id, organizationId, name }, fields))) {
      throw unusableFields([{ field: 'name', message: NAME_TAKEN }])
    }
    const entry = connectionEntry('connection_created', { id, organizationId, name })
    await writeAudit(sql, deps.actor, { ...entry, after: toFacts(given) })
    await storeToken(deps, sql, { id, settingsVersion: 1, token: given.token })
  })
  return id
}

/** A connection, in one version where the change is for that alone. */
interface Wanted {
  readonly id: string
  readonly settingsVersion: number | undefined
}

/**
 * Changes a connection. Its tokens, and secrets that were not entered again, stay only where they
 * would go to the same addresses as before. Returns whether its tokens stayed. Raises `not_found`,
 * `conflict`, and `unprocessable` with the problem of each field.
 */
export async function changeConnection(
  deps: ActingDeps,
  { id, settingsVersion: wanted }: Wanted,
  given: GivenConnection,
): Promise<{ readonly keepsTokens: boolean }> {
  const holder = await findTokenHolder(deps.sql, id)
  if (!holder) throw new AppError('not_found', `There is no connection ${id}.`)
  const { settings, clientSecret, settingsVersion } = holder
  if (wanted !== undefined && wanted !== settingsVersion) throw changedMeanwhile()
  const isSameKind = given.kind === holder.kind && (given.settings === null) === (settings === null)
  if (!isSameKind) throw unusableFields([{ field: 'kind', message: 'cannot be changed' }])
  const isAtHome = haveSameAddresses(given.settings, settings)
  const keepsTokens = given.token === undefined && isUnchanged(given, holder)
  refuseMissingSecret(given, {
    hasSecret: clientSecret !== null && isAtHome,
    hasToken: keepsTokens && holder.tokens !== null,
  })
  await deps.sql.begin(async (sql) => {
    await refuseOutside(sql, holder.organizationId, given)
    const fields = toFields(deps, { id, kept: isAtHome ? clientSecret : null }, given)
    if (!(await updateConnection(sql, { id, settingsVersion }, { ...fields, keepsTokens }))) {
      throw changedMeanwhile()
    }
    await writeAudit(sql, deps.actor, {
      ...connectionEntry('connection_changed', holder),
      before: toFacts(holder),
      after: { ...toFacts(given), keeps_tokens: keepsTokens },
    })
    const { token } = given
    await storeToken(deps, sql, { id, settingsVersion: settingsVersion + 1, token })
  })
  return { keepsTokens }
}

/** Raises `unprocessable` for a region outside of those of the organization, and for none. */
export async function refuseOutside(
  sql: Queryable,
  organizationId: number,
  given: Pick<GivenConnection, 'region'>,
): Promise<void> {
  const message = regionProblem(await findAllowedRegions(sql, organizationId), given)
  if (message !== undefined) throw unusableFields([{ field: 'region', message }])
}

const changedMeanwhile = (): AppError =>
  new AppError('conflict', 'Another person has just changed this connection. Try again.')

interface Kept {
  readonly hasSecret: boolean
  readonly hasToken: boolean
}

function refuseMissingSecret(given: GivenConnection, { hasSecret, hasToken }: Kept): void {
  const { settings, kind, clientSecret, token } = given
  if (settings === null) return
  const { token_endpoint_auth_method: method } = settings
  if (kind === 'identity' && (method ?? 'none') === 'none') return
  if (kind === 'static_token') {
    if (token !== undefined || hasToken) return
    throw unusableFields([{ field: 'token', message: 'is needed; enter it again after a change' }])
  }
  const isPublic = method === 'none'
  if (isPublic || clientSecret !== undefined || hasSecret) return
  const message = 'is needed; enter it again after a change of addresses'
  throw unusableFields([{ field: 'client_secret', message }])
}

/** The fields of which each says where a secret is sent. */
const ADDRESSES = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'revocation_endpoint',
] as const

function haveSameAddresses(
  one: ConnectionSettings | null,
  other: ConnectionSettings | null,
): boolean {
  return ADDRESSES.every((field) => one?.[field] === other?.[field])
}

/** Fewer places than before are no reason to enter a token again. */
function isUnchanged(given: GivenConnection, holder: TokenHolder): boolean {
  const { hosts } = holder
  const areSame = isDeepStrictEqual(given.hosts, hosts)
  const areFewer = given.hosts.length > 0 && given.hosts.every((each) => hosts.includes(each))
  return (
    given.provider === holder.provider &&
    isDeepStrictEqual(plain(given.settings), plain(holder.settings)) &&
    (areSame || areFewer)
  )
}

/** As the database gives it back: without keys that have no value. */
const plain = (settings: ConnectionSettings | null): unknown =>
  JSON.parse(JSON.stringify(settings)) as unknown

function toFields(
  { vault }: TokenDeps,
  { id: connectionId, kept }: { readonly id: string; readonly kept: Buffer | null },
  { provider, kind, settings, hosts, region, clientSecret }: GivenConnection,
): ConnectionFields {
  const isPublic = settings?.token_endpoint_auth_method === 'none'
  const sealed =
    clientSecret === undefined
      ? kept
      : vault.seal(clientSecret, { connectionId, field: 'client_secret' })
  const secret = isPublic ? null : sealed
  return { provider, kind, settings, hosts, region, clientSecret: secret }
}

interface EnteredToken {
  readonly id: string
  readonly settingsVersion: number
  readonly token: string | undefined
}

async function storeToken(
  { vault }: TokenDeps,
  sql: Transaction,
  { id, settingsVersion, token }: EnteredToken,
): Promise<void> {
  if (token === undefined) return
  const grant = { accessToken: token, refreshToken: undefined, expiresInSeconds: undefined }
  await storeAuthorizedTokens(sql, { id, settingsVersion }, sealGrant(vault, id, grant))
}
