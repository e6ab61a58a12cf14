import type * as v from 'valibot'
import { deleteExpiredChanges } from '../platform/alerts/alerts.ts'
import { deleteOldCosts } from '../platform/alerts/run-costs.ts'
import { deleteOldTraceScores } from '../platform/evaluations/trace-scores.ts'
import { deleteExpiredAudit, forwardAudit } from '../platform/audit/audit-upkeep.ts'
import type { ForwardedEntry } from '../platform/audit/audit-upkeep.ts'
import { forgetCalls } from '../platform/automations/api-calls.ts'
import { recordDatabaseSize } from '../platform/database-sizes.ts'
import { deleteUnusedFiles } from '../platform/runs/input-files.ts'
import { dropExpiredDay, makeRunDays } from '../platform/runs/run-days.ts'
import { deleteExpiredRuns } from '../platform/runs/run-retention.ts'
import { deleteExpiredDeliveries } from '../platform/triggers/trigger-deliveries.ts'
import { deleteEndedWorkloadTokens } from '../platform/workloads/workload-tokens.ts'
import { keepTurning } from '../shared/keep-turning.ts'
import type { Log } from '../shared/log.ts'
import type { Database } from '../shared/postgres/database.ts'
import type { workerEnv } from './env.ts'
import { startRetention } from './retention.ts'

const RUN_DAYS_MS = 3_600_000
const AUDIT_MS = 5000

interface Retentions {
  readonly config: v.InferOutput<typeof workerEnv>
  readonly log: Log
  readonly sql: Database
  /** Called with the number of runs that were deleted. */
  readonly onExpired: (count: number) => void
}

/** Makes the partitions of the days ahead, drops a day that is too old, and records the size. */
function startRunDays(sql: Database, log: Log, days: number) {
  const turn = async (): Promise<number> => {
    await makeRunDays(sql)
    const day = await dropExpiredDay(sql, days)
    await recordDatabaseSize(sql)
    if (day === undefined) return 0
    log.info({ day }, 'what the runs of a day reported was dropped: their retention has ended')
    return 1
  }
  return keepTurning({ name: 'making and dropping days of runs', turn, everyMs: RUN_DAYS_MS, log })
}

/** Deletes runs, and files that none of them names. */
export function startRetentions({ config, log, sql, onExpired }: Retentions) {
  const days = config.RUNS_RETENTION_DAYS
  const expire = () => deleteExpiredRuns(sql, { days })
  const runs = startRetention({ expire, onDeleted: onExpired, log })
  const unused = { of: 'files', expire: () => deleteUnusedFiles(sql), onDeleted: () => {} }
  const files = startRetention({ ...unused, log })
  const auditDays = config.AUDIT_RETENTION_DAYS
  const old = { of: 'audit entries', expire: () => deleteExpiredAudit(sql, auditDays) }
  const audit = startRetention({ ...old, onDeleted: () => {}, log })
  const counts = { of: 'counts of calls', expire: () => forgetCalls(sql), onDeleted: () => {} }
  const calls = startRetention({ ...counts, log })
  const events = { of: 'deliveries of triggers', expire: () => deleteExpiredDeliveries(sql) }
  const deliveries = startRetention({ ...events, onDeleted: () => {}, log })
  const changes = { of: 'changes of alerts', expire: () => deleteExpiredChanges(sql) }
  const alerts = startRetention({ ...changes, onDeleted: () => {}, log })
  const costs = { of: 'costs of runs', expire: () => deleteOldCosts(sql), onDeleted: () => {} }
  const priced = startRetention({ ...costs, log })
  const former = { of: 'scores of traces', expire: () => deleteOldTraceScores(sql) }
  const scores = startRetention({ ...former, onDeleted: () => {}, log })
  const tokens = { of: 'tokens of workloads', expire: () => deleteEndedWorkloadTokens(sql) }
  const workloads = startRetention({ ...tokens, onDeleted: () => {}, log })
  const kept = [runs, files, audit, calls, deliveries, alerts, priced, scores, workloads]
  const all = [startRunDays(sql, log, days), ...kept]
  if (config.AUDIT_LOG === 'on') all.push(startForwarding({ sql, log }))
  return { stop: async () => void (await Promise.all(all.map((each) => each.stop()))) }
}

/** Writes the entries of the audit into the log of this worker, soon after they were made. */
function startForwarding({ sql, log }: { readonly sql: Database; readonly log: Log }) {
  const write = (entry: ForwardedEntry): void => log.info(toLine(entry), 'audit')
  const turn = () => forwardAudit(sql, write)
  return keepTurning({ name: 'forwarding of the audit', turn, everyMs: AUDIT_MS, log })
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
