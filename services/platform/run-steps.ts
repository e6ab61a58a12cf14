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

/** Entries in the JSON that the database takes. */
export interface EncodedEntries {
  readonly events: readonly string[]
  readonly steps: ReadonlyMap<string, { readonly state: StepState; readonly json: string }>
  readonly characters: number
}

/** The entries of one run among those of others. */
export interface RunEntries {
  readonly lease: Lease
  readonly entries: EncodedEntries
}

/**
 * What became of the entries of a run: `lost`, the run is no longer this worker's, and nothing was
 * written; `locked`, somebody is changing the run at this moment, and nothing was written yet.
 */
export type WriteState = 'written' | 'lost' | 'locked'

/** Encodes what a worker writes. */
export function encodeEntries({ events, steps }: JournalEntries): EncodedEntries {
  const written = events.map((each) => JSON.stringify(each))
  const rows = steps.map((step) => [step.key, { state: step.state, json: toRow(step) }] as const)
  const texts = [...written, ...rows.map(([, { json }]) => json)]
  const characters = texts.reduce((sum, { length }) => sum + length, 0)
  return { events: written, steps: new Map(rows), characters }
}

/** Joins entries of one run, the oldest first: a step is as it was last, or finished. */
export function joinEntries(parts: readonly EncodedEntries[]): EncodedEntries {
  const [first, ...others] = parts
  if (first && others.length === 0) return first
  const steps = new Map(first?.steps)
  for (const part of others) {
    for (const [key, step] of part.steps) {
      if (steps.get(key)?.state !== 'finished') steps.set(key, step)
    }
  }
  const characters = parts.reduce((sum, part) => sum + part.characters, 0)
  return { events: parts.flatMap(({ events }) => events), steps, characters }
}

/**
 * Writes events and steps of a run in one commit, if the worker still owns the run; the same again
 * changes nothing. A step that finished stays as it is. A run that advances is not what kills its
 * workers: its lost attempts are forgotten. Returns false when the run is no longer this worker's:
 * nothing was written.
 */
export async function recordProgress(
  sql: Queryable,
  lease: Lease,
  entries: JournalEntries,
): Promise<boolean> {
  const [state] = await write(sql, [{ lease, entries: encodeEntries(entries) }], sql``)
  return state === 'written'
}

/** Does the same for entries that are encoded. */
export async function recordEncoded(sql: Queryable, run: RunEntries): Promise<boolean> {
  const [state] = await write(sql, [run], sql``)
  return state === 'written'
}

/**
 * Does the same for several runs in one commit; waits for none that somebody else is changing.
 * Returns what became of each.
 */
export async function recordTogether(
  sql: Queryable,
  runs: readonly RunEntries[],
): Promise<WriteState[]> {
  return write(sql, runs, sql`skip locked`)
}

