import type { Queryable } from '../../shared/postgres/database.ts'
import { createMemory, lend } from '../otlp/memory.ts'
import { createJsonRewriter } from '../otlp/json-request.ts'
import { overBudget } from '../otlp/refusals.ts'
import { isDistributed } from '../store/spans/distribution.ts'
import { createSpanWriter, readOwnedSpans, sortByOwner } from './owned-spans.ts'
import type { Reader } from './reader.ts'
import { chunksOf } from './span-chunks.ts'
import { isInt8, wrongCursor } from './span-cursor.ts'
import { placeOf, storedBytes } from './span-rows.ts'
import type { SpanPlace } from './span-rows.ts'

/** A place in what is forwarded: behind a note, behind a trace of it, or behind a span of that. */
interface ForwardPosition {
  readonly id: bigint
  /** A UUID. */
  readonly traceId?: string | undefined
  readonly span?: Pick<SpanPlace, 'startUs' | 'spanId'> | undefined
}

/** What is asked for. */
interface ForwardQuery {
  /** Undefined for what is committed from now on: no spans, and the position of the last note. */
  readonly after: ForwardPosition | undefined
  /** Of 100 traces so many, by their ids: whole traces, and the same ones each time. */
  readonly share: number
  /** Only spans of these services, as patterns of `like`. @default of all */
  readonly services: string[] | undefined
  /** The most spans of a page. */
  readonly spans: number
}

/** Spans that were committed one after the other. */
interface ForwardPage {
  /** An ExportTraceServiceRequest in OTLP's JSON encoding; undefined without spans. */
  readonly json: string | undefined
  readonly spans: number
  /** Behind the last span. */
  readonly next: ForwardPosition
  /** Nothing else is committed that the page does not have. */
  readonly isLast: boolean
  /** The commit of the oldest span that it has, in ISO 8601; undefined without any. */
  readonly notedAt: string | undefined
}

/** Notes looked at, and bytes of their trace ids: always one note. */
const NOTES_MAX = 200
const ID_BYTES_MAX = 64 * 1024
const TRACES_MAX = 500
/** In memory at a time, unless a single span is larger. */
const PAGE_BYTES = 2 << 20
const ID_DIGITS = 32

/** Reads the next spans that were committed. */
export async function readForwardPage(reader: Reader, query: ForwardQuery): Promise<ForwardPage> {
  const { organization = '' } = reader
  const { after } = query
  if (!after) {
    const id = await reader.ask((sql) => findLastId(sql, organization))
    return { json: undefined, spans: 0, next: { id }, isLast: true, notedAt: undefined }
  }
  const { notes, from } = await reader.ask((sql) => listNotes(sql, organization, after))
  const { traces, next, isLast } = chooseTraces(notes, from, query.share)
  await warm(reader, traces)
  const { spans: limit, services } = query
  const asked = { organization, traces, from, services, limit }
  const places = await reader.ask((sql) => listPlaces(sql, asked))
  // One place more than the page may have says that there are more.
  const [chunk = []] = chunksOf(places.slice(0, limit), { spans: limit, bytes: PAGE_BYTES })
  const isCut = chunk.length < places.length
  const end = chunk.at(-1)
  return {
    json: chunk.length === 0 ? undefined : await jsonOf(reader, chunk),
    spans: chunk.length,
    next: isCut && end ? { id: BigInt(end.noteId), traceId: end.traceId, span: end } : next,
    isLast: isLast && !isCut,
    notedAt: notes.find(({ id }) => id === (chunk[0]?.noteId ?? ''))?.notedAt.toISOString(),
  }
}

async function findLastId(sql: Queryable, organization: string): Promise<bigint> {
  const [row] = await sql<{ id: string | null }[]>`
    select max(id)::text as id from spans_to_forward where organization = ${organization}`
  return BigInt(row?.id ?? 0)
}

/** Spans that one transaction stored in a day, by their traces. */
interface Note {
  readonly id: string
  readonly day: string
  /** Hexadecimal, 32 digits each. */
  readonly traceIds: string
  readonly notedAt: Date
  /** The `xmin` of the spans; null where they may have another one. */
  readonly storedBy: string | null
  readonly isArchived: boolean
  /** There are notes behind it. */
  readonly hasMore: boolean
}

