import { deadline } from '../../../shared/deadline.ts'
import { AppError, toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { connectDatabase } from '../../../shared/postgres/database.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import { sqlState } from '../../../shared/postgres/failures.ts'
import { removeFiles } from '../archive/archive-files.ts'
import type { ColdDays } from '../archive/cold-days.ts'
import { findArchived } from '../archive/find-archived.ts'
import { forgetTexts, listFilesOf, replaceFiles } from '../archive/forget-trace.ts'
import { findMentions, forgetMentions } from './find-mentions.ts'
import type { FoundMentions } from './find-mentions.ts'
import { holdTraces, isHeld, liftHold } from './held-traces.ts'
import type { HoldKey } from './held-traces.ts'
import { isDistributed } from '../spans/distribution.ts'

/** The trace to erase, and who wants that. */
interface Erasure {
  /** A UUID. */
  readonly traceId: string
  /** Whose trace it is; an empty text for the platform's own. */
  readonly organization: string
  /** Of the token. */
  readonly issuer: string | undefined
  readonly tokenId: string | undefined
}

/** An erasure that was carried out. */
interface Erased {
  readonly spans: number
  readonly erasedAt: Date
}

/** Deletes traces for good, on a connection of its own. */
export interface Eraser {
  /**
   * Resolves when all that the trace has is deleted. Raises `not_found`, `conflict` for one that a
   * hold keeps, `timeout` when that takes too long and nothing is deleted, and `unavailable`.
   */
  erase(erasure: Erasure): Promise<Erased>
  /** Finds traces with what is looked for, some at a time. */
  find(question: Parameters<typeof findMentions>[1]): Promise<FoundMentions>
  /** Takes a text out of what is of no trace alone. */
  forget(mention: Parameters<typeof forgetMentions>[1]): Promise<void>
  /** Keeps traces from being deleted, by whatever. */
  hold(hold: HoldKey, traceIds: readonly string[]): Promise<void>
  /** Returns how many traces the hold had. */
  lift(hold: HoldKey): Promise<number>
  close(): Promise<void>
}

/** A gigabyte takes seconds. */
const STATEMENT_MS = 60_000
const DEADLINE_MS = 65_000
/** The time that it waits for the commits of spans that are under way. */
const LOCK_MS = 3000
/** SQLSTATE of a lock that was waited for in vain. */
const LOCK_NOT_AVAILABLE = '55P03'
/** With that of a statement that the server ended at its timeout. */
const TIMEOUTS = new Set(['57014', LOCK_NOT_AVAILABLE])

interface EraserOptions {
  readonly statementMs?: number
  /** Undefined where there is no store of archived days. */
  readonly cold?: ColdDays | undefined
}

/** Opens no connection before the first erasure. */
export function createEraser(
  address: DatabaseAddress,
  { statementMs = STATEMENT_MS, cold }: EraserOptions = {},
): Eraser {
  const limits = { max: 1, statementTimeoutMs: statementMs, connectTimeoutMs: 3000 }
  const sql = connectDatabase(address, { name: 'collector-erase', ...limits })
  const within = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await deadline({ name: 'The trace database', timeoutMs: DEADLINE_MS }, work)
    } catch (thrown) {
      throw TIMEOUTS.has(sqlState(thrown) ?? '') ? tookTooLong(thrown) : thrown
    }
  }
  return {
    erase: (erasure) => within(() => eraseTrace(sql, erasure, cold)),
    find: (question) => within(() => findMentions(sql, question, cold)),
    forget: (mention) => within(() => forgetMentions(sql, mention)),
    hold: (hold, traceIds) => within(() => holdTraces(sql, hold, traceIds)),
    lift: (hold) => within(() => liftHold(sql, hold)),
    close: () => sql.end({ timeout: 1 }),
  }
}

const tookTooLong = (cause: unknown): AppError =>
  new AppError('timeout', 'The deletion takes too long; nothing was deleted. Try again later.', {
    cause,
  })

/**
 * Two transactions: from the first one on no span of the trace is stored, and the second one
 * deletes those that are there. What was asked for is on record even if the second one fails.
 */
async function eraseTrace(
  sql: Database,
  erasure: Erasure,
  cold: ColdDays | undefined,
): Promise<Erased> {
  if (await isHeld(sql, erasure)) throw keptByHold()
  await restoreTrace(sql, erasure, cold)
  if (!(await exists(sql, erasure))) throw traceToDeleteNotFound(erasure.traceId)
  return carryOut(sql, { ...erasure, id: await sql.begin((tx) => refuseSpans(tx, erasure)) }, cold)
}

const keptByHold = (): AppError =>
  new AppError('conflict', 'A legal hold keeps the trace. It can be deleted once that is lifted.')

async function carryOut(
  sql: Database,
  { id, ...erasure }: Erasure & { readonly id: string },
  cold: ColdDays | undefined,
): Promise<Erased> {
  const files = await listFilesOf(sql, erasure)
  const rewritten = files.length > 0 ? await cold?.without(erasure.traceId, files) : undefined
  const erased = await sql.begin(async (tx) => {
    if (await isHeld(tx, erasure)) throw keptByHold()
    await replaceFiles(tx, rewritten ?? [])
    const deleted = await deleteSpans(tx, id, erasure)
    await requireNoOthers(tx, erasure, [
      ...files,
      ...(rewritten ?? []).map(({ instead }) => instead),
    ])
    return deleted
  })
  // What is left the next maintenance removes.
  if (cold && rewritten) await removeFiles({ sql, store: cold.store }).catch(() => {})
  return erased
}

/**
 * Raises `conflict` where spans have moved into other files since these were listed. The deletion
 * has waited for whoever was moving them.
 */