async function write(
  sql: Queryable,
  runs: readonly RunEntries[],
  ifLocked: ReturnType<Queryable>,
): Promise<WriteState[]> {
  const { parts, events, steps } = toParameters(runs)
  const states = await sql<{ lease: string; state: WriteState }[]>`
    with part as materialized (
      select * from json_to_recordset(${parts}::text::json)
        as p (run uuid, lease uuid, advances boolean)),
    known as (
      select p.lease from part p join executions e on e.id = p.run and e.lease_id = p.lease),
    owned as materialized (
      -- Nobody takes these runs over before this is committed. All lock them in one order.
      select e.id, e.attempt, p.lease, p.advances
      from part p join executions e on e.id = p.run and e.lease_id = p.lease
      order by e.id for no key update of e ${ifLocked}),
    placed as (
      select o.*, last_step_position(o.id) as last from owned o),
    given as materialized (
      select o.id, o.attempt, o.last, s.* from placed o join json_to_recordset(
          ${steps}::text::json)
        as s (lease uuid, line int, key text, kind text, name text, path jsonb, parent text,
          state text, started_at timestamptz, ended_at timestamptz, input text, usage jsonb,
          error jsonb, result text, has_payload boolean) on s.lease = o.lease),
    noted as (
      insert into execution_events (execution_id, attempt, position, event)
      select o.id, o.attempt, e.position, e.event
      from owned o join json_to_recordset(${events}::text::json)
        as e (lease uuid, position int, event jsonb) on e.lease = o.lease
      order by o.id, e.position
      on conflict do nothing),
    kept as (
      insert into run_payloads (run_id, step_key, content)
      select id, key, result::json from given where has_payload
      on conflict (run_id, step_key) do update set content = excluded.content),
    advanced as (
      update executions e set lost_attempts = 0 from owned o
      where e.id = o.id and o.advances and e.lost_attempts > 0),
    written as (
      insert into run_steps (run_id, step_key, position, kind, name, path, parent, state, attempt,
        started_at, ended_at, input, usage, error, result, has_payload)
      select g.id, g.key, coalesce(g.last, -1) + g.line, g.kind, g.name, g.path, g.parent,
        g.state, g.attempt, g.started_at, g.ended_at, g.input::json, g.usage, g.error,
        case when not g.has_payload then g.result::json end, g.has_payload
      from given g
      on conflict (run_id, step_key) do update set
        state = excluded.state, attempt = excluded.attempt, started_at = excluded.started_at,
        ended_at = excluded.ended_at, input = excluded.input, usage = excluded.usage,
        error = excluded.error, result = excluded.result, has_payload = excluded.has_payload
      where run_steps.state <> 'finished')
    select p.lease, case when o.lease is not null then 'written'
      when k.lease is not null then 'locked' else 'lost' end as state
    from part p left join owned o on o.lease = p.lease left join known k on k.lease = p.lease`
  const stateOf = new Map(states.map(({ lease, state }) => [lease, state]))
  return runs.map(({ lease }) => stateOf.get(lease.leaseId) ?? 'lost')
}

/** The rows of three statements, each with the lease of its run. */
function toParameters(runs: readonly RunEntries[]) {
  const parts: string[] = []
  const events: string[] = []
  const steps: string[] = []
  for (const { lease, entries } of runs) {
    const rows = [...entries.steps.values()]
    const advances = rows.some(({ state }) => state === 'finished')
    parts.push(JSON.stringify({ run: lease.id, lease: lease.leaseId, advances }))
    const owner = `{"lease":"${lease.leaseId}"`
    for (const json of entries.events) events.push(`${owner},${json.slice(1)}`)
    rows.forEach(({ json }, at) => steps.push(`${owner},"line":${at + 1},${json.slice(1)}`))
  }
  return { parts: listOf(parts), events: listOf(events), steps: listOf(steps) }
}

const listOf = (rows: readonly string[]): string => `[${rows.join(',')}]`

/** What may hold any character goes as text: PostgreSQL would look into JSON within JSON. */
function toRow({ startedAt, endedAt, input, result, ...step }: StepRecord): string {
  const isFinished = step.state === 'finished'
  const text = isFinished ? JSON.stringify(result ?? null) : undefined
  return JSON.stringify({
    ...step,
    started_at: startedAt,
    ended_at: endedAt,
    input: input === undefined ? undefined : JSON.stringify(input),
    result: text,
    has_payload: text !== undefined && text.length > RESULT_CHARACTERS_MAX,
  })
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
  // No joins: a plan for a day that has no statistics yet compares each step with each other one.
  const rows = await sql<(RecordedStep & { attempt: number })[]>`
    select s.step_key as step, s.kind, s.usage, s.attempt,
      case when s.has_payload then (
        select content from run_payloads where run_id = ${runId} and step_key = s.step_key)
      else s.result end as result
    from run_steps s
    where s.run_id = ${runId} and s.state = 'finished' and (s.parent is null or s.parent not in (
      select step_key from run_steps where run_id = ${runId} and state = 'finished'))
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
