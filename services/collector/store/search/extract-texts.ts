import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError, toError } from '../../../shared/errors.ts'
import { openCopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { TRACES_A_NOTE } from './note-texts.ts'
import { TRACE_ID_BYTES } from '../../otlp/limits.ts'
import { DISTRIBUTED_SESSION } from '../spans/distribution.ts'
import {
  COPY,
  COPY_SIGNATURES,
  copySpans,
  CREATE_COPY,
  deleteFormerTexts,
  deleteStale,
  ensureDay,
  readUnsigned,
} from './signature-statements.ts'
import type { Noted, ReadLimits } from './signature-statements.ts'
import { createSignatures, TEXTS } from './signature.ts'
import type { Signatures } from './signature.ts'
import { createSignedTexts } from './signed-texts.ts'
import type { SignedTexts } from './signed-texts.ts'

/** Any number: who holds this lock reads texts, for one transaction. */
export const EXTRACT_LOCK = 7_310_452_123
const STATEMENT_MS = 120_000
/** Notes of an organization and a day that are taken at a time: whole ones are four. */
const MAX_NOTES = 200
const MAX_BYTES = 4 * TRACES_A_NOTE * TRACE_ID_BYTES
const LIMITS: ReadLimits = { spans: 32 * TEXTS, bytes: 32 << 20 }
/** For how long it reads texts without a pause. */
const BUSY_MS = 2

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
export interface ExtractionSession extends CopyConnection {
  /** Where it finds the spans of a note: `spans`, or a copy of those that are on other nodes. */
  readonly spans: string
  readonly signatureOf: Signatures
  readonly limits: ReadLimits
}

/** Opens a connection on which turns can be taken. */
export async function openExtraction(
  address: DatabaseAddress,
  limits: ReadLimits = LIMITS,
): Promise<ExtractionSession> {
  const options = { name: 'collector-search', statementTimeoutMs: STATEMENT_MS }
  const session = await openCopyConnection(address, options)
  try {
    await session.query(`
      set enable_seqscan = off; set jit = off; set max_parallel_workers_per_gather = 0;
      set idle_in_transaction_session_timeout = 20000; set idle_session_timeout = 60000`)
    const [row] = await session.rows('select is_distributed()')
    const signatureOf = createSignatures()
    if (row?.[0] !== 't') return { ...session, spans: 'spans', signatureOf, limits }
    await session.query(`${DISTRIBUTED_SESSION}; ${CREATE_COPY}`)
    return { ...session, spans: COPY, signatureOf, limits }
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
  const [lock] = await session.rows(BEGIN)
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

const BEGIN = `
  begin;
  select true from pg_try_advisory_xact_lock(${EXTRACT_LOCK}) as is_mine where is_mine`

const TAKE_NOTES = `
  with oldest as (
    select organization, day from traces_to_extract order by noted_at limit 1
  ),
  taken as (
    delete from traces_to_extract where ctid = any (array(
      select place from (
        select place,
          sum(octet_length(trace_ids)) over (order by noted_at, place) - octet_length(trace_ids)
            as bytes_before
        from (
          select noted.ctid as place, noted_at, trace_ids
          from traces_to_extract as noted join oldest using (organization, day)
          order by noted_at limit ${MAX_NOTES}
        ) as earliest
      ) as counted
      where bytes_before < ${MAX_BYTES}
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
  const stale = await session.rows(
    [ensureDay(noted), deleteFormerTexts(noted), deleteStale(noted, table)].join(';'),
  )
  const known = new Set(noted.traceIds)
  const more = stale.flatMap(([id]) => (id === null || id === undefined || known.has(id) ? [] : id))
  if (table === COPY && more.length > 0)
    await session.query(copySpans({ ...noted, traceIds: more }))
  const all = { ...noted, traceIds: [...known, ...more] }
  let spans = 0
  for (let left = Infinity; left > 0;) {
    const texts = await signSome(session, all)
    spans += texts.spans()
    left = texts.left()
  }
  return spans
}

/** Signs spans of these traces that are in no signature. */
async function signSome(session: ExtractionSession, noted: Noted): Promise<SignedTexts> {
  const texts = createSignedTexts(noted.organization, session.signatureOf)
  let failure: Error | undefined
  const rest = createRests()
  await session.copyOut(readUnsigned(noted, session.spans, session.limits), (row) => {
    try {
      if (failure === undefined) texts.add(row)
    } catch (thrown) {
      failure = toError(thrown)
    }
    return rest()
  })
  if (failure) throw failure
  if (texts.spans() === 0) return texts
  await session.copy(COPY_SIGNATURES, texts.stream())
  return texts
}

/** Returns a function that rests now and then: messages may be long, and requests are answered. */
function createRests(): () => Promise<void> | undefined {
  let resumedAt = performance.now()
  let isResting = false
  return () => {
    if (isResting || performance.now() - resumedAt < BUSY_MS) return undefined
    isResting = true
    return nextTurn().then(() => {
      isResting = false
      resumedAt = performance.now()
    })
  }
}
