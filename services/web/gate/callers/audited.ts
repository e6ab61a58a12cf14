import { writeAudit } from '../../../platform/audit/audit.ts'
import type { Actor, AuditEntry } from '../../../platform/audit/audit.ts'
import type { Wide } from '../../../shared/log.ts'
import type { Database, Queryable, Transaction } from '../../../shared/postgres/database.ts'
import { inTransaction } from '../../../shared/postgres/database.ts'

/** The variables of a request whose caller is known. */
export interface Acting {
  readonly actor: Actor
  readonly wide: Wide
}

/** The entry, or what makes it of the result; undefined when nothing was changed. */
type Entry<Result> = AuditEntry | ((result: Result) => AuditEntry | undefined)

/** Makes a change and records it, in one transaction. */
type Audited = <Result>(
  acting: Acting,
  change: (tx: Transaction) => Promise<Result>,
  entry: Entry<Result>,
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
    note(wide, entry)
    return result
  }
}

/** Creates the verb for changes that another service records: they are only named in the log. */
export const createNoted =
  (sql: Database) =>
  async <Result>(
    { wide }: Acting,
    change: (sql: Queryable) => Promise<Result>,
    given: Entry<Result>,
  ): Promise<Result> => {
    const result = await change(sql)
    note(wide, typeof given === 'function' ? given(result) : given)
    return result
  }

function note(wide: Wide, entry: AuditEntry | undefined): void {
  if (!entry) return
  const { action, target } = entry
  Object.assign(wide, { audit: action, [`${target.kind}_id`]: target.id ?? undefined })
}
