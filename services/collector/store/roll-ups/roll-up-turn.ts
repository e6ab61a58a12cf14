import { openCopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection, Session } from '../../../shared/postgres/copy/copy-connection.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Price } from '../../../shared/prices/price-table.ts'
import { DISTRIBUTED_SESSION } from '../spans/distribution.ts'
import {
  COPIES,
  CREATE_COPIES,
  STORED,
  copyEarlierSpans,
  copySpansOf,
  hasDistributedSpans,
} from './distributed-spans.ts'
import { FIND_EARLIER_DAY, noteEarlierTraces } from './earlier-traces.ts'
import { SUMS_LOCK } from './trace-days.ts'
import { setArchivedAside } from './archived-traces.ts'
import { keyOfPrices } from './call-price.ts'
import { createUsedFields } from './used-columns.ts'
import { findNoted, PREPARE_NOTED, writeNoted } from './write-noted.ts'
import type { TurnSession } from './write-noted.ts'
import { takeNotes, toArguments } from './notes.ts'
import type { TouchedTrace } from './notes.ts'
import { ROLL_UP_PARAMETERS, rollUpStatement } from './roll-up-statement.ts'

/** Any number: who holds this lock changes the roll-ups, for one transaction. */
export const LEADER_LOCK = 7_310_452_121
const STATEMENT_MS = 120_000
/** Whoever follows the traces and has missed more than these is told so. */
const FORGET_CHANGES = `
  delete from trace_changes
  where revision < (select max(revision) - 20000 from trace_changes)`

/** Its plan is made for any number of traces: only lookups by an index may be nested loops. */
const HASH_JOINS = 'set local enable_nestloop = off'

/** The outcome of one turn. */
export interface Turn {
  /** False when somebody else changes the roll-ups. */
  readonly isLeader: boolean
  /** Traces brought up to date. */
  readonly traces: number
  /** The age of the oldest note that was taken. */
  readonly lagMs: number
  /** True when nothing was left to do. */
  readonly isDone: boolean
  /** Traces that wait for spans that are in files. */
  readonly archived: readonly TouchedTrace[]
}

type TurnConnection = TurnSession & CopyConnection

/**
 * Opens a connection on which turns can be taken. Plans are made once, for tables of any size, also
 * for those that nobody has analyzed yet; a leader whose node is gone keeps no lock: no rest is a
 * minute long.
 */
export async function openTurns(
  address: DatabaseAddress,
  prices: readonly Price[],
): Promise<TurnConnection> {
  const options = { name: 'collector-roll-ups', statementTimeoutMs: STATEMENT_MS }
  const session = await openCopyConnection(address, options)
  try {
    const isDistributed = await hasDistributedSpans(session)
    if (isDistributed) await session.query(`${DISTRIBUTED_SESSION}; ${CREATE_COPIES}`)
    const tables = isDistributed ? COPIES : STORED
    await session.query(`
      set enable_seqscan = off; set enable_mergejoin = off; set jit = off; set work_mem = '32MB';
      set max_parallel_workers_per_gather = 0; set idle_in_transaction_session_timeout = 5000;
      set idle_session_timeout = 60000;
      set plan_cache_mode = force_generic_plan;
      prepare roll_up (${ROLL_UP_PARAMETERS}) as ${rollUpStatement(prices, tables)};
      ${PREPARE_NOTED};
      prepare note_earlier_traces as ${noteEarlierTraces(tables.spans)}`)
    const [type] = await session.rows(`select 'usage_part'::regtype::oid`)
    const pricesKey = keyOfPrices(prices)
    return { ...session, pricesKey, usedFields: createUsedFields(Number(type?.[0])) }
  } catch (error) {
    session.close()
    throw error
  }
}

/**
 * Takes one turn, if no one else changes the roll-ups: one transaction, in which notes go and
 * roll-ups come, so that it is as if it had never begun when it is cut off. The lock goes with it.
 */
export async function takeTurn(session: TurnSession): Promise<Turn> {
  const locked = await session.query(`
    begin;
    select from pg_try_advisory_xact_lock(${LEADER_LOCK}) as is_leader where is_leader`)
  const isLeader = rowsOf(locked) === 1
  try {
    const nothing = { traces: 0, lagMs: 0, isDone: false, archived: [] }
    const work = isLeader ? await lead(session) : nothing
    const outcome = await session.query('commit')
    if (outcome !== 'COMMIT') throw new AppError('unavailable', `The server answered ${outcome}.`)
    return { isLeader, ...work }
  } catch (error) {
    if (session.isOpen()) await session.query('rollback')
    throw error
  }
}

/**
 * Notes are taken by one statement and rolled up by the next, in this order: the second one's plan
 * and snapshot are later than the notes, so it has every partition and every span that they are
 * about. The planner lists partitions before a statement sees its first row, and nothing waits for
 * a day that is attached meanwhile: one statement for both could take a note whose partition it
 * does not read. For the same reason nothing before them in their transaction reads `spans`: a lock
 * that is held already does not bring news of partitions.
 */
