import type { PendingQuery, Row } from 'postgres'
import type { Queryable } from '../../shared/postgres/database.ts'
import { RUN_STATUSES } from './runs.ts'
import type { Run, RunStatus, Trigger } from './runs.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** A run as lists show it: without inputs and output. */
export interface ListedRun extends Pick<
  Run,
  | 'id'
  | 'status'
  | 'attempt'
  | 'queuedAt'
  | 'startedAt'
  | 'finishedAt'
  | 'usage'
  | 'trigger'
  | 'starterName'
> {
  readonly automationId: string
  readonly automationName: string
  /** The project of which it tests a draft; null: it is no test. */
  readonly testsProjectId: number | null
}

/** The runs of a list: those of an organization, or only some of them. */
export interface RunFilter {
  readonly organizationId: number
  readonly deploymentId?: number | undefined
  readonly status?: RunStatus | undefined
  /** A part of the name of the automation. */
  readonly automation?: string | undefined
  readonly trigger?: Trigger | undefined
  /** A part of the name of the person, the token or the client that started it. */
  readonly starter?: string | undefined
  /** Days of UTC on which it was queued, both included: `2026-11-22`. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** The name of a model that it called; `gpt*` is the beginning of one. */
  readonly model?: string | undefined
  readonly minTokens?: number | undefined
  /** Of runs that ended. */
  readonly minDurationMs?: number | undefined
  /** Of what `searchRuns` finds; other lists do not know what runs cost. */
  readonly minCostUsd?: number | undefined
}

/** The number of runs in each status. */
export type RunCounts = Readonly<Record<RunStatus, number>>

/**
 * Returns a page of runs, newest first, out of `counts` in all; the search is the beginning of a
 * kickoff id.
 */
export async function listRunPage(
  sql: Queryable,
  filter: RunFilter,
  { request, counts }: { request: PageRequest; counts: RunCounts },
): Promise<Page<ListedRun>> {
  const { status } = filter
  const total = status === undefined ? sumOf(counts) : counts[status]
  const rows = await readRows(sql, filter, request)
  return toPage(rows, request, { total, cursorOf: ({ id }) => id })
}

/** Returns the newest runs. */
export async function listNewestRuns(
  sql: Queryable,
  filter: RunFilter,
  limit: number,
): Promise<readonly ListedRun[]> {
  return (await readRows(sql, filter, { limit })).slice(0, limit)
}

/** The order of lists, for their cursors. */
export const newestFirst = (sql: Queryable, { organizationId }: RunFilter) => ({
  columns: [sql`e.queued_at`, sql`e.id`],
  at: (cursor: string) => sql`(
    select queued_at, id from executions
    where id = ${cursor} and organization_id = ${organizationId})`,
  descending: true,
})

/** The columns of a `ListedRun`, of `executions e` and `deployments d`. */
export const runColumns = (sql: Queryable) => sql`
  e.id, e.status, e.attempt, e.queued_at, e.started_at, e.finished_at, e.usage, e.trigger,
  e.starter_name, d.automation_id, d.name as automation_name, d.tests_project_id`

/** Holds for runs in the status of a filter. */
export const hasStatus = (sql: Queryable, { status }: RunFilter) =>
  status === undefined ? sql`` : sql`and e.status = ${status}`

const readRows = (sql: Queryable, filter: RunFilter, request: PageRequest) =>
  sql<ListedRun[]>`
    select ${runColumns(sql)}
    from executions e join deployments d on d.id = e.deployment_id
    where ${isListed(sql, filter, request.search)} ${hasStatus(sql, filter)}
      ${keyset(sql, newestFirst(sql, filter), request)}`

/** Counts the runs in each status, whatever status the filter asks for. */
export async function countRuns(
  sql: Queryable,
  filter: RunFilter,
  search?: string,
): Promise<RunCounts> {
  const rows = await sql<{ status: RunStatus; count: number }[]>`
    select e.status, count(*)::int as count from executions e
    where ${isListed(sql, filter, search)} group by e.status`
  const counts = { queued: 0, running: 0, waiting: 0, completed: 0, error: 0, stopped: 0 }
  for (const { status, count } of rows) counts[status] = count
  return counts
}

