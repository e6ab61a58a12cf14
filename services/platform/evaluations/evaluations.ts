import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'
import { pinVersion } from '../projects/draft-tests.ts'
import { unlessHeld } from '../runs/run-retention.ts'
import { getCaseSet } from './case-sets.ts'
import type { Scores } from './scores.ts'

/**
 * The evaluations of an automation that are kept; a new one takes the place of the oldest. Those
 * that a hold keeps stay beside them.
 */
export const EVALUATIONS_MAX = 50
/** The most runs of an evaluation: cases, times versions, times repetitions. */
const RUNS_MAX = 100_000
/** How often each case is performed at the most. */
export const REPEAT_MAX = 10
/** The evaluations of an organization that are in progress at a time. */
const IN_PROGRESS_MAX = 5

/** Which versions perform which cases. */
export interface EvaluationFields {
  /** The name of a set of the automation. */
  readonly set: string
  /** The number of a version of the automation's project. */
  readonly version: number
  /** The version beside it; null: none. */
  readonly against: number | null
  /** How often each case is performed. */
  readonly repeat: number
  /** So many of the newest cases; null: all. */
  readonly newest: number | null
}

/** A set that one or two versions perform. */
export interface Evaluation extends EvaluationFields {
  readonly id: string
  readonly setId: string
  readonly cases: number
  /** Its runs, and those that are not done yet. */
  readonly runs: number
  readonly waiting: number
  readonly createdAt: Date
  readonly createdBy: string
  /** null: it is in progress. */
  readonly finishedAt: Date | null
  /** null: it is in progress, or was given up. */
  readonly scores: Scores | null
  /** Why it was given up. */
  readonly givenUp: string | null
}

/** Selects evaluations `e` by a condition, newest first. */
const selectEvaluations = (sql: Queryable, where: ReturnType<Queryable>) =>
  sql<Evaluation[]>`
    select e.id, s.name as set, e.set_id, coalesce(v.number, v.copy_of) as version,
      coalesce(a.number, a.copy_of) as against, e.repeat, e.newest, e.cases,
      e.cases * e.repeat * (1 + (e.against_id is not null)::int) as runs, e.created_at,
      e.created_by, e.finished_at, e.scores, e.given_up,
      case when e.finished_at is not null then 0 else (
        select count(*)::int from evaluation_runs
        where evaluation_id = e.id and state in ('queued', 'running')) end as waiting
    from evaluations e join case_sets s on s.id = e.set_id
      join project_versions v on v.id = e.version_id
      left join project_versions a on a.id = e.against_id
    where ${where} order by e.created_at desc, e.id`

/** Returns the evaluations of an automation, newest first. */
export const listEvaluations = (sql: Queryable, deploymentId: number): Promise<Evaluation[]> =>
  selectEvaluations(sql, sql`e.deployment_id = ${deploymentId}`)

/** Returns an evaluation of an automation, if it exists. */
export async function findEvaluation(
  sql: Queryable,
  { id, deploymentId }: { readonly id: string; readonly deploymentId: number },
): Promise<Evaluation | undefined> {
  const [found] = await selectEvaluations(
    sql,
    sql`e.id = ${id} and e.deployment_id = ${deploymentId}`,
  )
  return found
}

/**
 * Deletes an evaluation with its results; what of it is in progress is given up. Raises `conflict`
 * for one with a result that a hold keeps.
 */
export async function deleteEvaluation(
  sql: Queryable,
  { id }: Pick<Evaluation, 'id'>,
): Promise<void> {
  await unlessHeld('results of this evaluation', sql`delete from evaluations where id = ${id}`)
}

type OfAutomation = Pick<Automation, 'id' | 'organizationId' | 'projectVersionId'>

/**
 * Lets workers perform the cases of a set. Raises `unprocessable` for a set or a version that is
 * not there, a set without cases, and too many runs; `conflict` while the organization has as many
 * evaluations in progress as it may.
 */
export async function createEvaluation(
  sql: Queryable,
  automation: OfAutomation,
  { createdBy, ...fields }: EvaluationFields & { readonly createdBy: string },
): Promise<Evaluation> {
  const { id: deploymentId, organizationId } = automation
  return inTransaction(sql, async (tx) => {
    // One after the other, so that no two exceed what may be in progress.
    await tx`select from organizations where id = ${organizationId} for no key update`
    await refuseMany(tx, organizationId)
    const set = await getCaseSet(tx, { name: fields.set, deploymentId })
    const { repeat, newest } = fields
    const cases = Math.min(newest ?? set.size, set.size)
    if (cases === 0) throw new AppError('unprocessable', `The set "${set.name}" has no cases.`)
    const runs = cases * repeat * (fields.against === null ? 1 : 2)
    if (runs > RUNS_MAX) throw tooMany(runs)
    const versionId = await pinVersion(tx, automation, fields.version)
    const { against } = fields
    const againstId = against === null ? null : await pinVersion(tx, automation, against)
    const of = { organizationId, deploymentId, setId: set.id, revision: set.revision }
    const row = { ...of, versionId, againstId, repeat, newest, cases, createdBy }
    const [{ id }] = await tx<[{ id: string }]>`
      insert into evaluations ${tx({ ...row, checks: tx.json([]) })} returning id`
    await tx`
      update evaluations set checks = (select checks from case_sets where id = ${set.id})
      where id = ${id}`
    await enqueue(tx, { id, setId: set.id, cases })
    await tx`
      delete from evaluations e where id in (
        select id from evaluations where deployment_id = ${deploymentId}
        order by created_at desc, id offset ${EVALUATIONS_MAX})
        and not evaluation_is_held(e)`
    const [made] = await selectEvaluations(tx, tx`e.id = ${id}`)
    if (!made) throw new Error('an evaluation that was just made is not there')
    return made
  })
}

const tooMany = (runs: number): AppError =>
  new AppError(
    'unprocessable',
    `These are ${runs} runs, and an evaluation has at most ${RUNS_MAX}. Take fewer of the newest ` +
      'cases, or repeat them less often.',
  )

interface Queued {
  readonly id: string
  readonly setId: string
  readonly cases: number
}

const enqueue = (tx: Transaction, { id, setId, cases }: Queued) => tx`
  insert into evaluation_runs (evaluation_id, case_id, is_against, repetition, position)
  select e.id, c.id, s.is_against, r.repetition,
    row_number() over (order by c.position, r.repetition, s.is_against) - 1
  from evaluations e
    cross join lateral (
      select id, position from cases where set_id = ${setId}
      order by position desc limit ${cases}) c
    cross join lateral (
      select false as is_against union all select true where e.against_id is not null) s
    cross join lateral generate_series(0, e.repeat - 1) r (repetition)
  where e.id = ${id}`

async function refuseMany(tx: Transaction, organizationId: number): Promise<void> {
  const [{ count }] = await tx<[{ count: number }]>`
    select count(*)::int as count from evaluations
    where organization_id = ${organizationId} and finished_at is null`
  if (count < IN_PROGRESS_MAX) return
  throw new AppError(
    'conflict',
    `Your organization has ${count} evaluations in progress, and ${IN_PROGRESS_MAX} is the most. ` +
      'Wait for one of them, or delete it.',
  )
}

/** Gives up an evaluation that is in progress. */
export async function giveUpEvaluation(sql: Queryable, id: string, why: string): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await tx`
      update evaluations set finished_at = now(), given_up = ${why}
      where id = ${id} and finished_at is null`
    await tx`
      delete from evaluation_runs where evaluation_id = ${id} and state in ('queued', 'running')`
  })
}
