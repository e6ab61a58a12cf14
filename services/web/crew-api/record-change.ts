import { writeAudit } from '../../platform/audit.ts'
import type { Actor } from '../../platform/audit.ts'
import type { Automation } from '../../platform/automations.ts'
import type { Wide } from '../../shared/log.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Database, Transaction } from '../../shared/postgres/database.ts'

/** A change of an automation that is made from a source. */
export interface CrewChange<Result> {
  /** The noun and the participle, such as `crew_deployed`. */
  readonly action: string
  readonly change: (tx: Transaction) => Promise<Result>
  /** The fields after it, without secrets. */
  readonly after?: object | undefined
}

interface Acting {
  readonly sql: Database
  readonly actor: Actor
  readonly wide: Wide
}

/** Makes a change of an automation and records it, in one transaction. */
export async function recordChange<Result>(
  { sql, actor, wide }: Acting,
  { automationId, name }: Pick<Automation, 'automationId' | 'name'>,
  { action, change, after }: CrewChange<Result>,
): Promise<Result> {
  const target = { kind: 'automation', id: automationId, name }
  const result = await inTransaction(sql, async (tx) => {
    const result = await change(tx)
    await writeAudit(tx, actor, { action, target, after })
    return result
  })
  Object.assign(wide, { audit: action, automation_id: automationId })
  return result
}
