import { randomUUID } from 'node:crypto'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'
import { TEST_TYPE } from './webhooks.ts'

/** Any number that nothing else locks: one worker at a time deletes. */
const LOCK = 7_310_452_132
const BATCH_SIZE = 1000
/** What was accepted is kept for a look back; what was not, so that it can be sent again. */
const DELIVERED_DAYS = 7
const OTHERS_DAYS = 30

/** What became of a message. */
export type DeliveryState = 'waiting' | 'delivered' | 'failed'

/** A message to a webhook, with its last try. */
export interface Delivery {
  readonly id: string
  readonly messageId: string
  readonly type: string
  readonly state: DeliveryState
  /** Of all rounds. */
  readonly attempts: number
  readonly createdAt: Date
  /** null: not tried yet. */
  readonly triedAt: Date | null
  readonly status: number | null
  readonly problem: string | null
  /** null: the message is of no run. */
  readonly kickoffId: string | null
}

/** Tells whether a text can be the id of a message. */
export const isDeliveryId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text)

const columns = (sql: Queryable) => sql`
  m.id::text as id, m.message_id, m.type, m.state, m.created_at,
  m.payload #>> '{data,kickoff_id}' as kickoff_id, coalesce(a.number, 0) as attempts,
  a.tried_at, a.status, a.problem`

const source = (sql: Queryable) => sql`
  webhook_messages m left join lateral (
    select number, tried_at, status, problem from webhook_attempts
    where message_id = m.id order by number desc limit 1) a on true`

/** Returns the messages of a webhook, newest first. */
export async function listDeliveries(
  sql: Queryable,
  webhookId: string,
  page: PageRequest,
): Promise<Page<Delivery>> {
  const newestFirst = {
    columns: [sql`m.id`],
    at: (cursor: string) => sql`(${cursor}::bigint)`,
    descending: true,
  }
  const isListed = sql`m.webhook_id = ${webhookId}`
  const [rows, [{ total }]] = await Promise.all([
    sql<Delivery[]>`
      select ${columns(sql)} from ${source(sql)}
      where ${isListed} ${keyset(sql, newestFirst, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from webhook_messages m where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ id }) => id })
}

/** One try of a message. */
export interface DeliveryAttempt {
  readonly number: number
  readonly triedAt: Date
  readonly status: number | null
  readonly problem: string | null
  readonly durationMs: number
}

/** A message with its content and its newest tries. */
export interface DeliveryRecord extends Delivery {
  readonly payload: unknown
  readonly tries: readonly DeliveryAttempt[]
}

const TRIES_SHOWN = 50

/** Returns a message of a webhook; undefined for one of another. */
export async function findDelivery(
  sql: Queryable,
  { webhookId, id }: { webhookId: string; id: string },
): Promise<DeliveryRecord | undefined> {
  if (!isDeliveryId(id)) return undefined
  const [found] = await sql<(Delivery & { payload: unknown })[]>`
    select ${columns(sql)}, m.payload from ${source(sql)}
    where m.id = ${id} and m.webhook_id = ${webhookId}`
  if (!found) return undefined
  const tries = await sql<DeliveryAttempt[]>`
    select number, tried_at, status, problem, duration_ms from webhook_attempts
    where message_id = ${id} order by number desc limit ${TRIES_SHOWN}`
  return { ...found, tries }
}

/**
 * Sends messages again that were delivered or have failed, under the same ids: one, or all that
 * failed. Each waits at its old place in the line of its run. Returns how many.
 */
export async function redeliver(
  sql: Queryable,
  webhookId: string,
  which: { readonly id: string } | 'failed',
): Promise<number> {
  return inTransaction(sql, async (tx) => {
    const chosen =
      which === 'failed'
        ? tx`state = 'failed'`
        : tx`state <> 'waiting' and id = ${isDeliveryId(which.id) ? which.id : '0'}`
    const again = await tx<{ executionId: string }[]>`
      update webhook_messages set state = 'waiting', ended_at = null, tries = 0
      where webhook_id = ${webhookId} and ${chosen} returning execution_id`
    const runs = [...new Set(again.map(({ executionId }) => executionId))].toSorted()
    await tx`
      insert into webhook_lines as line (webhook_id, execution_id, due_at)
      select ${webhookId}, unnest(${runs}::uuid[]), now()
      on conflict (webhook_id, execution_id) do update set due_at = now()
        where line.lease_id is null`
    await tx`notify webhook_due`
    return again.length
  })
}

/** Sends a message that tells of nothing. Returns its id. */
export async function sendTestMessage(
  sql: Queryable,
  { webhookId, automationId }: { webhookId: string; automationId: string },
): Promise<string> {
  const [row] = await sql<[{ id: string }]>`
    select line_up_webhook_message(${webhookId}, ${randomUUID()}, ${TEST_TYPE}, jsonb_build_object(
      'type', ${TEST_TYPE}::text, 'timestamp', utc_text(now()),
      'data', jsonb_build_object('automation_id', ${automationId}::text)))::text as id`
  return row.id
}

/**
 * Deletes one batch of messages whose time is over, also those that wait for a webhook which is
 * paused or gone, and the former keys that sign no more. Returns how many messages; 0 also while
 * another worker is at it.
 */
export async function deleteExpiredMessages(sql: Database): Promise<number> {
  return sql.begin(async (tx) => {
    const [lock] = await tx<[{ isOurs: boolean }]>`
      select pg_try_advisory_xact_lock(${LOCK}) as is_ours`
    if (!lock.isOurs) return 0
    await tx`
      update webhooks set sealed_previous_key = null, previous_key_until = null
      where previous_key_until < now()`
    await tx`
      delete from webhook_lines l where not exists (
        select from webhooks where id = l.webhook_id)`
    const isFree = tx`not (exists (select from legal_holds) and exists (
      select from executions e where e.id = execution_id and run_is_held(e)))`
    const { count } = await tx`
      delete from webhook_messages where id in (
        (select id from webhook_messages
          where ended_at < now() - make_interval(days => ${DELIVERED_DAYS})
            and (state = 'delivered' or ended_at < now() - make_interval(days => ${OTHERS_DAYS}))
            and ${isFree}
          limit ${BATCH_SIZE})
        union all
        (select id from webhook_messages
          where state = 'waiting' and created_at < now() - make_interval(days => ${OTHERS_DAYS})
            and ${isFree}
          limit ${BATCH_SIZE}))`
    return count
  })
}

/** The size of the outbox. */
export interface OutboxSize {
  /** Messages that wait, without those of paused webhooks. */
  readonly waiting: number
  /** The age of the oldest of them; 0 when there is none. */
  readonly oldestSeconds: number
  readonly paused: number
}

/** Measures what waits to be sent. */
export async function measureOutbox(sql: Queryable): Promise<OutboxSize> {
  const [size] = await sql<[OutboxSize]>`
    select count(m.id)::int as waiting,
      coalesce(extract(epoch from now() - min(m.created_at)), 0)::float8 as oldest_seconds,
      (select count(*)::int from webhooks where paused_at is not null) as paused
    from webhook_messages m join webhooks w on w.id = m.webhook_id
    where m.state = 'waiting' and w.paused_at is null`
  return size
}
