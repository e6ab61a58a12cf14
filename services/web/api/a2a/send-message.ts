import { createHash } from 'node:crypto'
import { recordTask } from '../../../platform/a2a/tasks.ts'
import type { Task } from '../../../platform/a2a/tasks.ts'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { storeInputFile } from '../../../platform/runs/input-files.ts'
import { prepareInputs } from '../../../platform/runs/prepare-inputs.ts'
import { kickoff } from '../../../platform/runs/runs.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { resumeRun } from '../automation/resume.ts'
import type { Fields } from '../json-rpc.ts'
import { getTask, ownerOf } from './call.ts'
import type { A2aCall } from './call.ts'
import { createConfig, readPushConfig } from './push-configs.ts'
import { PARAMS, readInputs, readParams } from './read-message.ts'
import type { Message } from './read-message.ts'
import { refusal, wrongParams } from './refusals.ts'

/**
 * Takes a message: starts a run with it, once for each `messageId` of a caller, or decides what the
 * task of its `taskId` waits for. Raises `unprocessable`, and errors of A2A.
 */
export async function send(call: A2aCall, params: Fields) {
  const { message, configuration } = readParams(PARAMS.send, params)
  const { taskPushNotificationConfig: config } = configuration
  if (config) readPushConfig(call.deps, config)
  const id = message.taskId === undefined ? await start(call, message) : await answer(call, message)
  const task = await getTask(call, id)
  if (config) await createConfig(call, task, config)
  return { task, configuration }
}

async function start(call: A2aCall, message: Message): Promise<string> {
  const { c, deps } = call
  const { automation, actor } = c.var
  const { sql, queue } = deps
  const { contextId, messageId } = message
  const definition = await getDefinition(sql, automation)
  const inputs = await readInputs(message.parts, {
    fields: inputFields(definition),
    store: async ({ name, declared, bytes }) =>
      (await storeInputFile(sql, { automation, name, declared, chunks: [bytes] })).id,
  })
  const prepared = await prepareInputs(sql, { automation, definition, inputs })
  const text = JSON.stringify([actor.kind, actor.id, messageId])
  const id = await kickoff(sql, {
    deploymentId: automation.id,
    ...prepared,
    idempotencyKey: `a2a-${createHash('sha256').update(text).digest('base64url')}`,
    starter: toStarter(actor, 'api'),
    admit: queue.of(automation.organizationId),
  })
  // Where the process ends before this, the same message makes it a task.
  await recordTask(sql, ownerOf(call), { id, messageId, ...(contextId && { contextId }) })
  return id
}

/** A message to a task that waits is the body of a decision, as the automation API takes it. */
async function answer(call: A2aCall, message: Message): Promise<string> {
  const task: Task = await getTask(call, message.taskId ?? '')
  if (message.contextId !== undefined && message.contextId !== task.contextId) {
    throw wrongParams('contextId is not the one of the task. Leave it out.')
  }
  if (task.status !== 'waiting') {
    const state = `The task takes no message: its run is ${task.status}.`
    throw refusal('UNSUPPORTED_OPERATION', `${state} Leave taskId out to start another one.`)
  }
  const [part, ...others] = message.parts
  if (part?.data === undefined || others.length > 0) {
    throw wrongParams(
      'The message to a task that waits has one data part, such as ' +
        '{"task": "…", "decision": "approve"}. The status of the task says what it waits for.',
    )
  }
  const { var: acting } = call.c
  const asked = { deploymentId: acting.automation.id, id: task.id, body: part.data }
  await resumeRun(acting, call.deps.sql, asked)
  return task.id
}
