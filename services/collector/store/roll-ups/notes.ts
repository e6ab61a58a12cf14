import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'

/** Notes, and bytes of their trace ids, that are taken at a time; always one note. */
const MAX_NOTES = 500
const MAX_BYTES = 128 * 1024
const TRACE_ID_DIGITS = 32

/**
 * The third column is a bytea's text: `\x`, and two digits for each byte. What is forwarded goes on
 * in the same statement, with the transaction that the spans have in common with the note.
 */
const TAKE_NOTES = `
  with taken as (
    delete from touched_traces where ctid = any (array(
      select ctid from (
        select ctid, sum(length(trace_ids)) over (order by noted_at, ctid) - length(trace_ids)
          as bytes_before
        from (
          select ctid, noted_at, trace_ids from touched_traces
          order by noted_at limit ${MAX_NOTES}
        ) as oldest
      ) as counted
      where bytes_before < ${MAX_BYTES}
    ))
    returning organization, day, trace_ids, noted_at, is_stored, xmin::text::int8 as stored_by
  ),
  forwarded as (
    insert into spans_to_forward (organization, day, trace_ids, noted_at, stored_by)
    select organization, day, trace_ids, noted_at, stored_by
    from taken join forwarding using (organization) where is_stored
  )
  select organization, day, trace_ids,
    (extract(epoch from clock_timestamp() - noted_at) * 1000)::int8
  from taken`

/** A trace to be rolled up, and the days of the spans for which that was noted. */
export interface TouchedTrace {
  readonly organization: string
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** In ISO 8601, as `lastDay`. */
  firstDay: string
  lastDay: string
}

/** Notes that were taken. */
interface TakenNotes {
  /** Each of their traces once. */
  readonly touched: TouchedTrace[]
  /** The age of the oldest. */
  readonly lagMs: number
}

/** Takes the oldest notes. */
export async function takeNotes(session: Session): Promise<TakenNotes> {
  const touched = new Map<string, TouchedTrace>()
  let lagMs = 0
  for (const [organization, day, bytes, age] of await session.rows(TAKE_NOTES)) {
    noteAll(touched, { organization: organization ?? '', day: day ?? '', ids: bytes ?? '' })
    lagMs = Math.max(lagMs, Number(age))
  }
  return { touched: [...touched.values()], lagMs }
}

interface Note {
  readonly organization: string
  readonly day: string
  readonly ids: string
}

function noteAll(touched: Map<string, TouchedTrace>, { organization, day, ids }: Note): void {
  for (let at = '\\x'.length; at < ids.length; at += TRACE_ID_DIGITS) {
    const traceId = ids.slice(at, at + TRACE_ID_DIGITS)
    const key = traceId + organization
    const known = touched.get(key)
    if (!known) touched.set(key, { organization, traceId, firstDay: day, lastDay: day })
    else if (day < known.firstDay) known.firstDay = day
    else if (day > known.lastDay) known.lastDay = day
  }
}

/** The arguments of the statement that rolls these traces up. */
export function toArguments(touched: readonly TouchedTrace[]): string {
  const list = (read: (one: TouchedTrace) => string): string =>
    quote(`{${touched.map(read).join(',')}}`)
  return [
    list(({ organization }) => `"${organization.replaceAll(/["\\]/g, '\\$&')}"`),
    list(({ traceId }) => traceId),
    list(({ firstDay }) => firstDay),
    list(({ lastDay }) => lastDay),
  ].join(', ')
}
