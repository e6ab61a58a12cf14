import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '../../../shared/errors.ts'
import { openCopyConnection, quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection, Session } from '../../../shared/postgres/copy/copy-connection.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { messagesOf } from '../../conventions/messages.ts'
import { DISTRIBUTED_SESSION } from '../spans/distribution.ts'
import { excerptOf } from './excerpt.ts'
import {
  COPY,
  copySpans,
  CREATE_COPY,
  deleteFormerTexts,
  deleteStale,
  ensureDay,
  findUnsigned,
} from './signature-statements.ts'
import type { Noted } from './signature-statements.ts'
import { signatureOf, TEXTS } from './signature.ts'

/** Any number: who holds this lock reads texts, for one transaction. */
export const EXTRACT_LOCK = 7_310_452_123
const STATEMENT_MS = 120_000
/** Notes of an organization and a day that are taken at a time. */
const NOTES = 4
/** For how long it reads texts without a pause. */
const BUSY_MS = 2
/** Spans in memory at a time. */
const BATCH = 16

/** The outcome of one turn. */
export interface Extraction {
  /** Spans whose texts were read. */
  readonly spans: number
  /** False when another collector does it. */
  readonly isLeader: boolean
  /** True when there was nothing to do. */
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
 * Reads the texts of the traces in the oldest notes, in one transaction, in which the notes go and
 * the signatures come. Those of spans that are gone, or came again with another end, are made anew.
 */
export async function takeExtraction(session: ExtractionSession): Promise<Extraction> {
  const [lock] = await rowsInTransaction(session, lockQuery)
  try {
    const [notes] = lock ? await session.rows(TAKE_NOTES) : []
    // The signatures of an archived day stay as they are: its spans are not there.
    const spans = notes && notes[4] !== 't' ? await extract(session, notedIn(notes)) : 0
    const outcome = await session.query('commit')
    if (outcome !== 'COMMIT') throw new AppError('unavailable', `The server answered ${outcome}.`)
    const lagMs = Number(notes?.[3] ?? 0)
    return { spans, isLeader: lock !== undefined, isDone: notes === undefined, lagMs }
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

const TAKE_NOTES = `
  with oldest as (
    select organization, day from traces_to_extract order by noted_at limit 1
  ),
  taken as (
    delete from traces_to_extract where ctid = any (array(
      select noted.ctid from traces_to_extract as noted join oldest using (organization, day)
      order by noted_at limit ${NOTES}
    ))
    returning organization, day, trace_ids, noted_at
  )
  select organization, day, string_agg(trace_ids, ''),
    extract(epoch from now() - min(noted_at)) * 1000,
    is_archived(organization, day)
  from taken group by organization, day`

type Row = readonly (string | null)[]

const notedIn = ([organization, day, traceIds]: Row): Noted => ({
  dayMs: Date.parse(`${day}T00:00:00Z`),
  organization: organization ?? '',
  traceIds: traceIds?.match(/[0-9a-f]{32}/g) ?? [],
})

async function extract(session: ExtractionSession, noted: Noted): Promise<number> {
  const { spans: table } = session
  if (table === COPY) await session.query(copySpans(noted))
  // No table can be attached to one that an open cursor reads.
  await session.query(ensureDay(noted))
  await session.query(deleteFormerTexts(noted))
  const stale = await session.rows(deleteStale(noted, table))
  const known = new Set(noted.traceIds)
  const more = stale.flatMap(([id]) => (id === null || id === undefined || known.has(id) ? [] : id))
  if (table === COPY && more.length > 0)
    await session.query(copySpans({ ...noted, traceIds: more }))
  const all = { ...noted, traceIds: [...known, ...more] }
  await session.query(`declare unsigned no scroll cursor for ${findUnsigned(all, table)}`)
  const spans = await signAll(session, noted.organization)
  await session.query('close unsigned')
  return spans
}

/** A span with its text. */
interface Text {
  readonly startUs: string
  readonly traceId: string
  readonly member: string
  readonly text: string
}

async function signAll(session: Session, organization: string): Promise<number> {
  let spans = 0
  let texts: Text[] = []
  let resumedAt = performance.now()
  for (;;) {
    const rows = await session.rows(`fetch ${BATCH} from unsigned`)
    for (const row of rows) {
      texts.push(textOf(row))
      // Messages may be long: requests are answered in between.
      if (performance.now() - resumedAt < BUSY_MS) continue
      await nextTurn()
      resumedAt = performance.now()
    }
    spans += rows.length
    const isLast = rows.length === 0
    if (texts.length > 0 && (isLast || texts.length >= TEXTS)) {
      await session.query(insertSignature(texts, organization))
      texts = []
    }
    if (isLast) return spans
  }
}

function textOf([startUs, traceId, member, attributes = null, ...large]: Row): Text {
  const [payload = null, events = null] = large
  const { text } = excerptOf(messagesOf({ attributes, payload, events }))
  return { startUs: startUs ?? '', traceId: traceId ?? '', member: member ?? '', text }
}

function insertSignature(texts: readonly Text[], organization: string): string {
  const starts = texts.map(({ startUs }) => Number(startUs))
  const listed = (values: readonly string[]): string => `'{${values.join()}}'`
  const values = [
    toTime(Math.min(...starts)),
    toTime(Math.max(...starts)),
    quote(organization),
    texts.length,
    listed(texts.map(({ traceId }) => traceId)),
    listed(texts.map(({ member }) => member)),
    `'\\x${signatureOf(texts.map(({ text }) => text)).toString('hex')}'`,
  ]
  return `
    insert into text_signatures
      (start_time, last_start, organization, texts, trace_ids, members, signature)
    values (${values.join(', ')})`
}

const toTime = (us: number): string => `timestamptz 'epoch' + ${us} * interval '1 microsecond'`
