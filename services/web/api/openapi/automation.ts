import { EVENT_NUMBER_MAX } from '../../../platform/runs/run-events.ts'
import type { Inputs } from '../../../platform/definitions/input-declarations.ts'
import { automationPath } from '../automation/automation-urls.ts'
import type { WebConfig } from '../../env.ts'
import { fileOperations } from './files.ts'
import { listRuns } from './run-list.ts'
import {
  body,
  challenge,
  idempotencyKey,
  json,
  location,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schema,
} from './parts.ts'

/** The errors that any call may return. */
const COMMON = {
  ...refusedTokens('No token, or one that does not open this automation.'),
  '403': problem('The token lacks the scope.', challenge),
  '503': problem('The database or the identity provider is unavailable. Try again.', retryAfter),
}
const NO_KICKOFF = { '404': problem('This automation has no such kickoff.') }

const automationId = parameter('automation_id', 'path')
const kickoffId = parameter('kickoff_id', 'path')
const kickoff = {
  operationId: 'kickoff',
  tags: ['Automations'],
  description: 'Queues a run and answers at once; ask `status_url` for its progress.',
  summary: 'Start a run',
  parameters: [idempotencyKey],
  requestBody: body('KickoffRequest', { inputs: { topic: 'tidal power' } }),
  responses: {
    '202': json('The run is queued, durably.', 'Kickoff', {
      ...location('Where its status is.'),
      ...retryAfter,
    }),
    '400': problem('The body is not JSON, or the Idempotency-Key is malformed.'),
    ...COMMON,
    '409': problem('The automation is being deleted: it takes no more runs.'),
    '413': problem('The body is larger than 256 KiB.'),
    '415': problem('Not application/json.'),
    '422': problem(
      'An input is missing, unknown, of another type or not allowed (details.missing_inputs, ' +
        'unknown_inputs, invalid_inputs), a key is unknown, or the Idempotency-Key was used ' +
        'with other inputs.',
    ),
  },
}

const status = {
  operationId: 'status',
  tags: ['Automations'],
  description:
    'Ask with `wait`, or poll it as `Retry-After` says, until `status` is `completed`, `error` ' +
    'or `stopped`.',
  summary: 'Ask how a run is doing',
  parameters: [
    kickoffId,
    parameter('wait', 'query', {
      description:
        'The seconds that the answer waits for the end of the run. It may come earlier while ' +
        'many calls wait.',
      schema: { type: 'integer', minimum: 0, maximum: 60, default: 0 },
    }),
  ],
  responses: {
    '200': json('The run.', 'Status'),
    '400': problem('`wait` is no whole number between 0 and 60.'),
    ...COMMON,
    ...NO_KICKOFF,
  },
}

const position = { type: 'integer', minimum: 0, maximum: EVENT_NUMBER_MAX, default: 0 }
const events = {
  operationId: 'events',
  tags: ['Automations'],
  description:
    'As server-sent events without names, each with its number within the run as `id` and a ' +
    '`RunEvent` as `data`. The last one is `run_completed`, `run_failed` or `run_stopped`. A ' +
    'stream also ends after 15 minutes and when the platform is updated: connect again with ' +
    '`Last-Event-ID`, and no event is missed or repeated. Callers that accept only ' +
    '`application/json` get a page instead.',
  summary: 'Follow the events of a run',
  parameters: [
    kickoffId,
    parameter('Last-Event-ID', 'header', {
      description: 'Only the events that follow this one; comes before `after`.',
      schema: position,
    }),
    parameter('after', 'query', { description: 'As `Last-Event-ID`.', schema: position }),
    parameter('limit', 'query', {
      description: 'The length of a page.',
      schema: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    }),
    parameter('text_deltas', 'query', {
      description:
        'Also tell what models are writing, in a stream: messages of the type `text_delta` ' +
        'without an id, which are not kept.',
      schema: { type: 'boolean', default: false },
    }),
  ],
  responses: {
    '200': {
      description: 'The events, in order.',
      content: {
        'text/event-stream': { schema: { type: 'string' } },
        'application/json': { schema: schema('EventPage') },
      },
    },
    '204': { description: 'The run has ended, and `Last-Event-ID` was its last event.' },
    '400': problem('The run has no event of that number, or a parameter is not what it may be.'),
    ...COMMON,
    ...NO_KICKOFF,
    '503': problem('Too many streams are open, or the database is unavailable.', retryAfter),
  },
}

const inputs = {
  operationId: 'inputs',
  tags: ['Automations'],
  description: 'The names, and for forms what is declared of each.',
  summary: 'Ask which inputs the automation needs',
  responses: { '200': json('The names.', 'Inputs'), ...COMMON },
}

const stop = {
  operationId: 'stop',
  tags: ['Automations'],
  description: 'A run that has ended stays as it is.',
  summary: 'Stop a run that is not over; stopping it again is no error',
  parameters: [kickoffId],
  responses: {
    '200': json('The run is stopped.', 'Stopped'),
    ...COMMON,
    ...NO_KICKOFF,
    '409': problem('The run has ended.'),
  },
}

