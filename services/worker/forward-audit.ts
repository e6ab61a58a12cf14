import { forwardAudit } from '../platform/audit/audit-upkeep.ts'
import type { ForwardedEntry } from '../platform/audit/audit-upkeep.ts'
import type { Log } from '../shared/log.ts'
import type { Database } from '../shared/postgres/database.ts'
import { keepTurning } from './run/loop.ts'

const EVERY_MS = 5000

/** Writes the entries of the audit into the log of this worker, soon after they were made. */
export function startForwarding({ sql, log }: { readonly sql: Database; readonly log: Log }) {
  const write = (entry: ForwardedEntry): void => log.info(toLine(entry), 'audit')
  const turn = () => forwardAudit(sql, write)
  return keepTurning({ name: 'forwarding of the audit', turn, everyMs: EVERY_MS, log })
}

const toLine = (entry: ForwardedEntry) => ({
  audit: entry.action,
  audit_id: entry.id,
  at: entry.at,
  refused: entry.refused,
  organization_id: entry.organizationId,
  actor_kind: entry.actorKind,
  actor_id: entry.actorId,
  actor: entry.actorName,
  target_kind: entry.targetKind,
  target_id: entry.targetId,
  target: entry.targetName,
  before: entry.before,
  after: entry.after,
  address: entry.address,
  request_id: entry.requestId,
})
