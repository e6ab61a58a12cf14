import { AppError } from '../../../shared/errors.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { TextMatch } from '../../../shared/trace-answers/lists.ts'
import { fold, soughtHashes } from '../../store/search/signature.ts'
import { toHexId } from '../span-json.ts'
import type { Position } from './cursor.ts'
import type { KnownTraces, SearchedFilter } from './filter-sql.ts'
import { keyOf, lookIntoTexts, toPattern } from './span-texts.ts'
import type { KnownTrace, SpanText, TimedTrace } from './span-texts.ts'
import type { Fragment } from './sql-parts.ts'
import { timestamp } from './sql-parts.ts'
import type { TraceFilter } from './trace-filter.ts'
import type { ColdReader } from '../reader.ts'
import { fromNext, keyOfSort, keyText, orderOf } from './trace-order.ts'
import type { OrderedTraces } from './trace-order.ts'

/** Spans that signatures may name; where more may have a text, all traces are looked at. */
export const MAX_NAMED = 65_536
/** Spans of a trace that are named one by one. */
const MAX_MEMBERS = 200
/** Characters that are shown before and after what was found. */
const AROUND = 80
/** No texts are read after this, so that what comes then still ends within 5 s. */
const BUDGET_MS = 2500
/** The least time to read them, however long it took to find where they may be. */
const LEAST_MS = 2000
/** Traces that are looked at for a list at a time. */
const LISTED = 4096
/** Of these, those whose texts are read at a time: more while that takes no longer than this. */
const LOOKED_AT = { first: 64, most: 1024 }
/** Where each may be in another file. */
const LOOKED_AT_COLD = { first: 16, most: 64 }
const QUICK_MS = 150
/** Spans of a trace that may have a text, which are read at a time. */
const SPANS = [1, 16, 256, 16_384] as const

/** The traces of a list in which a text was found. */
interface SearchedTexts {
  readonly filter: SearchedFilter
  /** By `keyOf`. */
  readonly matches: ReadonlyMap<string, TextMatch>
  /** Behind what was looked at, unless all of it was. */
  readonly stoppedAt: Position | undefined
}

/** What a search may find and take. */
interface SearchLimits {
  /** Traces with the text. */
  readonly wanted: number
  /** Undefined where there are no archived days. */
  readonly cold: ColdReader | undefined
  readonly named?: number
  readonly budgetMs?: number
}

/**
 * Looks for the text of a list's filter, if it has one, in the order of the list. Raises
 * `invalid_request` where texts are not searched, and `timeout` where it sees nothing in time.
 */
export async function searchTexts(
  sql: Queryable,
  query: OrderedTraces,
  { wanted, cold, named = MAX_NAMED, budgetMs = BUDGET_MS }: SearchLimits,
): Promise<SearchedTexts> {
  const { filter } = query
  const { text } = filter
  if (text === undefined) return { filter, matches: new Map(), stoppedAt: undefined }
  const started = performance.now()
  await requireSearch(sql)
  const members = await findNamed(sql, { ...filter, text }, named)
  const found = members && toKnown([...members.values()])
  const until = Math.max(started + budgetMs, performance.now() + Math.min(budgetMs, LEAST_MS))
  const look = (some: readonly Candidate[]) => {
    const candidates = some.map((each) => ({ ...each, ...members?.get(keyOf(each)) }))
    return lookForText(sql, candidates, { text, until, cold })
  }
  const listed = { ...query, filter: { ...filter, found } }
  const { traces, ...searched } = await lookInOrder(sql, listed, {
    wanted,
    until,
    look,
    sizes: cold ? LOOKED_AT_COLD : LOOKED_AT,
  })
  return { ...searched, filter: { ...filter, found: toKnown(traces) } }
}

interface OrderedLook {
  readonly sizes: typeof LOOKED_AT
  readonly wanted: number
  readonly until: number
  /** The matches in some traces; undefined when the time was up before. */
  readonly look: (
    traces: readonly Candidate[],
  ) => Promise<ReadonlyMap<string, TextMatch> | undefined>
}

async function lookInOrder(
  sql: Queryable,
  query: OrderedTraces,
  { wanted, until, look, sizes }: OrderedLook,
): Promise<Omit<SearchedTexts, 'filter'> & { readonly traces: readonly KnownTrace[] }> {
  const matches = new Map<string, TextMatch>()
  const traces: KnownTrace[] = []
  let last = query.after
  for await (const some of listInTurns(sql, query, sizes)) {
    const isLate = last !== query.after && performance.now() > until
    const looked = isLate ? undefined : await look(some)
    if (!looked && last === query.after) throw tooMany()
    if (!looked) return { traces, matches, stoppedAt: last }
    for (const trace of some) {
      const match = looked.get(keyOf(trace))
      last = { ...trace, sort: query.sort }
      if (!match) continue
      traces.push(trace)
      matches.set(keyOf(trace), match)
      if (traces.length === wanted) return { traces, matches, stoppedAt: last }
    }
  }
  return { traces, matches, stoppedAt: undefined }
}

const toKnown = (traces: readonly KnownTrace[]): KnownTraces => ({
  organizations: traces.map(({ organization }) => organization),
  traceIds: traces.map(({ traceId }) => traceId),
})

/** The error for a text that cannot be looked for in time. */
export const tooMany = (): AppError =>
  new AppError(
    'timeout',
    'The text would have to be looked up in too many spans; narrow the time with from and to, or ' +
      'add other filters.',
  )

async function requireSearch(sql: Queryable): Promise<void> {
  const [row] = await sql<{ state: string }[]>`select state from text_search`
  if (row?.state === 'on') return
  const message =
    'text: the search in prompts and answers is off; COLLECTOR_SEARCH=on switches it on.'
  throw new AppError('invalid_request', message, { details: { parameter: 'text' } })
}

