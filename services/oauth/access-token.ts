import { setTimeout as delay } from 'node:timers/promises'
import type { StatusReason } from '../platform/connections/oauth-connections.ts'
import {
  findTokenHolder,
  requireAuthorization,
  resealTokens,
  takeRefreshLease,
} from '../platform/connections/oauth-tokens.ts'
import type { SealedTokens, TokenHolder } from '../platform/connections/oauth-tokens.ts'
import { AppError } from '../shared/errors.ts'
import type { TokenDeps } from './context.ts'
import { refreshTokens } from './refresh.ts'
import { openTokens, sealTokens } from './sealed-grant.ts'

/** The time that a caller waits for the refresh of another replica, and between two looks. */
const WAIT_MS = 20_000
const LOOK_MS = 100

/** A token for calls of the provider, as crews get it. */
export interface AccessToken {
  readonly accessToken: string
  readonly tokenType: string
  readonly scope: string | null
  readonly expiresAt: Date | null
  /** The header that it goes into, and the word before it there. */
  readonly header: string
  readonly prefix: string
  /** The places that it may be sent to; none: wherever a tool calls. */
  readonly hosts: readonly string[]
}

/** Returns the access token of a connection, for a run, that is good for a while yet. */
export type GetAccessToken = (connectionId: string, runId?: string) => Promise<AccessToken>

/**
 * Hands out access tokens. Callers in this process share one look; between replicas a lease in the
 * database lets one of them refresh while the others wait for its result.
 */
export function createTokenDesk(deps: TokenDeps): GetAccessToken {
  const pending = new Map<string, Promise<AccessToken>>()
  return function getAccessToken(connectionId) {
    const shared = pending.get(connectionId)
    if (shared) return shared
    const own = findAccessToken(deps, connectionId).finally(() => pending.delete(connectionId))
    own.then(deps.metrics.tokenGiven, deps.metrics.tokenMissing)
    pending.set(connectionId, own)
    return own
  }
}

/**
 * A token that is good for a while yet, refreshed if need be. Raises `not_found`; `conflict` when a
 * person has to authorize (again); `bad_gateway` and `timeout` when the provider is in trouble;
 * `unavailable` when a refresh elsewhere does not end.
 */
async function findAccessToken(deps: TokenDeps, connectionId: string): Promise<AccessToken> {
  const giveUpAt = performance.now() + WAIT_MS
  let isRefreshed = false
  while (performance.now() < giveUpAt) {
    const { holder, tokens } = await getHolder(deps, connectionId)
    // A token that is due as soon as it is issued is handed out all the same.
    if (!holder.isDue || isRefreshed) return readToken(deps, holder, tokens)
    if (tokens.refreshToken === null && holder.kind === 'authorization_code') {
      if (!holder.isExpired) return readToken(deps, holder, tokens)
      await requireAuthorization(deps.sql, holder, 'no_refresh_token')
      continue
    }
    const lease = await takeRefreshLease(deps.sql, connectionId)
    if (!lease) await delay(LOOK_MS)
    else if (await refreshTokens(deps, lease)) isRefreshed = true
    else return readToken(deps, holder, tokens)
  }
  throw new AppError('unavailable', 'Another replica is refreshing this token. Try again.', {
    details: { code: 'refresh_in_progress' },
    headers: { 'retry-after': '2' },
  })
}

async function getHolder(
  { sql }: TokenDeps,
  connectionId: string,
): Promise<{ holder: TokenHolder; tokens: SealedTokens }> {
  const holder = await findTokenHolder(sql, connectionId)
  if (!holder) throw new AppError('not_found', `There is no connection ${connectionId}.`)
  const { tokens, statusReason } = holder
  if (tokens) return { holder, tokens }
  throw needsAuthorization(holder, statusReason ?? 'not_authorized')
}

async function readToken(
  { sql, vault, log }: TokenDeps,
  holder: TokenHolder,
  tokens: SealedTokens,
): Promise<AccessToken> {
  const open = openTokens(vault, holder.id, tokens)
  if (!open.isCurrent) {
    await resealTokens(sql, holder, sealTokens(vault, holder.id, open))
    log.info({ connection_id: holder.id }, 'tokens sealed with the current key')
  }
  const { tokenType, scope, expiresAt } = tokens
  const { header = 'authorization', prefix = tokenType } = holder.settings ?? {}
  const { accessToken } = open
  return { accessToken, tokenType, scope, expiresAt, header, prefix, hosts: holder.hosts }
}

const REASONS = {
  not_authorized: 'it is not connected yet',
  refresh_refused: 'the provider no longer accepts the authorization',
  revoked: 'it was revoked here',
  no_refresh_token: 'the access token has ended and the provider issued no refresh token',
} as const satisfies Record<StatusReason | 'not_authorized', string>

function needsAuthorization(holder: TokenHolder, reason: keyof typeof REASONS): AppError {
  return new AppError(
    'conflict',
    `The connection has to be authorized: ${REASONS[reason]}. Open it on the page Connections ` +
      'of the console, and connect it.',
    { details: { code: 'needs_authorization', reason, provider: holder.provider } },
  )
}
