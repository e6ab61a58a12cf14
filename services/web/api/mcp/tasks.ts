import type { Context } from 'hono'
import { findStarted } from '../../../platform/automations/startable-automations.ts'
import { findRun } from '../../../platform/runs/runs.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { McpCall, WebDeps } from '../../context.ts'
import { follow } from './call-tool.ts'
import type { ToolCall } from './call-tool.ts'
import { invalidParams } from './messages.ts'
import type { Outcome } from './messages.ts'
import type { Era } from './era.ts'
import { toTask } from './results.ts'
import { askHandle, refuseWithoutTasks, stopTask } from './task-handles.ts'

/** What a server says that has tasks (2025-11-25). */
export const TASKS = { cancel: {}, requests: { tools: { call: {} } } }

/** The methods of tasks. A task is a run that the caller started, and its id is the kickoff id. */
export const TASK_METHODS: Readonly<Record<Era, ReadonlySet<string>>> = {
  session: new Set(['tasks/get', 'tasks/result', 'tasks/cancel']),
  'per-request': new Set(['tasks/get', 'tasks/update', 'tasks/cancel']),
}

/** Says how a task is doing, waits for its result, decides for it, or stops it. */
export async function askTask(
  c: Context<McpCall>,
  deps: WebDeps,
  { request, reach, progressToken, era }: ToolCall,
): Promise<Outcome> {
  const { sql } = deps
  const { taskId } = request.params
  const refused = era === 'per-request' ? refuseWithoutTasks(request.params) : undefined
  if (refused) return refused
  const runId = typeof taskId === 'string' ? taskId.toLowerCase() : ''
  const { id: starterId } = toStarter(c.var.actor, 'api')
  const automation = await findStarted(sql, reach, { runId, starterId })
  const run = automation && (await findRun(sql, automation.id, runId))
  if (!automation || !run) return invalidParams('There is no such task.')
  c.var.wide['kickoff_id'] = runId
  if (era === 'per-request') return askHandle(c, deps, { request, automation, run })
  if (request.method === 'tasks/get') return { result: toTask(run) }
  if (request.method === 'tasks/result') {
    const meta = { 'io.modelcontextprotocol/related-task': { taskId: runId } }
    return { progress: follow(c, deps, { automation, runId, progressToken, meta }) }
  }
  if (!(await stopTask(c, sql, runId))) return invalidParams('The task has ended already.')
  return { result: toTask({ ...run, status: 'stopped' }) }
}
