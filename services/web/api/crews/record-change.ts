import type { Automation } from '../../../platform/automations/automations.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { Acting } from '../../gate/callers/audited.ts'

/** A change of an automation that is made from a source. */
interface CrewChange<Result> {
  /** The noun and the participle, such as `crew_deployed`. */
  readonly action: string
  readonly change: (tx: Transaction) => Promise<Result>
  /** The fields after it, without secrets. */
  readonly after?: object | undefined
}

/** Makes a change of an automation and records it, in one transaction. */
export function recordChange<Result>(
  { sql, ...acting }: Acting & { readonly sql: Database },
  { automationId, name }: Pick<Automation, 'automationId' | 'name'>,
  { action, change, after }: CrewChange<Result>,
): Promise<Result> {
  const target = { kind: 'automation', id: automationId, name }
  return createAudited(sql)(acting, change, { action, target, after })
}
