import { inTransaction } from '../../../shared/postgres/database.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { messagesOf } from '../../conventions/messages.ts'
import { excerptOf } from '../../store/search/excerpt.ts'
import type { Excerpt } from '../../store/search/excerpt.ts'
import { HAS_TEXTS } from '../../store/search/note-texts.ts'
import { member, small, TEXT_COLUMNS } from '../../store/search/signature-statements.ts'
import { DISTRIBUTED_TRANSACTION, isDistributed } from '../../store/spans/distribution.ts'
import { writtenOut } from './sql-parts.ts'
import type { ColdReader } from '../reader.ts'
import type { Fragment } from './sql-parts.ts'

/** A trace by its organization and id. */
export interface KnownTrace {
  readonly organization: string
  readonly traceId: string
}

/** A trace whose texts are read: its root, and when the first and the last of its spans start. */
export interface TimedTrace extends KnownTrace {
  readonly rootSpanId: string | null
  readonly firstMs: number
  readonly lastMs: number
  /** Of the spans whose texts are read, as signatures have them; undefined for all. */
  readonly members?: readonly string[] | undefined
}

/** A span with its text. */
export interface SpanText extends Excerpt {
  readonly spanId: string
}

/** What is looked for in the texts of each trace. */
interface Look<Found> {
  /** From the first span to the last one, or from the root and then from the last to the first. */
  readonly order: 'first' | 'root'
  /** Letters that a span must have somewhere, in small ASCII letters. */
  readonly letters?: string | undefined
  /** Spans of a trace that are read at a time, until one of them has it. */
  readonly steps: readonly number[]
  /** When it ends at the latest, by `performance.now()`. */
  readonly until: number
  /** Undefined where there are no archived days. */
  readonly cold: ColdReader | undefined
  /** What is archived and cannot be read in time is left out. */
  readonly mayMiss?: boolean
  /** What is found in a text; undefined for nothing. */
  find(text: SpanText): Found | undefined
}

/** What was found first in each trace, by `keyOf`. */
interface Looked<Found> {
  readonly found: ReadonlyMap<string, Found>
  /** False when the time was up before. */
  readonly isWhole: boolean
}

/** The key of a trace among others. */
export const keyOf = ({ organization, traceId }: KnownTrace): string => `${traceId} ${organization}`

/** Rows that are in memory at a time: each may have a megabyte. */
const FETCHED = 32

/** Reads the texts of these traces in their spans, until something is found in each of them. */
export async function lookIntoTexts<Found>(
  sql: Queryable,
  traces: readonly TimedTrace[],
  look: Look<Found>,
): Promise<Looked<Found>> {
  if (traces.length === 0) return { found: new Map(), isWhole: true }
  const { until, mayMiss = false } = look
  const isThere = (await look.cold?.warm(sql, traces, { until, mayMiss })) ?? true
  if (!isThere && !mayMiss) return { found: new Map(), isWhole: false }
  if (!(await isDistributed(sql))) return lookInSteps(sql, traces, { ...look, texts: textsOf })
  return inTransaction(sql, async (tx) => {
    await tx.unsafe(DISTRIBUTED_TRANSACTION)
    return lookInSteps(tx, traces, { ...look, texts: distributedTextsOf })
  })
}

async function lookInSteps<Found>(
  sql: Queryable,
  traces: readonly TimedTrace[],
  look: Look<Found> & { readonly texts: TextsOf },
): Promise<Looked<Found>> {
  const found = new Map<string, Found>()
  let open = traces
  for (const limit of look.steps) {
    if (open.length === 0) break
    const counts = new Map<string, number>()
    const rows = sql<TextRow[]>`${look.texts(sql, open, { ...look, limit })}`
    for await (const some of rows.cursor(FETCHED)) {
      for (const row of some) {
        const key = keyOf(row)
        counts.set(key, (counts.get(key) ?? 0) + 1)
        const has = found.has(key)
          ? undefined
          : look.find({ spanId: row.spanId, ...excerptOf(messagesOf(row)) })
        if (has !== undefined) found.set(key, has)
      }
      if (performance.now() > look.until) return { found, isWhole: false }
    }
    open = open.filter((trace) => !found.has(keyOf(trace)) && counts.get(keyOf(trace)) === limit)
  }
  return { found, isWhole: true }
}

interface TextRow extends KnownTrace {
  readonly spanId: string
  readonly attributes: string | null
  readonly payload: string | null
  readonly events: string | null
}

type Wanted = Pick<Look<unknown>, 'order' | 'letters'> & { readonly limit: number }
type TextsOf = (sql: Queryable, traces: readonly TimedTrace[], wanted: Wanted) => Fragment

