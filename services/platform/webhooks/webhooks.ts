import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { isUuid } from '../automations/automations.ts'

/** The most webhooks that one automation has. */
export const WEBHOOKS_MAX = 10
/** The time for which messages are signed with the former key as well. */
export const FORMER_KEY_HOURS = 24

/** The types of events that the platform itself sends; crews may tell of others. */
export const EVENT_TYPES = [
  'run_completed',
  'run_failed',
  'run_stopped',
  'task_started',
  'task_completed',
  'approval_requested',
  'approval_decided',
  'budget_warning',
  'budget_exceeded',
  'alert_firing',
  'alert_resolved',
  'release_rolled_back',
  'receipt_head_signed',
] as const
/** A type of events that the platform itself sends. */
export type EventType = (typeof EVENT_TYPES)[number]
/** The type that stands for every event. */
export const EVERY_EVENT = '*'
/** The type of the message that people send to try a webhook. */
export const TEST_TYPE = 'webhook_test'

/** The bodies that a webhook may have: as Standard Webhooks has them, or a text for a channel. */
export const WEBHOOK_FORMATS = ['standard', 'slack', 'teams'] as const
/** One of them. */
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]

/** Names a webhook of an automation. */
export interface WebhookKey {
  readonly id: string
  readonly deploymentId: number
}

/** The fields of a webhook that people enter. */
export interface WebhookFields {
  readonly url: string
  /** `*` is every event. */
  readonly eventTypes: readonly string[]
  readonly format: WebhookFormat
  /** Where the address is, as people say. @default null: they say nothing */
  readonly region?: string | null
}

/** An address that the events of an automation's runs are sent to. */
export interface Webhook extends WebhookKey, WebhookFields {
  /** Until then messages are signed with the former key as well. */
  readonly previousKeyUntil: Date | null
  /** The first failure since a message was last accepted. */
  readonly failingSince: Date | null
  readonly pausedAt: Date | null
  /** Why the platform paused it; null: a person did. */
  readonly pauseReason: string | null
  readonly createdAt: Date
}

const columns = (sql: Queryable) => sql`
  id, deployment_id, url, event_types, format, region, failing_since, paused_at, pause_reason,
  created_at,
  case when previous_key_until > now() then previous_key_until end as previous_key_until`

/** Those of tasks are none of an automation's. */
const isOf = (sql: Queryable, { id, deploymentId }: WebhookKey) => sql`
  id = ${id} and deployment_id = ${deploymentId} and run_id is null`

/** Creates a webhook. Raises `conflict` when the automation has as many as it may. */
export async function createWebhook(
  sql: Queryable,
  webhook: WebhookKey & WebhookFields & { readonly sealedKey: Buffer },
): Promise<Webhook> {
  const { deploymentId, id, url, eventTypes, format, region = null, sealedKey } = webhook
  return inTransaction(sql, async (tx) => {
    await tx`select from deployments where id = ${deploymentId} for no key update`
    const [created] = await tx<Webhook[]>`
      insert into webhooks (id, deployment_id, url, event_types, format, region, sealed_key)
      select ${id}, ${deploymentId}, ${url}, ${[...eventTypes]}::text[], ${format}, ${region},
        ${sealedKey}
      where (
        select count(*) from webhooks where deployment_id = ${deploymentId} and run_id is null
      ) < ${WEBHOOKS_MAX}
      returning ${columns(tx)}`
    if (created) return created
    throw new AppError(
      'conflict',
      `An automation has at most ${WEBHOOKS_MAX} webhooks. Delete one that is no longer used.`,
    )
  })
}

/** Changes a webhook; messages that wait go to the new address. False when there is none. */
export async function updateWebhook(
  sql: Queryable,
  { id, deploymentId }: WebhookKey,
  { url, eventTypes, format, region = null }: WebhookFields,
): Promise<boolean> {
  const { count } = await sql`
    update webhooks set url = ${url}, event_types = ${[...eventTypes]}::text[],
      format = ${format}, region = ${region}
    where ${isOf(sql, { id, deploymentId })}`
  return count > 0
}

/** Gives a webhook a new key; the one before signs as well for a day. */
export async function rotateWebhookKey(
  sql: Queryable,
  { id, deploymentId }: WebhookKey,
  sealedKey: Buffer,
): Promise<void> {
  await sql`
    update webhooks set sealed_key = ${sealedKey}, sealed_previous_key = sealed_key,
      previous_key_until = now() + make_interval(hours => ${FORMER_KEY_HOURS})
    where id = ${id} and deployment_id = ${deploymentId}`
}

/** Returns a webhook of this automation; undefined for one of another. */
export async function findWebhook(
  sql: Queryable,
  { id, deploymentId }: WebhookKey,
): Promise<Webhook | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where ${isOf(sql, { id, deploymentId })}`
  return found
}

/** Returns the webhooks of an automation, the oldest first. */
export const listWebhooks = (sql: Queryable, deploymentId: number): Promise<Webhook[]> =>
  sql<Webhook[]>`
    select ${columns(sql)} from webhooks
    where deployment_id = ${deploymentId} and run_id is null order by created_at, id`

/** Stops sending; what happens meanwhile waits. The reason is the platform's, if it did it. */
export async function pauseWebhook(
  sql: Queryable,
  id: string,
  reason: string | null = null,
): Promise<void> {
  await sql`
    update webhooks set paused_at = now(), pause_reason = ${reason}
    where id = ${id} and paused_at is null`
}

/** Sends what waits, and what happens from now on. */
export async function resumeWebhook(sql: Queryable, { id }: WebhookKey): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await tx`
      update webhooks set paused_at = null, pause_reason = null, failing_since = null
      where id = ${id}`
    await tx`
      update webhook_lines set due_at = now() where webhook_id = ${id} and lease_id is null`
    await tx`notify webhook_due`
  })
}

/** Deletes a webhook with its messages, also those that wait. */
export async function deleteWebhook(sql: Queryable, key: WebhookKey): Promise<void> {
  const { id } = key
  await inTransaction(sql, async (tx) => {
    const { count } = await tx`delete from webhooks where ${isOf(tx, key)}`
    if (count === 0) return
    await tx`delete from webhook_lines where webhook_id = ${id}`
    await tx`delete from webhook_messages where webhook_id = ${id}`
  })
}

/** The keys of a webhook or a trigger, as the database has them. */
export interface SealedWebhookKeys {
  readonly id: string
  readonly deploymentId: number
  readonly sealedKey: Buffer
  readonly sealedPreviousKey: Buffer | null
}

/** Returns the keys of all webhooks after `afterId`, by id; fewer than `limit` are the last. */
export const listSealedWebhookKeys = (
  sql: Queryable,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<SealedWebhookKeys[]> =>
  sql<SealedWebhookKeys[]>`
    select id, deployment_id, sealed_key, sealed_previous_key from webhooks
    where id > ${afterId} order by id limit ${limit}`

/** Puts other seals on the keys of a webhook, unless somebody has changed them meanwhile. */
export async function replaceSealedWebhookKeys(
  sql: Queryable,
  before: SealedWebhookKeys,
  { sealedKey, sealedPreviousKey }: SealedWebhookKeys,
): Promise<void> {
  await sql`
    update webhooks set sealed_key = ${sealedKey}, sealed_previous_key = ${sealedPreviousKey}
    where id = ${before.id} and sealed_key = ${before.sealedKey}`
}
