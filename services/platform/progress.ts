import type { Queryable } from '../shared/database.ts'
import type { ProgressEvent } from './execution-queue.ts'

export interface Progress {
  readonly event: ProgressEvent
  readonly recordedAt: Date
}

/** The newest `limit` events of a run's last attempt, in order. */
export async function listProgress(
  sql: Queryable,
  executionId: string,
  limit: number,
): Promise<Progress[]> {
  return sql<Progress[]>`
    select event, recorded_at from (
      select ev.position, ev.event, ev.recorded_at
      from execution_events ev join executions e on e.id = ev.execution_id
      where ev.execution_id = ${executionId} and ev.attempt = e.attempt
      order by ev.position desc limit ${limit}) newest
    order by position`
}