/** Returns the number of runs in all statuses. */
export const sumOf = (counts: RunCounts): number =>
  RUN_STATUSES.reduce((sum, status) => sum + counts[status], 0)

/** Holds for the runs of a filter, whatever their status. */
export function isListed(sql: Queryable, filter: RunFilter, search: string | undefined) {
  const { organizationId, deploymentId } = filter
  const ofAutomation =
    deploymentId === undefined ? sql`` : sql`and e.deployment_id = ${deploymentId}`
  const named = search === undefined ? sql`` : hasId(sql, search)
  return sql`e.organization_id = ${organizationId} ${ofAutomation} ${named}
    ${isChosen(sql, filter)}`
}

function isChosen(sql: Queryable, filter: RunFilter) {
  const { organizationId, automation, trigger, starter, since, until } = filter
  const named = sql`and e.deployment_id in (
    select id from deployments
    where organization_id = ${organizationId} and ${contains(sql, [sql`name`], automation)})`
  return sql`
    ${automation === undefined ? sql`` : named}
    ${trigger === undefined ? sql`` : sql`and e.trigger = ${trigger}`}
    and (${contains(sql, [sql`e.starter_name`], starter)})
    ${since === undefined ? sql`` : sql`and e.queued_at >= ${dayOf(sql, since)}`}
    ${until === undefined ? sql`` : sql`and e.queued_at < ${dayOf(sql, until)} + interval '1 day'`}
    ${isMeasured(sql, filter)}`
}

/** Holds for runs that took so much, or more, and called the model. */
function isMeasured(sql: Queryable, { model, minTokens, minDurationMs }: RunFilter) {
  const terms = { model, minTokens, minDurationMs }
  const isGiven = Object.values(terms).some((each) => each !== undefined)
  return isGiven ? sql`and ${runMatches(sql, sql`${JSON.stringify(terms)}::text::jsonb`)}` : sql``
}

/** Holds for a run `e` that has what the terms in JSON, such as `{"minTokens": 100}`, ask for. */
export const runMatches = (sql: Queryable, terms: PendingQuery<Row[]>) => sql`(
  (${terms} ->> 'minTokens' is null or coalesce((e.usage ->> 'inputTokens')::numeric
    + (e.usage ->> 'outputTokens')::numeric, 0) >= (${terms} ->> 'minTokens')::numeric)
  and (${terms} ->> 'minDurationMs' is null or coalesce(
    extract(epoch from e.finished_at - e.started_at) * 1000
      >= (${terms} ->> 'minDurationMs')::numeric, false))
  and (${terms} ->> 'model' is null or exists (
    select from run_steps s where s.run_id = e.id and s.kind = 'llm'
      and case when ${terms} ->> 'model' like '%_*'
        then starts_with(s.name, rtrim(${terms} ->> 'model', '*'))
        else s.name = ${terms} ->> 'model' end)))`

/** The beginning of a day of UTC. */
const dayOf = (sql: Queryable, day: string) => sql`(${day}::date::timestamp at time zone 'UTC')`

/**
 * Whether an id begins or ends with the hexadecimal digits of a text; none does with any other
 * text. Runs of one day begin alike, and pages show how they end.
 */
function hasId(sql: Queryable, text: string) {
  const digits = text.toLowerCase().replaceAll('-', '')
  if (!/^[0-9a-f]{1,32}$/.test(digits)) return sql`and false`
  const [first, last] = [digits.padEnd(32, '0'), digits.padEnd(32, 'f')]
  const begins = sql`e.id between ${first}::uuid and ${last}::uuid`
  if (digits.length === 32) return sql`and ${begins}`
  return sql`and (${begins} or right(translate(e.id::text, '-', ''), ${digits.length}) = ${digits})`
}
