import { LEADER_LOCK } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { EXTRACT_LOCK } from '../../../services/collector/store/search/extract-texts.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'

/**
 * Has nothing rolled up, and no texts read, while `work` runs: what it measures is what stands
 * between a sender and its 200. The database has one connection, which is the leader meanwhile.
 */
export async function ingestAlone<Result>(
  sql: Database,
  work: () => Promise<Result>,
): Promise<Result> {
  await sql`select pg_advisory_lock(${LEADER_LOCK}), pg_advisory_lock(${EXTRACT_LOCK})`
  try {
    return await work()
  } finally {
    await sql`select pg_advisory_unlock(${LEADER_LOCK}), pg_advisory_unlock(${EXTRACT_LOCK})`
  }
}
