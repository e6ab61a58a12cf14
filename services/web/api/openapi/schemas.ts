import { RUN_ERRORS } from '../../../platform/runs/run-errors.ts'
import { ORIGIN_ACTIONS, RUN_STATUSES } from '../../../platform/runs/runs.ts'
import { STEP_KINDS } from '../../../platform/crew-contract/step-key.ts'
import { INPUT_TYPES } from '../../../platform/definitions/input-declarations.ts'
import { ERROR_CODES } from '../../../shared/errors.ts'
import { STATES } from '../automation/run-status.ts'
import { DECISION_SCHEMAS } from './decision-schemas.ts'
import { runListSchemas } from './run-list.ts'
import {
  closed,
  integer,
  list,
  moment,
  nullable,
  perhapsMoment,
  schema,
  text,
  uuid,
} from './parts.ts'

/** The schemas of the files that runs are given, and that they write. */
const FILE_SCHEMAS = {
  File: closed({
    file_id: { ...uuid, description: 'What an input of the type file names.' },
    name: text,
    size: { ...integer, description: 'In bytes.' },
    sha256: { ...text, pattern: '^[0-9a-f]{64}$' },
    media_type: { ...text, description: 'By what is in the file.', examples: ['text/csv'] },
  }),
  Artifact: closed({
    name: text,
    task: { ...text, description: 'The key of the task that wrote it.' },
    size: { ...integer, description: 'In bytes.' },
    left_out_characters: {
      ...integer,
      description: 'What was beyond the 1 MiB that is kept; 0: all of it is there.',
    },
    created_at: moment,
    url: { ...text, format: 'uri' },
  }),
  Artifacts: closed({ kickoff_id: uuid, artifacts: list(schema('Artifact')) }),
}

/** The inputs of a run. */
export const inputs = {
  type: 'object',
  additionalProperties: true,
  description: 'By name: texts, numbers, booleans, objects or lists; never null.',
  examples: [{ topic: 'tidal power' }],
}
/** Why a run failed. */
export const failure = nullable('object', {
  description: 'Why the run failed; null unless status is error.',
  required: ['code', 'message'],
  properties: {
    code: {
      ...text,
      description:
        'A word for programs. Crews from source may bring their own beside these: ' +
        `${Object.keys(RUN_ERRORS).join(', ')}.`,
      examples: ['crew_unreachable', 'llm_rejected', 'execution_timeout'],
    },
    message: text,
  },
})
/** The tokens of a run. */
export const usage = nullable('object', {
  description: 'Tokens of all model calls; null until the run is completed.',
  required: ['input_tokens', 'output_tokens'],
  properties: { input_tokens: integer, output_tokens: integer },
})
/** What a run put out. */
export const output = nullable('string', {
  description: 'What the last task put out; null until completed.',
})
/** The field of a request that names the step to go on from. */
export const from_step = {
  ...text,
  minLength: 1,
  maxLength: 64,
  description: 'The key of a step or of a task: what finished before it began is kept.',
  examples: ['write'],
}
/** An object of these properties, of which few are required. */
export const perhaps = (properties: Record<string, unknown>, required: readonly string[] = []) =>
  closed(properties, { required })
/** The word for how far a run is. */
export const status = {
  ...text,
  enum: RUN_STATUSES,
  description:
    'queued: waits for a worker. running: a crew works on it. waiting: a person is asked. ' +
    'completed, error and stopped: over, nothing changes any more.',
  examples: ['running'],
}

