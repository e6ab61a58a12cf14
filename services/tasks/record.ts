import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import type { Transaction } from '../shared/postgres/database.ts'

/**
 * Records in the audit what an operator did to an account, which is the whole platform's. The user
 * is named as the operator did it.
 */
export async function recordUserChange(
  tx: Transaction,
  action: string,
  user: { readonly id: number; readonly name: string; readonly after?: object },
): Promise<void> {
  const { id, name, after } = user
  await writeAudit(tx, OPERATOR, { action, target: { kind: 'user', id, name }, after })
}
