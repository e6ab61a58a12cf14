import { runsOfState, TASK_STATES } from '../../../platform/a2a/task-status.ts'
import { deleteTaskWebhook } from '../../../platform/a2a/task-webhooks.ts'
import { listTasks } from '../../../platform/a2a/tasks.ts'
import type { Task, TaskCursor } from '../../../platform/a2a/tasks.ts'
import { getDefinition, isUuid } from '../../../platform/automations/automations.ts'
import { stopRun } from '../../../platform/runs/runs.ts'
import { runEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { Fields } from '../json-rpc.ts'
import { getTask, ownerOf } from './call.ts'
import type { A2aCall } from './call.ts'
import { extendedCard } from './card.ts'
import { awaitTask, followTask, isEnded } from './follow-task.ts'
import type { Updates } from './follow-task.ts'
import { createConfig, getConfig, listConfigs } from './push-configs.ts'
import { PARAMS, readParams } from './read-message.ts'
import { refusal, wrongParams } from './refusals.ts'
import { send } from './send-message.ts'
import { taskDocument } from './task-document.ts'

/** What an operation comes to: a result, now or once `last` is yielded, or a stream of them. */
export type Answer =
  | { readonly result: Fields }
  | { readonly later: Updates }
  | { readonly stream: Updates }

type Operation = (call: A2aCall, params: Fields) => Promise<Answer>

/** The operations of A2A 1.0 by their names (§5.3). */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  async SendMessage(call, params) {
    const { task, configuration } = await send(call, params)
    const { historyLength, returnImmediately = false } = configuration
    const document = async (now: Task) => ({
      task: await taskDocument(call.deps, ofCall(call, now), { historyLength }),
    })
    return returnImmediately
      ? { result: await document(task) }
      : { later: awaitTask(call, task, document) }
  },
  async SendStreamingMessage(call, params) {
    const { task, configuration } = await send(call, params)
    return { stream: followTask(call, task, configuration) }
  },
  async GetTask(call, params) {
    const { id, historyLength } = readParams(PARAMS.task, params)
    const task = await getTask(call, id)
    return { result: await taskDocument(call.deps, ofCall(call, task), { historyLength }) }
  },
  ListTasks: list,
  CancelTask: cancel,
  async SubscribeToTask(call, params) {
    const task = await getTask(call, readParams(PARAMS.task, params).id)
    if (!isEnded(task)) return { stream: followTask(call, task, {}) }
    throw refusal('UNSUPPORTED_OPERATION', 'The task has ended. Get it, to see how.')
  },
  async CreateTaskPushNotificationConfig(call, params) {
    const task = await getTask(call, readParams(PARAMS.ofTask, params).taskId)
    return { result: await createConfig(call, task, params) }
  },
  async GetTaskPushNotificationConfig(call, params) {
    const { taskId, id } = readParams(PARAMS.config, params)
    return { result: await getConfig(call.deps, await getTask(call, taskId), id) }
  },
  async ListTaskPushNotificationConfigs(call, params) {
    const task = await getTask(call, readParams(PARAMS.ofTask, params).taskId)
    return { result: await listConfigs(call.deps, task) }
  },
  async DeleteTaskPushNotificationConfig(call, params) {
    const { taskId, id } = readParams(PARAMS.config, params)
    await deleteTaskWebhook(call.deps.sql, (await getTask(call, taskId)).id, id)
    return { result: {} }
  },
  async GetExtendedAgentCard({ c, deps, cards }) {
    const { automation } = c.var
    const definition = await getDefinition(deps.sql, automation)
    const signed = await cards.sign(extendedCard(deps.config, automation, definition))
    return { result: { ...signed.card } }
  },
}

const ofCall = ({ c }: A2aCall, task: Task) => ({ automation: c.var.automation, task })

async function cancel(call: A2aCall, params: Fields): Promise<Answer> {
  const { c, deps } = call
  const { id } = await getTask(call, readParams(PARAMS.task, params).id)
  const isStopped = await createAudited(deps.sql)(
    c.var,
    (tx) => stopRun(tx, id),
    (stopped) => (stopped ? runEntry('run_stopped', id) : undefined),
  )
  if (!isStopped) throw refusal('TASK_NOT_CANCELABLE', 'The task has ended already.')
  return { result: await taskDocument(deps, ofCall(call, await getTask(call, id))) }
}

async function list(call: A2aCall, params: Fields): Promise<Answer> {
  const { deps } = call
  const asked = readParams(PARAMS.list, params)
  const { contextId, pageSize, historyLength = 0, includeArtifacts: artifacts } = asked
  const state = asked.status === undefined ? undefined : runsOfState(asked.status)
  if (asked.status !== undefined && !state) {
    throw wrongParams(`status is one of ${TASK_STATES.join(', ')}.`)
  }
  const { tasks, total } = await listTasks(deps.sql, ownerOf(call), {
    contextId,
    state,
    since: asked.statusTimestampAfter ? new Date(asked.statusTimestampAfter) : undefined,
    limit: pageSize + 1,
    after: asked.pageToken === undefined ? undefined : readPageToken(asked.pageToken),
  })
  const page = tasks.slice(0, pageSize)
  const documents: Fields[] = []
  for (const task of page) {
    documents.push(await taskDocument(deps, ofCall(call, task), { historyLength, artifacts }))
  }
  const last = tasks.length > pageSize ? page.at(-1) : undefined
  return {
    result: {
      tasks: documents,
      nextPageToken: last ? Buffer.from(`${last.at} ${last.id}`).toString('base64url') : '',
      pageSize,
      totalSize: total,
    },
  }
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

function readPageToken(token: string): TaskCursor {
  const [at = '', id = ''] = Buffer.from(token, 'base64url').toString('latin1').split(' ')
  if (MOMENT.test(at) && !Number.isNaN(Date.parse(at)) && isUuid(id)) return { at, id }
  throw wrongParams('pageToken is none of this list. Begin without one.')
}
