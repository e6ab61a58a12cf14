import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { stopRuns } from '../runs/runs.ts'
import { unlessHeld } from '../runs/run-retention.ts'
import type { Trigger } from '../runs/runs.ts'

/** The batches of an automation; a new one takes the place of the oldest that has ended. */
export const BATCHES_MAX = 50

/** How many of its rows are where. A row whose run was deleted is in none of them. */
interface BatchCounts {
  /** Not in the queue yet. */
  readonly waiting: number
  readonly queued: number
  /** In progress, also those that wait for a person. */
  readonly running: number
  readonly completed: number
  readonly failed: number
  /** Their runs were stopped, or the batch was before they had one. */
  readonly stopped: number
}

/** Many runs of an automation that one call asked for. */
export interface Batch extends BatchCounts {
  readonly id: string
  readonly organizationId: number
  readonly deploymentId: number
  /** The version that its runs are of, and the number of it; null: a draft. */
  readonly versionId: number
  readonly version: number | null
  readonly name: string
  readonly rows: number
  readonly trigger: Trigger
  readonly createdAt: Date
  readonly createdBy: string
  readonly isPaused: boolean
  readonly stoppedAt: Date | null
  /** Why rows are not put into the queue now; null: they are. */
  readonly waitsFor: string | null
  /** What is reserved of budgets for what has not ended; null: nothing. */
  readonly reservedTokens: number | null
  readonly reservedUsd: number | null
}

const selectBatches = (sql: Queryable, where: ReturnType<Queryable>) => sql<Batch[]>`
  select b.id, b.organization_id, b.deployment_id, b.version_id, v.number as version, b.name,
    b.rows, b.trigger, b.created_at, b.starter_name as created_by, b.stopped_at, b.waits_for,
    b.waiting > 0 and b.next_at is null as is_paused, b.waiting, c.queued, c.running, c.completed,
    c.failed, c.stopped + b.skipped as stopped, w.reserved_tokens, w.reserved_usd
  from batches b join project_versions v on v.id = b.version_id cross join lateral (
    select count(*) filter (where status = 'queued')::int as queued,
      count(*) filter (where status in ('running', 'waiting'))::int as running,
      count(*) filter (where status = 'completed')::int as completed,
      count(*) filter (where status = 'error')::int as failed,
      count(*) filter (where status = 'stopped')::int as stopped
    from executions where batch_id = b.id) c cross join lateral (
    select max(tokens)::float8 as reserved_tokens, max(usd)::float8 as reserved_usd
    from batch_reservations where batch_id = b.id and tokens + usd > 0) w
  where ${where} order by b.created_at desc, b.id`

/** Returns the batches of an automation, newest first. */
export const listBatches = (sql: Queryable, deploymentId: number): Promise<Batch[]> =>
  selectBatches(sql, sql`b.deployment_id = ${deploymentId}`)

/** Returns a batch of an automation, if it exists. */
export async function findBatch(
  sql: Queryable,
  { id, deploymentId }: Pick<Batch, 'id' | 'deploymentId'>,
): Promise<Batch | undefined> {
  const [found] = await selectBatches(sql, sql`b.id = ${id} and b.deployment_id = ${deploymentId}`)
  return found
}

type BatchKey = Pick<Batch, 'id'>

/** Keeps what waits out of the queue; runs that are in it go on. Raises `conflict`. */
export async function pauseBatch(sql: Queryable, { id }: BatchKey): Promise<void> {
  const { count } = await sql`
    update batches set next_at = null, waits_for = null where id = ${id} and waiting > 0`
  if (count === 0) throw new AppError('conflict', 'The batch has no rows that wait.')
}

/** Lets workers put what waits into the queue. Raises `conflict`. */
export async function resumeBatch(sql: Queryable, { id }: BatchKey): Promise<void> {
  const { count } = await sql`
    update batches set next_at = coalesce(next_at, now()) where id = ${id} and waiting > 0`
  if (count === 0) throw new AppError('conflict', 'The batch has no rows that wait.')
}

/** Ends a batch: what waits is never started, and its runs are stopped. */
export async function stopBatch(sql: Queryable, { id }: BatchKey): Promise<void> {
  // A worker that puts rows into the queue has the row of the batch: its runs are seen behind it.
  await sql`
    update batches set stopped_at = coalesce(stopped_at, now()), next_at = null, waits_for = null,
      skipped = skipped + waiting, waiting = 0
    where id = ${id}`
  await sql`delete from batch_row_files where batch_id = ${id}`
  await sql`update batch_rows set inputs = null where batch_id = ${id} and inputs is not null`
  await stopRuns(sql, sql`batch_id = ${id}`)
}

/**
 * Puts the rows whose runs failed back among those that wait: each gets a new run with the same
 * inputs, and the failed one counts no more. Raises `conflict` when there are none, or the batch
 * was stopped.
 */
export async function retryBatch(sql: Queryable, { id }: BatchKey): Promise<void> {
  const [held] = await sql<{ stoppedAt: Date | null }[]>`
    select stopped_at from batches where id = ${id} for update`
  if (held?.stoppedAt !== null) throw new AppError('conflict', 'The batch was stopped.')
  const { count } = await sql`
    with failed as (
      update executions set batch_id = null where batch_id = ${id} and status = 'error'
      returning id, inputs),
    files as (
      insert into batch_row_files (batch_id, position, file_id)
      select r.batch_id, r.position, n.file_id from failed f
      join batch_rows r on r.batch_id = ${id} and r.run_id = f.id
      join run_files n on n.run_id = f.id)
    update batch_rows r set inputs = f.inputs, run_id = null
    from failed f where r.batch_id = ${id} and r.run_id = f.id`
  if (count === 0) throw new AppError('conflict', 'No run of the batch has failed.')
  await sql`
    update batches set waiting = waiting + ${count}, next_at = coalesce(next_at, now())
    where id = ${id}`
}

/**
 * Deletes a batch. What waits in it is never started; its runs stay. Raises `conflict` while a hold
 * keeps one of its rows.
 */
export async function deleteBatch(sql: Queryable, { id }: BatchKey): Promise<void> {
  await unlessHeld('rows of this batch', sql`delete from batches where id = ${id}`)
}
