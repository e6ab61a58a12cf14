import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'
import { isDeliveryId } from '../webhooks/webhook-deliveries.ts'
import type { Facts } from './trigger-mapping.ts'

/** An id that is sent again within this time starts no other run. */
const DELIVERY_DAYS = 30
/** What was sent is kept for a look back, and to start a run again. */
export const PAYLOAD_DAYS = 7
const BATCH_SIZE = 1000

/** What a delivery did: it started a run, was not to start one, or could not. */
export const DELIVERY_STATES = ['started', 'skipped', 'failed'] as const
/** What a delivery did. */
export type TriggerDeliveryState = (typeof DELIVERY_STATES)[number]

/** What a third party sent to a trigger. */
export interface TriggerDelivery {
  readonly id: string
  /** By which the sender identifies it. */
  readonly deliveryId: string
  readonly state: TriggerDeliveryState
  /** Why it started no run. */
  readonly problem: string | null
  /** The last run that it started. */
  readonly runId: string | null
  readonly receivedAt: Date
}

/** A delivery with its content; null: it could not be read, or its time is over. */
export interface TriggerDeliveryRecord extends TriggerDelivery {
  readonly headers: Facts['headers']
  readonly payload: unknown
}

const columns = (sql: Queryable) => sql`
  id::text, delivery_id, state, problem, run_id, received_at`

/** Returns the deliveries of a trigger, newest first. */
export async function listTriggerDeliveries(
  sql: Queryable,
  triggerId: string,
  page: PageRequest,
): Promise<Page<TriggerDelivery>> {
  const newestFirst = {
    columns: [sql`trigger_deliveries.id`],
    at: (cursor: string) => sql`(${cursor}::bigint)`,
    descending: true,
  }
  const isListed = sql`trigger_id = ${triggerId}`
  const [rows, [{ total }]] = await Promise.all([
    sql<TriggerDelivery[]>`
      select ${columns(sql)} from trigger_deliveries
      where ${isListed} ${keyset(sql, newestFirst, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from trigger_deliveries where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ id }) => id })
}

/** Returns the newest deliveries of a trigger that can be read. */
export const listTriggerPayloads = (
  sql: Queryable,
  triggerId: string,
  limit: number,
): Promise<TriggerDeliveryRecord[]> =>
  sql<TriggerDeliveryRecord[]>`
    select ${columns(sql)}, headers, payload from trigger_deliveries
    where trigger_id = ${triggerId} and payload is not null
    order by trigger_deliveries.id desc limit ${limit}`

/** Returns a delivery of a trigger; undefined for one of another. */
export async function findTriggerDelivery(
  sql: Queryable,
  { triggerId, id }: { triggerId: string; id: string },
): Promise<TriggerDeliveryRecord | undefined> {
  if (!isDeliveryId(id)) return undefined
  const [found] = await sql<TriggerDeliveryRecord[]>`
    select ${columns(sql)}, headers, payload from trigger_deliveries
    where trigger_deliveries.id = ${id} and trigger_id = ${triggerId}`
  return found
}

/**
 * Deletes a batch of deliveries whose time is over, the contents of older ones, and the former
 * secrets that are good no more. Returns how many deliveries lost something.
 */
export async function deleteExpiredDeliveries(sql: Database): Promise<number> {
  await sql`
    update triggers set sealed_previous_key = null, previous_key_until = null
    where previous_key_until < now()`
  const isFree = sql`not (exists (select from legal_holds) and exists (
    select from executions e where e.id = trigger_deliveries.run_id and run_is_held(e)))`
  const { count: emptied } = await sql`
    update trigger_deliveries set payload = null, headers = '{}' where id in (
      select id from trigger_deliveries
      where payload is not null and received_at < now() - make_interval(days => ${PAYLOAD_DAYS})
        and ${isFree}
      limit ${BATCH_SIZE} for update skip locked)`
  const { count: deleted } = await sql`
    delete from trigger_deliveries where id in (
      select id from trigger_deliveries
      where received_at < now() - make_interval(days => ${DELIVERY_DAYS})
        and ${isFree}
      limit ${BATCH_SIZE} for update skip locked)`
  return emptied + deleted
}
