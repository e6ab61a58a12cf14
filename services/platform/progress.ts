import type { Queryable } from '../shared/database.ts'
import type { ProgressEvent } from './execution-queue.ts'

export interface Progress {
  /** The attempt that told it: a run that was handed over or tried again has several. */
  readonly attempt: number
  readonly event: ProgressEvent
  readonly recordedAt: Date
}

/** The newest `limit` events of a run, over all of its attempts, in order. */
export async function listProgress(
  sql: Queryable,
  executionId: string,
  limit: number,
): Promise<Progress[]> {
  return sql<Progress[]>`
    select attempt, event, recorded_at from (
      select attempt, position, event, recorded_at from execution_events
      where execution_id = ${executionId}
      order by attempt desc, position desc limit ${limit}) newest
    order by attempt, position`
}
