import type { Queryable } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import type { ArchivedFile } from '../../store/archive/archive-store.ts'
import type { SoughtAttribute } from '../../store/archive/attribute-holders.ts'
import type { ColdReader } from '../reader.ts'
import { indexedConditions, otherConditions } from './filter-sql.ts'
import type { KnownTraces, SearchedFilter } from './filter-sql.ts'
import type { Fragment } from './sql-parts.ts'
import type { Attribute } from './trace-filter.ts'
import { fromNext, orderOf } from './trace-order.ts'
import type { OrderedTraces } from './trace-order.ts'

/** No file is opened after this, so that what follows still ends within 5 s. */
const BUDGET_MS = 2500
/** Files for totals, and traces of them with the attribute, at the most. */
const MAX_FILES = 2000
const MAX_HOLDERS = 20_000
/** Files of traces that are listed at a time. */
const MAX_ROWS = 20_000

/** A file that may have spans of a trace, and where that trace stands in a list, from 1. */
interface FileOfTrace extends ArchivedFile {
  readonly place: number
  readonly organization: string
  readonly traceId: string
}

/** Reads the attributes of files within the time of a question. */
interface FileLook {
  readonly cold: ColdReader
  readonly sought: SoughtAttribute
  readonly until: number
}

/** The files that the first traces of a list have in archived days, trace by trace. */
export const listFilesInOrder = (
  sql: Queryable,
  query: OrderedTraces,
  size: number,
): Promise<FileOfTrace[]> =>
  listFiles(
    sql,
    sql`
      select *, row_number() over (order by ${orderOf(sql, query.sort)})::int as place,
        ${otherConditions(sql, withoutAttribute(query.filter))} as fits
      ${fromNext(sql, query)} order by ${orderOf(sql, query.sort)} limit ${size}`,
    sql`place, traces.organization, traces.trace_id::text as trace_id`,
  )

/** How far the attribute was looked for, and in which archived traces it was found. */
interface Looked {
  readonly archived: KnownTraces
  readonly size: number
}

/**
 * Looks for the attribute in the files of a list's traces, in their order, until so many have it or
 * the time is up. Raises `timeout` where not even the first trace can be looked at in time, and
 * `unavailable` where its file cannot be read.
 */
export async function lookIntoFiles(
  sql: Queryable,
  files: readonly FileOfTrace[],
  { attribute, cold, size, wanted, budgetMs = BUDGET_MS }: Limits,
): Promise<Looked> {
  const look = await openLook(sql, { attribute, cold, budgetMs })
  const found = new Map<string, FileOfTrace>()
  const upTo = (place: number): Looked => ({ archived: toKnown([...found.values()]), size: place })
  for (const file of files) {
    const before = file.place - 1
    if (found.size >= wanted) return upTo(before)
    const holders = await readHolders(look, file).catch((thrown: unknown) => {
      if (before === 0) throw thrown
      return undefined
    })
    if (!holders && before === 0) throw tooManyFiles()
    if (!holders) return upTo(before)
    if (holders.has(file.traceId)) found.set(`${file.traceId} ${file.organization}`, file)
  }
  return upTo(files.length < MAX_ROWS ? size : (files.at(-1)?.place ?? 1) - 1)
}

interface Limits {
  readonly attribute: Attribute
  readonly cold: ColdReader
  readonly size: number
  readonly wanted: number
  readonly budgetMs?: number | undefined
}

/**
 * Finds all archived traces with the attribute among those of a filter, and maybe others. Raises
 * `timeout` where that takes too long, and `unavailable`.
 */
export async function findInFiles(
  sql: Queryable,
  filter: SearchedFilter,
  cold: ColdReader,
): Promise<KnownTraces | undefined> {
  const { attribute } = filter
  if (!attribute) return undefined
  const others = withoutAttribute(filter)
  const files = await listFiles(
    sql,
    sql`select *, true as fits from listed_traces as traces
      where ${indexedConditions(sql, others)} and ${otherConditions(sql, others)}`,
    sql`distinct 0 as place, traces.organization, '' as trace_id`,
  )
  if (files.length === 0) return undefined
  if (files.length > MAX_FILES) throw tooManyFiles()
  const look = await openLook(sql, { attribute, cold, budgetMs: BUDGET_MS })
  const found: FileOfTrace[] = []
  for (const file of files) {
    const holders = await readHolders(look, file)
    if (!holders || found.length + holders.size > MAX_HOLDERS) throw tooManyFiles()
    for (const traceId of holders) found.push({ ...file, traceId })
  }
  return toKnown(found)
}

const withoutAttribute = (filter: SearchedFilter): SearchedFilter => ({
  ...filter,
  attribute: undefined,
})

const toKnown = (traces: readonly FileOfTrace[]): KnownTraces => ({
  organizations: traces.map(({ organization }) => organization),
  traceIds: traces.map(({ traceId }) => traceId),
})

const listFiles = (sql: Queryable, traces: Fragment, shown: Fragment): Promise<FileOfTrace[]> =>
  sql<FileOfTrace[]>`
    select ${shown}, file.path, file.bytes::float8 as bytes, encode(file.sha256, 'hex') as sha256
    from (${traces}) as traces
    join cold_files as file on file.organization = traces.organization
      and file.day between (traces.first_start at time zone 'UTC')::date
        and (traces.last_start at time zone 'UTC')::date
      and traces.trace_id between file.first_trace and file.last_trace
    where fits
    order by place, path limit ${MAX_ROWS}`

async function openLook(
  sql: Queryable,
  {
    attribute: { key, value },
    cold,
    budgetMs,
  }: Pick<Limits, 'attribute' | 'cold'> & { readonly budgetMs: number },
): Promise<FileLook> {
  const resources = await sql<{ id: string }[]>`
    select id::text from resources where attributes ->> ${key}::text = ${value} order by id`
  const sought = { key, value, resourceIds: resources.map(({ id }) => id) }
  return { cold, sought, until: performance.now() + budgetMs }
}

/** Undefined when the time is up. */
const readHolders = async (
  { cold, sought, until }: FileLook,
  { path, bytes, sha256 }: FileOfTrace,
): Promise<ReadonlySet<string> | undefined> =>
  cold.holdersOf(sought, { path, bytes, sha256 }, until)

const tooManyFiles = (): AppError =>
  new AppError(
    'timeout',
    'The attribute would have to be looked up in too many files of archived days; narrow the ' +
      'time with from and to, add other filters, or try again: what was read is kept for a while.',
  )
