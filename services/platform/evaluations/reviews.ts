import { AppError } from '../../shared/errors.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'
import { isUuid } from '../automations/automations.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import { addTraceNote, TRACE_NOTES_MAX } from '../traces/trace-notes.ts'
import type { TraceNote } from '../traces/trace-notes.ts'
import { rescoreEvaluation } from './scores.ts'
import { getScoreRule, isOfShare } from './score-rules.ts'

/** The newest runs of an automation that are looked at. */
const RUNS_MAX = 10_000

/** Runs, and results of evaluations that no check could judge. */
export const REVIEWED_KINDS = ['run', 'result'] as const

/** An answer that waits for a person to rate it. */
export interface Review {
  readonly kind: (typeof REVIEWED_KINDS)[number]
  /** Of the run, or of the result. */
  readonly id: string
  readonly inputs: Inputs
  readonly output: string
  /** null: no output is known to be right. */
  readonly expected: string | null
  /** Why no check could judge it; null: it is of a run. */
  readonly reason: string | null
  /** null: it is of a run. */
  readonly evaluationId: string | null
  /** The number of the version that answered; null: a draft. */
  readonly version: number | null
  /** The place in the order of the person. */
  readonly place: string
  /** How many wait from this place on. */
  readonly waiting: number
}

/** Which answers, and for whom. */
interface ReviewPage {
  /** Who rates them: each has an order of its own, so that two seldom look at the same one. */
  readonly reviewer: string
  /** Those behind this place; null: all. */
  readonly after: string | null
  /** Those before this place, the nearest first, in place of those behind one. */
  readonly before?: string | null
  readonly limit: number
}

/** Returns the answers of an automation that wait for a person. */
export async function listReviews(
  sql: Queryable,
  { id: deploymentId, organizationId }: Pick<Automation, 'id' | 'organizationId'>,
  { reviewer, after, before = null, limit }: ReviewPage,
): Promise<Review[]> {
  const { reviewedShare } = await getScoreRule(sql, deploymentId)
  return sql<Review[]>`
    with newest as (
      select id, status from executions where deployment_id = ${deploymentId}
        and ${reviewedShare}::int > 0
      order by queued_at desc limit ${RUNS_MAX}),
    waiting as (
      select 'run' as kind, r.id from newest r
      where status = 'completed' and ${isOfShare(sql, sql`r.id`, reviewedShare)}
        and not exists (
          select from trace_notes n where n.organization_id = ${organizationId}
            and n.trace_id = r.id and n.rating is not null)
      union all
      select 'result', t.id from evaluations e join evaluation_runs t on t.evaluation_id = e.id
      where e.deployment_id = ${deploymentId} and ${isUnjudged(sql)}),
    chosen as (
      select * from (
        select *, count(*) over (order by place desc)::int as waiting from (
          select *, md5(${reviewer} || id)::uuid as place from waiting) placed) counted
      where ${
        before === null
          ? sql`${after}::uuid is null or place > ${after}::uuid order by place`
          : sql`place < ${before}::uuid order by place desc`
      } limit ${limit})
    select w.*, coalesce(r.inputs, c.inputs) as inputs, coalesce(r.output, t.output) as output,
      c.expected, t.reason, t.evaluation_id, coalesce(v.number, v.copy_of) as version
    from chosen w
    left join executions r on w.kind = 'run' and r.id = w.id
    left join evaluation_runs t on w.kind = 'result' and t.id = w.id
    left join cases c on c.id = t.case_id left join evaluations e on e.id = t.evaluation_id
    left join project_versions v on v.id = case when w.kind = 'run' then r.project_version_id
      when t.is_against then e.against_id else e.version_id end
    order by w.place ${before === null ? sql`` : sql`desc`}`
}

/** The condition for results `t` that no check could judge, of runs that put something out. */
const isUnjudged = (sql: Queryable) => sql`t.state = 'error' and t.output is not null`

/** What a person finds. */
interface Decision extends Pick<Review, 'kind' | 'id'>, Pick<TraceNote, 'authorId' | 'note'> {
  readonly rating: 'good' | 'bad'
}

/**
 * Keeps what a person finds of an answer: the first one counts. Returns the evaluation that it is
 * of, if any. Raises `conflict` for an answer that is rated already, and `not_found`.
 */
export async function decideReview(
  tx: Transaction,
  automation: Pick<Automation, 'id' | 'organizationId'>,
  decision: Decision,
): Promise<{ readonly evaluationId: string | null }> {
  if (!isUuid(decision.id)) throw unknown()
  if (decision.kind === 'result') return rateResult(tx, automation, decision)
  await rateRun(tx, automation, decision)
  return { evaluationId: null }
}

async function rateRun(
  tx: Transaction,
  { id: deploymentId, organizationId }: Pick<Automation, 'id' | 'organizationId'>,
  { id, ...said }: Decision,
): Promise<void> {
  // One after the other, so that the second one sees the rating of the first.
  const found = await tx`
    select from executions where id = ${id} and deployment_id = ${deploymentId}
      and status = 'completed' for no key update`
  if (found.length === 0) throw unknown()
  const rated = await tx`
    select from trace_notes where organization_id = ${organizationId} and trace_id = ${id}
      and rating is not null limit 1`
  if (rated.length > 0) throw isRated()
  if (await addTraceNote(tx, { organizationId, traceId: id }, said)) return
  throw new AppError('conflict', `The run has ${TRACE_NOTES_MAX} notes; no more are kept.`)
}

async function rateResult(
  tx: Transaction,
  { id: deploymentId }: Pick<Automation, 'id'>,
  { id, rating, note }: Decision,
): Promise<{ readonly evaluationId: string }> {
  // One after the other, so that the scores have the results of both.
  const [found] = await tx<{ evaluationId: string }[]>`
    select id as evaluation_id from evaluations where deployment_id = ${deploymentId}
      and id = (select evaluation_id from evaluation_runs where id = ${id}) for no key update`
  if (!found) throw unknown()
  const state = rating === 'good' ? 'passed' : 'failed'
  const reason = note === '' ? null : note.slice(0, 2000)
  const finding = JSON.stringify([{ type: 'person', state, ...(reason && { reason }) }])
  const { count } = await tx`
    update evaluation_runs t set state = ${state}, reason = ${reason},
      findings = coalesce(findings, '[]') || ${finding}::text::jsonb
    where id = ${id} and ${isUnjudged(tx)}`
  if (count === 0) throw isRated()
  await rescoreEvaluation(tx, found.evaluationId)
  return found
}

const unknown = (): AppError =>
  new AppError('not_found', 'This automation has no such answer, or it was deleted.')

const isRated = (): AppError =>
  new AppError('conflict', 'The answer is rated already: the first rating counts.')