/**
 * Lists the next notes. A row stays until another one is done: without any at or behind the
 * position the table was emptied, and all that it has is new.
 */
async function listNotes(
  sql: Queryable,
  organization: string,
  after: ForwardPosition,
): Promise<{ notes: readonly Note[]; from: ForwardPosition }> {
  const known = await sql`
    select from spans_to_forward
    where organization = ${organization} and id >= ${String(after.id)}::text::int8 limit 1`
  const from: ForwardPosition = known.length > 0 ? after : { id: 0n }
  const first = from.traceId === undefined ? from.id + 1n : from.id
  // Citus stores spans in transactions of other nodes.
  const isExact = !(await isDistributed(sql))
  const notes = await sql<Note[]>`
    with next as (
      select id, day, trace_ids, noted_at, stored_by, moved_by,
        xmin::text::int8 as written_by,
        sum(length(trace_ids)) over (order by id) - length(trace_ids) as bytes_before
      from (
        select *, xmin from spans_to_forward
        where organization = ${organization} and id >= ${String(first)}::text::int8
        order by id limit ${NOTES_MAX + 1}
      ) as rows
    ), noted as (
      select next.*, is_archived(${organization}, next.day) as is_archived,
        row_number() over (order by id) as nr, lead(id) over (order by id) is not null as has_more
      from next
    )
    select id::text, day::text, encode(trace_ids, 'hex') as trace_ids, noted_at, is_archived,
      has_more, case when ${isExact} and written_by = moved_by and not is_archived
        then stored_by::text end as stored_by
    from noted where bytes_before < ${ID_BYTES_MAX} and nr <= ${NOTES_MAX} order by noted.id`
  return { notes, from }
}

/** A trace of a note. */
interface NotedTrace {
  readonly note: Note
  /** A UUID. */
  readonly traceId: string
}

interface Chosen {
  readonly traces: readonly NotedTrace[]
  /** The position once all spans of these traces are done. */
  readonly next: ForwardPosition
  readonly isLast: boolean
}

/** Chooses the first traces of the notes, in the order of their ids within a note. */
function chooseTraces(notes: readonly Note[], from: ForwardPosition, share: number): Chosen {
  const traces: NotedTrace[] = []
  let next = from
  for (const note of notes) {
    const id = BigInt(note.id)
    for (const traceId of idsOf(note)) {
      if (id === from.id && isDone(traceId, from)) continue
      if (traces.length === TRACES_MAX) return { traces, next, isLast: false }
      if (isInShare(traceId, share)) traces.push({ note, traceId })
      next = { id, traceId }
    }
    next = { id }
  }
  return { traces, next, isLast: notes.at(-1)?.hasMore !== true }
}

function idsOf({ traceIds }: Note): string[] {
  const ids = new Set<string>()
  for (let at = 0; at < traceIds.length; at += ID_DIGITS)
    ids.add(toUuid(traceIds.slice(at, at + ID_DIGITS)))
  return [...ids].sort()
}

const toUuid = (digits: string): string =>
  digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

const isDone = (traceId: string, { traceId: last = '', span }: ForwardPosition): boolean =>
  span ? traceId < last : traceId <= last

const RANDOM_DIGITS = 14
const RANDOM_MAX = 2 ** (4 * RANDOM_DIGITS)

/**
 * Tells whether a trace is among those of a share in percent: as samplers of OpenTelemetry do, by
 * the last 56 bits of its id, of which the highest are in each share.
 */
export function isInShare(traceId: string, share: number): boolean {
  const random = Number.parseInt(traceId.replaceAll('-', '').slice(-RANDOM_DIGITS), 16)
  return random >= RANDOM_MAX * (1 - share / 100)
}

/** Brings spans of archived days back. */
async function warm(reader: Reader, traces: readonly NotedTrace[]) {
  const { cold, organization } = reader
  const archived = traces.filter(({ note }) => note.isArchived)
  if (!cold || archived.length === 0) return
  await reader.ask((sql) =>
    cold.warm(
      sql,
      archived.map(({ traceId }) => ({ organization, traceId })),
    ),
  )
}

