import { writeAudit } from '../../../platform/audit/audit.ts'
import type { Actor, AuditEntry } from '../../../platform/audit/audit.ts'
import type { Wide } from '../../../shared/log.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import { inTransaction } from '../../../shared/postgres/database.ts'

/** The variables of a request whose caller is known. */
export interface Acting {
  readonly actor: Actor
  readonly wide: Wide
}

/** Makes a change and records it, in one transaction. */
export type Audited = <Result>(
  acting: Acting,
  change: (tx: Transaction) => Promise<Result>,
  /** The entry, or what makes it of the result; undefined when nothing was changed. */
  entry: AuditEntry | ((result: Result) => AuditEntry | undefined),
) => Promise<Result>

/**
 * Creates the verb by which routes make changes: each is recorded in the audit with its caller, and
 * named in the line of the request in the log.
 *
 * @example
 * const audited = createAudited(sql)
 * const entry = { action: 'webhook_deleted', target: { kind: 'webhook', id: webhook.id } }
 * await audited(c.var, (tx) => deleteWebhook(tx, webhook), entry)
 */
export function createAudited(sql: Database): Audited {
  return async function audited({ actor, wide }, change, given) {
    const { result, entry } = await inTransaction(sql, async (tx) => {
      const result = await change(tx)
      const entry = typeof given === 'function' ? given(result) : given
      if (entry) await writeAudit(tx, actor, entry)
      return { result, entry }
    })
    if (entry) {
      const { action, target } = entry
      Object.assign(wide, { audit: action, [`${target.kind}_id`]: target.id ?? undefined })
    }
    return result
  }
}
