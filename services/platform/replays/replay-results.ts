import type { Queryable } from '../../shared/postgres/database.ts'
import type { StepUsage } from '../crew-contract/crew-protocol.ts'
import { loadRequest } from '../runs/run-contents.ts'
import type { Failure, RunStatus, Usage } from '../runs/runs.ts'
import type { ReplayedStep } from './replay-queue.ts'

/** What became of a run of a replay: one that is in a queue, or in progress, is `waiting`. */
export type ReplayedState = 'waiting' | 'equal' | 'different' | 'impossible'

/** A run of a replay, as lists show it. */
export interface ReplayedRun {
  readonly runId: string
  readonly state: ReplayedState
  /** The number of the version that it was of; null: the draft that a test ran. */
  readonly version: number | null
  /** Why it differs, or cannot be replayed. */
  readonly reason: string | null
  /** The first step that differs. */
  readonly step: ReplayedStep | null
  /** The time that it took, and that the recorded run took. */
  readonly ms: number | null
  readonly recordedMs: number | null
  readonly usage: StepUsage | null
  readonly recordedUsage: Usage | null
  /** The tokens of the models that were asked, and their cost; null: none, or without a price. */
  readonly askedTokens: number | null
  readonly usd: number | null
}

/** A run of a replay with what was asked and put out, now and as it was recorded. */
export interface ReplayedOutcome extends ReplayedRun {
  readonly output: string | null
  readonly recorded: {
    readonly status: RunStatus
    readonly output: string | null
    readonly error: Failure | null
  }
  /** What the first step that differs asks; undefined: nothing. */
  readonly request: unknown
  /** What it asked in the record; undefined: nothing, or it is not kept any more. */
  readonly recordedRequest: unknown
}

const columns = (sql: Queryable) => sql`
  r.run_id, case when r.finished_at is null then 'waiting' else r.state end as state,
  v.number as version, r.reason, r.step, r.usage, e.usage as recorded_usage,
  r.asked_tokens::float8 as asked_tokens, r.usd::float8 as usd,
  (extract(epoch from r.finished_at - r.started_at) * 1000)::int as ms,
  (extract(epoch from e.finished_at - e.started_at) * 1000)::int as recorded_ms`

const joined = (sql: Queryable) => sql`
  replay_runs r join executions e on e.id = r.run_id
    join project_versions v on v.id = e.project_version_id`

/** Returns the runs of a replay: those that differ first, then the newest. */
export const listReplayedRuns = (sql: Queryable, replayId: string): Promise<ReplayedRun[]> =>
  sql<ReplayedRun[]>`
    select ${columns(sql)} from ${joined(sql)} where r.replay_id = ${replayId}
    order by array_position(
      array['different', 'impossible', 'running', 'queued', 'equal'], r.state), r.position`

type OutcomeRow = ReplayedRun &
  ReplayedOutcome['recorded'] & {
    readonly replayedOutput: string | null
    readonly address: Buffer | null
    readonly request: unknown
  }

/** Returns a run of a replay with all that is to be compared, if it is one. */
export async function findReplayedRun(
  sql: Queryable,
  { replayId, runId }: { readonly replayId: string; readonly runId: string },
): Promise<ReplayedOutcome | undefined> {
  const [found] = await sql<OutcomeRow[]>`
    select ${columns(sql)}, r.output as replayed_output, r.recorded_request as address, r.request,
      e.status, e.output, e.error
    from ${joined(sql)} where r.replay_id = ${replayId} and r.run_id = ${runId}`
  if (!found) return undefined
  const { replayedOutput, address, status, output, error, request, ...run } = found
  const recordedRequest = address ? await loadRequest(sql, { runId, address }) : undefined
  const recorded = { status, output, error }
  const asked = request ?? undefined
  return { ...run, output: replayedOutput, recorded, request: asked, recordedRequest }
}
