import type { Database, Queryable } from '../../../shared/postgres/database.ts'
import { sqlState } from '../../../shared/postgres/failures.ts'
import { dropFiles, withoutHeld } from './archive-files.ts'

/** The state of archived days for the health of the collector. */
export interface ArchiveState {
  readonly days: number
  /** The latest failure to archive a day that is still in the database. */
  readonly failure: string | undefined
}

/** Reads the state of archived days. */
export async function readArchiveState(sql: Queryable): Promise<ArchiveState> {
  const [row] = await sql<{ days: number; failure: string | null }[]>`
    select count(distinct day) filter (where state = 'dropped')::int as days,
      (array_agg(day || ': ' || failure order by failed_at desc)
        filter (where state <> 'dropped' and failure is not null))[1] as failure
    from (
      select day, state, failure, failed_at from archived_days
      union all select day, state, failure, failed_at from archived_parts
    ) as parts`
  return { days: row?.days ?? 0, failure: row?.failure ?? undefined }
}

/**
 * The days, in ISO 8601, whose spans are in files: those of an organization, or of all, of which
 * some may have been archived sooner.
 */
export async function listArchivedDays(sql: Queryable, organization?: string): Promise<string[]> {
  const ofOne = organization === undefined ? sql`false` : sql`organization = ${organization}`
  const rows = await sql<{ day: string }[]>`
    select day::text from archived_days where state = 'dropped'
    union select day::text from archived_parts where state = 'dropped' and ${ofOne}
    order by day`
  return rows.map(({ day }) => day)
}

/** Forgets days whose partition has been dropped; their files are removed then. */
export async function forgetArchivedDays(sql: Database): Promise<void> {
  const gone = await sql<{ day: string }[]>`
    select day::text from (
      select day from archived_days union select day from archived_parts
    ) as days
    where to_regclass('spans_' || to_char(day, 'YYYYMMDD')) is null`
  for (const { day } of gone) {
    await sql.begin(async (tx) => {
      await dropFiles(tx, tx`day = ${day}::text::date and ${withoutHeld(tx)}`)
      for (const table of ['restored_traces', 'archived_parts', 'archived_days'])
        await tx`delete from ${tx(table)} where day = ${day}::text::date`
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
    const files = tx`day = ${day}::text::date and organization = ${organization}`
    await dropFiles(tx, tx`${files} and ${withoutHeld(tx)}`)
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
      const whole = await tx`
        select from archived_days where day = ${day}::text::date and state = 'dropped'`
      const mode = whole.length > 0 ? 'access exclusive' : 'share row exclusive'
      await tx.unsafe(`lock table ${partition} in ${mode} mode`)
      const recent = await tx`
        select from restored_traces where day = ${day}::text::date
          and restored_at >= now() - interval '15 minutes' limit 1`
      if (recent.length > 0) return
      await tx.unsafe(
        whole.length > 0
          ? `truncate ${partition}`
          : `delete from ${partition} as spans using archived_parts as part
             where part.organization = spans.organization and part.day = '${day}'
               and part.state = 'dropped'`,
      )
      await tx`delete from restored_traces where day = ${day}::text::date`
    })
    await released.catch((thrown: unknown) => {
      // It is being read; the next run tries again.
      if (!IN_USE.has(sqlState(thrown) ?? '')) throw thrown
    })
  }
}
