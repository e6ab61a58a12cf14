import type { NewTokens, SealedTokens } from '../platform/connections/oauth-tokens.ts'
import type { Grant } from './provider.ts'
import type { Vault } from './vault.ts'

/** The tokens of a connection, readable. */
export interface OpenTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** Both were sealed with the current key. */
  readonly isCurrent: boolean
}

/** Seals what a provider issued for one connection. */
export function sealGrant(vault: Vault, connectionId: string, grant: Grant): NewTokens {
  return {
    ...sealTokens(vault, connectionId, grant),
    tokenType: 'Bearer',
    scope: grant.scope ?? null,
    expiresInSeconds: grant.expiresInSeconds ?? null,
  }
}

/** Seals the tokens of a connection for the database. */
export function sealTokens(
  vault: Vault,
  connectionId: string,
  tokens: Pick<Grant, 'accessToken' | 'refreshToken'>,
): Pick<SealedTokens, 'accessToken' | 'refreshToken'> {
  const { accessToken, refreshToken } = tokens
  return {
    accessToken: vault.seal(accessToken, { connectionId, field: 'access_token' }),
    refreshToken:
      refreshToken === undefined
        ? null
        : vault.seal(refreshToken, { connectionId, field: 'refresh_token' }),
  }
}

/** Raises `internal` when a token cannot be decrypted. */
export function openTokens(vault: Vault, connectionId: string, sealed: SealedTokens): OpenTokens {
  const access = vault.open(sealed.accessToken, { connectionId, field: 'access_token' })
  const refresh =
    sealed.refreshToken && vault.open(sealed.refreshToken, { connectionId, field: 'refresh_token' })
  return {
    accessToken: access.secret,
    refreshToken: refresh?.secret,
    isCurrent: access.isCurrent && (refresh?.isCurrent ?? true),
  }
}
