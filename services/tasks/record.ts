import { OPERATOR, writeAudit } from '../platform/audit.ts'
import { findOrganizationOf } from '../platform/users.ts'
import type { Transaction } from '../shared/postgres/database.ts'

/** Records in the audit what an operator did to a user, who is named as the operator did it. */
export async function recordUserChange(
  tx: Transaction,
  action: string,
  user: { readonly id: number; readonly name: string; readonly after?: object },
): Promise<void> {
  const { id, name, after } = user
  const organizationId = await findOrganizationOf(tx, id)
  const target = { kind: 'user', id, name }
  await writeAudit(tx, OPERATOR, { action, organizationId, target, after })
}
