import type { Lease, ProgressEvent } from '../../services/platform/runs/run-queue.ts'
import { recordProgress } from '../../services/platform/runs/record-progress.ts'
import type { Queryable } from '../../services/shared/postgres/database.ts'

/** Appends one event of a run, as its worker does. Returns false when the run is not its own. */
export const recordEvent = (
  sql: Queryable,
  lease: Lease,
  noted: { position: number; event: ProgressEvent },
): Promise<boolean> => recordProgress(sql, lease, { events: [noted], steps: [] })