const resume = {
  operationId: 'resume',
  tags: ['Automations'],
  description:
    'A run waits when one of its tasks has `human_input`; its status names the task. `approve` ' +
    'takes the output as it is, `edit` takes `text` instead, `reject` ends the run with the ' +
    'error `approval_rejected`. It also waits before a call of a tool with `approve`: the ' +
    'decision names the `call`, `text` has other arguments as JSON, and the model gets to read ' +
    'why a call is rejected. A run that waits for a budget (`budget_stop` in its status) goes ' +
    'on with the body `{}` once there is room.',
  summary: 'Resume a run that waits for a decision or a budget',
  parameters: [kickoffId],
  requestBody: body('ResumeRequest', { task: 'write', decision: 'approve' }),
  responses: {
    '200': json('The run is resumed.', 'Resumed'),
    '400': problem('The body is not JSON.'),
    ...COMMON,
    '404': problem('This automation has no such kickoff, or it asks nothing about this task.'),
    '409': problem('It was decided already, the run has ended, or its budget has no room yet.'),
    '413': problem('The body is larger than 256 KiB.'),
    '415': problem('Not application/json.'),
    '422': problem('A field is missing, unknown or not valid, or the arguments are not.'),
  },
}

/** An operation that starts a run which follows another one. */
const again = (operation: {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly request: string
  readonly example: unknown
  readonly refusals: Record<string, unknown>
}) => ({
  operationId: operation.operationId,
  tags: ['Automations'],
  summary: operation.summary,
  description: operation.description,
  parameters: [kickoffId, idempotencyKey],
  requestBody: body(operation.request, operation.example),
  responses: {
    '202': kickoff.responses['202'],
    '400': kickoff.responses['400'],
    ...COMMON,
    ...NO_KICKOFF,
    '413': kickoff.responses['413'],
    '415': kickoff.responses['415'],
    ...operation.refusals,
  },
})

const GOES_ON = 'The run is in progress'
const NO_STEP = 'The run has no such step (details.tasks), a key is unknown'

const retry = again({
  operationId: 'retryRun',
  summary: 'Continue where a run failed or was stopped',
  description:
    'A new run of the same version and inputs, which keeps the finished steps: all of them, or ' +
    'those that finished and do not depend on `from_step`.',
  request: 'RetryRequest',
  example: { from_step: 'write' },
  refusals: {
    '409': problem(`${GOES_ON}, or is completed and no from_step is named.`),
    '422': problem(`${NO_STEP}, or the Idempotency-Key was used for another request.`),
  },
})
const fork = again({
  operationId: 'forkRun',
  summary: 'Run with changed inputs, all of it or from a step on',
  description:
    'A new run of the same version with other inputs. Without `from_step` it does every step; ' +
    'with it, it keeps those that finished and do not depend on that one, although other inputs ' +
    'led to them.',
  request: 'ForkRequest',
  example: { inputs: { topic: 'wave power' }, from_step: 'write' },
  refusals: {
    '409': problem(`${GOES_ON}.`),
    '422': problem(`${NO_STEP}, or the inputs are refused as those of a kickoff are.`),
  },
})
const rerun = again({
  operationId: 'rerunRun',
  summary: 'Run again from the start',
  description: 'A new run with the same inputs, of the version that the automation has now.',
  request: 'RerunRequest',
  example: {},
  refusals: { '422': problem('The version of now does not take these inputs.') },
})

const steps = {
  operationId: 'steps',
  tags: ['Automations'],
  summary: 'List the steps of a run',
  description: 'Tasks, model calls and tool calls, in the order in which they began first.',
  parameters: [kickoffId],
  responses: { '200': json('The steps.', 'Steps'), ...COMMON, ...NO_KICKOFF },
}

const openapi = {
  operationId: 'describeAutomation',
  tags: ['Automations'],
  summary: 'Describe the API of this automation, with the types of its inputs',
  description: 'An OpenAPI 3.1 document, for generators of clients and for forms.',
  responses: {
    '200': {
      description: 'The document.',
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    ...COMMON,
  },
}

/** The paths of the automation API (SPEC 4.4): of every automation, or of one with these inputs. */
export function automationPaths(
  config: Pick<WebConfig, 'PLATFORM_API_PREFIX'>,
  one?: { readonly id: string; readonly inputs: Inputs },
) {
  const path = automationPath(config, one?.id ?? '{automation_id}')
  const at = (method: string, operation: Record<string, unknown>) => ({
    ...(one ? {} : { parameters: [automationId] }),
    [method]: operation,
  })
  const files = fileOperations(COMMON)
  const requestBody = one ? body('KickoffRequest', { inputs: one.inputs }) : kickoff.requestBody
  return {
    [`${path}/kickoff`]: at('post', { ...kickoff, requestBody }),
    [`${path}/status/{kickoff_id}`]: at('get', status),
    [`${path}/events/{kickoff_id}`]: at('get', events),
    [`${path}/inputs`]: at('get', inputs),
    [`${path}/openapi.json`]: at('get', openapi),
    [`${path}/files`]: at('post', files.files),
    [`${path}/resume/{kickoff_id}`]: at('post', resume),
    [`${path}/stop/{kickoff_id}`]: at('post', stop),
    [`${path}/runs`]: at('get', listRuns(COMMON)),
    [`${path}/runs/{kickoff_id}/retry`]: at('post', retry),
    [`${path}/runs/{kickoff_id}/fork`]: at('post', fork),
    [`${path}/runs/{kickoff_id}/rerun`]: at('post', rerun),
    [`${path}/runs/{kickoff_id}/steps`]: at('get', steps),
    [`${path}/runs/{kickoff_id}/artifacts`]: at('get', files.artifacts),
    [`${path}/runs/{kickoff_id}/artifacts/{name}`]: at('get', files.artifact),
  }
}
