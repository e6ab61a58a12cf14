import type { Queryable } from '../../shared/postgres/database.ts'
import { isDistributed } from '../store/spans/distribution.ts'
import type { Fragment } from './lists/sql-parts.ts'
import { isInt8, wrongCursor } from './span-cursor.ts'
import { createSpanWriter, readOwnedSpans, sortByOwner } from './owned-spans.ts'
import type { Reader } from './reader.ts'
import { chunksOf } from './span-chunks.ts'
import { placeOf } from './span-rows.ts'
import type { SpanPlace } from './span-rows.ts'

/** The spans that are exported: those that start in a range of time, of some traces. */
export interface ExportQuery {
  readonly from: Date
  /** The first time that is not exported. */
  readonly until: Date
  /** Spans of traces of which one span has this automation, and so on. */
  readonly crew?: string | undefined
  readonly kickoff?: string | undefined
  readonly session?: string | undefined
  readonly user?: string | undefined
  readonly after?: ExportPosition | undefined
}

/** The last span of a line. */
interface ExportPosition {
  /** Microseconds since 1970. */
  readonly startUs: string
  /** A UUID. */
  readonly traceId: string
  /** A signed decimal. */
  readonly spanId: string
  readonly organization: string
}

/** Spans looked at by a statement; each has a small object in memory. */
const BATCH = 2000
/** A line: what is in memory at a time, unless a single span is larger. */
const LINE = { spans: 256, bytes: 1 << 20 }

/**
 * The lines of an export: each is an ExportTraceServiceRequest of OTLP's JSON encoding with a
 * member `cursor`, from which the export goes on, and the last one has no spans and
 * `complete`. It ends before its end when it may not go on.
 */
export async function* exportLines(
  reader: Reader,
  query: ExportQuery,
  mayGoOn: () => boolean,
): AsyncGenerator<string, void, undefined> {
  let after = query.after
  let from = query.from
  for (let isLast = false; !isLast;) {
    if (!mayGoOn()) return
    const until = await warmFrom(
      reader,
      query,
      after && toDate(after) > from ? toDate(after) : from,
    )
    const range = { ...query, from, until, after }
    const places = await reader.ask(async (sql) => {
      const isSpread =
        columnsOf(query).some(([, value]) => value !== undefined) && (await isDistributed(sql))
      return listPlaces(sql, range, isSpread)
    })
    const wanted = places.filter(({ isWanted }) => isWanted)
    for (const chunk of wanted.length > 0 ? chunksOf(wanted, LINE) : []) {
      if (!mayGoOn()) return
      yield await lineOf(reader, chunk)
    }
    const end = places.at(-1)
    after = end ?? after
    if (end?.isFull) continue
    isLast = until >= query.until
    from = until
  }
  const cursor = after ? `"cursor":"${toExportCursor(after)}",` : ''
  yield `{"resourceSpans":[],${cursor}"complete":true}\n`
}

const DAY_MS = 86_400_000
const toDate = ({ startUs }: ExportPosition): Date => new Date(Math.floor(Number(startUs) / 1000))

/** Brings the spans of a day back, if it is archived; returns how far they can be read then. */
async function warmFrom(reader: Reader, { until }: ExportQuery, at: Date): Promise<Date> {
  const { cold } = reader
  if (!cold) return until
  const [next] = await reader.ask(
    (sql) => sql<{ day: string }[]>`
      select day::text from (
        select day from archived_days where state = 'dropped'
        union all
        select day from archived_parts where state = 'dropped'
          and ((select reading_organization()) is null
            or organization = (select reading_organization()))
      ) as days
      where day >= ${at.toISOString().slice(0, 10)}::text::date order by day limit 1`,
  )
  const begins = new Date(`${next?.day ?? '9999-12-31'}T00:00:00Z`)
  if (begins >= until) return until
  if (begins > at) return begins
  await cold.warmDay(next?.day ?? '')
  return new Date(Math.min(begins.getTime() + DAY_MS, until.getTime()))
}

async function lineOf(reader: Reader, places: readonly ExportPlace[]): Promise<string> {
  const last = places.at(-1)
  const writer = createSpanWriter()
  const spans = writer.write(await readOwnedSpans(reader, sortByOwner(places)))
  const cursor = last ? toExportCursor(last) : ''
  return `{"resourceSpans":[${spans}${writer.end()}],"cursor":"${cursor}"}\n`
}

