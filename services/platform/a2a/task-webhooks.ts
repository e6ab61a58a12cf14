import { randomUUID } from 'node:crypto'
import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { isUuid } from '../automations/automations.ts'
import type { WebhookKeys } from '../webhooks/webhook-keys.ts'

/** The most webhooks that one task has. */
const TASK_WEBHOOKS_MAX = 5

/** The headers that are sent along, by which a receiver knows the sender. */
export type TaskWebhookHeaders = Readonly<Record<string, string>>

/** An address that is sent the changes of a task's status. */
export interface TaskWebhook {
  readonly id: string
  readonly url: string
}

interface NewTaskWebhook extends Pick<TaskWebhook, 'url'> {
  readonly deploymentId: number
  readonly runId: string
  readonly headers: TaskWebhookHeaders
  readonly keys: WebhookKeys
}

/**
 * Creates a webhook of a task, which lives as long as the run is in progress; of one that has ended
 * it is sent the end. Raises `conflict` when the task has as many as it may.
 */
export async function createTaskWebhook(
  sql: Database,
  { deploymentId, runId, url, headers, keys }: NewTaskWebhook,
): Promise<TaskWebhook> {
  const id = randomUUID()
  const sealed = keys.seal(JSON.stringify(headers), { id, deploymentId })
  return inTransaction(sql, async (tx) => {
    // A change of the status waits for this, or is seen here.
    const [run] = await tx<{ isOver: boolean }[]>`
      select finished_at is not null as is_over from executions
      where id = ${runId} and deployment_id = ${deploymentId} for no key update`
    const [created] = await tx<TaskWebhook[]>`
      insert into webhooks (id, deployment_id, run_id, url, event_types, sealed_key)
      select ${id}, ${deploymentId}, ${runId}, ${url}, array['task_status'], ${sealed}
      where (select count(*) from webhooks where run_id = ${runId}) < ${TASK_WEBHOOKS_MAX}
      returning id, url`
    if (!created) {
      throw new AppError(
        'conflict',
        `A task has at most ${TASK_WEBHOOKS_MAX} push notification configs. Delete one first.`,
      )
    }
    if (run?.isOver) {
      await tx`select tell_task_status(${id}, e) from executions e where id = ${runId}`
    }
    return created
  })
}

/** Returns the webhooks of a task, the oldest first. */
export const listTaskWebhooks = (sql: Queryable, runId: string): Promise<TaskWebhook[]> =>
  sql<TaskWebhook[]>`
    select id, url from webhooks where run_id = ${runId} order by created_at, id`

/** Deletes a webhook of a task with the messages that wait. */
export async function deleteTaskWebhook(sql: Queryable, runId: string, id: string): Promise<void> {
  if (!isUuid(id)) return
  await inTransaction(sql, async (tx) => {
    const { count } = await tx`delete from webhooks where id = ${id} and run_id = ${runId}`
    if (count === 0) return
    await tx`delete from webhook_lines where webhook_id = ${id}`
    await tx`delete from webhook_messages where webhook_id = ${id}`
  })
}

const BATCH_SIZE = 1000

/** Deletes webhooks of tasks that have ended and have no more to be sent; returns how many. */
export async function deleteEndedTaskWebhooks(sql: Queryable): Promise<number> {
  const { count } = await sql`
    delete from webhooks where id in (
      select w.id from webhooks w join executions e on e.id = w.run_id
      where e.finished_at < now() - interval '1 hour'
        and not exists (select from webhook_lines where webhook_id = w.id)
      limit ${BATCH_SIZE})`
  return count
}
