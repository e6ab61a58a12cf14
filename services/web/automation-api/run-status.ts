import type { Run, RunStatus } from '../../platform/runs.ts'
import type { Progress } from '../../platform/progress.ts'

/** The same status for clients that poll for a state in capitals. */
export const STATES = {
  queued: 'PENDING',
  running: 'STARTED',
  completed: 'SUCCESS',
  error: 'FAILED',
  stopped: 'REVOKED',
} as const satisfies Record<RunStatus, string>

const TASK_EVENTS_MAX = 20

/** Returns true if the run has ended and changes no more. */
export const isOver = ({ finishedAt }: Run): boolean => finishedAt !== null

/**
 * Returns the body of `GET status/<kickoff_id>`. `result` repeats `output` for clients that look
 * there.
 */
export function statusDocument(run: Run, progress: readonly Progress[]) {
  const { id, status, output, error, usage, queuedAt, startedAt, finishedAt } = run
  return {
    kickoff_id: id,
    status,
    state: STATES[status],
    output,
    result: output,
    error,
    usage: usage && { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
    progress: progress.filter(isOfTask).slice(-TASK_EVENTS_MAX).map(toWire),
    queued_at: queuedAt,
    started_at: startedAt,
    finished_at: finishedAt,
    origin: run.originId && { kickoff_id: run.originId, action: run.originAction },
  }
}

/** Callers see the tasks; the calls of models stay inside. */
const isOfTask = ({ event }: Progress): boolean => event.type.startsWith('task_')

const toWire = ({ attempt, event, recordedAt }: Progress) => ({ at: recordedAt, attempt, ...event })
