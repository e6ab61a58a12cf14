import type { Queryable } from '../../shared/postgres/database.ts'
import { isUuid } from '../automations/automations.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import type { Finding } from './checks.ts'
import { perCase } from './scores.ts'

/** What a run of a case may have become; `waiting` is in a queue, or in progress. */
export const RESULT_STATES = ['waiting', 'passed', 'failed', 'error'] as const
/** What became of a run of a case. */
export type ResultState = (typeof RESULT_STATES)[number]

/** A run of a case in an evaluation. */
export interface CaseOutcome {
  readonly position: number
  readonly caseId: string
  readonly name: string | null
  readonly inputs: Inputs
  readonly expected: string | null
  /** The number of the version that performed it. */
  readonly version: number
  readonly repetition: number
  readonly state: ResultState
  readonly reason: string | null
  readonly output: string | null
  readonly findings: readonly Finding[]
  readonly tools: readonly string[]
  readonly tokens: number | null
  readonly usd: number | null
  readonly ms: number | null
}

/** Which results, in their order. */
interface ResultPage {
  readonly after: number
  readonly limit: number
  /** null: all. */
  readonly state: ResultState | null
}

/** Returns the results of an evaluation after a position. */
export const listResults = (
  sql: Queryable,
  id: string,
  { after, limit, state }: ResultPage,
): Promise<CaseOutcome[]> => sql<CaseOutcome[]>`
  select r.position, r.case_id, c.name, c.inputs, c.expected,
    coalesce(v.number, v.copy_of) as version, r.repetition,
    case when r.finished_at is null then 'waiting' else r.state end as state, r.reason, r.output,
    coalesce(r.findings, '[]') as findings, coalesce(r.tools, '[]') as tools,
    (r.input_tokens + r.output_tokens)::float8 as tokens, r.usd::float8 as usd,
    (extract(epoch from r.finished_at - r.started_at) * 1000)::int as ms
  from evaluation_runs r join evaluations e on e.id = r.evaluation_id
    join cases c on c.id = r.case_id
    join project_versions v on v.id = case when r.is_against then e.against_id
      else e.version_id end
  where r.evaluation_id = ${id} and r.position > ${after}
    and (${state}::text is null
      or case when r.finished_at is null then 'waiting' else r.state end = ${state})
  order by r.position limit ${limit}`

/** Reads all results of an evaluation, some at a time. */
export async function* eachResult(sql: Queryable, id: string): AsyncGenerator<CaseOutcome> {
  for (let after = -1; ;) {
    const results = await listResults(sql, id, { after, limit: 200, state: null })
    yield* results
    const last = results.at(-1)
    if (!last) return
    after = last.position
  }
}

/** A case that only one of two versions passes. */
export interface ChangedCase {
  readonly caseId: string
  readonly name: string | null
  readonly inputs: Inputs
  /** The version passes it, and the one beside it does not. */
  readonly isBetter: boolean
  /** Why the version that does not pass it fails. */
  readonly reason: string | null
}

/** Returns the cases that changed side: those that became worse first. */
export const listChanged = (sql: Queryable, id: string, limit: number): Promise<ChangedCase[]> =>
  sql<ChangedCase[]>`
    with ${perCase(sql, id)}
    select c.id as case_id, c.name, c.inputs, v.passed as is_better, (
      select reason from evaluation_runs r
      where r.evaluation_id = ${id} and r.case_id = c.id and r.is_against = v.passed
        and r.state <> 'passed' order by r.position limit 1) as reason
    from per_case v join per_case a using (case_id) join cases c on c.id = case_id
    where a.is_against and not v.is_against and v.passed <> a.passed
    order by v.passed, c.position limit ${limit}`

/** Returns true for an evaluation of an organization. */
export async function isEvaluationOf(
  sql: Queryable,
  { id, organizationId }: { readonly id: string; readonly organizationId: number },
): Promise<boolean> {
  if (!isUuid(id)) return false
  const found = await sql`
    select from evaluations where id = ${id} and organization_id = ${organizationId}`
  return found.length > 0
}