/** The schemas of the automation API, and those that all APIs use. */
export const AUTOMATION_SCHEMAS = {
  KickoffRequest: closed({ inputs }),
  Kickoff: closed(
    {
      kickoff_id: uuid,
      status: { ...text, const: 'queued' },
      status_url: { ...text, format: 'uri' },
      message: {
        ...text,
        description: 'Why the run waits; absent while the automation is online.',
      },
    },
    { required: ['kickoff_id', 'status', 'status_url'] },
  ),
  InputField: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'required'],
    properties: {
      name: text,
      type: { ...text, enum: INPUT_TYPES, description: 'Absent: any but null.' },
      label: text,
      description: text,
      default: { description: 'What a run gets that is started without it.' },
      enum: { ...list({}), description: 'The values that it may have. Absent: all of its type.' },
      required: { type: 'boolean' },
    },
  },
  Inputs: closed({
    inputs: { ...list(text), description: 'The names.', examples: [['topic']] },
    fields: list(schema('InputField')),
  }),
  Stopped: closed({
    kickoff_id: uuid,
    status: { ...text, const: 'stopped' },
    state: { ...text, const: STATES.stopped },
  }),
  RunTask: closed({
    task: { ...text, description: 'The key of the task.' },
    agent: nullable('string', { description: 'The key of its agent.' }),
    status: {
      ...text,
      enum: ['pending', 'running', 'completed', 'skipped', 'error', 'stopped'],
      description:
        'A task that the run ended in the middle of has the status of the run. `skipped`: its ' +
        'condition did not hold, or its list was empty.',
    },
    attempt: nullable('integer', {
      description: 'A run that was handed over or tried again has several.',
    }),
    started_at: perhapsMoment,
    finished_at: perhapsMoment,
    output: nullable('string', {
      description: 'Null until the task is completed; empty if it was skipped.',
    }),
  }),
  ...DECISION_SCHEMAS,
  Resumed: closed({
    kickoff_id: uuid,
    status: { ...text, const: 'queued' },
    state: { ...text, const: STATES.queued },
  }),
  RunEvent: {
    type: 'object',
    required: ['id', 'attempt', 'type'],
    description: 'Types may be added; leave out those that you do not know.',
    properties: {
      id: { ...integer, description: 'Its number within the run, from 1.' },
      attempt: integer,
      type: {
        ...text,
        examples: ['task_started', 'llm_call', 'task_completed', 'run_completed'],
      },
      at: moment,
    },
  },
  EventPage: closed({
    events: list(schema('RunEvent')),
    after: { ...integer, description: 'What to send as `after` for the next page.' },
    is_over: { type: 'boolean', description: 'The run has ended, and this page has its end.' },
  }),
  Status: closed({
    kickoff_id: uuid,
    status,
    state: {
      ...text,
      enum: [...new Set(Object.values(STATES))],
      description: `The same as status, in capitals: ${Object.entries(STATES)
        .map(([from, to]) => `${from} is ${to}`)
        .join(', ')}.`,
      examples: ['STARTED'],
    },
    output,
    result: nullable('string', { description: 'The same as output.' }),
    error: failure,
    usage,
    progress: closed({ completed_tasks: integer, total_tasks: integer }),
    current_task: nullable('string', {
      description: 'The key of the task that began last, of those that run.',
    }),
    tasks: list(schema('RunTask')),
    waiting_for: {
      description: 'What a person is to decide; null unless status is waiting.',
      oneOf: [schema('WaitingFor'), { type: 'null' }],
    },
    budget_stop: {
      description: 'The budget that a run waits for; null unless status is waiting.',
      oneOf: [schema('BudgetStop'), { type: 'null' }],
    },
    queued_at: moment,
    started_at: perhapsMoment,
    finished_at: perhapsMoment,
    origin: nullable('object', {
      description: 'The run that this one follows; null for a plain kickoff.',
      required: ['kickoff_id', 'action'],
      properties: { kickoff_id: uuid, action: { ...text, enum: ORIGIN_ACTIONS } },
    }),
  }),
  ...runListSchemas({ failure, usage }),
  RetryRequest: perhaps({ from_step }),
  ForkRequest: perhaps({ inputs, from_step }, ['inputs']),
  RerunRequest: perhaps({}),
  Step: closed({
    step: { ...text, description: 'Its key: the same in each attempt.' },
    kind: { ...text, enum: STEP_KINDS },
    name: { ...text, description: 'The key of the task, the name of the model or of the tool.' },
    path: { ...list(text), examples: [['research', 'researcher', 'llm', '0']] },
    parent: nullable('string', { description: 'The step that it is a part of.' }),
    state: {
      ...text,
      enum: ['started', 'finished', 'failed'],
      description: 'A new attempt repeats what only started or failed.',
    },
    attempt: {
      ...integer,
      description: 'The last one that did it; 0: kept from the run that this one follows.',
    },
    usage,
    error: failure,
    started_at: moment,
    ended_at: perhapsMoment,
  }),
  Steps: closed({ kickoff_id: uuid, steps: list(schema('Step')) }),
  Problem: {
    type: 'object',
    description: 'RFC 9457; error and message repeat the code and the text.',
    required: ['type', 'title', 'status', 'detail', 'error', 'message'],
    properties: {
      type: text,
      title: text,
      status: integer,
      detail: text,
      error: {
        ...text,
        enum: ERROR_CODES,
        description: 'A word for programs.',
        examples: ['invalid_token'],
      },
      message: text,
      details: {
        type: 'object',
        additionalProperties: true,
        description: 'Facts for programs, such as missing_inputs.',
      },
      request_id: { ...text, description: 'Finds the request in the log.' },
    },
  },
  ...FILE_SCHEMAS,
}
