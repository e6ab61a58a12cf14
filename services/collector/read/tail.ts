import { setTimeout as delay } from 'node:timers/promises'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import type { Reader } from './reader.ts'

/** The traces that are followed. */
export interface TailQuery {
  readonly crew?: string | undefined
  readonly kickoff?: string | undefined
  /** The id of the last event that the caller has seen; undefined for from now on. */
  readonly after: bigint | undefined
}

/** What ends a tail, or paces it. */
interface TailLimits {
  /** Why the tail is to end; undefined while it goes on. */
  readonly reasonToEnd: () => string | undefined
  /** @default 1_000 */
  readonly pollMs?: number
  /** @default 15_000 */
  readonly heartbeatMs?: number
}

const POLL_MS = 1000
const HEARTBEAT_MS = 15_000
/** Changes that are in memory at a time. */
const BATCH = 200
/** What a client waits before it connects again. */
const RETRY_MS = 2000

/**
 * Server-sent events of the traces that change, as the roll-ups see them after each commit: `trace`
 * with its present state, `missed` when changes were forgotten before they could be sent, and `end`
 * with the reason. A comment comes when nothing else does.
 */
export async function* tailEvents(
  reader: Reader,
  query: TailQuery,
  { reasonToEnd, pollMs = POLL_MS, heartbeatMs = HEARTBEAT_MS }: TailLimits,
): AsyncGenerator<string, void, undefined> {
  const { first, last } = await reader.ask(findRange)
  let position = query.after ?? last
  let sentAt = performance.now()
  yield `retry: ${RETRY_MS}\n\n`
  if (position + 1n < first) {
    yield event('missed', { message: 'Some changes were missed; read the list anew.' })
  }
  for (;;) {
    const reason = reasonToEnd()
    if (reason !== undefined) return yield event('end', { reason })
    const changes = await readChanges(reader, position)
    position = positionAfter(changes, position)
    const text = eventsOf(changes, query)
    if (text !== '' || performance.now() - sentAt >= heartbeatMs) {
      yield text === '' ? ': nothing new\n\n' : text
      sentAt = performance.now()
    }
    if (changes.length < BATCH) await delay(pollMs)
  }
}

interface ChangeRow {
  readonly revision: string
  readonly organization: string
  readonly crewId: string | null
  readonly kickoffId: string | null
  /** A JSON object. */
  readonly trace: string
  readonly traceId: string
}

/** Nothing while the database does not answer: what was committed is sent when it does. */
async function readChanges(reader: Reader, after: bigint): Promise<readonly ChangeRow[]> {
  try {
    return await reader.ask((sql) => listChanges(sql, after))
  } catch (thrown) {
    const isPassing = thrown instanceof AppError && ['unavailable', 'timeout'].includes(thrown.code)
    if (isPassing) return []
    throw thrown
  }
}

const positionAfter = (changes: readonly ChangeRow[], position: bigint): bigint =>
  BigInt(changes.at(-1)?.revision ?? position)

async function findRange(sql: Queryable): Promise<{ first: bigint; last: bigint }> {
  const [range] = await sql<{ first: string; last: string }[]>`
    select coalesce(min(revision), 0) as first, coalesce(max(revision), 0) as last
    from trace_changes`
  return { first: BigInt(range?.first ?? 0), last: BigInt(range?.last ?? 0) }
}

/** A trace that has no spans any more is gone: it was deleted, or has expired. */
function listChanges(sql: Queryable, after: bigint): Promise<ChangeRow[]> {
  return sql<ChangeRow[]>`
    select revision, organization, trace_id, crew_id, kickoff_id, json_build_object(
        'trace_id', replace(trace_id::text, '-', ''), 'organization', organization,
        'is_gone', name is null, 'name', name, 'status', status, 'started_at', start_time,
        'ended_at', end_time, 'service', service, 'crew_id', crew_id, 'kickoff_id', kickoff_id,
        'session_id', session_id, 'user_id', user_id, 'spans', spans, 'error_spans', error_spans,
        'llm_calls', llm_calls
      )::text as trace
    from (
      select * from trace_changes
      where revision > ${`${after}`}::text::int8
        and ((select reading_organization()) is null
          or organization = (select reading_organization()))
      order by revision limit ${BATCH}
    ) as changed
    left join traces using (organization, trace_id)
    order by revision`
}

/** Of a trace that has changed more than once only the last change. */
function eventsOf(changes: readonly ChangeRow[], { crew, kickoff }: TailQuery): string {
  const latest = new Map(
    changes.map((change) => [`${change.traceId} ${change.organization}`, change]),
  )
  const shown = [...latest.values()].filter(
    ({ crewId, kickoffId }) =>
      (crew === undefined || crewId === crew) && (kickoff === undefined || kickoffId === kickoff),
  )
  return shown
    .sort((a, b) => Number(BigInt(a.revision) - BigInt(b.revision)))
    .map(({ revision, trace }) => `id: ${revision}\nevent: trace\ndata: ${trace}\n\n`)
    .join('')
}

const event = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
