import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '../../../shared/errors.ts'
import { openCopyConnection, quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection, Session } from '../../../shared/postgres/copy/copy-connection.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { messagesOf } from '../../conventions/messages.ts'
import { DISTRIBUTED_SESSION } from '../spans/distribution.ts'
import { partitionName, startOfDay } from '../spans/partitions.ts'
import { excerptOf } from './excerpt.ts'
import { HAS_TEXTS } from './note-texts.ts'

/** Any number: who holds this lock reads texts, for one transaction. */
export const EXTRACT_LOCK = 7_310_452_123
const STATEMENT_MS = 120_000
const DAY_MS = 86_400_000
/** Spans in memory at a time, and bytes above which a large value of a span is not read. */
const BATCH = 16
const MAX_BYTES = 512 * 1024

/** The outcome of one turn. */
export interface Extraction {
  /** Spans whose texts were read. */
  readonly spans: number
  /** True when there was nothing to do, or another collector does it. */
  readonly isDone: boolean
  /** The age of what was read: how long its texts could not be found. */
  readonly lagMs: number
}

/** A connection on which turns can be taken. */
interface ExtractionSession extends CopyConnection {
  /** Where it finds the spans of a note: `spans`, or a copy of those that are on other nodes. */
  readonly spans: string
}

/** Opens a connection on which turns can be taken. */
export async function openExtraction(address: DatabaseAddress): Promise<ExtractionSession> {
  const options = { name: 'collector-search', statementTimeoutMs: STATEMENT_MS }
  const session = await openCopyConnection(address, options)
  try {
    await session.query(`
      set enable_seqscan = off; set jit = off; set max_parallel_workers_per_gather = 0;
      set idle_in_transaction_session_timeout = 20000`)
    const [row] = await session.rows('select is_distributed()')
    if (row?.[0] !== 't') return { ...session, spans: 'spans' }
    await session.query(`${DISTRIBUTED_SESSION}; ${CREATE_COPY}`)
    return { ...session, spans: COPY }
  } catch (error) {
    session.close()
    throw error
  }
}

/**
 * Reads the texts of the traces in the oldest note, in one transaction, in which the note goes and
 * the texts come. Texts of spans that are gone, or came again with another end, go too.
 */
export async function takeExtraction(session: ExtractionSession): Promise<Extraction> {
  const [lock] = await rowsInTransaction(session, lockQuery)
  try {
    const [note] = lock ? await session.rows(TAKE_NOTE) : []
    const spans = note ? await extract(session, noteOf(note)) : 0
    const outcome = await session.query('commit')
    if (outcome !== 'COMMIT') throw new AppError('unavailable', `The server answered ${outcome}.`)
    return { spans, isDone: note === undefined, lagMs: Number(note?.[3] ?? 0) }
  } catch (error) {
    if (session.isOpen()) await session.query('rollback')
    throw error
  }
}

const lockQuery = `
  select true from pg_try_advisory_xact_lock(${EXTRACT_LOCK}) as is_mine where is_mine`

async function rowsInTransaction(session: Session, query: string) {
  await session.query('begin')
  return session.rows(query)
}

const TAKE_NOTE = `
  delete from traces_to_extract where ctid = any (array(
    select ctid from traces_to_extract order by noted_at limit 1
  ))
  returning organization, day, trace_ids, extract(epoch from now() - noted_at) * 1000`

type Row = readonly (string | null)[]

/** A note, with its values as they are written in SQL. */
interface Note {
  readonly dayMs: number
  readonly organization: string
  readonly traceIds: string
}

const noteOf = ([organization, day, traceIds]: Row): Note => ({
  dayMs: Date.parse(`${day}T00:00:00Z`),
  organization: quote(organization ?? ''),
  traceIds: quote(traceIds ?? '\\x'),
})

async function extract(session: ExtractionSession, note: Note): Promise<number> {
  const { spans: table } = session
  if (table === COPY) await session.query(copySpans(note))
  // No table can be attached to one that an open cursor reads.
  await session.query(ensureDay(note.dayMs))
  await session.query(deleteStale(note, table))
  await session.query(`declare found no scroll cursor for ${findSpans(note, table)}`)
  let spans = 0
  for (;;) {
    const rows = await session.rows(`fetch ${BATCH} from found`)
    if (rows.length === 0) break
    const values: string[] = []
    for (const row of rows) {
      values.push(valuesOf(row, note))
      // Messages may be long: requests are answered in between.
      await nextTurn()
    }
    await session.query(`insert into span_texts values ${values.join(', ')}`)
    spans += rows.length
  }
  await session.query('close found')
  return spans
}

