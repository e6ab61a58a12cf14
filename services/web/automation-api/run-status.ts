import type { Run, RunStatus } from '../../platform/runs.ts'
import type { RunTask } from '../../platform/run-tasks.ts'

/** The same status for clients that poll for a state in capitals. */
export const STATES = {
  queued: 'PENDING',
  running: 'STARTED',
  completed: 'SUCCESS',
  error: 'FAILED',
  stopped: 'REVOKED',
} as const satisfies Record<RunStatus, string>

/** Returns true if the run has ended and changes no more. */
export const isOver = ({ finishedAt }: Run): boolean => finishedAt !== null

/**
 * Returns the body of `GET status/<kickoff_id>`. `result` repeats `output` for clients that look
 * there.
 */
export function statusDocument(run: Run, tasks: readonly RunTask[]) {
  const { id, status, output, error, usage, queuedAt, startedAt, finishedAt } = run
  return {
    kickoff_id: id,
    status,
    state: STATES[status],
    output,
    result: output,
    error,
    usage: usage && { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
    progress: {
      completed_tasks: tasks.filter((each) => each.status === 'completed').length,
      total_tasks: tasks.length,
    },
    current_task: currentTask(tasks),
    tasks: tasks.map(toWire),
    queued_at: queuedAt,
    started_at: startedAt,
    finished_at: finishedAt,
    origin: run.originId && { kickoff_id: run.originId, action: run.originAction },
  }
}

/** The one that began last, of those that run. */
function currentTask(tasks: readonly RunTask[]): string | null {
  const running = tasks.filter(({ status }) => status === 'running')
  const startOf = ({ startedAt }: RunTask): number => startedAt?.getTime() ?? 0
  return running.toSorted((a, b) => startOf(b) - startOf(a))[0]?.task ?? null
}

const toWire = ({ task, agent, status, attempt, startedAt, finishedAt, output }: RunTask) => ({
  task,
  agent,
  status,
  attempt,
  started_at: startedAt,
  finished_at: finishedAt,
  output,
})