interface ForwardPlace extends SpanPlace {
  readonly noteId: string
}

interface PlacesQuery {
  readonly organization: string
  readonly traces: readonly NotedTrace[]
  readonly from: ForwardPosition
  readonly services: string[] | undefined
  readonly limit: number
}

/** The spans of the traces that were stored with their notes, and are there still. */
async function listPlaces(
  sql: Queryable,
  { organization, traces, from, services, limit }: PlacesQuery,
): Promise<ForwardPlace[]> {
  if (traces.length === 0) return []
  const list = (read: (one: NotedTrace) => string | null) => traces.map(read)
  const { span } = from
  const isAfter = span
    ? sql`and (note_id, trace_id, start_us, span_id) > (
        ${String(from.id)}::text::int8, ${from.traceId ?? ''}::text::uuid,
        ${span.startUs}::text::int8, ${span.spanId}::text::int8)`
    : sql``
  // The name of a service is one of its resource, which a span has from the first on.
  const isOfService = services
    ? sql`and exists (select from resources where id = resource_id
        and attributes ->> 'service.name' like any (${services}::text[]))`
    : sql``
  return sql<ForwardPlace[]>`
    with noted as materialized (
      select * from unnest(
        ${list(({ note }) => note.id)}::text[]::int8[],
        ${list(({ traceId }) => traceId)}::text[]::uuid[],
        ${list(({ note }) => note.day)}::text[]::date[],
        ${list(({ note }) => note.storedBy)}::text[]::int8[]
      ) as noted (note_id, trace, day, stored_by)
    )
    select * from (
      select note_id, ${placeOf(sql, storedBytes('attributes'))}
      from noted join spans as live_spans on live_spans.trace_id = noted.trace
        and live_spans.organization = ${organization}
        and live_spans.start_time >= noted.day::timestamp at time zone 'UTC'
        and live_spans.start_time < (noted.day + 1)::timestamp at time zone 'UTC'
        and (noted.stored_by is null or live_spans.xmin::text::int8 = noted.stored_by)
        ${isOfService}
    ) as placed
    where true ${isAfter}
    order by note_id, trace_id, start_us, span_id limit ${limit + 1}`
}

async function jsonOf(reader: Reader, places: readonly SpanPlace[]): Promise<string | undefined> {
  const writer = createSpanWriter()
  const owned = await readOwnedSpans(reader, sortByOwner(places))
  // They have expired, or were erased meanwhile.
  if (owned.spans.length === 0) return undefined
  return `{"resourceSpans":[${writer.write(owned)}${writer.end()}]}`
}

/** For the largest span, in JSON and in protobuf; pages that are never written cost nothing. */
const ENCODER_BYTES = 256 << 20

/** Returns what writes a request in JSON as protobuf, with a memory of its own. */
export function createEncoder(): (json: string) => Buffer {
  const memory = createMemory(ENCODER_BYTES)
  const rewrite = createJsonRewriter(memory)
  return (json) => {
    const body = memory.takeForBody(Buffer.byteLength(json))
    if (!body) throw overBudget()
    return lend(memory, body, () => {
      body.write(json)
      return lend(memory, rewrite(body), (written) => Buffer.from(written))
    })
  }
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const POSITION = new RegExp(`^(\\d{1,19})(?:\\.(${UUID})(?:\\.(-?\\d{1,16})\\.(-?\\d{1,19}))?)?$`)

/** The text of a position, which is handed back as it is. */
export const toForwardCursor = ({ id, traceId, span }: ForwardPosition): string =>
  [id, ...(traceId ? [traceId] : []), ...(span ? [span.startUs, span.spanId] : [])].join('.')

/** Raises `invalid_request` for anything but the text of a position. */
export function readForwardCursor(cursor: string): ForwardPosition {
  const [, id, traceId, startUs, spanId] = POSITION.exec(cursor) ?? []
  if (id === undefined || !isInt8(BigInt(id)) || !isInt8(BigInt(spanId ?? 0))) throw wrongCursor()
  const isInSpan = startUs !== undefined && spanId !== undefined
  return { id: BigInt(id), traceId, span: isInSpan ? { startUs, spanId } : undefined }
}
