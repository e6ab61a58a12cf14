import type { Queryable } from '../../shared/postgres/database.ts'

/** The largest number of an event: that of the column. */
export const EVENT_NUMBER_MAX = 2 ** 31 - 1

/** One event of a run, as those hear of it who follow the run. */
export interface RunEvent {
  /** Its number within the run, from 1; the next one has the next number. */
  readonly number: number
  /** The attempt that reported it: a run that was handed over or tried again has several. */
  readonly attempt: number
  readonly event: { readonly type: string; readonly [field: string]: unknown }
}

/** A part of a run's events. */
interface EventPage {
  readonly events: readonly RunEvent[]
  /** The number of the newest event of the run; 0 while there is none. */
  readonly last: number
  /** The run has ended, and the last of these events is its end. */
  readonly isOver: boolean
}

interface Part {
  /** Only the events that follow the one of this number; 0: all. */
  readonly after: number
  readonly limit: number
}

interface State {
  readonly last: number
  readonly attempt: number
  readonly end: RunEvent['event'] | null
}

/**
 * Returns up to `limit` events of a run after a number, in order. The end of a run counts as its
 * last event: `run_completed`, `run_failed` or `run_stopped`.
 */
export async function readEvents(
  sql: Queryable,
  runId: string,
  { after, limit }: Part,
): Promise<EventPage> {
  // Before the events: none is recorded once a run has ended, so that none of an ended one is
  // missing below.
  const [state] = await sql<State[]>`
    select attempt, case when finished_at is not null then end_of_execution(e) end as end,
      coalesce((select max(number) from execution_events where execution_id = ${runId}), 0) as last
    from executions e where id = ${runId}`
  if (!state) return { events: [], last: 0, isOver: true }
  const events = await sql<RunEvent[]>`
    select number, attempt, event from execution_events
    where execution_id = ${runId} and number > ${after} order by number limit ${limit}`
  if (state.end === null) return { events, last: state.last, isOver: false }
  const end = { number: state.last + 1, attempt: state.attempt, event: state.end }
  const isRest = events.length < limit
  const rest = isRest && end.number > after ? [...events, end] : events
  return { events: rest, last: end.number, isOver: isRest }
}
