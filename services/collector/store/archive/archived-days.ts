import type { Database, Queryable } from '../../../shared/postgres/database.ts'
import { sqlState } from '../../../shared/postgres/failures.ts'
import { dropFiles } from './archive-files.ts'

/** The state of archived days for the health of the collector. */
export interface ArchiveState {
  readonly days: number
  /** The latest failure to archive a day that is still in the database. */
  readonly failure: string | undefined
}

/** Reads the state of archived days. */
export async function readArchiveState(sql: Queryable): Promise<ArchiveState> {
  const [row] = await sql<{ days: number; failure: string | null }[]>`
    select count(*) filter (where state = 'dropped')::int as days,
      (array_agg(day || ': ' || failure order by failed_at desc)
        filter (where state <> 'dropped' and failure is not null))[1] as failure
    from archived_days`
  return { days: row?.days ?? 0, failure: row?.failure ?? undefined }
}

/** The days whose spans are in files, in ISO 8601. */
export async function listArchivedDays(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    select day::text from archived_days where state = 'dropped' order by day`
  return rows.map(({ day }) => day)
}

/** Forgets days whose partition has been dropped; their files are removed then. */
export async function forgetArchivedDays(sql: Database): Promise<void> {
  const gone = await sql<{ day: string }[]>`
    select day::text from archived_days
    where to_regclass('spans_' || to_char(day, 'YYYYMMDD')) is null`
  for (const { day } of gone) {
    await sql.begin(async (tx) => {
      await dropFiles(tx, day)
      await tx`delete from restored_traces where day = ${day}::text::date`
      await tx`delete from archived_days where day = ${day}::text::date`
    })
  }
}

/**
 * Forgets what an organization has in the files of an archived day, and notes its traces for the
 * roll-ups.
 */
export async function forgetOrganization(
  sql: Database,
  day: string,
  organization: string,
): Promise<void> {
  await sql.begin(async (tx) => {
    await dropFiles(tx, day, organization)
    const ofDay = tx`organization = ${organization}
      and start_time >= ${day}::text::date::timestamp at time zone 'UTC'
      and start_time < (${day}::text::date + 1)::timestamp at time zone 'UTC'`
    await tx`delete from spans where ${ofDay}`
    await tx`delete from text_signatures where ${ofDay}`
    await tx`
      insert into touched_traces (organization, day, trace_ids)
      select ${organization}, ${day}::text::date, string_agg(uuid_send(trace_id), '')
      from (
        select trace_id, row_number() over () / 1000 as part from traces where ${ofDay}
      ) as parts
      group by part`
  })
}

/** A lock that was not to be had in time, and a circle of waits. */
const IN_USE = new Set(['55P03', '40P01'])

/** Empties the partitions of archived days again from which nothing was read for a while. */
export async function releaseRestored(sql: Database): Promise<void> {
  const days = await sql<{ day: string }[]>`
    select day::text from restored_traces group by day
    having max(restored_at) < now() - interval '15 minutes'`
  for (const { day } of days) {
    const partition = `spans_${day.replaceAll('-', '')}`
    const released = sql.begin(async (tx) => {
      await tx`set local lock_timeout = '1s'`
      await tx.unsafe(`lock table ${partition} in access exclusive mode`)
      const recent = await tx`
        select from restored_traces where day = ${day}::text::date
          and restored_at >= now() - interval '15 minutes' limit 1`
      if (recent.length > 0) return
      await tx.unsafe(`truncate ${partition}`)
      await tx`delete from restored_traces where day = ${day}::text::date`
    })
    await released.catch((thrown: unknown) => {
      // It is being read; the next run tries again.
      if (!IN_USE.has(sqlState(thrown) ?? '')) throw thrown
    })
  }
}
