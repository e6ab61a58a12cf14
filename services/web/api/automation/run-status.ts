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
import { BUDGET_PERIODS } from '../../../platform/budgets/budget-room.ts'
import { UNDECIDED } from '../../../platform/approvals/approval-decisions.ts'
import { isObject } from '../../../shared/is-object.ts'
import * as s from '../openapi/parts.ts'
import { failure, origin, output, status, usage } from '../openapi/run-schemas.ts'

/** The same status for clients that poll for a state in capitals. */
export const STATES = {
  queued: 'PENDING',
  running: 'STARTED',
  waiting: 'STARTED',
  completed: 'SUCCESS',
  error: 'FAILED',
  stopped: 'REVOKED',
} as const satisfies Record<RunStatus, string>

/** The schema of the state in capitals. */
export const state = s.words([...new Set(Object.values(STATES))])

/** Returns true if the run has ended and changes no more. */
export const isOver = ({ finishedAt }: Run): boolean => finishedAt !== null

/** What a run waits for: a person, or a budget. */
export interface Waits {
  readonly approval?: Approval | undefined
  readonly stopped?: StoppedRun | undefined
}

const taskDocument = s.document(
  'RunTask',
  {
    task: s.say(s.text, 'The key of the task.'),
    agent: s.say(s.perhapsText, 'The key of its agent.'),
    status: s.say(
      s.words(['pending', 'running', 'completed', 'skipped', 'error', 'stopped']),
      'A task that the run ended in the middle of has the status of the run. `skipped`: its ' +
        'condition did not hold, or its list was empty.',
    ),
    attempt: s.say(s.nullable('integer'), 'A run that was handed over or tried again has several.'),
    started_at: s.perhapsMoment,
    finished_at: s.perhapsMoment,
    output: s.say(s.perhapsText, 'Null until the task is completed; empty if it was skipped.'),
  },
  (task: RunTask) => task,
)
const question = s.document('CallQuestion', {
  server: s.say(s.text, 'The host that asks.'),
  messages: {
    type: 'object',
    additionalProperties: s.text,
    description: 'What it asks, by the keys of the answers.',
  },
})
const waitingCall = s.document('WaitingCall', {
  id: s.say(s.text, 'What a decision about this call names.'),
  name: s.say(s.text, 'As the model sees it.'),
  tool: s.say(s.text, 'The key of the tool in the version.'),
  description: s.text,
  parameters: { type: 'object', description: 'The JSON Schema of its arguments, or answers.' },
  question: s.orNull(
    question,
    'What the server of the tool asks in the middle of the call: `edit` answers by the schema in ' +
      '`parameters`, and `reject` declines. Null: whether the call is made.',
  ),
})
const waitingFor = s.document(
  'WaitingFor',
  {
    task: s.text,
    output: s.say(s.text, 'What the task would put out; of a call, its arguments as JSON.'),
    call: s.orNull(waitingCall, 'The call of a tool that waits; null for the output of a task.'),
    asked_at: s.moment,
    decide_by: s.say(s.moment, 'Then `undecided` counts as the decision.'),
    undecided: s.words(UNDECIDED),
  },
  ({ proposed, call, ...approval }: Approval) => ({
    ...approval,
    output: proposed,
    call: call && { ...call, question: call.question ?? null },
  }),
)
const budgetStop = s.document(
  'BudgetStop',
  {
    code: { const: BUDGET_EXCEEDED },
    message: s.say(s.text, 'Which budget, how much of it is used, and what to do.'),
    budget: s.words(['automation', 'organization']),
    period: s.words(BUDGET_PERIODS),
    of: s.say(s.text, 'The day, the month, or the id of the run.'),
    limit: s.say(s.words(['tokens', 'usd', 'price']), '`price`: the model has no price.'),
    max: s.nullable('number'),
    spent: s.number,
    reserved: s.number,
    asked: s.say(s.number, 'What the next call may need.'),
    model: s.perhapsText,
    stopped_at: s.moment,
  },
  ({ stop, stoppedAt }: StoppedRun) => ({
    ...toWireStop(stop),
    code: BUDGET_EXCEEDED,
    message: describeStop(stop),
    stoppedAt,
  }),
)
/** Returns what a run waits for, as callers see it. */
export const waitsDocument = ({ approval, stopped }: Waits) => ({
  waiting_for: approval ? waitingFor.of(approval) : null,
  budget_stop: stopped ? budgetStop.of(stopped) : null,
})

interface Followed {
  readonly run: Run
  readonly tasks: readonly RunTask[]
  readonly waits: Waits
}

/** The status of a run. `result` repeats `output` for clients that look there. */
export const statusDocument = s.document(
  'Status',
  {
    kickoff_id: s.uuid,
    status,
    state: {
      ...state,
      description: `The same as status, in capitals: ${Object.entries(STATES)
        .map(([from, to]) => `${from} is ${to}`)
        .join(', ')}.`,
      examples: ['STARTED'],
    },
    output,
    result: s.say(s.perhapsText, 'The same as output.'),
    error: failure,
    usage,
    progress: s.closed({ completed_tasks: s.integer, total_tasks: s.integer }),
    current_task: s.say(s.perhapsText, 'The key of the task that began last, of those that run.'),
    tasks: s.list(taskDocument),
    waiting_for: s.orNull(waitingFor, 'What a person is to decide; null unless status is waiting.'),
    budget_stop: s.orNull(
      budgetStop,
      'The budget that it waits for; null unless status is waiting.',
    ),
    queued_at: s.moment,
    started_at: s.perhapsMoment,
    finished_at: s.perhapsMoment,
    origin,
  },
  ({ run, tasks, waits }: Followed) => ({
    ...toShownRun(run),
    result: run.output,
    progress: { completed_tasks: countDone(tasks), total_tasks: tasks.length },
    currentTask: currentTask(tasks),
    tasks: tasks.map(taskDocument.of),
    waitingFor: waitsDocument(waits).waiting_for,
    budgetStop: waitsDocument(waits).budget_stop,
  }),
)

type ShownRun = Pick<Run, 'id' | 'status' | 'usage' | 'originId' | 'originAction'>

/** Returns a run with the names that callers see. */
export const toShownRun = <Row extends ShownRun>(run: Row) => ({
  ...run,
  kickoffId: run.id,
  state: STATES[run.status],
  usage: run.usage && s.tokensOf(run.usage),
  origin: run.originId && { kickoff_id: run.originId, action: run.originAction },
})

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
