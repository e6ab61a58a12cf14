import type { Queryable } from '../../../../services/shared/postgres/database.ts'

/** What a reminder is made of. */
export interface ReminderFields {
  readonly note: string
  readonly channel: string
  readonly days: readonly number[]
  /** Absent: the one that is there stays. */
  readonly password?: string | undefined
}

export interface Reminder extends ReminderFields {
  readonly id: number
  readonly deploymentId: number
  readonly pausedAt: Date | null
}

export const createTable = (sql: Queryable) => sql`
  create table reminders (id int generated always as identity primary key, deployment_id int,
    note text, channel text, days int[], password text, paused_at timestamptz)`

const columns = (sql: Queryable) => sql`id, deployment_id, note, channel, days, paused_at`

export const listReminders = (sql: Queryable, deploymentId: number) =>
  sql<Reminder[]>`
    select ${columns(sql)} from reminders where deployment_id = ${deploymentId} order by id`

export async function findReminder(sql: Queryable, id: number, deploymentId: number) {
  const [found] = await sql<Reminder[]>`
    select ${columns(sql)} from reminders where id = ${id} and deployment_id = ${deploymentId}`
  return found
}

export async function createReminder(sql: Queryable, deploymentId: number, of: ReminderFields) {
  const [created] = await sql<[Reminder]>`
    insert into reminders (deployment_id, note, channel, days, password)
    values (${deploymentId}, ${of.note}, ${of.channel}, ${[...of.days]}::int[],
      ${of.password ?? null})
    returning ${columns(sql)}`
  return created
}

export async function changeReminder(sql: Queryable, { id }: Reminder, of: ReminderFields) {
  await sql`
  update reminders set note = ${of.note}, days = ${[...of.days]}::int[],
    password = coalesce(${of.password ?? null}, password) where id = ${id}`
}

export const deleteReminder = (sql: Queryable, { id }: Reminder) =>
  sql`delete from reminders where id = ${id}`

export async function pauseReminder(sql: Queryable, { id }: Reminder): Promise<void> {
  await sql`update reminders set paused_at = now() where id = ${id}`
}
