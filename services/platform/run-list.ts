import type { Queryable } from '../shared/postgres/database.ts'
import { RUN_STATUSES } from './runs.ts'
import type { Run, RunStatus } from './runs.ts'
import { keyset, toPage } from './paging.ts'
import type { Page, PageRequest } from './paging.ts'

/** A run as lists show it: without inputs and output. */
export interface ListedRun extends Pick<
  Run,
  'id' | 'status' | 'attempt' | 'queuedAt' | 'startedAt' | 'finishedAt' | 'usage'
> {
  readonly automationId: string
  readonly automationName: string
}

/** The runs of a list: those of an organization, of one of its automations, of one status. */
interface RunFilter {
  readonly organizationId: number
  readonly deploymentId?: number | undefined
  readonly status?: RunStatus | undefined
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

function readRows(sql: Queryable, filter: RunFilter, request: PageRequest) {
  const newestFirst = {
    columns: [sql`e.queued_at`, sql`e.id`],
    at: (cursor: string) => sql`(
      select queued_at, id from executions
      where id = ${cursor} and organization_id = ${filter.organizationId})`,
    descending: true,
  }
  const { status } = filter
  const hasStatus = status === undefined ? sql`` : sql`and e.status = ${status}`
  return sql<ListedRun[]>`
    select e.id, e.status, e.attempt, e.queued_at, e.started_at, e.finished_at, e.usage,
      d.automation_id, d.name as automation_name
    from executions e join deployments d on d.id = e.deployment_id
    where ${isListed(sql, filter, request.search)} ${hasStatus}
      ${keyset(sql, newestFirst, request)}`
}

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

function isListed(
  sql: Queryable,
  { organizationId, deploymentId }: RunFilter,
  search: string | undefined,
) {
  const ofAutomation =
    deploymentId === undefined ? sql`` : sql`and e.deployment_id = ${deploymentId}`
  const begins = search === undefined ? sql`` : beginsWith(sql, search)
  return sql`e.organization_id = ${organizationId} ${ofAutomation} ${begins}`
}

/**
 * The range of ids that begin with the hexadecimal digits of a text; nothing begins with any other
 * text.
 */
function beginsWith(sql: Queryable, text: string) {
  const digits = text.toLowerCase().replaceAll('-', '')
  if (!/^[0-9a-f]{1,32}$/.test(digits)) return sql`and false`
  return sql`and e.id between ${digits.padEnd(32, '0')}::uuid and ${digits.padEnd(32, 'f')}::uuid`
}
