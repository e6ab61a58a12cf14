import { createHash } from 'node:crypto'
import type { Database, Queryable } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import { isUuid } from './automations.ts'

/** All statuses of a run. */
export const RUN_STATUSES = [
  'queued',
  'running',
  'waiting',
  'completed',
  'error',
  'stopped',
] as const
/** The status of a run. */
export type RunStatus = (typeof RUN_STATUSES)[number]

/** The inputs of a run, by name. */
export type Inputs = Readonly<Record<string, unknown>>

/** The tokens that a run used. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** The reason why a run failed: a code for programs, a message for people. */
export interface Failure {
  readonly code: string
  readonly message: string
}

/** One run of an automation. Its id is the kickoff id. */
export interface Run {
  readonly id: string
  readonly deploymentId: number
  readonly status: RunStatus
  readonly inputs: Inputs
  readonly attempt: number
  readonly queuedAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly output: string | null
  readonly usage: Usage | null
  readonly error: Failure | null
}

const columns = (sql: Queryable) => sql`
  id, deployment_id, status, inputs, attempt, queued_at, started_at, finished_at,
  output, usage, error`

/** A run to start. */
export interface Kickoff {
  readonly deploymentId: number
  readonly inputs: Inputs
  /** The caller's `Idempotency-Key`: the same key within 24 hours is the same run. */
  readonly idempotencyKey?: string
}

/**
 * Queues a run and returns its id. With an idempotency key that was used before, returns the run it
 * started; raises `unprocessable` when the inputs differ from that time's.
 */
export async function kickoff(sql: Database, request: Kickoff): Promise<string> {
  const { deploymentId, idempotencyKey: key } = request
  // postgres.js types jsonb parameters as its own JSON type; inputs were parsed from JSON.
  const inputs = JSON.stringify(request.inputs)
  if (key === undefined) return enqueue(sql, deploymentId, inputs)
  const requestHash = createHash('sha256').update(inputs).digest()
  return sql.begin(async (tx) => {
    // Serializes two requests with the same key, whichever replica they reach.
    await tx`select pg_advisory_xact_lock(${deploymentId}, hashtext(${key}))`
    await tx`
      delete from kickoff_keys
      where deployment_id = ${deploymentId} and key = ${key}
        and created_at < now() - interval '24 hours'`
    const [earlier] = await tx<{ executionId: string; requestHash: Buffer }[]>`
      select execution_id, request_hash from kickoff_keys
      where deployment_id = ${deploymentId} and key = ${key}`
    if (earlier?.requestHash.equals(requestHash)) return earlier.executionId
    if (earlier) {
      throw new AppError(
        'unprocessable',
        'This Idempotency-Key was used with other inputs. Use a new key for a new run.',
      )
    }
    const id = await enqueue(tx, deploymentId, inputs)
    await tx`insert into kickoff_keys ${tx({ deploymentId, key, requestHash, executionId: id })}`
    return id
  })
}

/** Deletes expired idempotency keys, at most 1,000 at a time; returns how many. */
export async function forgetKickoffKeys(sql: Queryable): Promise<number> {
  const { count } = await sql`
    delete from kickoff_keys where (deployment_id, key) in (
      select deployment_id, key from kickoff_keys
      where created_at < now() - interval '24 hours' order by created_at limit 1000)`
  return count
}

async function enqueue(sql: Queryable, deploymentId: number, inputs: string): Promise<string> {
  const [row] = await sql<[{ id: string }]>`
    insert into executions (deployment_id, inputs)
    values (${deploymentId}, ${inputs}::text::jsonb) returning id`
  return row.id
}

/** Returns a run of this automation; undefined for a run of another one. */
export async function findRun(
  sql: Queryable,
  deploymentId: number,
  id: string,
): Promise<Run | undefined> {
  if (!isUuid(id)) return undefined
  // By the key alone: a plan that was made while the table was empty would walk through all runs of
  // the deployment.
  const [found] = await sql<Run[]>`select ${columns(sql)} from executions where id = ${id}`
  return found?.deploymentId === deploymentId ? found : undefined
}

/** Returns the last runs of an automation, newest first. */
export async function listRuns(
  sql: Queryable,
  deploymentId: number,
  limit: number,
): Promise<Run[]> {
  return sql<Run[]>`
    select ${columns(sql)} from executions
    where deployment_id = ${deploymentId} order by queued_at desc, id limit ${limit}`
}

/** Stops a run that is not over; its worker is notified. Returns false when it was over already. */
export async function stopRun(sql: Queryable, id: string): Promise<boolean> {
  const stopped = await sql`
    with stopped as (
      update executions set status = 'stopped', finished_at = now(),
        lease_id = null, lease_expires_at = null
      where id = ${id} and status in ('queued', 'running', 'waiting') returning id)
    select pg_notify('execution_stopped', id::text) from stopped`
  return stopped.length > 0
}
