import { deadline } from '../../shared/deadline.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
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

const STATEMENT_MS = 3000
/** Within the time that the readers of an answer have. */
const DEADLINE_MS = 5000

/** Opens no connection before the first revocation. */
export function createRevoker(
  address: DatabaseAddress,
  revocations: Pick<Revocations, 'refresh'>,
): Revoker {
  const limits = { max: 1, statementTimeoutMs: STATEMENT_MS, connectTimeoutMs: 3000 }
  const sql = connectDatabase(address, { name: 'collector-revoke', ...limits })
  return {
    async revoke(revocation) {
      const database = { name: 'The trace database', timeoutMs: DEADLINE_MS }
      const isNew = await deadline(database, () => revokeToken(sql, revocation))
      // It is committed: who cannot read the list now reads it within the minute.
      await revocations.refresh(sql).catch(() => undefined)
      return isNew
    },
    close: () => sql.end({ timeout: 1 }),
  }
}