const touched = ({ traceIds }: Note): string => `
  (
    select distinct encode(substr(${traceIds}::bytea, place, 16), 'hex')::uuid as trace_id
    from generate_series(1, length(${traceIds}::bytea), 16) as place
  ) as touched`

const withinDay = (table: string, { dayMs, organization }: Note): string => `
  ${table}.trace_id = touched.trace_id
  and ${table}.trace_id between touched.trace_id and touched.trace_id
  and ${table}.organization = ${organization}
  and ${table}.start_time >= '${new Date(dayMs).toISOString()}'
  and ${table}.start_time < '${new Date(dayMs + DAY_MS).toISOString()}'`

/** The same span, as it was when its text was read. */
const SAME = `
  spans.trace_id = span_texts.trace_id and spans.start_time = span_texts.start_time
  and spans.span_id = span_texts.span_id and spans.organization = span_texts.organization
  and spans.duration_ns is not distinct from span_texts.duration_ns`

const deleteStale = (note: Note, table: string): string => `
  delete from span_texts using ${touched(note)}
  where ${withinDay('span_texts', note)}
    and not exists (select from ${table} as spans where ${SAME})`

const small = (column: string): string =>
  `case when octet_length(${column}) <= ${MAX_BYTES} then ${column} end as ${column}`

const findSpans = (note: Note, table: string): string => `
  select found.* from ${touched(note)} cross join lateral (
    select start_time, trace_id, span_id, duration_ns, attributes::text, ${small('payload')},
      ${small('events')}
    from ${table} as spans
    where ${withinDay('spans', note)} and ${HAS_TEXTS}
      and not exists (select from span_texts where ${SAME})
    offset 0
  ) as found`

/** The spans of one note that have texts: Citus does not join those on other nodes with texts. */
const COPY = 'spans_of_note'
const COPIED =
  'start_time, trace_id, span_id, parent_span_id, organization, duration_ns, operation_kind, ' +
  'attributes'
const CREATE_COPY = `
  create temp table ${COPY} on commit delete rows as
    select ${COPIED}, payload, events from spans with no data;
  create index on ${COPY} (trace_id)`

const copySpans = ({ dayMs, organization, traceIds }: Note): string => `
  insert into ${COPY}
  select ${COPIED}, ${small('payload')}, ${small('events')} from spans
  where trace_id = any ('{${(traceIds.match(/[0-9a-f]{32}/g) ?? []).join()}}')
    and organization = ${organization} and ${HAS_TEXTS}
    and start_time >= '${new Date(dayMs).toISOString()}'
    and start_time < '${new Date(dayMs + DAY_MS).toISOString()}'`

function valuesOf(row: Row, { organization }: Note): string {
  const [startTime, traceId, spanId, durationNs, attributes = null, ...texts] = row
  const [payload = null, events = null] = texts
  const { text, askedAt, answeredAt } = excerptOf(messagesOf({ attributes, payload, events }))
  const values = [quote(startTime ?? ''), quote(traceId ?? ''), spanId, organization]
  const places = [askedAt ?? 'null', answeredAt ?? 'null']
  return `(${[...values, durationNs ?? 'null', quote(text), ...places].join(', ')})`
}

/** `span_texts_20261121`; none for a day that has been dropped. */
const ensureDay = (dayMs: number): string => {
  const [begins, ends] = [dayMs, dayMs + DAY_MS].map((ms) => startOfDay(ms / DAY_MS))
  const name = `span_texts_${begins?.slice(0, 10).replaceAll('-', '')}`
  return `
    do $$
    begin
      if to_regclass('${name}') is null
        and to_regclass('${partitionName(dayMs / DAY_MS)}') is not null
      then
        create table ${name} (like span_texts including storage including compression);
        alter table ${name} alter column text set statistics 1;
        alter table span_texts attach partition ${name}
          for values from ('${begins}') to ('${ends}');
      end if;
    end
    $$`
}
