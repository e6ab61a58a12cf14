import { callChange } from '../../../platform/model-calls/call-fields.ts'
import { draftBody } from '../designer/model-call-routes.ts'
import {
  body,
  closed,
  integer,
  json,
  list,
  moment,
  nullable,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schemaOfBody,
  text,
} from './parts.ts'

const orNull = (of: object) => ({ oneOf: [{ type: 'null' }, of] })
const usage = orNull(closed({ input_tokens: integer, output_tokens: integer }))
const answer = orNull(closed({ text, tool_calls: list(closed({ name: text, arguments: text })) }))
const error = orNull(closed({ code: text, message: text }))
const example = { messages: [{ role: 'user', content: 'Write a shorter one.' }], temperature: 0 }

/** The schemas of recorded calls of models, and of what they answer again. */
export const MODEL_CALL_SCHEMAS = {
  ModelCalls: closed({
    model_calls: list(
      closed({
        id: text,
        model: text,
        path: list(text),
        state: { ...text, enum: ['started', 'finished', 'failed'] },
        started_at: moment,
        usage,
      }),
    ),
  }),
  ModelCall: closed({
    id: text,
    model: text,
    path: list(text),
    request: {
      oneOf: [{ type: 'null' }, { type: 'object' }],
      description: 'What was asked, with what `try` may change; null: it cannot be sent again.',
    },
    images_left_out: { ...integer, description: 'Records keep no images: none is sent again.' },
    why_no_request: nullable('string'),
    answer,
    error,
    usage,
    duration_ms: nullable('integer'),
  }),
  ModelCallChange: schemaOfBody(
    callChange,
    'What is asked otherwise: what lacks is as it was recorded, and null takes it away.',
  ),
  ModelCallDraft: schemaOfBody(
    draftBody,
    'As for `try`; with `parameters_only` the texts of the definition stay as they are.',
  ),
  TriedModelCall: closed({
    answer,
    error: { ...error, description: 'Why the model did not answer.' },
    usage,
    usd: nullable('number', { description: 'Null: nothing was used, or the model has no price.' }),
    duration_ms: integer,
  }),
}

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem('A role in the organization, or a scope of the token, that does not allow this.'),
  '404': problem('The organization has no such run, or the run no such call of a model.'),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const REFUSED = {
  ...COMMON,
  '400': problem('The body is not valid JSON.'),
  '413': problem('The body, or the request that it makes, has more than 512 KiB.'),
  '415': problem('The body is not `application/json`.'),
}
const run = [parameter('kickoff_id', 'path')]
const call = [
  ...run,
  parameter('step_key', 'path', { schema: { ...text, example: '0'.repeat(32) } }),
]
const path = '/designer/v2/executions/{kickoff_id}/model-calls'

/** The paths of recorded calls of models. */
export const MODEL_CALL_PATHS = {
  [path]: {
    parameters: run,
    get: {
      operationId: 'listModelCalls',
      tags: ['Designer'],
      summary: 'The calls of models that a run made',
      responses: { '200': json('All of them.', 'ModelCalls'), ...COMMON },
    },
  },
  [`${path}/{step_key}`]: {
    parameters: call,
    get: {
      operationId: 'getModelCall',
      tags: ['Designer'],
      summary: 'A call of a model: what it was asked, and what it answered',
      responses: { '200': json('It.', 'ModelCall'), ...COMMON },
    },
  },
  [`${path}/{step_key}/try`]: {
    parameters: call,
    post: {
      operationId: 'tryModelCall',
      tags: ['Designer'],
      summary: 'Make a recorded call again, changed',
      requestBody: body('ModelCallChange', example),
      responses: {
        '200': json('What the model answered, or why it did not.', 'TriedModelCall'),
        ...REFUSED,
        '409': problem(
          'The request is not kept, the connection cannot be used, or a budget has no room.',
        ),
        '422': problem('A field is not valid, or the model has no LLM connection.'),
        '429': problem('Too many calls in a minute, or four tries at this moment.', retryAfter),
      },
    },
  },
  [`${path}/{step_key}/version`]: {
    parameters: call,
    post: {
      operationId: 'writeModelCall',
      tags: ['Designer'],
      summary: 'Add a draft to the project whose definition makes the call like this',
      requestBody: body('ModelCallDraft', example),
      responses: {
        '201': json('The draft.', 'Version'),
        ...REFUSED,
        '409': problem('The request is not kept, or the project takes no drafts.'),
        '422': problem('A field is not valid, or the definition cannot say what is changed.'),
      },
    },
  },
}