interface ExportPlace extends SpanPlace {
  readonly isWanted: boolean
  /** True when the statement has looked at as many spans as it may. */
  readonly isFull: boolean
}

/**
 * The next spans, in the order of the key, so that nothing is sorted. Without filters all of them;
 * with filters those that fit, and the last one that was looked at.
 */
function listPlaces(sql: Queryable, query: ExportQuery, isSpread: boolean): Promise<ExportPlace[]> {
  const { from, until, after } = query
  const time = after
    ? sql`timestamptz 'epoch' + ${after.startUs}::text::int8 * interval '1 microsecond'`
    : sql``
  const isAfter = after
    ? sql`and start_time >= ${time} and (start_time, trace_id, span_id, organization) > (
        ${time}, ${after.traceId}::text::uuid, ${after.spanId}::text::int8, ${after.organization})`
    : sql``
  return sql<ExportPlace[]>`
    with scanned as materialized (
      select ${placeOf(sql)}, row_number() over () as nr, count(*) over () as total
      from (
        select * from live_spans
        where start_time >= ${from.toISOString()}::text::timestamptz
          and start_time < ${until.toISOString()}::text::timestamptz ${isAfter}
        order by live_spans.start_time, trace_id, span_id, organization limit ${BATCH}
      ) as live_spans
    ), wanted as (${(isSpread ? wantedOnNodes : wantedTraces)(sql, query)})
    select * from (
      select scanned.*, wanted.trace_id is not null as is_wanted, total = ${BATCH} as is_full
      from scanned left join wanted using (trace_id, organization)
    ) as found
    where is_wanted or nr = total
    order by nr`
}

const columnsOf = ({ crew, kickoff, session, user }: ExportQuery) =>
  Object.entries({ crew_id: crew, kickoff_id: kickoff, session_id: session, user_id: user })

/** What each filter adds to a statement. */
const forFilters = (
  sql: Queryable,
  query: ExportQuery,
  write: (column: string, value: string) => Fragment,
): Fragment => {
  const parts = columnsOf(query).map(([column, value]) =>
    value === undefined ? sql`` : write(column, value),
  )
  return sql`${parts}`
}

const scannedTraces = (sql: Queryable) => sql`
  select trace_id, organization, min(start_time::timestamptz) as first,
    max(start_time::timestamptz) as last
  from scanned group by trace_id, organization`

/** The traces among the scanned spans that fit the filters. */
const wantedTraces = (sql: Queryable, query: ExportQuery) => sql`
  select trace_id, organization from (${scannedTraces(sql)}) as traces
  where true ${forFilters(
    sql,
    query,
    (column, value) => sql`and exists (
      select from live_spans
      where live_spans.trace_id = traces.trace_id
        and live_spans.organization = traces.organization
        and live_spans.${sql(column)} = ${value}
        and live_spans.start_time between traces.first - interval '1 day'
          and traces.last + interval '1 day'
    )`,
  )}`

/** The same where spans are on other nodes: Citus does not look into them trace by trace. */
const wantedOnNodes = (sql: Queryable, query: ExportQuery) => sql`
  select trace_id, organization from (${scannedTraces(sql)}) as traces
  ${forFilters(
    sql,
    query,
    (column, value) => sql`join (
      select distinct trace_id, organization from live_spans
      where live_spans.${sql(column)} = ${value}
        and trace_id in (select trace_id::uuid from scanned)
        and live_spans.start_time
          between (select min(start_time::timestamptz) from scanned) - interval '1 day'
            and (select max(start_time::timestamptz) from scanned) + interval '1 day'
    ) as ${sql(`with_${column}`)} using (trace_id, organization)`,
  )}`

const CURSOR =
  /^(-?\d{1,16}) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) (-?\d{1,19}) ([^\0]{0,64})$/su

const toExportCursor = (position: ExportPosition): string => {
  const { startUs, traceId, spanId, organization } = position
  return Buffer.from(`${startUs} ${traceId} ${spanId} ${organization}`).toString('base64url')
}

/** Raises `invalid_request` for anything that is not the cursor of a line. */
export function readExportCursor(cursor: string): ExportPosition {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [, startUs, traceId, spanId, organization = ''] = CURSOR.exec(text) ?? []
  if (!startUs || !traceId || !spanId) throw wrongCursor()
  const position = { startUs, traceId, spanId, organization }
  if (!isInt8(BigInt(spanId)) || toExportCursor(position) !== cursor) throw wrongCursor()
  return position
}
