import type { Queryable } from '../shared/postgres/database.ts'
import type { RecordedStep, StepUsage } from './crew-protocol.ts'
import type { Lease, ProgressEvent } from './run-queue.ts'
import type { Failure } from './runs.ts'
import type { StepKind } from './step-key.ts'

/** Longer results, in characters of JSON, are kept beside the row of their step. */
const RESULT_CHARACTERS_MAX = 65_536

/** What becomes of a step: one that only started is done again in a new attempt. */
export type StepState = 'started' | 'finished' | 'failed'

/** A step as a worker writes it; the same step again replaces the one before. */
export interface StepRecord {
  readonly key: string
  readonly kind: StepKind
  readonly name: string
  readonly path: readonly string[]
  readonly parent?: string | undefined
  readonly state: StepState
  readonly startedAt: string
  readonly endedAt?: string | undefined
  readonly input?: unknown
  readonly usage?: StepUsage | undefined
  readonly error?: Failure | undefined
  /** Set once it finished. */
  readonly result?: unknown
}

/** What a worker writes at a time: events by their positions within the attempt, and steps. */
export interface JournalEntries {
  readonly events: readonly { readonly position: number; readonly event: ProgressEvent }[]
  /** Each key once. */
  readonly steps: readonly StepRecord[]
}

/**
 * Writes events and steps of a run in one commit, if the worker still owns the run; the same again
 * changes nothing. A step that finished stays as it is. A run that advances is not what kills its
 * workers: its lost attempts are forgotten. Returns false when the run is no longer this worker's:
 * nothing was written.
 */
export async function recordProgress(
  sql: Queryable,
  { id, leaseId }: Lease,
  { events, steps }: JournalEntries,
): Promise<boolean> {
  const advances = steps.some(({ state }) => state === 'finished')
  const [row] = await sql<[{ isOurs: boolean }]>`
    with owned as (
      -- Nobody takes the run over before this is committed.
      select id, attempt from executions where id = ${id} and lease_id = ${leaseId}
      for no key update),
    given as (
      select * from json_to_recordset(${JSON.stringify(steps.map(toRow))}::text::json)
        as s (key text, kind text, name text, path jsonb, parent text, state text,
          started_at timestamptz, ended_at timestamptz, input text, usage jsonb, error jsonb,
          result text, has_payload boolean)),
    noted as (
      insert into execution_events (execution_id, attempt, position, event)
      select o.id, o.attempt, e.position, e.event
      from owned o, jsonb_to_recordset(${JSON.stringify(events)}::text::jsonb)
        as e (position int, event jsonb)
      on conflict do nothing),
    kept as (
      insert into run_payloads (run_id, step_key, content)
      select o.id, s.key, s.result::json from owned o, given s where s.has_payload
      on conflict (run_id, step_key) do update set content = excluded.content),
    advanced as (
      update executions set lost_attempts = 0
      where ${advances} and lost_attempts > 0 and id in (select id from owned)),
    written as (
      insert into run_steps (run_id, step_key, position, kind, name, path, parent, state, attempt,
        started_at, ended_at, input, usage, error, result, has_payload)
      select o.id, s.key, coalesce(last.position, -1) + row_number() over (), s.kind, s.name,
        s.path, s.parent, s.state, o.attempt, s.started_at, s.ended_at, s.input::json,
        s.usage, s.error, case when not s.has_payload then s.result::json end, s.has_payload
      from owned o cross join given s cross join (
        select max(position) as position from run_steps where run_id = ${id}) last
      on conflict (run_id, step_key) do update set
        state = excluded.state, attempt = excluded.attempt, started_at = excluded.started_at,
        ended_at = excluded.ended_at, input = excluded.input, usage = excluded.usage,
        error = excluded.error, result = excluded.result, has_payload = excluded.has_payload
      where run_steps.state <> 'finished')
    select count(*) > 0 as is_ours from owned`
  return row.isOurs
}

/** What may hold any character goes as text: PostgreSQL would look into JSON within JSON. */
function toRow({ startedAt, endedAt, input, result, ...step }: StepRecord) {
  const isFinished = step.state === 'finished'
  const text = isFinished ? JSON.stringify(result ?? null) : undefined
  return {
    ...step,
    started_at: startedAt,
    ended_at: endedAt,
    input: input === undefined ? undefined : JSON.stringify(input),
    result: text,
    has_payload: text !== undefined && text.length > RESULT_CHARACTERS_MAX,
  }
}

/** What a new attempt needs to know of the former ones. */
export interface Journal {
  /** The finished steps, but for those that are a part of another finished one. */
  readonly steps: readonly RecordedStep[]
  /** The last attempt in which a step finished; 0: none did. */
  readonly advancedIn: number
}

/** Loads the journal of a run. */
export async function loadJournal(sql: Queryable, runId: string): Promise<Journal> {
  const rows = await sql<(RecordedStep & { attempt: number })[]>`
    select s.step_key as step, s.kind, coalesce(s.result, p.content) as result, s.usage, s.attempt
    from run_steps s
      left join run_steps around on around.run_id = s.run_id and around.step_key = s.parent
      left join run_payloads p on p.run_id = s.run_id and p.step_key = s.step_key
    where s.run_id = ${runId} and s.state = 'finished' and around.state is distinct from 'finished'
    order by s.position`
  return {
    steps: rows.map(({ step, kind, result, usage }) => ({
      step,
      kind,
      result,
      ...(usage ? { usage } : {}),
    })),
    advancedIn: Math.max(0, ...rows.map(({ attempt }) => attempt)),
  }
}

/** A step of a run, without its result. */
export interface ListedStep {
  readonly key: string
  readonly kind: StepKind
  readonly name: string
  readonly path: readonly string[]
  readonly parent: string | null
  readonly state: StepState
  /** The last attempt that performed it; 0: it was kept from the run that this one follows. */
  readonly attempt: number
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly usage: StepUsage | null
  readonly error: Failure | null
}

/** The most steps of a run that are listed. */
const STEPS_MAX = 10_000

/** Lists the steps of a run in the order in which they began first. */
export async function listSteps(
  sql: Queryable,
  runId: string,
  limit = STEPS_MAX,
): Promise<ListedStep[]> {
  return sql<ListedStep[]>`
    select step_key as key, kind, name, path, parent, state, attempt, started_at, ended_at, usage,
      error
    from run_steps where run_id = ${runId} order by position, step_key limit ${limit}`
}

/** How many steps a run has. */
export interface StepCounts {
  readonly own: number
  /** Those that were kept from the run that it follows. */
  readonly carried: number
}

/** Counts the steps of a run: those that it began itself, and those that it kept. */
export async function countSteps(sql: Queryable, runId: string): Promise<StepCounts> {
  const [counts] = await sql<[StepCounts]>`
    select count(*) filter (where attempt > 0)::int as own,
      count(*) filter (where attempt = 0)::int as carried
    from run_steps where run_id = ${runId}`
  return counts
}
