import type { Queryable } from '../../shared/postgres/database.ts'
import { excerpt, storable } from '../crew-contract/event-text.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import type { Check, Finding } from './checks.ts'

/** The time that a worker has for a run; it is not renewed. */
const LEASE_SECONDS = 960
/** The most characters of an output that are kept. */
const OUTPUT_CHARACTERS_MAX = 32_768

/** A run of a case that a worker is to perform, until its lease ends. */
export interface TakenCase {
  readonly id: string
  readonly leaseId: string
  /** How often it was taken, this time included. */
  readonly attempt: number
  readonly evaluationId: string
  readonly organizationId: number
  readonly deploymentId: number
  readonly caseId: string
  readonly inputs: Inputs
  readonly expected: string | null
  readonly checks: readonly Check[]
  readonly definition: CrewDefinition
  readonly versionId: number
  /** The address of the crew that would run the version. */
  readonly url: string | null
  readonly crewAutomationId: string
}

const isDue = (sql: Queryable) => sql`(
  (state = 'queued' and available_at <= now()) or (state = 'running' and lease_expires_at < now()))`

/** The condition under which all runs of an evaluation `e` are done, and it is not ended yet. */
export const isDone = (sql: Queryable) => sql`
  finished_at is null and not exists (
    select from evaluation_runs
    where evaluation_id = e.id and state in ('queued', 'running'))`

/** The condition under which a worker has a case to perform, or an evaluation to end. */
export const hasDueCases = (sql: Queryable) => sql`
  (exists (select from evaluation_runs where ${isDue(sql)})
    or exists (select from evaluations e where ${isDone(sql)}))`

/** Takes runs of cases, of each evaluation in turn. */
export async function takeCases(sql: Queryable, limit: number): Promise<TakenCase[]> {
  return sql<TakenCase[]>`
    with due as (
      select id from evaluation_runs
      where ${isDue(sql)}
      order by position, evaluation_id limit ${limit} for update skip locked),
    taken as (
      update evaluation_runs r set state = 'running', attempt = attempt + 1,
        lease_id = gen_random_uuid(), started_at = now(),
        lease_expires_at = now() + make_interval(secs => ${LEASE_SECONDS})
      from due d where r.id = d.id returning r.*)
    select t.id, t.lease_id, t.attempt, t.evaluation_id, e.organization_id, e.deployment_id,
      c.id as case_id, c.inputs, c.expected, e.checks, v.definition, v.id as version_id, crew.url,
      crew.automation_id as crew_automation_id
    from taken t join evaluations e on e.id = t.evaluation_id join cases c on c.id = t.case_id
      join project_versions v on v.id = case when t.is_against then e.against_id
        else e.version_id end
      join deployments d on d.id = e.deployment_id
      join deployments crew on crew.id = coalesce(d.runs_on, d.id)
    order by t.position, t.evaluation_id`
}

/** Gives a run back, due after some time; the attempt does not count. */
export async function putBackCase(
  sql: Queryable,
  taken: TakenCase,
  delaySeconds = 0,
): Promise<void> {
  await sql`
    update evaluation_runs set state = 'queued', attempt = attempt - 1, lease_id = null,
      lease_expires_at = null, available_at = now() + make_interval(secs => ${delaySeconds})
    where ${isOurs(sql, taken)}`
}

/** Gives a run back whose crew broke. */
export async function retryCase(sql: Queryable, taken: TakenCase): Promise<void> {
  await sql`
    update evaluation_runs set state = 'queued', lease_id = null, lease_expires_at = null
    where ${isOurs(sql, taken)}`
}

/** What a version made of a case. */
export interface CaseResult {
  readonly state: 'passed' | 'failed' | 'error'
  readonly reason?: string | undefined
  readonly output?: string | undefined
  readonly findings?: readonly Finding[] | undefined
  readonly tools?: readonly string[] | undefined
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  /** null: a model has no price. */
  readonly usd?: number | null | undefined
}

/** Stores what a version made of a case, if the run is still this worker's. */
export async function finishCase(
  sql: Queryable,
  taken: TakenCase,
  { output, findings = [], tools = [], ...result }: CaseResult,
): Promise<void> {
  const { state, reason, inputTokens = 0, outputTokens = 0, usd = 0 } = result
  const kept = output === undefined ? null : excerpt(output, OUTPUT_CHARACTERS_MAX)
  await sql`
    update evaluation_runs set state = ${state}, finished_at = now(), lease_id = null,
      lease_expires_at = null, reason = ${reason?.slice(0, 2000) ?? null}, output = ${kept},
      findings = ${storable(findings)}::text::jsonb, tools = ${storable(tools)}::text::jsonb,
      input_tokens = ${inputTokens}, output_tokens = ${outputTokens},
      usd = ${usd === null ? null : String(usd)}::text::numeric
    where ${isOurs(sql, taken)}`
}

const isOurs = (sql: Queryable, { id, leaseId }: TakenCase) =>
  sql`id = ${id} and lease_id = ${leaseId}`
