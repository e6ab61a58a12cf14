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

const newestFirst = (sql: Queryable, { organizationId }: RunFilter) => ({
  columns: [sql`e.queued_at`, sql`e.id`],
  at: (cursor: string) => sql`(
    select queued_at, id from executions
    where id = ${cursor} and organization_id = ${organizationId})`,
  descending: true,
})

const columns = (sql: Queryable) => sql`
  e.id, e.status, e.attempt, e.queued_at, e.started_at, e.finished_at, e.usage, e.trigger,
  e.starter_name, d.automation_id, d.name as automation_name, d.tests_project_id`

const hasStatus = (sql: Queryable, { status }: RunFilter) =>
  status === undefined ? sql`` : sql`and e.status = ${status}`

const readRows = (sql: Queryable, filter: RunFilter, request: PageRequest) =>
  sql<ListedRun[]>`
    select ${columns(sql)}
    from executions e join deployments d on d.id = e.deployment_id
    where ${isListed(sql, filter, request.search)} ${hasStatus(sql, filter)}
      ${keyset(sql, newestFirst(sql, filter), request)}`

/** The runs that are searched at once for a text: a fraction of a second, however long they are. */
const SEARCHED_MAX = 2000

/** The runs that a search for a text found, in a part of the runs of the filter. */
export interface FoundRuns {
  readonly items: readonly ListedRun[]
  /** The cursor behind which the search goes on; undefined once all were searched. */
  readonly next?: string | undefined
  /** When the oldest run was queued that was searched; null: all were. */
  readonly searchedTo: Date | null
}

/**
 * Searches inputs and outputs for a text, in any case, from the newest run on or from the one of
 * the cursor `after`: in so many runs at a time that each part takes a fraction of a second.
 */
export async function searchRuns(
  sql: Queryable,
  filter: RunFilter,
  { text, after, limit }: { text: string; after?: string | undefined; limit: number },
): Promise<FoundRuns> {
  const listed = sql`${isListed(sql, filter, undefined)} ${hasStatus(sql, filter)}`
  const page = { after, limit: SEARCHED_MAX - 1 }
  const [boundary] = await sql<{ id: string; queuedAt: Date }[]>`
    select id, queued_at from (
      select e.id, e.queued_at from executions e
      where ${listed} ${keyset(sql, newestFirst(sql, filter), page)}) searched
    offset ${SEARCHED_MAX - 1}`
  const isWithin = boundary
    ? sql`and (e.queued_at, e.id) >= (
        select queued_at, id from executions where id = ${boundary.id})`
    : sql``
  const inInputs = JSON.stringify(text).slice(1, -1)
  const rows = await sql<ListedRun[]>`
    select ${columns(sql)}
    from executions e join deployments d on d.id = e.deployment_id
    where ${listed} ${isWithin}
      and (${contains(sql, [sql`e.inputs::text`], inInputs)}
        or ${contains(sql, [sql`e.output`], text)})
      ${keyset(sql, newestFirst(sql, filter), { after, limit })}`
  const items = rows.slice(0, limit)
  if (rows.length > limit) {
    const last = items.at(-1)
    return { items, next: last?.id, searchedTo: last?.queuedAt ?? null }
  }
  return { items, next: boundary?.id, searchedTo: boundary?.queuedAt ?? null }
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

function isListed(sql: Queryable, filter: RunFilter, search: string | undefined) {
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
    ${until === undefined ? sql`` : sql`and e.queued_at < ${dayOf(sql, until)} + interval '1 day'`}`
}

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