async function requireNoOthers(
  tx: Transaction,
  erasure: Erasure,
  known: readonly ({ readonly path: string } | undefined)[],
): Promise<void> {
  const paths = new Set(known.map((file) => file?.path))
  const others = (await listFilesOf(tx, erasure)).filter(({ path }) => !paths.has(path))
  if (others.length > 0)
    throw new AppError('conflict', 'A day of the trace was just archived; try again.')
}

/**
 * Carries out the erasures that were not carried out to the end, and those of a ledger that was put
 * into a restored database: before anything is read there. One that fails is logged, and tried
 * again at the next start.
 */
export async function finishErasures(
  sql: Database,
  { cold, log }: { readonly cold: ColdDays | undefined; readonly log: Log },
): Promise<void> {
  const open = await sql<{ id: string; organization: string; traceId: string }[]>`
    select id::text, organization, trace_id from erasures where erased_at is null order by id`
  for (const each of open) {
    const erasure = { ...each, issuer: undefined, tokenId: undefined }
    try {
      await restoreTrace(sql, erasure, cold)
      await carryOut(sql, erasure, cold)
    } catch (thrown) {
      const facts = { trace_id: each.traceId, reason: toError(thrown).message }
      log.error(facts, 'an erasure is not carried out yet')
    }
  }
  if (open.length > 0) log.info({ erasures: open.length }, 'erasures were carried out')
}

/** Archived spans are deleted as others are, once they are back, and from their files. */
async function restoreTrace(
  sql: Database,
  { traceId, organization }: Erasure,
  cold: ColdDays | undefined,
): Promise<void> {
  const missing = await findArchived(sql, [{ traceId, organization }])
  if (missing.length === 0) return
  if (cold) return cold.restore(missing)
  throw new AppError('unavailable', 'Days of the trace are archived, and their store is not set.')
}

/** The error for a trace without spans, and for one of another organization. */
const traceToDeleteNotFound = (traceId: string): AppError =>
  new AppError(
    'not_found',
    `There is no trace ${traceId} to delete. It may have expired, or was deleted already.`,
  )

async function exists(sql: Database, { traceId, organization }: Erasure): Promise<boolean> {
  const [found] = await sql<{ isThere: boolean }[]>`
    select exists (
        select 1 from spans
        where trace_id = ${traceId}::text::uuid and organization = ${organization}
      ) or exists (
        select 1 from span_rejects
        where trace_id = ${traceId}::text::uuid and organization = ${organization}
      ) as is_there`
  return found?.isThere === true
}

async function refuseSpans(tx: Transaction, erasure: Erasure): Promise<string> {
  const { traceId, organization, issuer, tokenId } = erasure
  await tx`select set_config('lock_timeout', ${`${LOCK_MS}`}, true)`
  await tx`lock table touched_traces in share row exclusive mode`
  if (!(await isDistributed(tx)))
    await tx`alter table touched_traces enable trigger remove_erased_spans`
  const [row] = await tx<{ id: string }[]>`
    insert into erasures (issuer, token_id, organization, trace_id)
    values (${issuer ?? null}, ${tokenId ?? null}, ${organization}, ${traceId}::text::uuid)
    returning id`
  return row?.id ?? ''
}

/**
 * The notes let the leader of the roll-ups take the trace out of them, with what it added, and that
 * of the search make signatures anew. Until then these have nothing of any text.
 */
async function deleteSpans(
  tx: Transaction,
  id: string,
  { traceId, organization }: Erasure,
): Promise<Erased> {
  const ofTrace = tx`trace_id = ${traceId}::text::uuid and organization = ${organization}`
  const [days] = await tx<{ first: string; last: string }[]>`
    select (coalesce(min(start_time), now()) at time zone 'UTC')::date::text as first,
      (coalesce(max(start_time), now()) at time zone 'UTC')::date::text as last
    from spans where ${ofTrace}`
  const { count } = await tx`delete from spans where ${ofTrace}`
  await tx`
    insert into touched_traces (organization, day, trace_ids)
    select ${organization}::text, day::date, uuid_send(${traceId}::text::uuid)
    from generate_series(
      ${days?.first ?? ''}::text::timestamp, ${days?.last ?? ''}::text::timestamp,
      interval '1 day'
    ) as day`
  await forgetTexts(tx, { traceId, organization })
  await tx`delete from span_texts where ${ofTrace}`
  await tx`delete from span_rejects where ${ofTrace}`
  const [row] = await tx<Erased[]>`
    update erasures set erased_at = now(), spans = ${count} where id = ${id}::text::int8
    returning spans::float8 as spans, erased_at`
  if (!row) throw new Error('The erasure that was asked for is not on record.')
  return row
}

/**
 * Ends the look of each commit at the erasures once none of them refuses spans any more. Its lock
 * waits for the commits under way, and gives up rather than hold others up.
 */
export async function relaxErasures(sql: Database): Promise<void> {
  const [found] = await sql<{ isIdle: boolean }[]>`
    select tgenabled <> 'D' and not exists (select from erasures where refused_until > now())
      as is_idle
    from pg_trigger
    where tgrelid = 'touched_traces'::regclass and tgname = 'remove_erased_spans'`
  if (!found?.isIdle) return
  const relaxing = sql.begin(async (tx) => {
    await tx`select set_config('lock_timeout', ${`${LOCK_MS}`}, true)`
    await tx`lock table touched_traces in share row exclusive mode`
    const active = await tx`select from erasures where refused_until > now() limit 1`
    if (active.length > 0) return
    await tx`alter table touched_traces disable trigger remove_erased_spans`
  })
  await relaxing.catch((thrown: unknown) => {
    // The next run tries again.
    if (sqlState(thrown) !== LOCK_NOT_AVAILABLE) throw thrown
  })
}
