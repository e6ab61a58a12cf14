import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { getAutomationLife } from '../crews/automation-life.ts'
import { insertRuns } from '../runs/insert-runs.ts'
import type { QueueRoom } from '../runs/queue-room.ts'
import type { Batch } from './batches.ts'

/** Put into the queue by one transaction. */
const PORTION_ROWS = 100
/** In one turn of a worker. */
const PORTIONS_MAX = 50
const AGAIN_SECONDS = 10

interface DueBatch extends Pick<Batch, 'id' | 'organizationId' | 'deploymentId' | 'versionId'> {
  readonly trigger: string
  readonly starterId: string
  readonly starterName: string
}

/** Holds while a batch has rows that may be put into the queue. */
export const hasDueBatches = (sql: Queryable) => sql`
  exists (select from batches where next_at <= now())`

/**
 * Puts rows of batches into the queue as runs, a portion of each batch in turn, as far as the queue
 * of its organization has room. Rows and their runs are one transaction, in which no other worker
 * has the batch: however many workers there are and whenever one is killed, each row starts one
 * run. Returns how many runs there are more.
 */
export async function queueBatches(sql: Database, queue: QueueRoom): Promise<number> {
  let runs = 0
  for (let portion = 0; portion < PORTIONS_MAX; portion += 1) {
    const queued = await sql.begin((tx) => queuePortion(tx, queue))
    if (queued === undefined) break
    runs += queued
  }
  return runs
}

async function queuePortion(tx: Transaction, queue: QueueRoom): Promise<number | undefined> {
  const [due] = await tx<DueBatch[]>`
    select id, organization_id, deployment_id, version_id, trigger, starter_id, starter_name
    from batches where next_at <= clock_timestamp() order by next_at, id limit 1
    for update skip locked`
  if (!due) return undefined
  const { stoppedAt } = await getAutomationLife(tx, { id: due.deploymentId })
  if (stoppedAt) return putOff(tx, due, 'The automation is stopped.')
  const room = await queue.forBatch(tx, due.organizationId)
  if (room === 0) return putOff(tx, due, 'Enough runs of your organization are in the queue.')
  return queueRows(tx, due, Math.min(PORTION_ROWS, room))
}

async function putOff(tx: Queryable, { id }: DueBatch, why: string): Promise<number> {
  await tx`
    update batches set waits_for = ${why},
      next_at = clock_timestamp() + make_interval(secs => ${AGAIN_SECONDS})
    where id = ${id}`
  return 0
}

async function queueRows(tx: Queryable, due: DueBatch, limit: number): Promise<number> {
  const { id: batchId, deploymentId, versionId, trigger, starterId, starterName } = due
  const rows = await tx<{ position: number; inputs: string }[]>`
    select position, inputs::text as inputs from batch_rows
    where batch_id = ${batchId} and inputs is not null order by position limit ${limit}`
  const by = { trigger, starterId, starterName, idempotencyKey: null }
  const ids = await insertRuns(
    tx,
    rows.map(({ inputs }) => ({ deploymentId, inputs, versionId, batchId, ...by })),
  )
  const runs = rows.flatMap(({ position }, index) =>
    ids[index] === undefined ? [] : [{ position, run_id: ids[index] }],
  )
  if (runs.length === 0) return putOff(tx, due, 'The automation is being deleted.')
  await tx`
    with named as (
      delete from batch_row_files f
      using json_to_recordset(${JSON.stringify(runs)}::text::json) as r (position int, run_id uuid)
      where f.batch_id = ${batchId} and f.position = r.position returning r.run_id, f.file_id)
    insert into run_files (run_id, file_id) select run_id, file_id from named`
  await tx`
    update batch_rows b set inputs = null, run_id = r.run_id
    from json_to_recordset(${JSON.stringify(runs)}::text::json) as r (position int, run_id uuid)
    where b.batch_id = ${batchId} and b.position = r.position`
  await tx`
    update batches set waiting = waiting - ${runs.length}, waits_for = null,
      next_at = case when waiting > ${runs.length} then clock_timestamp() end
    where id = ${batchId}`
  return runs.length
}
