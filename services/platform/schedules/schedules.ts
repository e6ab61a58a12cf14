import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import { nextTimes } from './schedule-times.ts'
import type { ScheduleTimes } from './schedule-times.ts'

/** What becomes of the times at which no worker was there: nothing, or one run for all of them. */
export const MISSED_POLICIES = ['skip', 'run_once'] as const
/** What becomes of missed times. */
export type MissedPolicy = (typeof MISSED_POLICIES)[number]

/** The most schedules that one automation has. */
export const SCHEDULES_MAX = 50
const TIMES_SHOWN = 5

/** The fields of a schedule that people enter. */
export interface ScheduleFields extends ScheduleTimes {
  readonly name: string
  readonly inputs: Inputs
  readonly missed: MissedPolicy
}

/** When runs of an automation start by themselves. */
export interface Schedule extends ScheduleFields {
  readonly id: number
  readonly deploymentId: number
  readonly pausedAt: Date | null
  /** null: paused, or there is no next time. */
  readonly nextAt: Date | null
  readonly lastAt: Date | null
  readonly lastRunId: string | null
  /** Why the last time started no run. */
  readonly lastProblem: string | null
}

type ScheduleKey = Pick<Schedule, 'id' | 'deploymentId'>

/** The columns of a schedule. */
export const scheduleColumns = (sql: Queryable) => sql`
  id, deployment_id, name, cron, time_zone, inputs, missed, paused_at, next_at, last_at,
  last_run_id, last_problem`

/** Creates a schedule. Raises `conflict` when the automation has as many as it may. */
export async function createSchedule(
  sql: Queryable,
  { deploymentId, createdBy }: { deploymentId: number; createdBy: number | null },
  fields: ScheduleFields,
): Promise<Schedule> {
  const { name, cron, timeZone, inputs, missed } = fields
  return inTransaction(sql, async (tx) => {
    await tx`select from deployments where id = ${deploymentId} for no key update`
    const [created] = await tx<Schedule[]>`
      insert into schedules
        (deployment_id, name, cron, time_zone, inputs, missed, next_at, created_by)
      select ${deploymentId}, ${name}, ${cron}, ${timeZone}, ${JSON.stringify(inputs)}::text::jsonb,
        ${missed}, ${await nextOf(tx, fields)}, ${createdBy}
      where (
        select count(*) from schedules where deployment_id = ${deploymentId}) < ${SCHEDULES_MAX}
      returning ${scheduleColumns(tx)}`
    if (created) return created
    throw new AppError(
      'conflict',
      `An automation has at most ${SCHEDULES_MAX} schedules. Delete one that is no longer used.`,
    )
  })
}

/** The next time from now on, by the clock of the database. */
async function nextOf(sql: Queryable, times: ScheduleTimes): Promise<Date | null> {
  const [{ now }] = await sql<[{ now: Date }]>`select now()`
  return nextTimes(times, now, 1)[0] ?? null
}

/** Returns the next five times of a schedule, of a paused one those at which it would come. */
export function comingTimes(schedule: Schedule): Date[] {
  const { nextAt } = schedule
  const from = nextAt ? new Date(nextAt.getTime() - 1) : new Date()
  return nextTimes(schedule, from, TIMES_SHOWN)
}

/** Changes a schedule; it goes on with the next of its new times, unless it is paused. */
export async function updateSchedule(
  sql: Queryable,
  { id, deploymentId }: ScheduleKey,
  fields: ScheduleFields,
): Promise<void> {
  const { name, cron, timeZone, inputs, missed } = fields
  const nextAt = await nextOf(sql, fields)
  await sql`
    update schedules set name = ${name}, cron = ${cron}, time_zone = ${timeZone},
      inputs = ${JSON.stringify(inputs)}::text::jsonb, missed = ${missed}, last_problem = null,
      next_at = case when paused_at is null then ${nextAt}::timestamptz end
    where id = ${id} and deployment_id = ${deploymentId}`
}

/** Pauses a schedule: it starts nothing, and what it would have started is not made up for. */
export async function pauseSchedule(sql: Queryable, { id }: ScheduleKey): Promise<void> {
  await sql`
    update schedules set paused_at = now(), next_at = null where id = ${id} and paused_at is null`
}

/** Lets a paused schedule go on with its next time. */
export async function resumeSchedule(sql: Queryable, schedule: Schedule): Promise<void> {
  const nextAt = await nextOf(sql, schedule)
  await sql`
    update schedules set paused_at = null, next_at = ${nextAt}
    where id = ${schedule.id} and paused_at is not null`
}

/** Deletes a schedule; the runs that it started stay. */
export async function deleteSchedule(
  sql: Queryable,
  { id, deploymentId }: ScheduleKey,
): Promise<void> {
  await sql`delete from schedules where id = ${id} and deployment_id = ${deploymentId}`
}

/** Returns the schedules of an automation, the oldest first. */
export const listSchedules = (sql: Queryable, deploymentId: number): Promise<Schedule[]> =>
  sql<Schedule[]>`
    select ${scheduleColumns(sql)} from schedules
    where deployment_id = ${deploymentId} order by id`

/** Returns a schedule of this automation; undefined for one of another. */
export async function findSchedule(
  sql: Queryable,
  { id, deploymentId }: ScheduleKey,
): Promise<Schedule | undefined> {
  const [found] = await sql<Schedule[]>`
    select ${scheduleColumns(sql)} from schedules
    where id = ${id} and deployment_id = ${deploymentId}`
  return found
}
