import type { Queryable } from '../../../shared/postgres/database.ts'
import { cut } from '../../store/search/excerpt.ts'
import { keyOf } from './found-texts.ts'
import type { KnownTrace } from './found-texts.ts'
import { writtenOut } from './sql-parts.ts'
import type { Fragment } from './sql-parts.ts'

/** The most characters of a side that an excerpt has: no more are kept. */
export const EXCERPT_MAX = 1024

/** What a trace was asked and what it answered, as far as that is kept; null where nothing is. */
export interface TraceExcerpt {
  readonly input: string | null
  readonly output: string | null
}

interface Row extends KnownTrace {
  readonly asked: string | null
  readonly askedAt: number | null
  /** Where the answer to it begins, if there is one. */
  readonly askedUntil: number | null
  readonly answered: string | null
  readonly answeredAt: number | null
}

/** A trace, and when the first and the last of its spans start. */
interface TimedTrace extends KnownTrace {
  readonly firstMs: number
  readonly lastMs: number
}

/**
 * The last message of the first span that was given one, and the answer of the root, or else of the
 * last span that has one. Three texts of each trace are read at the most, in the order of an index.
 */
export async function findExcerpts(
  sql: Queryable,
  traces: readonly TimedTrace[],
  length: number,
): Promise<Map<string, TraceExcerpt>> {
  if (traces.length === 0) return new Map()
  const texts = textsOf(sql, traces)
  const rows = await sql<Row[]>`
    select traces.organization, traces.trace_id,
      asked.text as asked, asked.asked_at, asked.answered_at as asked_until,
      coalesce(of_root.text, of_last.text) as answered,
      coalesce(of_root.answered_at, of_last.answered_at) as answered_at
    from unnest(
        ${traces.map(({ organization }) => organization)}::text[],
        ${traces.map(({ traceId }) => traceId)}::text[]::uuid[]
      ) as shown (organization, trace_id)
    join listed_traces as traces using (organization, trace_id)
    left join lateral (
      ${texts} and asked_at is not null order by start_time limit 1
    ) as asked on true
    left join lateral (
      ${texts} and answered_at is not null and start_time = traces.start_time
        and span_id = traces.root_span_id limit 1
    ) as of_root on true
    left join lateral (
      ${texts} and answered_at is not null order by start_time desc limit 1
    ) as of_last on of_root.text is null`
  return new Map(rows.map((row) => [keyOf(row), toExcerpt(row, length)]))
}

/**
 * The texts of a trace. The time of all traces is written out, so that the planner leaves out the
 * tables of other days: to plan for all of them takes a hundred times as long.
 */
const textsOf = (sql: Queryable, traces: readonly TimedTrace[]): Fragment => sql`
  select text, asked_at, answered_at from searched_texts as texts
  where texts.trace_id = traces.trace_id
    and texts.trace_id between traces.trace_id and traces.trace_id
    and texts.organization = traces.organization
    and texts.start_time between traces.first_start and traces.last_start
    and texts.start_time
      between ${writtenOut(sql, Math.min(...traces.map(({ firstMs }) => Math.floor(firstMs))))}
      and ${writtenOut(sql, Math.max(...traces.map(({ lastMs }) => Math.ceil(lastMs))))}`

const toExcerpt = (row: Row, length: number): TraceExcerpt => ({
  input: partOf(row.asked, row.askedAt, row.askedUntil)(length),
  output: partOf(row.answered, row.answeredAt, null)(length),
})

const partOf =
  (text: string | null, begins: number | null, ends: number | null) =>
  (length: number): string | null => {
    if (text === null || begins === null) return null
    const whole = text.slice(begins, ends ?? text.length).trim()
    const part = cut(whole, length)
    return part.length < whole.length ? `${part}…` : part
  }
