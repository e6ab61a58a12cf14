import type { Queryable } from '../../shared/postgres/database.ts'
import { isUuid } from '../automations/automations.ts'
import type { Failure, RunStatus } from '../runs/runs.ts'
import type { StateFilter } from './task-status.ts'

/** A run as the task of the caller that started it. Its id is the kickoff id. */
export interface Task {
  readonly id: string
  readonly contextId: string
  /** The message that started it. */
  readonly messageId: string
  readonly status: RunStatus
  readonly error: Failure | null
  /** When its status changed last. */
  readonly updatedAt: Date
}

/** Whose tasks: those that a caller started of an automation. */
export interface TaskOwner {
  readonly deploymentId: number
  readonly starterId: string
}

const columns = (sql: Queryable) => sql`
  t.run_id as id, t.context_id, t.message_id, t.updated_at, e.status, e.error`

/**
 * Makes a run a task of its caller, which it stays as it was made first. Without a context it has
 * one of its own.
 */
export async function recordTask(
  sql: Queryable,
  { deploymentId, starterId }: TaskOwner,
  { id, contextId = id, messageId }: Pick<Task, 'id' | 'messageId'> & { contextId?: string },
): Promise<void> {
  await sql`
    insert into a2a_tasks (run_id, deployment_id, starter_id, context_id, message_id)
    values (${id}, ${deploymentId}, ${starterId}, ${contextId}, ${messageId})
    on conflict (run_id) do nothing`
}

/** Returns a task of a caller; undefined for one of another. */
export async function findTask(
  sql: Queryable,
  { deploymentId, starterId }: TaskOwner,
  id: string,
): Promise<Task | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await sql<Task[]>`
    select ${columns(sql)} from a2a_tasks t join executions e on e.id = t.run_id
    where t.run_id = ${id} and t.deployment_id = ${deploymentId} and t.starter_id = ${starterId}`
  return found
}

/** The tasks of a list, and the part of it. */
interface TaskFilter {
  readonly contextId?: string | undefined
  readonly state?: StateFilter | undefined
  /** Those that changed then or later. */
  readonly since?: Date | undefined
}

interface TaskPage {
  readonly limit: number
  /** The cursor of the task that the page follows. */
  readonly after?: TaskCursor | undefined
}

/** The place of a task in a list. */
export interface TaskCursor {
  /** In UTC, to the microsecond. */
  readonly at: string
  readonly id: string
}

/**
 * Returns tasks of a caller, those whose status changed last first, each with its place in the
 * list, and how many there are on all pages.
 */
export async function listTasks(
  sql: Queryable,
  owner: TaskOwner,
  { limit, after, ...filter }: TaskFilter & TaskPage,
): Promise<{ readonly tasks: (Task & { readonly at: string })[]; readonly total: number }> {
  const listed = isListed(sql, owner, filter)
  const [tasks, [{ total }]] = await Promise.all([
    sql<(Task & { at: string })[]>`
      select ${columns(sql)},
        to_char(t.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
      from a2a_tasks t ${listed}
      ${after ? isAfter(sql, after) : sql``}
      order by t.updated_at desc, t.run_id desc limit ${limit}`,
    sql<[{ total: number }]>`select count(*)::int as total from a2a_tasks t ${listed}`,
  ])
  return { tasks, total }
}

function isListed(sql: Queryable, owner: TaskOwner, { contextId, state, since }: TaskFilter) {
  const { deploymentId, starterId } = owner
  return sql`
    join executions e on e.id = t.run_id
    where t.deployment_id = ${deploymentId} and t.starter_id = ${starterId}
      ${contextId === undefined ? sql`` : sql`and t.context_id = ${contextId}`}
      ${since === undefined ? sql`` : sql`and t.updated_at >= ${since}`}
      ${state ? hasState(sql, state) : sql``}`
}

const isAfter = (sql: Queryable, { at, id }: TaskCursor) => sql`
  and (t.updated_at, t.run_id) < (${at}::text::timestamptz, ${id}::uuid)`

function hasState(sql: Queryable, { status, code }: StateFilter) {
  if (code === undefined) return sql`and e.status = ${status}`
  return code.startsWith('!')
    ? sql`and e.status = ${status} and e.error ->> 'code' <> ${code.slice(1)}`
    : sql`and e.status = ${status} and e.error ->> 'code' = ${code}`
}
