import { setTimeout as sleep } from 'node:timers/promises'
import { forwardAudit } from '../platform/audit-upkeep.ts'
import type { ForwardedEntry } from '../platform/audit-upkeep.ts'
import { deadline } from '../shared/deadline.ts'
import { toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Database } from '../shared/postgres/database.ts'

const EVERY_MS = 5000
const BATCH_MS = 30_000
const BATCHES_MAX = 1000

interface ForwardingDeps {
  readonly sql: Database
  readonly log: Log
  /** @default 5_000 */
  readonly everyMs?: number
}

/** Writes the entries of the audit into the log of this worker, soon after they were made. */
export function startForwarding({ sql, log, everyMs = EVERY_MS }: ForwardingDeps): {
  stop(): Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const write = (entry: ForwardedEntry): void => log.info(toLine(entry), 'audit')

  async function forwardAll(): Promise<void> {
    for (let batch = 0; batch < BATCHES_MAX && !signal.aborted; batch += 1) {
      const limit = { name: 'forwarding of the audit', timeoutMs: BATCH_MS, signal }
      if ((await deadline(limit, () => forwardAudit(sql, write))) === 0) return
    }
  }

  async function keepForwarding(): Promise<void> {
    while (!signal.aborted) {
      await forwardAll().catch((thrown: unknown) => {
        const reason = toError(thrown).message
        if (!signal.aborted) log.warn({ reason }, 'the audit could not be forwarded; trying again')
      })
      await sleep(everyMs, undefined, { signal }).catch(() => {})
    }
  }

  const ended = keepForwarding()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
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
