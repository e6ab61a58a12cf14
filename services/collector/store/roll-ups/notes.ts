import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import { beginOfRow } from '../../../shared/postgres/copy/copy-rows.ts'
import { unpackRows } from './noted-rows.ts'
import type { NotedRow } from './noted-rows.ts'

/**
 * Notes, and bytes of their trace ids, that are taken at a time; always one note. Of roll-ups there
 * may be 32 times as many.
 */
const MAX_NOTES = 500
const MAX_BYTES = 128 * 1024
const TRACE_ID_DIGITS = 32

/**
 * What is forwarded goes on in the same statement, with the transaction that the spans have in
 * common with the note. While a day is still to be rolled up, a trace that is in no roll-up may
 * have other spans than those of its note. Citus makes no plan for a look without a column.
 */
const TAKE_NOTES = `copy (
  with taken as (
    delete from touched_traces where ctid = any (array(
      select ctid from (
        select ctid, sum(bytes) over (order by noted_at, ctid) - bytes as bytes_before
        from (
          select ctid, noted_at,
            octet_length(trace_ids) + coalesce(octet_length(roll_ups), 0) / 32 as bytes
          from touched_traces order by noted_at limit ${MAX_NOTES}
        ) as oldest
      ) as counted
      where bytes_before < ${MAX_BYTES}
    ))
    returning organization, day, trace_ids, noted_at, is_stored, xmin::text::int8 as stored_by,
      roll_ups
  ),
  forwarded as (
    insert into spans_to_forward (organization, day, trace_ids, noted_at, stored_by)
    select organization, day, trace_ids, noted_at, stored_by
    from taken join forwarding using (organization) where is_stored
  )
  select organization, day::text, trace_ids,
    extract(epoch from clock_timestamp() - noted_at)::float8 * 1000,
    case when not exists (select 1 from days_to_roll_up) then roll_ups end
  from taken
) to stdout (format binary)`

/** A trace to be rolled up, and the days of the spans for which that was noted. */
export interface TouchedTrace {
  readonly organization: string
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** In ISO 8601, as `lastDay`. */
  firstDay: string
  lastDay: string
  /** Its roll-up, where the spans of one note are all that is touched. */
  noted: NotedRow | undefined
}

/** Notes that were taken. */
interface TakenNotes {
  /** Each of their traces once. */
  readonly touched: TouchedTrace[]
  /** The age of the oldest. */
  readonly lagMs: number
}

/** Takes the oldest notes, with roll-ups of calls by these prices. */
export async function takeNotes(
  session: Pick<CopyConnection, 'copyOut'>,
  pricesKey: Buffer,
): Promise<TakenNotes> {
  const touched = new Map<string, TouchedTrace>()
  let lagMs = 0
  await session.copyOut(TAKE_NOTES, (row) => {
    const [organization, day, ids, age, rollUps] = fieldsOf(row)
    if (!organization || !day || !ids || !age) return
    noteAll(touched, {
      organization: organization.toString(),
      day: day.toString(),
      ids: ids.toString('hex'),
      rows: rollUps ? unpackRows(rollUps, pricesKey) : [],
    })
    lagMs = Math.max(lagMs, age.readDoubleBE())
  })
  return { touched: [...touched.values()], lagMs }
}

const LENGTH_BYTES = 4

/** The fields of a row of COPY BINARY, undefined for null; none of the end of all rows. */
function fieldsOf(row: Buffer): (Buffer | undefined)[] {
  const first = beginOfRow(row)
  if (first === undefined) return []
  const count = row.readInt16BE(first)
  let at = first + 2
  return Array.from({ length: count }, () => {
    const begin = at + LENGTH_BYTES
    const size = row.readInt32BE(at)
    at = begin + Math.max(size, 0)
    return size < 0 ? undefined : row.subarray(begin, at)
  })
}

interface Note {
  readonly organization: string
  readonly day: string
  readonly ids: string
  readonly rows: readonly (NotedRow | undefined)[]
}

function noteAll(touched: Map<string, TouchedTrace>, { organization, day, ids, rows }: Note): void {
  for (let at = 0, nr = 0; at < ids.length; at += TRACE_ID_DIGITS, nr++) {
    const traceId = ids.slice(at, at + TRACE_ID_DIGITS)
    const key = traceId + organization
    const known = touched.get(key)
    if (!known) {
      touched.set(key, { organization, traceId, firstDay: day, lastDay: day, noted: rows[nr] })
      continue
    }
    known.noted = undefined
    if (day < known.firstDay) known.firstDay = day
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
