import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { pauseWebhook } from './webhooks.ts'
import type { WebhookFormat } from './webhooks.ts'

/** The waits before each further try, which together are most of a day. */
const RETRY_SECONDS: readonly number[] = [5, 30, 120, 600, 1800, 7200, 14_400, 21_600, 36_000]
/** A webhook that accepted nothing for so long is paused rather than that its messages fail. */
const PAUSE_AFTER_HOURS = 20
/** The messages of one webhook that are on their way at a time; of one that fails, one. */
const LINES_PER_WEBHOOK = 4
/** Those of all webhooks of tasks of one organization: each task has its own. */
const TASK_LINES_MAX = 4

/** A line of messages that a sender holds: those of one run for one webhook. */
export interface WebhookLine {
  readonly webhookId: string
  readonly executionId: string
  readonly leaseId: string
}

/** The message at the head of a line, and what it takes to send it. */
export interface WebhookHead {
  readonly id: string
  /** The receiver knows it by this, at each try. */
  readonly messageId: string
  readonly payload: string
  readonly format: WebhookFormat
  /** The tries of this round so far. */
  readonly tries: number
  readonly url: string
  readonly deploymentId: number
  readonly organizationId: number
  /** The task whose webhook it is; null: it is one of the automation. */
  readonly runId: string | null
  /** Of a task it holds the headers that are sent along. */
  /** Where the address is, and the regions in which the data of the organization stays. */
  readonly region: string | null
  readonly allowedRegions: readonly string[]
  readonly sealedKey: Buffer
  /** null: there is none, or its time is over. */
  readonly sealedPreviousKey: Buffer | null
}

/** What became of one try. */
export interface WebhookAttempt {
  /** The status of the answer; null: there was none. */
  readonly status: number | null
  /** Why it does not count; null: the message was accepted. */
  readonly problem: string | null
  readonly durationMs: number
}

/** The bounds of sending. */
export interface OutboxLimits {
  /** The time after which another sender goes on with a line whose sender is silent. */
  readonly leaseSeconds: number
  /** @default RETRY_SECONDS */
  readonly retrySeconds?: readonly number[]
}

/** The condition under which a worker has a line to send. */
export const hasDueLines = (sql: Queryable) => sql`
  exists (select from webhook_lines where due_at <= now())`

/**
 * Takes up to `limit` lines that are due; two senders never hold the same one. Organizations take
 * turns, and each webhook has a few on their way only, so that a receiver that hangs delays
 * nobody else's messages.
 */
