import type { Queryable } from '../../shared/postgres/database.ts'
import type { ProgressEvent } from './run-queue.ts'
import type { Usage } from './runs.ts'

/** One event of a run. */
export interface Progress {
  /** The attempt that reported it: a run that was handed over or tried again has several. */
  readonly attempt: number
  /** Its index within the attempt, from 0. */
  readonly position: number
  readonly event: ProgressEvent
  readonly recordedAt: Date
}

/** The position of an event in a run. */
type Position = Pick<Progress, 'attempt' | 'position'>

/** Returns the newest `limit` events of a run, over all of its attempts, in order. */
export const listProgress = (sql: Queryable, runId: string, limit: number): Promise<Progress[]> =>
  readSteps(sql, runId, { limit })

async function readSteps(
  sql: Queryable,
  runId: string,
  { limit, before }: { limit: number; before?: Position | undefined },
): Promise<Progress[]> {
  return sql<Progress[]>`
    select attempt, position, event, recorded_at from (
      select attempt, position, event, recorded_at from execution_events
      where ${precedes(sql, runId, before)}
      order by attempt desc, position desc limit ${limit}) newest
    order by attempt, position`
}

/** Returns the tokens of the model calls that a run has reported; undefined before the first. */
export async function countTokens(sql: Queryable, runId: string): Promise<Usage | undefined> {
  const tokens = (key: string) => sql`
    sum(case jsonb_typeof(event -> ${key}::text) when 'number'
      then (event ->> ${key}::text)::numeric else 0 end)::float8`
  const [sums] = await sql<[{ calls: number } & Usage]>`
    select count(*)::int as calls, ${tokens('input_tokens')} as input_tokens,
      ${tokens('output_tokens')} as output_tokens
    from execution_events where execution_id = ${runId} and event ->> 'type' = 'llm_call'`
  const { calls, inputTokens, outputTokens } = sums
  return calls > 0 ? { inputTokens, outputTokens } : undefined
}

/** A part of a run's events. */
export interface ProgressPage {
  readonly steps: readonly Progress[]
  /** The number of events before them, and the cursor of the page that ends with those. */
  readonly earlier: { readonly count: number; readonly cursor: string } | undefined
  /** No events follow them. */
  readonly isNewest: boolean
}

/** Returns one page of a run's events: the newest, or those before a cursor such as `1.500`. */
export async function readProgressPage(
  sql: Queryable,
  runId: string,
  { limit, cursor = '' }: { limit: number; cursor?: string | undefined },
): Promise<ProgressPage> {
  const [, attempt, position] = /^(\d{1,9})\.(\d{1,9})$/.exec(cursor) ?? []
  const before =
    attempt && position ? { attempt: Number(attempt), position: Number(position) } : undefined
  const steps = await readSteps(sql, runId, { limit, before })
  const [first] = steps
  const count = first && steps.length === limit ? await countBefore(sql, runId, first) : 0
  const earlier =
    first && count > 0 ? { count, cursor: `${first.attempt}.${first.position}` } : undefined
  return { steps, earlier, isNewest: before === undefined }
}

async function countBefore(sql: Queryable, runId: string, before: Position): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from execution_events
    where ${precedes(sql, runId, before)}`
  return row.count
}

const precedes = (sql: Queryable, runId: string, before: Position | undefined) => sql`
  execution_id = ${runId}
  ${before ? sql`and (attempt, position) < (${before.attempt}, ${before.position})` : sql``}`
