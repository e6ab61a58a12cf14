import { createHash } from 'node:crypto'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { isUuid } from '../automations/automations.ts'
import { insertRuns, isStaying } from './insert-runs.ts'
import type { InsertRun } from './insert-runs.ts'
import type { AdmitRun } from './queue-room.ts'
import { keepFiles } from './run-files.ts'
import type { Inputs } from '../definitions/input-declarations.ts'

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

/** The ways in which a run can follow another one. */
export const ORIGIN_ACTIONS = ['retry', 'fork', 'rerun'] as const
/** The way in which a run follows another one. */
type OriginAction = (typeof ORIGIN_ACTIONS)[number]

/** What runs are started by: the automation API, a page, the designer API, … */
export const TRIGGERS = [
  'api',
  'console',
  'designer',
  'assistant',
  'schedule',
  'event',
  'run',
] as const
/** What a run was started by. */
export type Trigger = (typeof TRIGGERS)[number]

/** Who or what starts a run. */
export interface Starter {
  readonly trigger: Trigger
  /** Such as `person:7` or `token:3`. */
  readonly id: string
  readonly name: string
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
  /** The run that it follows; null: none, or one whose retention is over. */
  readonly originId: string | null
  readonly originAction: OriginAction | null
  /** Null where it is not known, as is the name of the starter. */
  readonly trigger: Trigger | null
  readonly starterName: string | null
}

const columns = (sql: Queryable) => sql`
  id, deployment_id, status, inputs, attempt, queued_at, started_at, finished_at,
  output, usage, error, origin_id, origin_action, trigger, starter_name`

interface Kickoff {
  readonly deploymentId: number
  readonly inputs: Inputs
  /** The caller's `Idempotency-Key`: the same key within 24 hours is the same run. */
  readonly idempotencyKey?: string | undefined
  /** The ids of the files that its inputs name. */
  readonly files?: readonly string[] | undefined
  /** The version that it is of. @default the one that its automation runs */
  readonly versionId?: number | undefined
  /** The run that it follows. */
  readonly origin?: Origin | undefined
  readonly starter?: Starter | undefined
  /** Lets it into the queue. @default at once */
  readonly admit?: AdmitRun | undefined
  /** Acts in the transaction that queues it; what it raises starts no run. @default nothing */
  readonly onQueued?: ((tx: Queryable, id: string) => Promise<void>) | undefined
  /** Queues it with others, where it needs no transaction of its own. @default alone */
  readonly insert?: InsertRun | undefined
}

/** How a new run follows another one. */
interface Origin {
  readonly id: string
  readonly action: OriginAction
  /** Where it goes on, for the idempotency key. */
  readonly fromStep?: string | undefined
  /** Copies what the new run keeps of the other one's journal. */
  readonly carry: (tx: Queryable, id: string) => Promise<void>
}

/**
 * Queues a run and returns its id. With an idempotency key that was used before, returns the run it
 * started; raises `unprocessable` when the inputs, or the run that it follows, differ from that
 * time's. Raises `queue_full` when it is not let into the queue.
 */
export async function kickoff(sql: Queryable, request: Kickoff): Promise<string> {
  const { deploymentId, idempotencyKey: key, origin, files = [], onQueued } = request
  // Nothing but one statement, for the most frequent request of all.
  if (key === undefined && !origin && files.length === 0 && !onQueued) {
    return queueRun(sql, request)
  }
  return inTransaction(sql, async (tx) => {
    const requestHash = hashOf(request)
    const earlier = key === undefined ? undefined : await findEarlier(tx, { deploymentId, key })
    if (earlier?.requestHash.equals(requestHash)) return earlier.executionId
    if (earlier) {
      throw new AppError(
        'unprocessable',
        'This Idempotency-Key was used with other inputs. Use a new key for a new run.',
      )
    }
    const id = await queueRun(tx, { ...request, insert: undefined })
    await keepFiles(tx, id, files)
    await origin?.carry(tx, id)
    await onQueued?.(tx, id)
    if (key !== undefined) {
      await tx`insert into kickoff_keys ${tx({ deploymentId, key, requestHash, executionId: id })}`
    }
    return id
  })
}

/** Of plain kickoffs it is the hash of the inputs alone. */
function hashOf({ inputs, origin }: Kickoff): Buffer {
  const text = JSON.stringify(inputs)
  const of = origin ? JSON.stringify([text, origin.id, origin.action, origin.fromStep]) : text
  return createHash('sha256').update(of).digest()
}

