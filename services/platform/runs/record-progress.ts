import type { Queryable } from '../../shared/postgres/database.ts'
import { bookCalls, bookedColumns, bookingOf } from '../budgets/budget-booking.ts'
import type { Booking, BookingColumns } from '../budgets/budget-booking.ts'
import { encodeEntries, toParameters } from './journal-entries.ts'
import type { JournalEntries, RunEntries } from './journal-entries.ts'
import type { Lease } from './run-queue.ts'

/**
 * What became of the entries of a run: `lost`, the run is no longer this worker's, and nothing was
 * written; `passed`, nothing was written yet: it may be lost, or somebody is changing the run at
 * this moment.
 */
type WriteState = 'written' | 'lost' | 'passed'

/** What became of the entries of a run. */
export interface Written {
  readonly state: WriteState
  /** What was booked in the same commit. Undefined: no budget was looked for. */
  readonly booking?: Booking | undefined
}

/**
 * Writes events and steps of a run in one commit, if the worker still owns the run; the same again
 * changes nothing. A step that finished stays as it is. A run that advances is not what kills its
 * workers: its lost attempts are forgotten. A run that completes gives up its lease. Returns false
 * when the run is no longer this worker's: nothing was written.
 */
export async function recordProgress(
  sql: Queryable,
  lease: Lease,
  entries: JournalEntries,
): Promise<boolean> {
  const { state } = await recordEncoded(sql, { lease, entries: encodeEntries(entries) })
  return state === 'written'
}

/** Does the same for entries that are encoded, and books their calls in the same commit. */
export async function recordEncoded(sql: Queryable, run: RunEntries): Promise<Written> {
  const written = await write(sql, [run], sql``)
  return written.get(run.lease.leaseId) ?? { state: 'lost' }
}

/**
 * Does the same for several runs in one commit, and passes those that somebody else is changing.
 * Returns what became of each.
 */
export async function recordTogether(
  sql: Queryable,
  runs: readonly RunEntries[],
): Promise<Written[]> {
  const written = await write(sql, runs, sql`skip locked`)
  return runs.map(({ lease }) => written.get(lease.leaseId) ?? { state: 'passed' })
}

/** Returns what was written, by the ids of the leases. */
async function write(
  sql: Queryable,
  runs: readonly RunEntries[],
  ifLocked: ReturnType<Queryable>,
): Promise<Map<string, Written>> {
  const { owners, events, steps, parts, calls, completed, ...has } = toParameters(runs)
  const { hasPayload, advances } = has
  // To begin a part of a plan takes its time even where it has nothing to do.
  const rows = await sql<Row[]>`
    with part as materialized (
      select * from json_to_recordset(${owners}::text::json)
        as p (run uuid, lease uuid, advances boolean)),
    owned as materialized (
      -- Nobody takes these runs over before this is committed. All lock them in one order. Each is
      -- looked up, for which there is only this form: a join may read all runs.
      select e.id, e.organization_id, e.attempt, p.lease, p.advances
      from (select * from part order by run offset 0) p cross join lateral (
        select id, organization_id, attempt from executions where id = p.run and lease_id = p.lease
        offset 0 for no key update ${ifLocked}) e),
    placed as materialized (
      select o.*, last_step_position(o.id) as last from owned o),
    given as materialized (
      select o.id, o.attempt, o.last, s.* from placed o join json_to_recordset(
          ${steps}::text::json)
        as s (lease uuid, line int, key text, kind text, name text, path jsonb, parent text,
          state text, started_at timestamptz, ended_at timestamptz, input text, usage jsonb,
          error jsonb, result text, has_payload boolean, request_sha256 text, request text)
        on s.lease = o.lease),
    noted as (
      -- A trigger numbers them: 0 says that their runs are locked.
      insert into execution_events (execution_id, attempt, position, event, number)
      select o.id, o.attempt, e.position, e.event, 0
      from owned o join json_to_recordset(${events}::text::json)
        as e (lease uuid, position int, event jsonb) on e.lease = o.lease
      order by o.id, e.position
      on conflict do nothing ${completed === undefined ? sql`` : sql`returning number`}),
    ${completed === undefined ? sql`` : completeRuns(sql, completed)}
    ${hasPayload ? keepPayloads(sql) : sql``}
    ${parts === undefined ? sql`` : keepParts(sql, parts)}
    ${advances ? forgetLostAttempts(sql) : sql``}
    written as (
      insert into run_steps (run_id, step_key, position, kind, name, path, parent, state, attempt,
        started_at, ended_at, input, usage, error, result, has_payload, request_sha256, request)
      select g.id, g.key, coalesce(g.last, -1) + g.line, g.kind, g.name, g.path, g.parent,
        g.state, g.attempt, g.started_at, g.ended_at, g.input::json, g.usage, g.error,
        case when not g.has_payload then g.result::json end, g.has_payload,
        decode(g.request_sha256, 'hex'), decode(g.request, 'hex')
      from given g
      on conflict (run_id, step_key) do update set
        state = excluded.state, attempt = excluded.attempt, started_at = excluded.started_at,
        ended_at = excluded.ended_at, input = excluded.input, usage = excluded.usage,
        error = excluded.error, result = excluded.result, has_payload = excluded.has_payload,
        request_sha256 = excluded.request_sha256, request = excluded.request
      where run_steps.state <> 'finished')
    ${calls === undefined ? sql`` : bookCalls(sql, calls)}
    select p.lease ${calls === undefined ? sql`` : bookedColumns(sql)} from owned p`
  const booked = (row: Row) => (calls === undefined ? {} : { booking: bookingOf(row) })
  return new Map(rows.map((row) => [row.lease, { state: 'written', ...booked(row) }]))
}

const keepPayloads = (sql: Queryable) => sql`
  kept as (
    insert into run_payloads (run_id, step_key, content)
    select id, key, result::json from given where has_payload
    on conflict (run_id, step_key) do update set content = excluded.content),`

/** Commits of other runs may write the same parts: all write them in one order. */
const keepParts = (sql: Queryable, parts: string) => sql`
  stored as (
    insert into run_contents (day, organization_id, address, previous, content)
    select content_day(o.id), o.organization_id, decode(r.address, 'hex'),
      decode(r.previous, 'hex'), decode(r.content, 'base64')
    from owned o join json_to_recordset(${parts}::text::json)
      as r (lease uuid, address text, previous text, content text) on r.lease = o.lease
    order by 1, 2, 3
    on conflict do nothing),`

const forgetLostAttempts = (sql: Queryable) => sql`
  advanced as (
    update executions e set lost_attempts = 0 from owned o
    where e.id = any (array(select id from owned)) and e.id = o.id
      and o.advances and e.lost_attempts > 0),`

/** After the events: the end of a run has the number behind them. */
const completeRuns = (sql: Queryable, completed: string) => sql`
  completed as (
    update executions e set status = 'completed', output = c.output, usage = c.usage,
      finished_at = now(), lease_id = null, lease_expires_at = null
    from owned o join json_to_recordset(${completed}::text::json)
      as c (lease uuid, output text, usage jsonb) on c.lease = o.lease
    where e.id = any (array(select id from owned)) and e.id = o.id
      and (select count(*) from noted) >= 0),`

interface Row extends BookingColumns {
  readonly lease: string
}
