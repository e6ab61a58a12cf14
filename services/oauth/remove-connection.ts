import { writeAudit } from '../platform/audit/audit.ts'
import {
  deleteConnection,
  findTokenHolder,
  requireAuthorization,
} from '../platform/connections/oauth-tokens.ts'
import type { TokenHolder } from '../platform/connections/oauth-tokens.ts'
import { inTransaction } from '../shared/postgres/database.ts'
import { AppError, toError } from '../shared/errors.ts'
import { connectionEntry } from './connection-entry.ts'
import type { ActingDeps, TokenDeps } from './context.ts'
import { revokeQuietly } from './revoke.ts'
import type { Revocation } from './revoke.ts'
import { openTokens } from './sealed-grant.ts'
import type { OpenTokens } from './sealed-grant.ts'

/** A refresh may store other tokens in between. */
const TRIES = 5

/**
 * Deletes a connection and revokes its tokens as far as the provider lets us. The row goes first:
 * what a refresh stores in between could not be revoked otherwise. Raises `not_found`.
 */
export async function removeConnection(
  deps: ActingDeps,
  connectionId: string,
): Promise<Revocation | 'not_authorized'> {
  const holder = await inTransaction(deps.sql, async (tx) => {
    const deleted = await deleteConnection(tx, connectionId)
    const entry = deleted && connectionEntry('connection_deleted', deleted)
    if (entry) await writeAudit(tx, deps.actor, entry)
    return deleted
  })
  if (!holder) throw new AppError('not_found', `There is no connection ${connectionId}.`)
  return revokeTokens(deps, holder)
}

/**
 * Deletes the tokens of a connection and revokes them as far as the provider lets us; its settings
 * stay. Raises `not_found`, and `conflict` when they change all the time.
 */
export async function revokeConnection(
  deps: ActingDeps,
  connectionId: string,
): Promise<Revocation | 'not_authorized'> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const holder = await findTokenHolder(deps.sql, connectionId)
    if (!holder) throw new AppError('not_found', `There is no connection ${connectionId}.`)
    if (!holder.tokens) return 'not_authorized'
    const isOver = await inTransaction(deps.sql, async (tx) => {
      if (!(await requireAuthorization(tx, holder, 'revoked'))) return false
      await writeAudit(tx, deps.actor, connectionEntry('connection_revoked', holder))
      return true
    })
    if (isOver) return revokeTokens(deps, holder)
  }
  throw new AppError('conflict', 'The tokens of the connection are being replaced. Try again.')
}

async function revokeTokens(
  deps: TokenDeps,
  holder: TokenHolder,
): Promise<Revocation | 'not_authorized'> {
  if (!holder.tokens) return 'not_authorized'
  const tokens = openQuietly(deps, holder)
  return tokens ? revokeQuietly(deps, holder, tokens) : 'failed'
}

/** A connection whose tokens nobody can read must still be deletable. */
function openQuietly({ vault, log }: TokenDeps, holder: TokenHolder): OpenTokens | undefined {
  try {
    return holder.tokens ? openTokens(vault, holder.id, holder.tokens) : undefined
  } catch (thrown) {
    const error = toError(thrown).message
    log.warn({ connection_id: holder.id, error }, 'tokens could not be revoked')
    return undefined
  }
}
