import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { Run, RunStatus } from '../../../platform/runs/runs.ts'
import type { AppError } from '../../../shared/errors.ts'
import { structuredOutput } from '../automation/run-status.ts'
import type { Fields } from '../json-rpc.ts'

interface RunFacts {
  readonly definition: CrewDefinition
  readonly runId: string
  readonly statusUrl: string
  /** Is part of the `_meta` of the result. */
  readonly meta?: Fields | undefined
}

/** Returns the result of a call that started no run. */
export const refusedResult = ({ message, code, details }: AppError): Fields => ({
  ...textResult(message),
  isError: true,
  _meta: { error: code, details },
})

const TASK_STATUS = {
  queued: 'working',
  running: 'working',
  waiting: 'working',
  completed: 'completed',
  error: 'failed',
  stopped: 'cancelled',
} as const satisfies Record<RunStatus, string>
const POLL_MS = 2000

/** Returns a run as a task. One that waits for a person takes no input of its caller. */
export const toTask = ({ id, status, queuedAt, startedAt, finishedAt }: Run) => ({
  taskId: id,
  status: TASK_STATUS[status],
  statusMessage: `The run is ${status}.`,
  ttl: null,
  createdAt: queuedAt,
  lastUpdatedAt: finishedAt ?? startedAt ?? queuedAt,
  pollInterval: POLL_MS,
})

/** Returns a run as a task of the extension: one that failed has a result, which says so. */
export function toTaskHandle(run: Run) {
  const { ttl: ttlMs, pollInterval: pollIntervalMs, status, ...task } = toTask(run)
  return { ...task, status: status === 'failed' ? 'completed' : status, ttlMs, pollIntervalMs }
}

/** Returns the result of a call by its run: what it said, or why it did not say anything yet. */
export function toResult(
  run: Run | undefined,
  { definition, runId, statusUrl, meta }: RunFacts,
): Fields {
  const status = run?.status ?? 'deleted'
  const _meta = { ...meta, kickoff_id: runId, status, status_url: statusUrl }
  if (run?.status === 'completed') return { ...outputResult(run.output ?? '', definition), _meta }
  const isError = FAILED.has(status)
  return { ...textResult(describe(run, { runId, statusUrl })), isError, _meta }
}

const FAILED: ReadonlySet<string> = new Set(['error', 'stopped', 'deleted'])

function outputResult(output: string, definition: CrewDefinition): Fields {
  const structured = structuredOutput(output, definition)
  return {
    ...textResult(output),
    ...(structured && { structuredContent: structured }),
    isError: false,
  }
}

const textResult = (text: string) => ({ content: [{ type: 'text', text }] })

function describe(
  run: Run | undefined,
  { runId, statusUrl }: Pick<RunFacts, 'runId' | 'statusUrl'>,
): string {
  const later =
    `Do not call the tool again: it would start another run. GET ${statusUrl} with the same ` +
    'token has the output when it is done, and so has a call with the same idempotency key.'
  if (!run) return `The run ${runId} was deleted.`
  const { status, error } = run
  if (error) return `The run ${runId} failed (${error.code}): ${error.message}`
  if (status === 'stopped') return `The run ${runId} was stopped.`
  return status === 'waiting'
    ? `The run ${runId} waits for the decision of a person, or for a budget. ${later}`
    : `The run ${runId} is not done yet. ${later}`
}
