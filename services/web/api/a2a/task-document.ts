import { toTaskStatus } from '../../../platform/a2a/task-status.ts'
import type { Task } from '../../../platform/a2a/tasks.ts'
import { getDefinition } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { listArtifacts } from '../../../platform/runs/run-artifacts.ts'
import { listRunTasks } from '../../../platform/runs/run-tasks.ts'
import { findRun } from '../../../platform/runs/runs.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { WebDeps } from '../../context.ts'
import { typeOfFile } from '../../http/send-file.ts'
import { automationUrl } from '../automation/automation-urls.ts'
import { describeProgress, structuredOutput, waitsDocument } from '../automation/run-status.ts'
import { waitsOf } from '../automation/status.ts'
import type { Fields } from '../json-rpc.ts'

/** The task of an automation. */
interface OwnTask {
  readonly automation: Automation
  readonly task: Task
}

interface Wanted {
  /** The most messages of its history. @default all */
  readonly historyLength?: number | undefined
  /** @default true */
  readonly artifacts?: boolean
}

/** Returns a task with its status, its artifacts and the message that started it. */
export async function taskDocument(
  deps: WebDeps,
  { automation, task }: OwnTask,
  { historyLength, artifacts = true }: Wanted = {},
): Promise<Fields> {
  const { id, contextId } = task
  const hasHistory = historyLength !== 0
  const run = hasHistory || artifacts ? await findRun(deps.sql, automation.id, id) : undefined
  return {
    id,
    contextId,
    status: await statusOf(deps, task),
    ...(run && artifacts && { artifacts: await artifactsOf(deps, automation, run) }),
    ...(run && hasHistory && { history: [startOf(task, run)] }),
  }
}

/** The inputs of the run, which are what was made of the message. */
const startOf = ({ id, contextId, messageId }: Task, { inputs }: Run) => ({
  messageId,
  contextId,
  taskId: id,
  role: 'ROLE_USER',
  parts: [{ data: inputs, mediaType: 'application/json' }],
})

/** Returns the status of a task: how far it has come, or what it waits for. */
export async function statusOf(deps: WebDeps, task: Task) {
  const { id: taskId, contextId, status, error, updatedAt } = task
  const said = await saidOf(deps, task)
  return toTaskStatus({ taskId, contextId, status, error, at: updatedAt.toISOString(), said })
}

async function saidOf(deps: WebDeps, task: Task) {
  if (task.status === 'running') {
    return { text: describeProgress(await listRunTasks(deps.sql, task)) }
  }
  if (task.status !== 'waiting') return undefined
  const waits = await waitsOf(deps, task)
  const text = waits.approval
    ? 'The task waits for a decision. Send a message with its taskId and a data part such as ' +
      '{"task": "…", "decision": "approve"}; "call" as well where one is asked about.'
    : 'The task waits for a budget. Once it has room, send a message with its taskId and the ' +
      'empty object as data part.'
  return { text, data: waitsDocument(waits) }
}

/** Returns what a run put out: its output, and the files that its tasks wrote by their address. */
export async function artifactsOf(
  { sql, config }: WebDeps,
  automation: Automation,
  run: Run,
): Promise<Fields[]> {
  const { id, output } = run
  const url = `${automationUrl(config, automation.automationId)}/runs/${id}/artifacts`
  const files = (await listArtifacts(sql, id)).map(({ name }) => ({
    artifactId: `file:${name}`,
    name,
    parts: [
      { url: `${url}/${encodeURIComponent(name)}`, filename: name, mediaType: typeOfFile(name) },
    ],
  }))
  if (output === null) return files
  const data = structuredOutput(output, await getDefinition(sql, automation))
  const part = data
    ? { data, mediaType: 'application/json' }
    : { text: output, mediaType: 'text/plain' }
  return [{ artifactId: 'output', name: 'output', parts: [part] }, ...files]
}
