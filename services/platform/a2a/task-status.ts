import { RUN_STATUSES } from '../runs/runs.ts'
import type { Failure, RunStatus } from '../runs/runs.ts'

const STATES = {
  queued: 'TASK_STATE_SUBMITTED',
  running: 'TASK_STATE_WORKING',
  waiting: 'TASK_STATE_INPUT_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  error: 'TASK_STATE_FAILED',
  stopped: 'TASK_STATE_CANCELED',
} as const satisfies Record<RunStatus, string>
const REJECTED = 'TASK_STATE_REJECTED'
/** The code of a run that a person did not let continue. */
const REJECTION = 'approval_rejected'

/** All states that tasks have here, for messages. */
export const TASK_STATES: readonly string[] = [...Object.values(STATES), REJECTED]

/** The runs that have a state. */
export interface StateFilter {
  readonly status: RunStatus
  /** The code of their error; with a `!` before it, any other. */
  readonly code?: string
}

/** Returns which runs have a state; undefined for one that none has. */
export function runsOfState(state: string): StateFilter | undefined {
  if (state === REJECTED) return { status: 'error', code: REJECTION }
  const status = RUN_STATUSES.find((each) => STATES[each] === state)
  return status === 'error' ? { status, code: `!${REJECTION}` } : status && { status }
}

/** What the status of a task says. */
interface StatusFacts {
  readonly taskId: string
  readonly contextId: string
  readonly status: RunStatus
  readonly error: Failure | null
  /** When it became so. */
  readonly at: string
  /** What the platform says to it. @default the error of a run that failed */
  readonly said?: { readonly text: string; readonly data?: unknown } | undefined
}

/** Builds the status of a task (A2A 1.0, TaskStatus) of what is known of its run. */
export function toTaskStatus({ taskId, contextId, status, error, at, said }: StatusFacts) {
  const state = status === 'error' && error?.code === REJECTION ? REJECTED : STATES[status]
  const { text, data } = said ?? (error ? { text: `${error.code}: ${error.message}` } : {})
  const message = text !== undefined && {
    messageId: `${taskId}-${at}`,
    contextId,
    taskId,
    role: 'ROLE_AGENT',
    parts: [{ text, mediaType: 'text/plain' }, ...(data === undefined ? [] : [{ data }])],
  }
  return { state, timestamp: at, ...(message && { message }) }
}
