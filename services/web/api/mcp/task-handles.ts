import type { Context } from 'hono'
import type { StartableAutomation } from '../../../platform/automations/startable-automations.ts'
import { findApproval } from '../../../platform/runs/run-approvals.ts'
import { stopRun } from '../../../platform/runs/runs.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import { runEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { McpCall, WebDeps } from '../../context.ts'
import { automationUrl } from '../automation/automation-urls.ts'
import { resumeRun } from '../automation/resume.ts'
import { isOver } from '../automation/run-status.ts'
import type { Fields, RpcRequest } from '../json-rpc.ts'
import { ignoreConflict } from './call-tool.ts'
import { canAsk, readTaskAnswer, toInputRequests } from './decisions.ts'
import { CODES, invalidParams } from './messages.ts'
import type { Outcome } from './messages.ts'
import { takesTasks, TASKS_EXTENSION } from './era.ts'
import { toResult, toTaskHandle } from './results.ts'

/** A request about a task as the extension of 2026-07-28 has it: a run that the caller started. */
interface AskedHandle {
  readonly request: RpcRequest
  readonly automation: StartableAutomation
  readonly run: Run
}

/** Returns the error for a client that does not say that it takes tasks; undefined for others. */
export function refuseWithoutTasks(params: Fields): Outcome | undefined {
  if (takesTasks(params)) return undefined
  const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } }
  const message = 'The request does not say that its client takes tasks.'
  return { fault: { code: CODES.missingCapability, message, data, status: 400 } }
}

/** Stops the run of a task. Returns false if it has ended. */
export const stopTask = (c: Context<McpCall>, sql: Database, runId: string): Promise<boolean> =>
  createAudited(sql)(
    c.var,
    (tx) => stopRun(tx, runId),
    (stopped) => (stopped ? runEntry('run_stopped', runId) : undefined),
  )

/** Says how a task is doing, decides for it, or stops it, which has no result. */
export async function askHandle(
  c: Context<McpCall>,
  deps: WebDeps,
  asked: AskedHandle,
): Promise<Outcome> {
  const { method } = asked.request
  if (method === 'tasks/get') return readHandle(deps, asked)
  if (method === 'tasks/update') return answerHandle(c, deps, asked)
  await stopTask(c, deps.sql, asked.run.id)
  return { result: {} }
}

/** Has the result once the run is over, or what it asks for. */
async function readHandle(
  { sql, config }: WebDeps,
  { request: { params }, automation, run }: AskedHandle,
): Promise<Outcome> {
  const task = toTaskHandle(run)
  if (isOver(run) && run.status !== 'stopped') {
    const statusUrl = `${automationUrl(config, automation.automationId)}/status/${run.id}`
    const { definition } = automation
    return { result: { ...task, result: toResult(run, { definition, runId: run.id, statusUrl }) } }
  }
  const asks = run.status === 'waiting' && canAsk('per-request', params)
  const inputRequests = asks ? await findQuestions(sql, run) : undefined
  return { result: { ...task, ...(inputRequests && { status: 'input_required', inputRequests }) } }
}

async function findQuestions(sql: Database, { id }: Run): Promise<Fields | undefined> {
  const approval = await findApproval(sql, id)
  return approval && toInputRequests(approval)
}

/** Decides as the person behind the client did; what is not asked any more is no error. */
async function answerHandle(
  c: Context<McpCall>,
  { sql }: WebDeps,
  { request: { params }, automation, run }: AskedHandle,
): Promise<Outcome> {
  const approval = await findApproval(sql, run.id)
  const body = approval && readTaskAnswer(approval, params)
  if (!body) return { result: {} }
  try {
    const decided = { deploymentId: automation.id, id: run.id, body }
    await resumeRun(c.var, sql, decided).catch(ignoreConflict)
    return { result: {} }
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.status < 500) return invalidParams(thrown.message)
    throw thrown
  }
}
