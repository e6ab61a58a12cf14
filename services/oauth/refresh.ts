import { setTimeout as delay } from 'node:timers/promises'
import { noteFailure } from '../platform/connections/oauth-connections.ts'
import {
  findTokenHolder,
  releaseRefreshLease,
  requireAuthorization,
  storeRefreshedTokens,
} from '../platform/connections/oauth-tokens.ts'
import type { NewTokens, RefreshLease } from '../platform/connections/oauth-tokens.ts'
import { isDatabaseUnavailable } from '../shared/postgres/failures.ts'
import { AppError, toError } from '../shared/errors.ts'
import type { TokenDeps } from './context.ts'
import { revokeQuietly } from './revoke.ts'
import { openTokens, sealGrant } from './sealed-grant.ts'
import type { Grant } from './provider.ts'

const STORE_TRIES = 5
const STORE_PAUSE_MS = 500

/**
 * Refreshes the tokens of a connection for the holder of its lease, and ends the lease. Answers
 * true when the database has changed: new tokens, or none when the provider refused. False: the
 * refresh failed, and the present token is good for a little while yet; when it is not, raises the
 * provider's errors.
 */
export async function refreshTokens(deps: TokenDeps, lease: RefreshLease): Promise<boolean> {
  const { sql, log, metrics } = deps
  const { holder, connectionId } = lease
  try {
    const grant = await callProvider(deps, lease)
    if (grant) await store(deps, lease, grant)
    else {
      await requireAuthorization(sql, holder, 'refresh_refused')
      log.warn({ connection_id: connectionId, provider: holder.provider }, 'refresh refused')
    }
    metrics.refreshed(grant ? 'refreshed' : 'refused')
    return true
  } catch (thrown) {
    metrics.refreshed('failed')
    await releaseRefreshLease(sql, lease)
    if (thrown instanceof AppError) await noteFailure(sql, connectionId, thrown.message)
    if (holder.isExpired) throw thrown
    const error = toError(thrown).message
    log.warn({ connection_id: connectionId, error }, 'refresh failed; the token is still good')
    return false
  }
}

async function callProvider(
  deps: TokenDeps,
  { connectionId, holder }: RefreshLease,
): Promise<Grant | undefined> {
  if (!holder.tokens) return undefined
  const provider = await deps.providers.of(holder)
  if (holder.kind === 'client_credentials') return provider.authenticate()
  const { refreshToken } = openTokens(deps.vault, connectionId, holder.tokens)
  if (refreshToken === undefined) return undefined
  const grant = await provider.refresh(refreshToken)
  // A provider that does not rotate leaves out the refresh token, and one that does not narrow it
  // the scope.
  return (
    grant && {
      ...grant,
      refreshToken: grant.refreshToken ?? refreshToken,
      scope: grant.scope ?? holder.tokens.scope ?? undefined,
    }
  )
}

async function store(deps: TokenDeps, lease: RefreshLease, grant: Grant): Promise<void> {
  const { connectionId, holder } = lease
  const tokens = sealGrant(deps.vault, connectionId, grant)
  if (await storePatiently(deps, lease, tokens)) return
  // Deleted or revoked in the meantime: nobody knows these tokens. Authorized anew: some providers
  // revoke all of a person's tokens with one of them, so these are left alone.
  const found = await findTokenHolder(deps.sql, connectionId)
  if (!found?.tokens) await revokeQuietly(deps, holder, grant)
}

/** The old refresh token is used up: what is lost here only a person can replace. */
async function storePatiently(
  { sql }: TokenDeps,
  lease: RefreshLease,
  tokens: NewTokens,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await storeRefreshedTokens(sql, lease, tokens)
    } catch (thrown) {
      if (tries === STORE_TRIES || !isDatabaseUnavailable(thrown)) throw thrown
      await delay(STORE_PAUSE_MS)
    }
  }
}
