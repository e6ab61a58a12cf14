import type { Queryable } from '../../shared/postgres/database.ts'
import { costOfModels } from '../../shared/prices/find-price.ts'
import type { ModelUse } from '../../shared/prices/find-price.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { listOwnPrices, modelsCalledBy } from '../budgets/model-prices.ts'
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
  /** What the models of the recorded run cost on its day; null: unknown. */
  readonly recordedUsd: number | null
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
  (extract(epoch from e.finished_at - e.started_at) * 1000)::int as recorded_ms,
  ${modelsCalledBy(sql, sql`e.id`)} as models, e.organization_id, e.finished_at`

interface Unpriced {
  readonly models: readonly ModelUse[]
  readonly organizationId: number
  readonly finishedAt: Date
}

/** Of a run whose steps are not kept any more, the cost is unknown. */
async function price<Row extends Omit<ReplayedRun, 'recordedUsd'>>(
  sql: Queryable,
  rows: readonly (Row & Unpriced)[],
  prices: readonly Price[],
) {
  const organizations = new Set(rows.map(({ organizationId }) => organizationId))
  const known = [...(await listOwnPrices(sql, ...organizations)), ...prices]
  return rows.map(({ models, organizationId, finishedAt: at, ...row }) => {
    const { inputTokens = 0, outputTokens = 0 } = row.recordedUsage ?? {}
    const isKept = models.length > 0 || inputTokens + outputTokens === 0
    const usd = costOfModels(models, known, { organization: String(organizationId), at })
    return { ...row, recordedUsd: isKept ? (usd ?? null) : null }
  })
}

const joined = (sql: Queryable) => sql`
  replay_runs r join executions e on e.id = r.run_id
    join project_versions v on v.id = e.project_version_id`

/** Returns the runs of a replay: those that differ first, then the newest. */
export async function listReplayedRuns(
  sql: Queryable,
  replayId: string,
  prices: readonly Price[] = [],
): Promise<ReplayedRun[]> {
  const rows = await sql<(Omit<ReplayedRun, 'recordedUsd'> & Unpriced)[]>`
    select ${columns(sql)} from ${joined(sql)} where r.replay_id = ${replayId}
    order by array_position(
      array['different', 'impossible', 'running', 'queued', 'equal'], r.state), r.position`
  return price(sql, rows, prices)
}

type OutcomeRow = Omit<ReplayedRun, 'recordedUsd'> &
  ReplayedOutcome['recorded'] & {
    readonly replayedOutput: string | null
    readonly address: Buffer | null
    readonly request: unknown
  }

/** Returns a run of a replay with all that is to be compared, if it is one. */
export async function findReplayedRun(
  sql: Queryable,
  { replayId, runId }: { readonly replayId: string; readonly runId: string },
  prices: readonly Price[] = [],
): Promise<ReplayedOutcome | undefined> {
  const rows = await sql<(OutcomeRow & Unpriced)[]>`
    select ${columns(sql)}, r.output as replayed_output, r.recorded_request as address, r.request,
      e.status, e.output, e.error
    from ${joined(sql)} where r.replay_id = ${replayId} and r.run_id = ${runId}`
  const [found] = await price(sql, rows, prices)
  if (!found) return undefined
  const { replayedOutput, address, status, output, error, request, ...run } = found
  const recordedRequest = address ? await loadRequest(sql, { runId, address }) : undefined
  const recorded = { status, output, error }
  const asked = request ?? undefined
  return { ...run, output: replayedOutput, recorded, request: asked, recordedRequest }
}
