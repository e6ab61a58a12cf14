import type { Queryable } from '../../../shared/postgres/database.ts'
import type { ArchivedFile } from './archive-store.ts'
import type { ToRestore } from './restore-traces.ts'

/** A trace by its organization and id, a UUID; undefined for any organization. */
export interface SoughtTrace {
  readonly organization: string | undefined
  readonly traceId: string
}

type Fragment = ReturnType<Queryable>

/**
 * The spans of these traces that are in files and not in the database. One of any organization is
 * looked for in each that has files.
 */
export const findArchived = (
  sql: Queryable,
  traces: readonly SoughtTrace[],
): Promise<ToRestore[]> =>
  findMissing(
    sql,
    sql`
      select coalesce(given.organization, owner.organization) as organization, given.trace_id
      from unnest(
        ${traces.map(({ organization }) => organization ?? null)}::text[],
        ${traces.map(({ traceId }) => traceId)}::text[]::uuid[]
      ) as given (organization, trace_id)
      left join (select distinct organization from archived_files) as owner
        on given.organization is null`,
    sql`true`,
  )

/** All that an organization, or each of them, has in files of a day and not in the database. */
export const findArchivedDay = (
  sql: Queryable,
  day: string,
  organization: string | undefined,
): Promise<ToRestore[]> =>
  findMissing(
    sql,
    sql`
      select organization, trace_id from traces
      where first_start < (${day}::text::date + 1)::timestamp at time zone 'UTC'
        and last_start >= ${day}::text::date::timestamp at time zone 'UTC'
        ${organization === undefined ? sql`` : sql`and organization = ${organization}`}`,
    sql`file.day = ${day}::text::date`,
  )

interface FoundRow extends ArchivedFile {
  readonly day: string
  readonly organization: string
  readonly traceIds: readonly string[]
}

/** What was brought back stays for longer than these ten minutes. */
async function findMissing(
  sql: Queryable,
  sought: Fragment,
  ofDay: Fragment,
): Promise<ToRestore[]> {
  const rows = await sql<FoundRow[]>`
    with sought as (${sought})
    select file.day::text, file.organization, file.path, file.bytes::float8 as bytes,
      encode(file.sha256, 'hex') as sha256, array_agg(sought.trace_id::text) as trace_ids
    from sought
    join traces using (organization, trace_id)
    join cold_files as file on file.organization = traces.organization
      and file.day between (traces.first_start at time zone 'UTC')::date
        and (traces.last_start at time zone 'UTC')::date
      and traces.trace_id between file.first_trace and file.last_trace
    where ${ofDay} and not exists (
        select from restored_traces as restored
        where restored.day = file.day and restored.organization = file.organization
          and restored.trace_id = traces.trace_id
          and restored.restored_at > now() - interval '10 minutes'
      )
    group by file.day, file.organization, file.path, file.bytes, file.sha256, file.first_trace
    order by file.day desc, file.organization, file.first_trace`
  const found = new Map<string, ToRestore>()
  for (const { traceIds, day, organization, ...file } of rows) {
    const key = `${day} ${organization}`
    const { traceIds: others = [], files = [] } = found.get(key) ?? {}
    // One after the other: a trace that is in several files is brought back from all of them.
    const all = { day, organization, traceIds: [...others, ...traceIds], files: [...files, file] }
    found.set(key, all)
  }
  return [...found.values()]
}
