import type { Queryable } from '../../shared/postgres/database.ts'
import type { RecordedStep, StepUsage } from '../crew-contract/crew-protocol.ts'
import type { StepState } from './journal-entries.ts'
import type { Failure } from './runs.ts'
import type { StepKind } from '../crew-contract/step-key.ts'

/** What a new attempt needs to know of the former ones. */
interface Journal {
  /** The finished steps, but for those that are a part of another finished one. */
  readonly steps: readonly RecordedStep[]
  /** The last attempt in which a step finished; 0: none did. */
  readonly advancedIn: number
}

/** Loads the journal of a run. */
export async function loadJournal(sql: Queryable, runId: string): Promise<Journal> {
  const rows = await sql<(RecordedStep & { attempt: number })[]>`
    select step, kind, usage, attempt, result from journal_of_run(${runId})`
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
