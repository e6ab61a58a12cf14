import type { Context } from 'hono'
import { findTask } from '../../../platform/a2a/tasks.ts'
import type { Task, TaskOwner } from '../../../platform/a2a/tasks.ts'
import type { AuthorizedCall, WebDeps } from '../../context.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { Cards } from './card.ts'
import { refusal } from './refusals.ts'

/** A call of an operation by a caller whose token was accepted. */
export interface A2aCall {
  readonly c: Context<AuthorizedCall>
  readonly deps: WebDeps
  readonly cards: Cards
}

/** Returns whose tasks a call may see: those that its token or client started here. */
export const ownerOf = ({ c }: Pick<A2aCall, 'c'>): TaskOwner => ({
  deploymentId: c.var.automation.id,
  starterId: toStarter(c.var.actor, 'api').id,
})

/** Returns a task of the caller. Raises the error of A2A for any other, and for none. */
export async function getTask(call: A2aCall, id: string): Promise<Task> {
  const task = await findTask(call.deps.sql, ownerOf(call), id)
  if (!task) throw refusal('TASK_NOT_FOUND', 'There is no such task of this caller.')
  call.c.var.wide['kickoff_id'] = task.id
  return task
}
