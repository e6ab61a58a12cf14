import type { Queryable } from '../../shared/postgres/database.ts'
import { isDone } from './evaluation-queue.ts'
import { pairedDifference, wilson } from './statistics.ts'
import type { Estimate } from './statistics.ts'

/** What a version made of the cases. A case is passed when each of its repetitions passes. */
interface SideScore {
  readonly cases: number
  readonly passed: number
  /** Those of which some repetitions pass, and some do not. */
  readonly flaky: number
  /** Those of which something could not be judged. */
  readonly errors: number
  /** The share that passed, with its 95 % interval. */
  readonly share: Estimate
  readonly tokens: number
  /** null: a model has no price. */
  readonly usd: number | null
  /** The mean of a run. */
  readonly seconds: number | null
}

/** What an evaluation found. */
export interface Scores {
  readonly version: SideScore
  readonly against: SideScore | null
  /** Of the cases that both performed: those that changed side, and how the shares differ. */
  readonly difference: {
    readonly better: number
    readonly worse: number
    readonly of: number
    readonly share: Estimate
  } | null
}

/** Of each case `case_id` of an evaluation, what each version made of it. */
export const perCase = (sql: Queryable, id: string) => sql`
  per_case as (
    select case_id, is_against, bool_and(state = 'passed') as passed,
      bool_or(state = 'passed') as ever, bool_or(state = 'error') as errored,
      sum(input_tokens + output_tokens) as tokens,
      case when count(*) = count(usd) then sum(usd) end as usd,
      sum(extract(epoch from finished_at - started_at)) as seconds, count(*) as runs
    from evaluation_runs where evaluation_id = ${id} group by case_id, is_against)`

type Counts = Omit<SideScore, 'share'> & { readonly isAgainst: boolean }

async function readScores(sql: Queryable, id: string): Promise<Scores | undefined> {
  const sides = await sql<Counts[]>`
    with ${perCase(sql, id)}
    select is_against, count(*)::int as cases, count(*) filter (where passed)::int as passed,
      count(*) filter (where ever and not passed)::int as flaky,
      count(*) filter (where errored)::int as errors, coalesce(sum(tokens), 0)::float8 as tokens,
      case when count(*) = count(usd) then sum(usd)::float8 end as usd,
      (sum(seconds) / sum(runs))::float8 as seconds
    from per_case group by is_against`
  const [{ better, worse, of }] = await sql<[{ better: number; worse: number; of: number }]>`
    with ${perCase(sql, id)}
    select count(*) filter (where v.passed and not a.passed)::int as better,
      count(*) filter (where a.passed and not v.passed)::int as worse, count(*)::int as of
    from per_case v join per_case a using (case_id) where a.is_against and not v.is_against`
  const [version, against] = [false, true].map((isAgainst) =>
    toScore(sides.find((each) => each.isAgainst === isAgainst)),
  )
  if (!version) return undefined
  const difference =
    of > 0 ? { better, worse, of, share: pairedDifference({ better, worse, of }) } : null
  return { version, against: against ?? null, difference }
}

function toScore(counts: Counts | undefined): SideScore | undefined {
  if (!counts) return undefined
  const { isAgainst: _, ...score } = counts
  return { ...score, share: wilson(score.passed, score.cases) }
}

/** Keeps the scores of an evaluation anew, of which a result became another one. */
export async function rescoreEvaluation(sql: Queryable, id: string): Promise<void> {
  const scores = await readScores(sql, id)
  await sql`
    update evaluations set scores = ${JSON.stringify(scores)}::text::jsonb
    where id = ${id} and scores is not null`
}

/**
 * Ends the evaluations whose runs are all done, and keeps what was found. More than one service may
 * do so at a time.
 */
export async function closeEvaluations(sql: Queryable): Promise<void> {
  const done = await sql<{ id: string }[]>`
    select id from evaluations e where ${isDone(sql)}`
  for (const { id } of done) {
    const scores = await readScores(sql, id)
    await sql`
      update evaluations set finished_at = now(),
        scores = ${scores ? JSON.stringify(scores) : null}::text::jsonb,
        given_up = ${scores ? null : 'All of its cases were deleted.'}
      where id = ${id} and finished_at is null`
  }
}
