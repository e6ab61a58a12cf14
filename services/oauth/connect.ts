import { findTokenHolder } from '../platform/connections/oauth-tokens.ts'
import { AppError } from '../shared/errors.ts'
import { openLink } from './authorization.ts'
import type { Link, LinkOptions } from './authorization.ts'
import type { ActingDeps } from './context.ts'
import { revokeQuietly } from './revoke.ts'
import { sealGrant } from './sealed-grant.ts'
import { storeConnected } from './store-connected.ts'

/**
 * Connects a connection, or connects it again: returns the link on which a person authorizes it, or
 * undefined when its client has just got a token for itself, or needs none. Raises `not_found`,
 * `conflict`, and what its provider raises.
 */
export async function connect(
  deps: ActingDeps,
  connectionId: string,
  options: LinkOptions,
): Promise<Link | undefined> {
  const { sql, vault, providers } = deps
  const holder = await findTokenHolder(sql, connectionId)
  if (!holder) throw new AppError('not_found', `There is no connection ${connectionId}.`)
  if (holder.kind === 'identity') return undefined
  const provider = await providers.of(holder)
  if (holder.kind === 'authorization_code') {
    return openLink(deps, provider, { ...options, connectionId: async () => connectionId })
  }
  const grant = await provider.authenticate()
  const tokens = sealGrant(vault, connectionId, grant)
  if (await storeConnected(deps, holder, tokens)) return undefined
  await revokeQuietly(deps, holder, grant)
  throw new AppError('conflict', 'The connection was changed in the meantime. Connect it again.')
}