async function lead(session: TurnSession): Promise<Omit<Turn, 'isLeader'>> {
  const changed = rowsOf(await session.query(FIND_CHANGED_DAYS))
  if (changed > 0) await forgetDroppedDays(session)
  const { touched: noted, lagMs } = await takeNotes(session, session.pricesKey)
  const { whole: touched, archived } = await setArchivedAside(session, noted)
  if (touched.length > 0) {
    await rollUp(session, touched)
    return { traces: touched.length, lagMs, isDone: false, archived }
  }
  // What arrives comes first.
  const isDue = rowsOf(await session.query(FIND_EARLIER_DAY)) > 0
  const earlier = isDue ? await noteEarlier(session) : 0
  const isDone = changed + earlier + archived.length === 0
  return { traces: 0, lagMs, isDone, archived }
}

async function rollUp(session: TurnSession, touched: readonly TouchedTrace[]): Promise<void> {
  const { noted, others } = await findNoted(session, touched)
  if (noted.length > 0) await writeNoted(session, noted)
  if (others.length > 0) {
    if (await hasDistributedSpans(session)) await copySpansOf(session, others)
    await session.query(`${HASH_JOINS}; execute roll_up (${toArguments(others)})`)
    await session.query('delete from usage_hourly where calls = 0')
  }
  await session.query(FORGET_CHANGES)
}

async function noteEarlier(session: Session): Promise<number> {
  if (await hasDistributedSpans(session)) await copyEarlierSpans(session)
  return rowsOf(await session.query('execute note_earlier_traces'))
}

async function forgetDroppedDays(session: Session): Promise<void> {
  const traces = rowsOf(await session.query(DELETE_DROPPED_TRACES))
  if (traces > 0) return
  // It goes through all traces, once for each dropped day.
  await session.query('set local enable_seqscan = on')
  await session.query(DELETE_DROPPED_SUMS)
  await session.query('set local enable_seqscan = off')
}

/** The number at the end of a command tag, such as `SELECT 5`. */
const rowsOf = (tag: string): number => Number(/ (\d+)$/.exec(tag)?.[1] ?? 0)

/**
 * Empties the roll-ups and has all days rolled up again, the latest first. Until a day's turn comes
 * its traces are in no list.
 */
export const startRebuild = (session: Session): Promise<string> =>
  session.query(`
    begin;
    select pg_advisory_xact_lock(${LEADER_LOCK});
    -- Who sums a day up holds what is emptied here.
    select pg_advisory_xact_lock(${SUMS_LOCK});
    truncate traces, traces_daily, trace_days, usage_hourly, touched_traces, days_to_roll_up,
      text_signatures, span_texts, traces_to_extract;
    insert into days_to_roll_up (day)
    select to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')
    from pg_inherits where inhparent = 'spans'::regclass and not inhdetachpending;
    commit`)

const BATCH = 5000

/** The oldest day there is; `infinity` without any. */
const OLDEST_DAY = `(
    select coalesce(min(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')), 'infinity')
    from pg_inherits where inhparent = 'spans'::regclass and not inhdetachpending
  )`

/** Finds one row when days were dropped, or late spans made an older one. */
const FIND_CHANGED_DAYS = `
  select from oldest_rolled_up where day <> ${OLDEST_DAY}`

const OLDEST = `${OLDEST_DAY}::timestamp at time zone 'UTC'`

/**
 * Deletes some traces that had spans in dropped days only. None of these starts later than its last
 * span, which leads to them by an index.
 */
const DELETE_DROPPED_TRACES = `
  with oldest as materialized (select ${OLDEST} as begins)
  delete from traces where (organization, trace_id) in (
    select organization, trace_id from traces, oldest
    where start_time < begins and last_start < begins limit ${BATCH}
  )`

/**
 * Deletes the sums of dropped days, together with what the traces that go on in a kept day have
 * added to them: what those have there is rolled up anew. Only once all other traces of dropped
 * days are gone: until then, a trace that is rolled up again takes away what is still there.
 */
const DELETE_DROPPED_SUMS = `
  with oldest as materialized (select ${OLDEST_DAY} as day, ${OLDEST} as begins),
  shortened as (
    update traces set first_start = begins, usage = array(
        select part from unnest(usage) as part where part.hour >= begins
      )
    from oldest where first_start < begins and last_start >= begins
    returning organization, trace_id, day
  ),
  noted as (
    insert into touched_traces (organization, day, trace_ids)
    select organization, day, string_agg(uuid_send(trace_id), '') from shortened group by 1, 2
  ),
  forgotten as (
    delete from usage_hourly where hour < (select begins from oldest)
  ),
  forgotten_sums as (
    delete from traces_daily where day < (select day from oldest)
  ),
  forgotten_days as (
    delete from trace_days where day < (select day from oldest)
  )
  update oldest_rolled_up set day = oldest.day from oldest`
