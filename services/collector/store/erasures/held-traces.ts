import type { Database, Queryable } from '../../../shared/postgres/database.ts'
import { isDistributed } from '../spans/distribution.ts'

/** A hold of the platform, by its id there. */
export interface HoldKey {
  readonly organization: string
  /** A UUID. */
  readonly holdId: string
}

/** Puts traces under a hold; those that are under it already stay. */
export async function holdTraces(
  sql: Queryable,
  { organization, holdId }: HoldKey,
  traceIds: readonly string[],
): Promise<void> {
  await sql`
    insert into held_traces (organization, hold_id, trace_id)
    select ${organization}, ${holdId}::text::uuid, unnest(${traceIds}::text[]::uuid[])
    on conflict do nothing`
}

/** Lets the traces of a hold go. Returns how many there were. */
export async function liftHold(sql: Queryable, { organization, holdId }: HoldKey): Promise<number> {
  const { count } = await sql`
    delete from held_traces
    where hold_id = ${holdId}::text::uuid and organization = ${organization}`
  return count
}

/** True for a trace that a hold keeps. */
export async function isHeld(
  sql: Queryable,
  { organization, traceId }: { readonly organization: string; readonly traceId: string },
): Promise<boolean> {
  const held = await sql`
    select from held_traces
    where organization = ${organization} and trace_id = ${traceId}::text::uuid limit 1`
  return held.length > 0
}

/** Of a partition of spans. Citus makes no plan for a look without a column. */
const HAS_HOLD = `exists (
  select from held_traces h where h.organization = s.organization and h.trace_id = s.trace_id)`

/** True for a day that has nothing but what holds keep. */
export async function hasOnlyHeld(sql: Database, partition: string): Promise<boolean> {
  const [row] = await sql.unsafe<{ isOnlyHeld: boolean }[]>(`
    select exists (select 1 from ${partition} s where ${HAS_HOLD})
      and not exists (select 1 from ${partition} s where not ${HAS_HOLD}) as is_only_held`)
  return row?.isOnlyHeld === true
}

/**
 * Empties a day that would be dropped, except for what holds keep. False when they keep nothing of
 * it. On Citus, and of archived days in the files that have a trace that is held, the rest stays,
 * too.
 */
export async function keepHeld(sql: Database, partition: string): Promise<boolean> {
  const day = `to_date('${partition.slice(-8)}', 'YYYYMMDD')`
  const [row] = await sql.unsafe<{ hasSpans: boolean; hasFiles: boolean }[]>(`
    select exists (select 1 from ${partition} s where ${HAS_HOLD}) as has_spans,
      exists (
        select 1 from archived_files f join held_traces h on h.organization = f.organization
          and h.trace_id between f.first_trace and f.last_trace
        where f.day = ${day}) as has_files`)
  if (!row?.hasSpans || (await isDistributed(sql)))
    return row?.hasSpans === true || row?.hasFiles === true
  const bounds = `start_time >= ${day}::timestamp at time zone 'UTC'
    and start_time < (${day} + 1)::timestamp at time zone 'UTC'`
  await sql.begin(async (tx) => {
    await tx`set local lock_timeout = '2s'`
    await tx.unsafe(`lock table ${partition} in access exclusive mode`)
    await tx.unsafe(`
      create temporary table held_spans on commit drop as
      select s.* from ${partition} s where ${HAS_HOLD}`)
    await tx.unsafe(`truncate ${partition}`)
    await tx.unsafe(`insert into ${partition} select * from held_spans`)
    for (const table of ['text_signatures', 'span_texts'])
      await tx.unsafe(`delete from ${table} where ${bounds}`)
  })
  return true
}
