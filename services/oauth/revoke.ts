import type { ProviderOfConnection } from '../platform/connections/oauth-tokens.ts'
import { toError } from '../shared/errors.ts'
import type { TokenDeps } from './context.ts'

interface RevokedTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
}

/** `unsupported`: the provider has no way to do it. `failed`: the log says why. */
export type Revocation = 'revoked' | 'unsupported' | 'failed'

/** Revokes tokens at the provider, if it can be done; never raises. */
export async function revokeQuietly(
  deps: TokenDeps,
  connection: ProviderOfConnection,
  { accessToken, refreshToken }: RevokedTokens,
): Promise<Revocation> {
  if (connection.kind === 'static_token') return 'unsupported'
  try {
    const provider = await deps.providers.of(connection)
    // With the refresh token the whole grant ends (RFC 7009 §2.1); with the access token that one
    // at the least.
    const isSupported =
      refreshToken === undefined
        ? await provider.revoke(accessToken, 'access_token')
        : await provider.revoke(refreshToken, 'refresh_token')
    return isSupported ? 'revoked' : 'unsupported'
  } catch (thrown) {
    const error = toError(thrown).message
    deps.log.warn({ connection_id: connection.id, error }, 'tokens could not be revoked')
    return 'failed'
  }
}
