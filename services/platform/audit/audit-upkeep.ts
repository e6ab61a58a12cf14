import type { Database } from '../../shared/postgres/database.ts'
import type { ListedEntry } from './audit-list.ts'

/** Any number that nothing else locks: one worker at a time deletes. */
const LOCK = 7_310_452_123
const DELETED_MAX = 1000
const FORWARDED_MAX = 500

/**
 * Deletes one batch of the entries that are older than the retention, the oldest first. Returns how
 * many; 0 also while another worker is at it.
 */
export async function deleteExpiredAudit(sql: Database, days: number): Promise<number> {
  return sql.begin(async (tx) => {
    const [lock] = await tx<[{ isOurs: boolean }]>`
      select pg_try_advisory_xact_lock(${LOCK}) as is_ours`
    if (!lock.isOurs) return 0
    await tx`select set_config('platform.audit_retention', 'on', true)`
    const { count } = await tx`
      delete from audit_entries where id in (
        select id from audit_entries where at < now() - make_interval(days => ${days})
        order by at limit ${DELETED_MAX})`
    return count
  })
}

/** An entry that is forwarded, with its organization. */
export interface ForwardedEntry extends ListedEntry {
  readonly organizationId: number | null
}

/**
 * Hands the entries that were not forwarded yet to `write`, in their order, and notes that they
 * were: each at least once, and again when the process is killed in between. Returns how many.
 */
export async function forwardAudit(
  sql: Database,
  write: (entry: ForwardedEntry) => void,
): Promise<number> {
  return sql.begin(async (tx) => {
    const entries = await tx<ForwardedEntry[]>`
      with chosen as (
        select id from audit_entries where forwarded_at is null
        order by id limit ${FORWARDED_MAX} for update skip locked),
      noted as (
        update audit_entries e set forwarded_at = now() from chosen c where c.id = e.id
        returning e.*)
      select id::text, at, organization_id, actor_kind, actor_id, actor_name, action, refused,
        target_kind, target_id, target_name, before, after, address, request_id
      from noted order by noted.id`
    for (const entry of entries) write(entry)
    return entries.length
  })
}