const ORDERS = {
  first: 'spans.start_time, spans.span_id',
  root: 'spans.span_id is not distinct from given.root_span_id desc, spans.start_time desc',
} as const

/** The spans in their order, and then what is in them, until there are enough. */
const textsOf: TextsOf = (sql, traces, { order, letters, limit }) => sql`
  with ${given(sql, traces)}
  select given.organization, given.trace_id, found.* from given cross join lateral (
    select span_id, ${sql.unsafe(TEXT_COLUMNS)} from (
      select span_id, other_attributes as attributes, payload, events from live_spans as spans
      where spans.trace_id = given.trace_id
        and spans.trace_id between given.trace_id and given.trace_id
        and spans.organization = given.organization
        and spans.start_time between given.first_start and given.last_start
        and ${inDays(sql, traces)} and ${sql.unsafe(HAS_TEXTS)} and ${isMember(sql)}
      order by ${sql.unsafe(ORDERS[order])} offset 0
    ) as spans
    where ${hasLetters(sql, letters)} limit ${limit}
  ) as found`

/** The same in a form that nodes of Citus answer for their own spans. */
const distributedTextsOf: TextsOf = (sql, traces, { order, letters, limit }) => sql`
  with ${given(sql, traces)}
  select organization, trace_id, span_id, attributes, payload, events from (
    select spans.organization, spans.trace_id, span_id, ${sql.unsafe(TEXT_COLUMNS)},
      row_number() over (
        partition by spans.trace_id, spans.organization order by ${sql.unsafe(ORDERS[order])}
      ) as place
    from live_spans as spans join given
      on given.trace_id = spans.trace_id and given.organization = spans.organization
    where ${inDays(sql, traces)} and ${sql.unsafe(HAS_TEXTS)} and ${isMember(sql)}
      and ${hasLettersOnNode(sql, letters)}
  ) as found
  where place <= ${limit} order by place`

const given = (sql: Queryable, traces: readonly TimedTrace[]): Fragment => sql`
  given as materialized (
    select shown.*, listed::int8[] as members from unnest(
      ${traces.map(({ organization }) => organization)}::text[],
      ${traces.map(({ traceId }) => traceId)}::text[]::uuid[],
      ${traces.map(({ rootSpanId }) => rootSpanId)}::text[]::int8[],
      ${traces.map(({ firstMs }) => toTime(Math.floor(firstMs)))}::text[]::timestamptz[],
      ${traces.map(({ lastMs }) => toTime(Math.ceil(lastMs)))}::text[]::timestamptz[],
      ${traces.map(({ members }) => (members ? `{${members.join()}}` : null))}::text[]
    ) as shown (organization, trace_id, root_span_id, first_start, last_start, listed)
  )`

const isMember = (sql: Queryable): Fragment => sql`
  (given.members is null or ${sql.unsafe(member('spans'))} = any (given.members))`

const toTime = (ms: number): string => new Date(ms).toISOString()

/** Written out, so that the planner leaves out the tables of other days. */
const inDays = (sql: Queryable, traces: readonly TimedTrace[]): Fragment => sql`
  spans.start_time
    between ${writtenOut(sql, Math.min(...traces.map(({ firstMs }) => Math.floor(firstMs))))}
    and ${writtenOut(sql, Math.max(...traces.map(({ lastMs }) => Math.ceil(lastMs))))}`

const STORED = `lower(concat(spans.attributes, ' ', ${small('spans.payload')}, ' ',
  ${small('spans.events')}) collate "C")`
/** Letters whose small form is one of ASCII, as they stand in a text, or escaped in JSON. */
const LARGE_FORMS = { i: ['İ', '\\u0130'], k: ['\u212a', '\\u212a'] } as const

/** The letters, and the ways in which others that are the same in small form are stored. */
const formsOf = (letters: string): readonly string[] => [
  letters,
  ...Object.entries(LARGE_FORMS).flatMap(([letter, forms]) =>
    letters.includes(letter) ? forms : [],
  ),
]

/** Whether letters are in what is stored, as which they are in a text without any doubt. */
const hasLetters = (sql: Queryable, letters: string | undefined): Fragment =>
  letters === undefined
    ? sql`true`
    : sql`
    exists (
      select from (select ${sql.unsafe(STORED)} as stored offset 0) as span,
        unnest(${[...formsOf(letters)]}::text[]) as form
      where strpos(stored, form) > 0
    )`

/** The same, without a subquery, which Citus would not give to a node. */
const hasLettersOnNode = (sql: Queryable, letters: string | undefined): Fragment =>
  letters === undefined
    ? sql`true`
    : sql`${sql.unsafe(STORED)} like any (${formsOf(letters).map(toPattern)}::text[])`

/** The pattern of `like` for texts that have this one in them. */
export const toPattern = (text: string): string =>
  `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
