import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openForChanges } from '../change-connection.ts'
import type { Revocations } from './revocations.ts'
import { revokeToken } from './revoked-tokens.ts'

interface Revocation {
  readonly id: string
  readonly reason: string | undefined
}

/** Revokes tokens, on a connection of its own. */
export interface Revoker {
  /**
   * Resolves once the revocation is committed and this process refuses the token; the others follow
   * within a minute. False when it was revoked before. Raises `timeout` and errors of the database.
   */
  revoke(revocation: Revocation): Promise<boolean>
  close(): Promise<void>
}

/** Opens no connection before the first revocation. */
export function createRevoker(
  address: DatabaseAddress,
  revocations: Pick<Revocations, 'refresh'>,
): Revoker {
  const { sql, make, close } = openForChanges(address, 'collector-revoke')
  return {
    async revoke(revocation) {
      const isNew = await make(() => revokeToken(sql, revocation))
      // It is committed: who cannot read the list now reads it within the minute.
      await revocations.refresh(sql).catch(() => undefined)
      return isNew
    },
    close,
  }
}
