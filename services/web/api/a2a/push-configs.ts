import { createTaskWebhook, listTaskWebhooks } from '../../../platform/a2a/task-webhooks.ts'
import type { TaskWebhook, TaskWebhookHeaders } from '../../../platform/a2a/task-webhooks.ts'
import type { Task } from '../../../platform/a2a/tasks.ts'
import { webhookAddressProblem, URL_LENGTH_MAX } from '../../../platform/webhooks/webhook-fields.ts'
import { createWebhookKeys } from '../../../platform/webhooks/webhook-keys.ts'
import { createForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import { createWebhookGuard } from '../../../shared/outgoing/guards.ts'
import type { WebDeps } from '../../context.ts'
import type { Fields } from '../json-rpc.ts'
import type { A2aCall } from './call.ts'
import { pushConfig, readParams } from './read-message.ts'
import type { PushConfig } from './read-message.ts'
import { refusal, wrongParams } from './refusals.ts'

const CREDENTIALS_CHARACTERS_MAX = 4000
const SCHEME = /^[A-Za-z][A-Za-z0-9-]{0,39}$/
const VISIBLE = /^[\x21-\x7e]+( [\x21-\x7e]+)*$/

/** Checks where a task is to say how it is doing, and what goes along. Raises `unprocessable`. */
export function readPushConfig({ config }: WebDeps, given: PushConfig) {
  const { url } = given
  const guard = createWebhookGuard(config.WEBHOOK_PRIVATE_ORIGINS, createForwardProxy(config))
  if (url.length > URL_LENGTH_MAX) {
    throw wrongParams(`url has at most ${URL_LENGTH_MAX} characters.`)
  }
  const problem = webhookAddressProblem(url, guard)
  if (problem !== undefined) throw wrongParams(problem)
  return { url, headers: headersOf(given) }
}

function headersOf({ token = '', authentication }: PushConfig): TaskWebhookHeaders {
  const { scheme = '', credentials = '' } = authentication ?? {}
  if (authentication && !SCHEME.test(scheme)) {
    throw wrongParams('authentication.scheme is the name of a scheme, such as Bearer.')
  }
  requireVisible('token', token)
  requireVisible('authentication.credentials', credentials)
  return {
    ...(token !== '' && { 'x-a2a-notification-token': token }),
    ...(authentication && { authorization: `${scheme} ${credentials}`.trim() }),
  }
}

/** Refuses what no header can hold. */
function requireVisible(name: string, value: string): void {
  if (value === '' || (VISIBLE.test(value) && value.length <= CREDENTIALS_CHARACTERS_MAX)) return
  throw wrongParams(`${name} has at most ${CREDENTIALS_CHARACTERS_MAX} visible ASCII characters.`)
}

/** Lets a task say how it is doing. What it is to be known by is sealed, and never told again. */
export async function createConfig(
  { c, deps }: A2aCall,
  task: Task,
  params: unknown,
): Promise<Fields> {
  const { SECRET_KEY_BASE: current, SECRET_KEY_BASE_PREVIOUS: previous } = deps.config
  const checked = readPushConfig(deps, readParams(pushConfig, params))
  const created = await createTaskWebhook(deps.sql, {
    ...checked,
    deploymentId: c.var.automation.id,
    runId: task.id,
    keys: createWebhookKeys(current, previous),
  })
  return toWire(task, created)
}

const toWire = ({ id: taskId }: Task, { id, url }: TaskWebhook) => ({ id, taskId, url })

/** Returns where a task says how it is doing. */
export const listConfigs = async ({ sql }: WebDeps, task: Task): Promise<Fields> => ({
  configs: (await listTaskWebhooks(sql, task.id)).map((each) => toWire(task, each)),
})

/** Returns one of them. Raises the error of A2A for one that there is not. */
export async function getConfig({ sql }: WebDeps, task: Task, id: string): Promise<Fields> {
  const found = (await listTaskWebhooks(sql, task.id)).find((each) => each.id === id)
  if (found) return toWire(task, found)
  throw refusal('TASK_NOT_FOUND', 'The task has no such push notification config.')
}
