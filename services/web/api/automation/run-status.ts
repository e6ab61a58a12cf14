import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { Run, RunStatus } from '../../../platform/runs/runs.ts'
import {
  BUDGET_EXCEEDED,
  describeStop,
  toWireStop,
} from '../../../platform/budgets/budget-stops.ts'
import type { StoppedRun } from '../../../platform/budgets/budget-stops.ts'
import type { Approval } from '../../../platform/runs/run-approvals.ts'
import { countDone } from '../../../platform/runs/run-tasks.ts'
import type { RunTask } from '../../../platform/runs/run-tasks.ts'
import { isObject } from '../../../shared/is-object.ts'

/** The same status for clients that poll for a state in capitals. */
export const STATES = {
  queued: 'PENDING',
  running: 'STARTED',
  waiting: 'STARTED',
  completed: 'SUCCESS',
  error: 'FAILED',
  stopped: 'REVOKED',
} as const satisfies Record<RunStatus, string>

/** Returns true if the run has ended and changes no more. */
export const isOver = ({ finishedAt }: Run): boolean => finishedAt !== null

/** What a run waits for: a person, or a budget. */
export interface Waits {
  readonly approval?: Approval | undefined
  readonly stopped?: StoppedRun | undefined
}

/**
 * Returns the body of `GET status/<kickoff_id>`. `result` repeats `output` for clients that look
 * there.
 */
export function statusDocument(run: Run, tasks: readonly RunTask[], waits: Waits) {
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
      completed_tasks: countDone(tasks),
      total_tasks: tasks.length,
    },
    current_task: currentTask(tasks),
    tasks: tasks.map(toWire),
    ...waitsDocument(waits),
    queued_at: queuedAt,
    started_at: startedAt,
    finished_at: finishedAt,
    origin: run.originId && { kickoff_id: run.originId, action: run.originAction },
  }
}

/** Returns an output that is an object, where the last task has an output schema. */
export function structuredOutput(
  output: string,
  { tasks }: CrewDefinition,
): Readonly<Record<string, unknown>> | undefined {
  if (!tasks.at(-1)?.output_schema) return undefined
  try {
    const value: unknown = JSON.parse(output)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Says how far a run has come. */
export function describeProgress(tasks: readonly RunTask[], done = countDone(tasks)): string {
  const running = tasks.find(({ status }) => status === 'running')?.task
  const now = running === undefined ? '' : `; ${running} runs`
  return `${done} of ${tasks.length} tasks are completed${now}`
}

/** The one that began last, of those that run. */
function currentTask(tasks: readonly RunTask[]): string | null {
  const running = tasks.filter(({ status }) => status === 'running')
  const startOf = ({ startedAt }: RunTask): number => startedAt?.getTime() ?? 0
  return running.toSorted((a, b) => startOf(b) - startOf(a))[0]?.task ?? null
}

/** Returns what a run waits for, as callers see it. */
export const waitsDocument = ({ approval, stopped }: Waits) => ({
  waiting_for: approval ? waitingFor(approval) : null,
  budget_stop: stopped ? budgetStop(stopped) : null,
})

const waitingFor = ({ task, proposed, call, askedAt, decideBy, undecided }: Approval) => ({
  task,
  output: proposed,
  call: call && { ...call, question: call.question ?? null },
  asked_at: askedAt,
  decide_by: decideBy,
  undecided,
})

const budgetStop = ({ stop, stoppedAt }: StoppedRun) => ({
  code: BUDGET_EXCEEDED,
  message: describeStop(stop),
  ...toWireStop(stop),
  stopped_at: stoppedAt,
})

const toWire = ({ task, agent, status, attempt, startedAt, finishedAt, output }: RunTask) => ({
  task,
  agent,
  status,
  attempt,
  started_at: startedAt,
  finished_at: finishedAt,
  output,
})