async function findEarlier(
  tx: Queryable,
  { deploymentId, key }: { deploymentId: number; key: string },
): Promise<{ executionId: string; requestHash: Buffer } | undefined> {
  // Serializes two requests with the same key, whichever replica they reach.
  await tx`select pg_advisory_xact_lock(${deploymentId}, hashtext(${key}))`
  await tx`
    delete from kickoff_keys
    where deployment_id = ${deploymentId} and key = ${key}
      and created_at < now() - interval '24 hours'`
  const [earlier] = await tx<{ executionId: string; requestHash: Buffer }[]>`
    select execution_id, request_hash from kickoff_keys
    where deployment_id = ${deploymentId} and key = ${key}`
  return earlier
}

/** Holds while there are expired idempotency keys. */
export const hasExpiredKeys = (sql: Queryable) => sql`
  exists (select from kickoff_keys where created_at < now() - interval '24 hours')`

/** Deletes expired idempotency keys, at most 1,000 at a time; returns how many. */
export async function forgetKickoffKeys(sql: Queryable): Promise<number> {
  const { count } = await sql`
    delete from kickoff_keys where (deployment_id, key) in (
      select deployment_id, key from kickoff_keys
      where created_at < now() - interval '24 hours' order by created_at limit 1000)`
  return count
}

function queueRun(sql: Queryable, request: Kickoff): Promise<string> {
  const insert = (tx: Queryable): Promise<string> => insertRun(tx, request, tx === sql)
  return request.admit ? request.admit(sql, insert) : insert(sql)
}

/** One that goes on where another one left off is of that one's version. */
async function insertRun(sql: Queryable, request: Kickoff, mayShare: boolean): Promise<string> {
  const { deploymentId, inputs: given, versionId = null, origin, starter } = request
  const { trigger = null, id: starterId = null, name: starterName = null } = starter ?? {}
  // postgres.js types jsonb parameters as its own JSON type; inputs were parsed from JSON.
  const inputs = JSON.stringify(given)
  if (!origin) {
    const { idempotencyKey = null, insert } = request
    const by = { trigger, starterId, starterName }
    const run = { deploymentId, inputs, versionId, idempotencyKey, ...by }
    return idOf(mayShare && insert ? await insert(run) : (await insertRuns(sql, [run]))[0])
  }
  const { id, action } = origin
  const [row] = await sql<{ id: string }[]>`
    insert into executions (deployment_id, inputs, trigger, starter_id, starter_name,
      origin_id, origin_action, project_version_id)
    select ${deploymentId}, ${inputs}::text::jsonb, ${trigger}, ${starterId}, ${starterName},
      id, ${action}, case when ${action} = 'rerun' then null else project_version_id end
    from executions
    where id = ${id} and deployment_id = ${deploymentId} and ${isStaying(sql, deploymentId)}
    returning id`
  return idOf(row?.id)
}

function idOf(id: string | undefined): string {
  if (id !== undefined) return id
  throw new AppError('conflict', 'The automation is being deleted: it takes no more runs.')
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

/**
 * Stops a run that is not over, and those that it waits for; their workers are notified. Returns
 * false when it was over already.
 */
export const stopRun = async (sql: Queryable, id: string): Promise<boolean> =>
  (await stopRuns(sql, sql`id = ${id}`)) > 0

/** Stops all runs that fulfil a condition, likewise. Returns how many. */
export async function stopRuns(sql: Queryable, which: ReturnType<Queryable>): Promise<number> {
  const stopped = await sql<{ id: string }[]>`
    with stopped as (
      update executions set status = 'stopped', finished_at = now(),
        lease_id = null, lease_expires_at = null
      where ${which} and status in ('queued', 'running', 'waiting') returning id)
    select id, pg_notify('execution_stopped', id::text) from stopped`
  if (stopped.length === 0) return 0
  // Nobody needs what they wait for.
  const awaited = await sql<{ id: string }[]>`
    select called_id as id from run_calls
    where caller_id = any (${stopped.map(({ id }) => id)}::uuid[])
      and settled_at is null and called_id is not null`
  if (awaited.length > 0) {
    await stopRuns(sql, sql`id = any (${awaited.map(({ id }) => id)}::uuid[])`)
  }
  return stopped.length
}
