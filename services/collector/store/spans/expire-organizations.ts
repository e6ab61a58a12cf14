import type { Bells } from '../../../shared/bell.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { connectDatabase } from '../../../shared/postgres/database.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import type { Log } from '../../../shared/log.ts'
import type { Clock } from '../clock.ts'
import type { CollectorMetrics } from '../../observability/metrics.ts'
import { pause } from '../../../shared/pause.ts'
import { takeTurns } from '../take-turns.ts'
import { forgetOrganization, listArchivedDays } from '../archive/archived-days.ts'
import { createDropGuard } from './drop-guard.ts'
import type { DropGuard } from './drop-guard.ts'
import { organizationCutoff } from './days-by-organization.ts'
import type { DaysByOrganization } from './days-by-organization.ts'
import { dayOf, partitionName, startOfDay } from './partitions.ts'
import type { Day } from './partitions.ts'
import { dropLeftovers } from './retention.ts'

interface ExpiryOptions {
  /** Where the notes of the roll-ups are: the coordinator of Citus, or the database. */
  readonly address: DatabaseAddress
  readonly organizationRetention: DaysByOrganization
  readonly clock: Clock
  readonly metrics: CollectorMetrics
  readonly log: Log
  readonly signal: AbortSignal
}

const HOUR_MS = 3_600_000
const AFTER_FAILURE_MS = 60_000
const STATEMENT_MS = 60_000
/** Any number: who holds this lock deletes, for one transaction. */
const LOCK = 7_310_452_125
/** Traces, and spans, that one transaction is about; a larger trace takes several. */
const BATCH_TRACES = 200
const BATCH_SPANS = 5000

/**
 * Deletes expired spans of organizations each hour, and sooner after a failure, until the signal.
 * It rests after each transaction for as long as that took, so that it takes less than half of one
 * of the server's cores.
 */
export async function keepExpired(
  options: ExpiryOptions & { readonly bells: Bells },
): Promise<void> {
  const { address, organizationRetention } = options
  if (organizationRetention.size === 0) return
  const limits = { max: 1, statementTimeoutMs: STATEMENT_MS, plansEachTime: true }
  const guards = createGuards(options)
  await takeTurns({
    ...options,
    open() {
      const sql = connectDatabase(address, { name: 'collector-expiry', ...limits })
      return { sql, isOpen: () => true, close: () => sql.end({ timeout: 1 }) }
    },
    async take({ sql }) {
      await expireOrganizations(sql, { ...options, guards })
      return { restMs: HOUR_MS, isIdle: false }
    },
    afterFailureMs: AFTER_FAILURE_MS,
    failure: 'expired spans of organizations are not deleted',
  })
}

type Guards = ReadonlyMap<string, DropGuard>

/** One for each organization: many days at once are announced before they go. */
export function createGuards({ organizationRetention, clock, log }: ExpiryOptions): Guards {
  const create = (organization: string): DropGuard =>
    createDropGuard({ clock, log: log.child({ organization }) })
  return new Map([...organizationRetention.keys()].map((one) => [one, create(one)]))
}

/** Goes once through all organizations that have a retention of their own. */
export async function expireOrganizations(
  sql: Database,
  options: ExpiryOptions & { readonly guards: Guards },
): Promise<void> {
  const { organizationRetention, clock, metrics, signal, guards } = options
  let heldBack = 0
  for (const organization of organizationRetention.keys()) {
    const cutoff = organizationCutoff(organizationRetention, organization, clock.now()) ?? -Infinity
    const expired = await listExpiredDays(sql, organization, cutoff)
    const admitted = expired.length > 0 ? (guards.get(organization)?.(expired) ?? []) : []
    const archived = new Set(await listArchivedDays(sql, organization))
    heldBack += expired.length - admitted.length
    for (const { day } of admitted) {
      const expired = { organization, day, cutoff }
      const isDone = await expireOrForget(sql, expired, { ...options, archived })
      if (!isDone || signal.aborted) return
    }
    const isSure = admitted.length === expired.length && !clock.isSkewed()
    if (isSure) await dropLeftovers(sql, dayOf(cutoff), organization)
    if (!clock.isSkewed()) metrics.organizationRetentionSuccess.set(clock.now() / 1000)
  }
  metrics.organizationHeldBackDays.set(heldBack)
}

interface ExpiredDay {
  readonly name: string
  readonly day: Day
}

/** The days in which traces of the organization started that are older, the oldest first. */
async function listExpiredDays(
  sql: Database,
  organization: string,
  cutoff: number,
): Promise<ExpiredDay[]> {
  const days = await sql<{ day: number }[]>`
    select distinct floor(extract(epoch from start_time) / 86400)::int as day
    from traces where organization = ${organization} and start_time < ${toTime(cutoff)}::timestamptz
    order by day`
  return days.map(({ day }) => ({ name: partitionName(day), day }))
}

const toTime = (ms: number): string => new Date(ms).toISOString()

/** What an organization has in a day, up to a time. */
interface Expired {
  readonly organization: string
  readonly day: Day
  readonly cutoff: number
}

interface ExpiredTrace {
  readonly traceId: string
  readonly startTime: string
  readonly firstStart: string
  readonly spans: number
}

/** Of an archived day files go as a whole, once all that is in them has expired. */
async function expireOrForget(
  sql: Database,
  expired: Expired,
  { archived, ...options }: ExpiryOptions & { readonly archived: ReadonlySet<string> },
): Promise<boolean> {
  const { organization, day, cutoff } = expired
  const date = startOfDay(day).slice(0, 10)
  if (!archived.has(date)) return expireDay(sql, expired, options)
  if (day < dayOf(cutoff)) await forgetOrganization(sql, date, organization)
  return true
}

