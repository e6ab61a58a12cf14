import type { Database, Queryable } from '../../../shared/postgres/database.ts'
import { LEADER_LOCK } from '../roll-ups/roll-up-turn.ts'
import { partitionName } from '../spans/partitions.ts'
import { dropFiles } from './archive-files.ts'
import { dateOf, ofRows } from './day-rows.ts'
import type { DayRows } from './day-rows.ts'

/** The rows that keep the state: one of the day, or one for each of the organizations. */
const stateOf = (sql: Queryable, { day, organizations, isRest }: DayRows) => ({
  table: sql(isRest ? 'archived_days' : 'archived_parts'),
  isIt: isRest
    ? sql`day = ${dateOf(day)}::text::date`
    : sql`day = ${dateOf(day)}::text::date and organization = any (${[...organizations]}::text[])`,
})

const filesOf = (sql: Queryable, rows: DayRows): ReturnType<Queryable> =>
  sql`day = ${dateOf(rows.day)}::text::date and ${sql.unsafe(ofRows(rows))}`

/** Returns true for rows that were compared, together, and are still in the database. */
export async function areVerified(sql: Queryable, rows: DayRows): Promise<boolean> {
  const { table, isIt } = stateOf(sql, rows)
  const [row] = await sql<{ verified: number; marks: number }[]>`
    select count(*) filter (where state = 'verified')::int as verified,
      count(distinct fingerprint)::int as marks
    from ${table} where ${isIt}`
  return row?.marks === 1 && row.verified === (rows.isRest ? 1 : rows.organizations.length)
}

/** Removes whatever a run before this one has written. */
export async function beginAnew(sql: Database, rows: DayRows): Promise<void> {
  const date = dateOf(rows.day)
  await sql.begin(async (tx) => {
    await (rows.isRest
      ? tx`
          insert into archived_days (day, state) values (${date}::text::date, 'writing')
          on conflict (day) do update
          set state = 'writing', fingerprint = null, changed_at = now()`
      : tx`
          insert into archived_parts (day, organization, state)
          select ${date}::text::date, unnest(${[...rows.organizations]}::text[]), 'writing'
          on conflict (organization, day) do update
          set state = 'writing', fingerprint = null, changed_at = now()`)
    await dropFiles(tx, filesOf(tx, rows))
  })
}

/** The first commit: the files have what the database has. */
export async function noteVerified(
  sql: Queryable,
  rows: DayRows,
  fingerprint: string,
): Promise<void> {
  const { table, isIt } = stateOf(sql, rows)
  await sql`
    update ${table} set state = 'verified', fingerprint = ${fingerprint},
      changed_at = now(), failed_at = null, failure = null
    where ${isIt}`
}

/** Notes why rows were not archived, and lets go of what was written of them in vain. */
export async function noteFailure(sql: Database, rows: DayRows, reason: string): Promise<void> {
  const { table, isIt } = stateOf(sql, rows)
  await sql`update ${table} set failed_at = now(), failure = ${reason} where ${isIt}`
  if (!(await areVerified(sql, rows))) await dropFiles(sql, filesOf(sql, rows))
}

/** Forgets what was begun of organizations whose days are no longer archived before others. */
export async function forgetBegun(sql: Database, configured: readonly string[]): Promise<void> {
  await sql.begin(async (tx) => {
    const begun = tx`
      state <> 'dropped' and organization <> all (${[...configured]}::text[])`
    await dropFiles(
      tx,
      tx`(organization, day) in (select organization, day from archived_parts where ${begun})`,
    )
    await tx`delete from archived_parts where ${begun}`
  })
}

/** Changes with each row that is stored, changed or deleted. */
export const fingerprintOf = (rows: DayRows): string => `
  select count(*) || ' ' || coalesce(sum(
    hashtextextended(xmin::text || ' ' || span_id || ' ' || trace_id, 0)::numeric), 0) as mark
  from ${partitionName(rows.day)} where ${ofRows(rows)}`

/**
 * The second commit: the rows leave the database, unless they have changed since they were
 * compared; then they begin anew, and it returns false. Nothing is stored in the day meanwhile.
 */
export const tryToDrop = (sql: Database, rows: DayRows): Promise<boolean> =>
  sql.begin(async (tx) => {
    const partition = partitionName(rows.day)
    await tx`set local lock_timeout = '2s'`
    await tx.unsafe(`lock table ${partition} in share mode`)
    const [now] = await tx.unsafe<{ mark: string }[]>(fingerprintOf(rows))
    const { table, isIt } = stateOf(tx, rows)
    const changed = await tx<{ state: string }[]>`
      update ${table}
      set state = case when fingerprint = ${now?.mark ?? ''} then 'dropped' else 'writing' end,
        changed_at = now()
      where ${isIt} and state = 'verified' returning state`
    if (changed.length === 0 || changed.some(({ state }) => state !== 'dropped')) return false
    // Spans of parts may have been brought back, and are being read.
    const isShared = !rows.isRest || rows.organizations.length > 0
    if (isShared) await tx.unsafe(`delete from ${partition} where ${ofRows(rows)}`)
    // A turn that has found a trace whole sums it up before its spans go.
    await tx`select pg_advisory_xact_lock(${LEADER_LOCK}::int8)`
    if (!isShared) await tx.unsafe(`truncate ${partition}`)
    if (rows.isRest)
      await tx`delete from archived_parts where day = ${dateOf(rows.day)}::text::date`
    return true
  })