/** A trace that may have a text, and in which of its spans; undefined for any. */
interface NamedTrace extends KnownTrace {
  members: string[] | undefined
}

/** The traces that may have the text, by `keyOf`; undefined for more than so many spans. */
async function findNamed(
  sql: Queryable,
  { text, organization, from }: TraceFilter & { readonly text: string },
  most: number,
): Promise<ReadonlyMap<string, NamedTrace> | undefined> {
  const since = from ? sql`${timestamp(sql, from)} - interval '1 hour'` : sql`null`
  const rows = await sql<(KnownTrace & { spans: number; member: string | null })[]>`
    with named as materialized (
      select signed.organization, of_span.trace_id, of_span.member from (
        select organization, trace_ids, members, ${bitsOf(sql, text)} as bits
        from searched_signatures
        where true ${organization === undefined ? sql`` : sql`and organization = ${organization}`}
          ${from ? sql`and last_start >= ${since}` : sql``}
        offset 0
      ) as signed
      cross join lateral unnest(trace_ids, members) with ordinality
        as of_span (trace_id, member, place)
      where (bits is null or bit_count(bits) > 0)
        and (bits is null or get_bit(bits, place::int - 1) = 1)
      union all
      select organization, trace_id, null from find_texts(
        ${toPattern(text)}, ${organization ?? null}::text, ${since}, ${most + 1}
      )
      limit ${most + 1}
    )
    select spans, named.* from (select count(*)::int as spans from named) as counted
    join named on spans <= ${most}
    union all
    select count(*)::int, '', null, null from named having count(*) > ${most}`
  if (rows.some(({ spans }) => spans > most)) return undefined
  const named = new Map<string, NamedTrace>()
  for (const { organization: whose, traceId, member } of rows) {
    const trace = { organization: whose, traceId }
    const known = named.get(keyOf(trace)) ?? { ...trace, members: [] }
    named.set(keyOf(trace), known)
    if (member === null || known.members?.length === MAX_MEMBERS) known.members = undefined
    else known.members?.push(member)
  }
  return named
}

/** A bit for each span of a signature: 1 where its text may have the text. */
function bitsOf(sql: Queryable, text: string): Fragment {
  const width = '((texts + 7) / 8)'
  const rows = soughtHashes(text).map((hash) => {
    const row = `(${hash} & (octet_length(signature) / ${width} - 1))`
    return `('x' || encode(substr(signature, ${row} * ${width} + 1, ${width}), 'hex'))::varbit`
  })
  return sql`${sql.unsafe(rows.join(' & '))}`
}

interface Candidate extends TimedTrace, Omit<Position, 'sort'> {}

/** The traces of the list in its order, more of them at a time as it goes on. */
async function* listInTurns(
  sql: Queryable,
  query: OrderedTraces,
  { first, most }: typeof LOOKED_AT,
): AsyncGenerator<readonly Candidate[]> {
  if (query.filter.found?.traceIds.length === 0) return
  let size = first
  let listed = size
  let { after } = query
  for (;;) {
    const rows = await listCandidates(sql, { ...query, after }, listed)
    for (let at = 0; at < rows.length;) {
      const started = performance.now()
      const some = rows.slice(at, at + size)
      at += some.length
      yield some
      const isQuick = performance.now() - started < QUICK_MS
      size = isQuick ? Math.min(size * 4, most) : Math.max(size / 4, first)
    }
    const last = rows.at(-1)
    if (!last || rows.length < listed) return
    after = { ...last, sort: query.sort }
    listed = LISTED
  }
}

const listCandidates = (
  sql: Queryable,
  query: OrderedTraces,
  limit: number,
): Promise<Candidate[]> => sql<Candidate[]>`
  select organization, trace_id, root_span_id,
    (extract(epoch from first_start) * 1000)::float8 as first_ms,
    (extract(epoch from last_start) * 1000)::float8 as last_ms,
    (start_time at time zone 'UTC')::text as start_time, ${keyText(sql, query.sort)} as sort_key
  from (
    select *, ${keyOfSort(sql, query.sort)} as sort_key ${fromNext(sql, query)}
    order by ${orderOf(sql, query.sort)} limit ${limit}
  ) as placed
  order by ${orderOf(sql, query.sort, 'sort_key')}`

/** The first match in each of these traces; undefined when the time was up before. */
async function lookForText(
  sql: Queryable,
  traces: readonly TimedTrace[],
  { text, until, cold }: { text: string; until: number; cold: ColdReader | undefined },
): Promise<ReadonlyMap<string, TextMatch> | undefined> {
  const sought = fold(text)
  const { found, isWhole } = await lookIntoTexts(sql, traces, {
    order: 'first',
    letters: lettersOf(sought),
    steps: SPANS,
    until,
    cold,
    find: (span) => toMatch(span, sought),
  })
  return isWhole ? found : undefined
}

/** The most letters in a row that are stored as they are, whatever JSON is around them. */
const lettersOf = (sought: string): string | undefined =>
  sought.match(/[a-z]{2,}/g)?.reduce((one, other) => (other.length > one.length ? other : one))

function toMatch({ spanId, text }: SpanText, sought: string): TextMatch | undefined {
  const at = fold(text).indexOf(sought)
  if (at < 0) return undefined
  const begins = Math.max(at - AROUND, 0)
  const ends = at + sought.length + AROUND
  const excerpt = text.slice(begins, ends)
  return {
    span_id: toHexId(spanId),
    excerpt: `${begins > 0 ? '…' : ''}${excerpt}${ends < text.length ? '…' : ''}`,
  }
}