export async function takeLines(
  sql: Queryable,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<WebhookLine[]> {
  return sql<WebhookLine[]>`
    with busy as (
      select d.organization_id, count(*) as lines
      from webhook_lines h join webhooks w on w.id = h.webhook_id
        join deployments d on d.id = w.deployment_id
      where h.lease_id is not null and h.due_at > now() and w.run_id is not null
      group by d.organization_id),
    hooks as (
      select w.id, d.organization_id, w.run_id is not null as is_task,
        case when w.failing_since is null then ${LINES_PER_WEBHOOK}::int else 1 end - (
          select count(*) from webhook_lines h
          where h.webhook_id = w.id and h.lease_id is not null and h.due_at > now()) as room
      from webhooks w join deployments d on d.id = w.deployment_id
      where w.paused_at is null and exists (
        select from webhook_lines l where l.webhook_id = w.id and l.due_at <= now())),
    waiting as (
      select l.webhook_id, l.execution_id, l.due_at,
        row_number() over (partition by h.organization_id order by l.due_at) as turn,
        case when h.is_task then coalesce(
          (select lines from busy b where b.organization_id = h.organization_id), 0)
          + row_number() over (partition by h.organization_id, h.is_task order by l.due_at)
        end as task_turn
      from hooks h cross join lateral (
        select webhook_id, execution_id, due_at from webhook_lines
        where webhook_id = h.id and due_at <= now()
        order by due_at limit greatest(h.room, 0)) l),
    chosen as (
      select webhook_id, execution_id from webhook_lines
      where (webhook_id, execution_id) in (
          select webhook_id, execution_id from waiting
          where task_turn is null or task_turn <= ${TASK_LINES_MAX}
          order by turn, due_at limit ${limit})
        and due_at <= now()
      for update skip locked)
    update webhook_lines l set lease_id = gen_random_uuid(),
      due_at = now() + make_interval(secs => ${leaseSeconds})
    from chosen c where l.webhook_id = c.webhook_id and l.execution_id = c.execution_id
    returning l.webhook_id, l.execution_id, l.lease_id`
}

/** Returns true while a webhook has a message to send, now or later. */
export async function hasLines(sql: Queryable): Promise<boolean> {
  const lines = await sql`select from webhook_lines limit 1`
  return lines.length > 0
}

const held = (sql: Queryable, { webhookId, executionId, leaseId }: WebhookLine) => sql`
  webhook_id = ${webhookId} and execution_id = ${executionId} and lease_id = ${leaseId}`

/**
 * Renews the lease of a line, and returns the message at its head; undefined when there is none to
 * send, or another sender has the line.
 */
export async function takeHead(
  sql: Queryable,
  line: WebhookLine,
  leaseSeconds: number,
): Promise<WebhookHead | undefined> {
  const [head] = await sql<WebhookHead[]>`
    with kept as (
      update webhook_lines set due_at = now() + make_interval(secs => ${leaseSeconds})
      where ${held(sql, line)} returning webhook_id, execution_id)
    select m.id::text, m.message_id, m.payload::text, m.tries, w.url, w.format, w.deployment_id,
      w.run_id, d.organization_id, w.region, o.allowed_regions, w.sealed_key,
      case when w.previous_key_until > now() then w.sealed_previous_key end as sealed_previous_key
    from kept k join webhook_messages m
        on m.webhook_id = k.webhook_id and m.execution_id = k.execution_id
      join webhooks w on w.id = m.webhook_id join deployments d on d.id = w.deployment_id
      join organizations o on o.id = d.organization_id
    where m.state = 'waiting' and w.paused_at is null
    order by m.id limit 1`
  return head
}

/** Gives a line back; it is due at once. */
export async function releaseLine(sql: Database, line: WebhookLine): Promise<void> {
  await sql.begin((tx) => leaveLine(tx, line, 0))
}

/**
 * Gives a line back, or removes it when nothing waits. In a transaction: whoever lines up a message
 * at the same time is seen here, or sees that the line is gone.
 */
async function leaveLine(tx: Transaction, line: WebhookLine, delaySeconds: number): Promise<void> {
  await lockLine(tx, line)
  if (await hasWaiting(tx, line)) {
    await tx`
      update webhook_lines set lease_id = null,
        due_at = now() + make_interval(secs => ${delaySeconds})
      where ${held(tx, line)}`
  } else {
    await tx`delete from webhook_lines where ${held(tx, line)}`
  }
}

async function hasWaiting(tx: Transaction, line: WebhookLine): Promise<boolean> {
  const waiting = await tx`
    select from webhook_messages
    where webhook_id = ${line.webhookId} and execution_id = ${line.executionId}
      and state = 'waiting' limit 1`
  return waiting.length > 0
}

/**
 * Stores that the head of a line was accepted, once, however often it is called. False when the
 * line is at its end, or lost.
 */
export async function settleAccepted(
  sql: Database,
  line: WebhookLine,
  { id, attempt }: { id: string; attempt: WebhookAttempt },
): Promise<boolean> {
  const goesOn = await sql.begin(async (tx) => {
    if (await lockWaiting(tx, id)) {
      await recordAttempt(tx, id, attempt)
      await tx`
        update webhook_messages set state = 'delivered', ended_at = now(), tries = tries + 1
        where id = ${id}`
    }
    return keepLine(tx, line)
  })
  await sql`
    update webhooks set failing_since = null
    where id = ${line.webhookId} and failing_since is not null`
  return goesOn
}

/** Keeps a line in which a message waits, and removes it otherwise. */
async function keepLine(tx: Transaction, line: WebhookLine): Promise<boolean> {
  const isHeld = await lockLine(tx, line)
  if (await hasWaiting(tx, line)) return isHeld
  await tx`delete from webhook_lines where ${held(tx, line)}`
  return false
}

async function lockLine(tx: Transaction, line: WebhookLine): Promise<boolean> {
  const { count } = await tx`select from webhook_lines where ${held(tx, line)} for update`
  return count > 0
}

async function lockWaiting(tx: Transaction, id: string): Promise<boolean> {
  const { count } = await tx`
    select from webhook_messages where id = ${id} and state = 'waiting' for update`
  return count > 0
}

/**
 * Stores that the head of a line was not accepted, and gives the line back: due again later, or,
 * after the last try, without this message. A webhook that accepted nothing all day is paused
 * instead, and at once one that will accept nothing, for the reason `pausedFor`. Stores nothing of
 * a line that was given back already, or that another sender has.
 */
export async function settleRefused(
  sql: Database,
  line: WebhookLine,
  { head, attempt, pausedFor, retrySeconds = RETRY_SECONDS }: Refusal,
): Promise<void> {
  const delaySeconds = retrySeconds[head.tries]
  const reason =
    pausedFor ??
    (delaySeconds === undefined && (await hasLongFailed(sql, line))
      ? `Nothing was accepted for ${PAUSE_AFTER_HOURS} hours. The last try: ${attempt.problem}`
      : undefined)
  if (reason !== undefined) await pauseWebhook(sql, line.webhookId, reason)
  await sql.begin(async (tx) => {
    const isWaiting = await lockWaiting(tx, head.id)
    if (!(await lockLine(tx, line))) return
    if (isWaiting) await recordAttempt(tx, head.id, attempt)
    if (reason !== undefined) {
      await tx`update webhook_messages set tries = 0 where id = ${head.id}`
    } else if (delaySeconds === undefined) {
      await tx`
        update webhook_messages set state = 'failed', ended_at = now(), tries = tries + 1
        where id = ${head.id} and state = 'waiting'`
    } else {
      await tx`update webhook_messages set tries = tries + 1 where id = ${head.id}`
    }
    await leaveLine(tx, line, delaySeconds === undefined ? 0 : spread(delaySeconds))
  })
  await sql`
    update webhooks set failing_since = now()
    where id = ${line.webhookId} and failing_since is null and paused_at is null`
}

interface Refusal {
  readonly head: WebhookHead
  readonly attempt: WebhookAttempt
  /** Why nothing will be accepted. */
  readonly pausedFor: string | undefined
  readonly retrySeconds?: readonly number[] | undefined
}

/** So that what failed together does not come back together. */
const spread = (seconds: number): number => seconds * (0.9 + Math.random() * 0.2)

async function hasLongFailed(sql: Queryable, { webhookId }: WebhookLine): Promise<boolean> {
  const found = await sql`
    select from webhooks where id = ${webhookId}
      and failing_since < now() - make_interval(hours => ${PAUSE_AFTER_HOURS})`
  return found.length > 0
}

/** Needs the lock of the message, so that no other try has the same number. */
async function recordAttempt(tx: Transaction, id: string, attempt: WebhookAttempt): Promise<void> {
  const { status, problem, durationMs } = attempt
  await tx`
    insert into webhook_attempts (message_id, number, status, problem, duration_ms)
    select id, coalesce(
        (select max(number) from webhook_attempts where message_id = ${id}), 0) + 1,
      ${status}, ${problem}, ${durationMs}
    from webhook_messages where id = ${id}`
}
