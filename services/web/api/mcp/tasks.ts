import type { Context } from 'hono'
import { findStarted } from '../../../platform/automations/startable-automations.ts'
import { findRun, stopRun } from '../../../platform/runs/runs.ts'
import { runEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { McpCall, WebDeps } from '../../context.ts'
import { follow } from './call-tool.ts'
import type { ToolCall } from './call-tool.ts'
import { invalidParams } from './messages.ts'
import type { Outcome } from './messages.ts'
import { toTask } from './results.ts'

/** What a server says that has tasks (2025-11-25). */
export const TASKS = { cancel: {}, requests: { tools: { call: {} } } }

/** The methods of tasks. A task is a run that the caller started, and its id is the kickoff id. */
export const TASK_METHODS: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
])

/** Says how a task is doing, waits for its result, or stops it. */
export async function askTask(
  c: Context<McpCall>,
  deps: WebDeps,
  { request, reach, progressToken }: ToolCall,
): Promise<Outcome> {
  const { sql } = deps
  const { taskId } = request.params
  const runId = typeof taskId === 'string' ? taskId.toLowerCase() : ''
  const { id: starterId } = toStarter(c.var.actor, 'api')
  const automation = await findStarted(sql, reach, { runId, starterId })
  const run = automation && (await findRun(sql, automation.id, runId))
  if (!automation || !run) return invalidParams('There is no such task.')
  c.var.wide['kickoff_id'] = runId
  if (request.method === 'tasks/get') return { result: toTask(run) }
  if (request.method === 'tasks/result') {
    const meta = { 'io.modelcontextprotocol/related-task': { taskId: runId } }
    return { progress: follow(c, deps, { automation, runId, progressToken, meta }) }
  }
  const isStopped = await createAudited(sql)(
    c.var,
    (tx) => stopRun(tx, runId),
    (stopped) => (stopped ? runEntry('run_stopped', runId) : undefined),
  )
  if (!isStopped) return invalidParams('The task has ended already.')
  return { result: toTask({ ...run, status: 'stopped' }) }
}