/**
 * Deletes the expired spans of the traces that started in this day, in short transactions. False
 * when another replica is at it.
 */
async function expireDay(
  sql: Database,
  expired: Expired,
  { metrics, signal }: ExpiryOptions,
): Promise<boolean> {
  let last: ExpiredTrace | undefined
  for (;;) {
    const traces = await listTraces(sql, expired, last)
    if (traces.length === 0) return true
    let isWhole = false
    while (!isWhole) {
      const started = performance.now()
      const turn = await sql.begin((tx) => expireTraces(tx, expired, traces))
      if (!turn) return false
      metrics.expiredSpans.inc(turn.spans)
      isWhole = turn.isWhole
      if (!(await pause(signal, performance.now() - started))) return true
    }
    last = traces.at(-1)
  }
}

/** The next traces, as the roll-ups know them, with no more spans than one transaction may have. */
async function listTraces(
  sql: Database,
  { organization, day, cutoff }: Expired,
  last: ExpiredTrace | undefined,
): Promise<ExpiredTrace[]> {
  const ends = toTime(Math.min(Date.parse(startOfDay(day + 1)), cutoff))
  const behind = last
    ? sql`(${last.startTime}::text::timestamptz, ${last.traceId}::text::uuid)`
    : sql`(${startOfDay(day)}::text::timestamptz, '00000000-0000-0000-0000-000000000000'::uuid)`
  const rows = await sql<ExpiredTrace[]>`
    select trace_id, start_time::text, first_start::text, spans::float8 as spans from traces
    where organization = ${organization} and start_time < ${ends}::text::timestamptz
      and (start_time, trace_id) > ${behind}
      and not exists (
        select from held_traces h
        where h.organization = traces.organization and h.trace_id = traces.trace_id)
    order by start_time, trace_id limit ${BATCH_TRACES}`
  let spans = 0
  const end = rows.findIndex((row) => (spans += row.spans) > BATCH_SPANS)
  return end < 0 ? [...rows] : rows.slice(0, Math.max(end, 1))
}

interface ExpiryTurn {
  readonly spans: number
  /** False while these traces have more expired spans. */
  readonly isWhole: boolean
}

/**
 * Deletes expired spans of these traces, and notes them for the roll-ups, which then follow as they
 * do for late spans. Undefined when another replica is at it.
 */
async function expireTraces(
  tx: Transaction,
  expired: Expired,
  traces: readonly ExpiredTrace[],
): Promise<ExpiryTurn | undefined> {
  const [lock] = await tx<{ isMine: boolean }[]>`
    select pg_try_advisory_xact_lock(${LOCK}) as is_mine`
  if (!lock?.isMine) return undefined
  const gone: GoneSpan[] = []
  let isWhole = true
  for (const trace of traces) {
    const upTo = trace.spans > BATCH_SPANS ? await findBound(tx, expired, trace) : undefined
    isWhole &&= upTo === undefined
    gone.push(...(await deleteSpans(tx, expired, { ...trace, upTo })))
  }
  if (gone.length > 0) await noteGone(tx, expired.organization, gone)
  return { spans: gone.length, isWhole }
}

interface GoneSpan {
  readonly traceId: string
  readonly day: Day
}

/** The start up to which a large trace is deleted in this transaction; undefined for all of it. */
async function findBound(
  tx: Transaction,
  { organization, cutoff }: Expired,
  { traceId }: ExpiredTrace,
): Promise<string | undefined> {
  const [bound] = await tx<{ startTime: string }[]>`
    select start_time::text from spans
    where trace_id = ${traceId}::text::uuid and organization = ${organization}
      and start_time < ${toTime(cutoff)}::text::timestamptz
    order by start_time + interval '0' offset ${BATCH_SPANS} limit 1`
  return bound?.startTime
}

/** `between` keeps the planner to the index on the trace id in a day that nobody has analyzed. */
async function deleteSpans(
  tx: Transaction,
  { organization, cutoff }: Expired,
  { traceId, firstStart, upTo }: ExpiredTrace & { readonly upTo: string | undefined },
): Promise<GoneSpan[]> {
  const bounds = tx`
    organization = ${organization} and trace_id = ${traceId}::text::uuid
    and trace_id between ${traceId}::text::uuid and ${traceId}::text::uuid
    and start_time >= ${firstStart}::text::timestamptz
    and start_time < ${toTime(cutoff)}::text::timestamptz
    ${upTo === undefined ? tx`` : tx`and start_time <= ${upTo}::text::timestamptz`}`
  await tx`delete from span_texts where ${bounds}`
  // Citus returns only what depends on no setting of a session, as the text of a date does.
  return tx<GoneSpan[]>`
    delete from spans where ${bounds}
    returning trace_id, (start_time at time zone 'UTC')::date - date '1970-01-01' as day`
}

async function noteGone(
  tx: Transaction,
  organization: string,
  gone: readonly GoneSpan[],
): Promise<void> {
  const noted = new Map(gone.map((span) => [`${span.day} ${span.traceId}`, span]))
  const spans = [...noted.values()]
  await tx`
    insert into touched_traces (organization, day, trace_ids)
    select ${organization}, day, string_agg(uuid_send(trace_id), '')
    from unnest(
        ${spans.map(({ day }) => startOfDay(day))}::text[]::date[],
        ${spans.map(({ traceId }) => traceId)}::text[]::uuid[]
      ) as gone (day, trace_id)
    group by day`
}
