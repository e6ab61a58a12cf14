import { writeAudit } from '../platform/audit/audit.ts'
import { storeAuthorizedTokens } from '../platform/connections/oauth-tokens.ts'
import type { NewTokens, ProviderOfConnection } from '../platform/connections/oauth-tokens.ts'
import { inTransaction } from '../shared/postgres/database.ts'
import { connectionEntry } from './connection-entry.ts'
import type { ActingDeps } from './context.ts'

/**
 * Stores the tokens with which somebody connected a connection. Returns false when it was deleted,
 * or its settings changed.
 */
export async function storeConnected(
  { sql, actor }: Pick<ActingDeps, 'sql' | 'actor'>,
  connection: Pick<ProviderOfConnection, 'id' | 'organizationId' | 'settingsVersion'>,
  tokens: NewTokens,
): Promise<boolean> {
  return inTransaction(sql, async (tx) => {
    if (!(await storeAuthorizedTokens(tx, connection, tokens))) return false
    const after = { scope: tokens.scope }
    await writeAudit(tx, actor, { ...connectionEntry('connection_connected', connection), after })
    return true
  })
}
