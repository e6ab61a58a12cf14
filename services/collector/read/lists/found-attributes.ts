import { AppError } from '../../../shared/errors.ts'
import { inTransaction } from '../../../shared/postgres/database.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { DISTRIBUTED_TRANSACTION, isDistributed } from '../../store/spans/distribution.ts'
import { hasAttribute } from '../../store/spans/attribute-condition.ts'
import type { ColdReader } from '../reader.ts'
import { findInFiles } from './archived-attributes.ts'
import { indexedConditions } from './filter-sql.ts'
import { searchTexts, tooMany as tooManyTexts } from './found-texts.ts'
import type { KnownTraces, SearchedFilter } from './filter-sql.ts'
import { writtenOut } from './sql-parts.ts'
import type { Fragment } from './sql-parts.ts'
import type { Attribute, TraceFilter } from './trace-filter.ts'

/** Traces that are looked up for totals; with more the question takes too long. */
const MAX_LOOK_UPS = 20_000

/** Looks for the text and the attribute of a filter among all traces that it may find. */
export async function search(
  sql: Queryable,
  given: TraceFilter,
  cold: ColdReader | undefined,
): Promise<SearchedFilter> {
  const all = { filter: given, sort: 'newest' } as const
  const { filter: searched, stoppedAt } = await searchTexts(sql, all, { wanted: Infinity, cold })
  if (stoppedAt) throw tooManyTexts()
  const archived = cold && (await findInFiles(sql, searched, cold))
  const from: Fragment = sql`
    from listed_traces as traces where ${indexedConditions(sql, searched)}`
  return lookUpAttribute(sql, { ...searched, archived }, { from })
}

interface Candidates {
  readonly from: Fragment
  /** At the most; undefined for all, of which there may not be too many. */
  readonly limit?: number
}

/**
 * Looks the filter's attribute up, if it has one and the spans are on other nodes: Citus takes no
 * condition that does so for each trace. Raises `timeout` for too many traces.
 */
export async function lookUpAttribute(
  sql: Queryable,
  filter: SearchedFilter,
  { from, limit = MAX_LOOK_UPS + 1 }: Candidates,
): Promise<SearchedFilter> {
  const { attribute } = filter
  if (!attribute || !(await isDistributed(sql))) return filter
  const candidates = await sql<Candidate[]>`
    select trace_id, first_start, last_start ${from} limit ${limit}`
  if (candidates.length > MAX_LOOK_UPS) throw tooMany()
  return { ...filter, holders: await findHolders(sql, attribute, candidates) }
}

interface Candidate {
  readonly traceId: string
  readonly firstStart: Date
  readonly lastStart: Date
}

const tooMany = (): AppError =>
  new AppError(
    'timeout',
    `The attribute would have to be looked up in more than ${MAX_LOOK_UPS} traces; narrow the ` +
      'time with from and to, or add other filters.',
  )

/**
 * The ids go to each node once, as a result of its own, and the times are written out: each of the
 * 32 statements for a shard would else have all ids, as texts, and look at the rows of all days.
 */
async function findHolders(
  sql: Queryable,
  { key, value }: Attribute,
  candidates: readonly Candidate[],
): Promise<KnownTraces> {
  if (candidates.length === 0) return { organizations: [], traceIds: [] }
  const first = Math.min(...candidates.map(({ firstStart }) => firstStart.getTime()))
  const last = Math.max(...candidates.map(({ lastStart }) => lastStart.getTime()))
  const rows = await inTransaction(sql, async (tx) => {
    await tx.unsafe(DISTRIBUTED_TRANSACTION)
    return tx<{ organization: string; traceId: string }[]>`
      with given as materialized (
        select unnest(${candidates.map(({ traceId }) => traceId)}::text[]::uuid[]) as trace_id
      )
      select distinct organization, trace_id from spans
      where trace_id in (select trace_id from given)
        and start_time between ${writtenOut(tx, first)} and ${writtenOut(tx, last + 1)}
        and (
          ${hasAttribute(tx, 'spans', { key, value })}
          or resource_id in (
            select id from resources where resources.attributes ->> ${key}::text = ${value}
          )
        )`
  })
  return {
    organizations: rows.map(({ organization }) => organization),
    traceIds: rows.map(({ traceId }) => traceId),
  }
}
