import { createHash, randomBytes } from 'node:crypto'
import {
  findReturnPage,
  openAuthorization,
  takeAuthorization,
} from '../platform/connections/oauth-authorizations.ts'
import type { TakenAuthorization } from '../platform/connections/oauth-authorizations.ts'
import { ensureConnection } from '../platform/connections/oauth-connections.ts'
import type { NewConnection } from '../platform/connections/oauth-connections.ts'
import { requireRegion } from '../platform/connections/regions.ts'
import { writeAudit } from '../platform/audit/audit.ts'
import { inTransaction } from '../shared/postgres/database.ts'
import { sqlState } from '../shared/postgres/failures.ts'
import { AppError } from '../shared/errors.ts'
import { connectionEntry } from './connection-entry.ts'
import type { ActingDeps, TokenDeps } from './context.ts'
import type { Provider } from './provider.ts'
import { revokeQuietly } from './revoke.ts'
import { sealGrant } from './sealed-grant.ts'
import { storeConnected } from './store-connected.ts'

const FOREIGN_KEY_VIOLATION = '23503'

interface OpenedAuthorization extends Link {
  readonly connectionId: string
  readonly created: boolean
}

/** A link on which a person authorizes a connection. */
export interface Link {
  /** The provider's page on which a person authorizes. */
  readonly authorizationUrl: string
  readonly expiresAt: Date
}

interface LinkSession {
  /** Tells the session from all others; stored as a hash. */
  readonly binding: string
  /** The page of that session which takes the answer of the provider. */
  readonly returnTo: string
}

/** How a link leads back. */
export interface LinkOptions {
  readonly redirectUri: string
  /** Set: only this session can complete the authorization. */
  readonly session?: LinkSession | undefined
}

const randomSecret = (): string => randomBytes(32).toString('base64url')
const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The shape of what `randomSecret` makes. */
export const isState = (text: string): boolean => /^[\w-]{43}$/.test(text)

/**
 * Creates a connection or finds the one of that name, and opens an authorization for it: one
 * link, good for ten minutes and one use. Raises `conflict` for a name that is taken and
 * `unprocessable` for an unknown organization.
 */
export async function beginAuthorization(
  deps: ActingDeps,
  connection: NewConnection,
  redirectUri: string,
): Promise<OpenedAuthorization> {
  let found = { id: '', created: false }
  const link = await openLink(deps, deps.providers.named(connection.provider), {
    redirectUri,
    connectionId: async () => (found = await createConnection(deps, connection)).id,
  })
  return { connectionId: found.id, created: found.created, ...link }
}

/**
 * Opens an authorization for a connection, which replaces the one that was open before. Raises what
 * the provider raises.
 */
export async function openLink(
  { sql, vault }: TokenDeps,
  provider: Provider,
  options: LinkOptions & { readonly connectionId: () => Promise<string> },
): Promise<Link> {
  const { redirectUri, session } = options
  const secrets = { state: randomSecret(), codeVerifier: randomSecret() }
  const authorizationUrl = await provider.authorizationUrl(secrets, redirectUri)
  const connectionId = await options.connectionId()
  const expiresAt = await openAuthorization(sql, {
    connectionId,
    stateHash: hashOf(secrets.state),
    codeVerifier: vault.seal(secrets.codeVerifier, { connectionId, field: 'code_verifier' }),
    session: session && { hash: hashOf(session.binding), returnTo: session.returnTo },
  })
  return { authorizationUrl, expiresAt }
}

async function createConnection(
  { sql, actor }: ActingDeps,
  connection: NewConnection,
): Promise<{ readonly id: string; readonly created: boolean }> {
  const { organizationId, name } = connection
  try {
    const ensured = await inTransaction(sql, async (tx) => {
      const found = await ensureConnection(tx, connection)
      // It says no region.
      if (found?.created) await requireRegion(tx, organizationId, { region: null })
      const entry = found && connectionEntry('connection_created', { ...connection, ...found })
      if (entry && found.created) await writeAudit(tx, actor, entry)
      return found
    })
    if (ensured) return ensured
  } catch (thrown) {
    if (sqlState(thrown) !== FOREIGN_KEY_VIOLATION) throw thrown
    throw new AppError('unprocessable', `There is no organization ${organizationId}.`)
  }
  throw new AppError(
    'conflict',
    `The organization has a connection ${JSON.stringify(name)} to another provider. Choose ` +
      'another name, or delete it first.',
    { details: { code: 'name_taken' } },
  )
}

/** Returns the page that a callback goes on to, where its authorization belongs to a session. */
export async function returnPageOf({ sql }: TokenDeps, callback: URL): Promise<string | undefined> {
  return findReturnPage(sql, hashOf(callback.searchParams.get('state') ?? ''))
}

/**
 * Completes an authorization with the callback that the provider sent a browser to. Raises
 * `invalid_request` for a state that is unknown, used, too old or of another session, and for a
 * forged answer; else as `Provider.exchange`.
 */
export async function completeAuthorization(
  deps: ActingDeps,
  callback: URL,
  binding?: string,
): Promise<TakenAuthorization> {
  const { sql, vault } = deps
  const state = callback.searchParams.get('state') ?? ''
  const sessionHash = binding === undefined ? null : hashOf(binding)
  const taken = await takeAuthorization(sql, { stateHash: hashOf(state), sessionHash })
  if (!taken) throw linkIsOver()
  const { id: connectionId } = taken
  const context = { connectionId, field: 'code_verifier' } as const
  const codeVerifier = vault.open(taken.codeVerifier, context).secret
  const provider = await deps.providers.of(taken)
  const grant = await provider.exchange(callback, { state, codeVerifier })
  if (await storeConnected(deps, taken, sealGrant(vault, connectionId, grant))) return taken
  await revokeQuietly(deps, taken, grant)
  throw new AppError('not_found', 'The connection was deleted or changed in the meantime.')
}

function linkIsOver(): AppError {
  return new AppError(
    'invalid_request',
    'This link was used already, was replaced by a newer one, is older than ten minutes, or ' +
      'belongs to another session. Ask for a new one.',
    { details: { code: 'link_over' } },
  )
}
