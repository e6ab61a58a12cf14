import type { Context } from 'hono'
import * as v from 'valibot'
import {
  callChange,
  changeCall,
  REQUEST_BYTES_MAX,
} from '../../../platform/model-calls/call-fields.ts'
import type { RecordedCall } from '../../../platform/model-calls/recorded-call.ts'
import { findRunRecord } from '../../../platform/runs/run-history.ts'
import { listSteps } from '../../../platform/runs/run-steps.ts'
import { AppError } from '../../../shared/errors.ts'
import type { LlmCall } from '../../../shared/models/llm-call.ts'
import { trueOrFalse } from '../../../shared/schemas.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { draftCall, getAsked, getCallOfRun } from '../../model-calls/subjects.ts'
import { createTries } from '../../model-calls/try-call.ts'
import type { TriedCall } from '../../model-calls/try-call.ts'
import type { ApiRoom } from '../api-room.ts'
import * as s from '../openapi/parts.ts'
import { jsonBody, operation } from '../openapi/operation.ts'
import { versionDocument } from './documents.ts'

const PATH = '/executions/:kickoffId/model-calls'

/** A call that becomes a version: with the texts of its first messages, or without them. */
const draftParser = v.strictObject({
  ...callChange.entries,
  parameters_only: v.optional(trueOrFalse, false),
})
const bytesMax = REQUEST_BYTES_MAX
const example = { messages: [{ role: 'user', content: 'Write a shorter one.' }], temperature: 0 }
const changeBody = jsonBody('ModelCallChange', callChange, {
  example,
  bytesMax,
  description: 'What is asked otherwise: what lacks is as it was recorded, and null takes it away.',
})
const draftBody = jsonBody('ModelCallDraft', draftParser, {
  example,
  bytesMax,
  description: 'As for `try`; with `parameters_only` the texts of the definition stay as they are.',
})

const usage = s.orNull(s.closed(s.tokens))
const toolCall = { name: s.text, arguments: s.text }
const answer = s.orNull(s.closed({ text: s.text, tool_calls: s.list(s.closed(toolCall)) }))
const error = s.orNull(s.closed({ code: s.text, message: s.text }))
const callSummary = {
  id: s.text,
  model: s.text,
  path: s.list(s.text),
  state: s.words(['started', 'finished', 'failed']),
  started_at: s.moment,
  usage,
}
const calls = s.document('ModelCalls', { model_calls: s.list(s.closed(callSummary)) })
const recordedDocument = s.document(
  'ModelCall',
  {
    id: s.text,
    model: s.text,
    path: s.list(s.text),
    request: s.orNull(
      { type: 'object' },
      'What was asked, with what `try` may change; null: it cannot be sent again.',
    ),
    images_left_out: s.say(s.integer, 'Records keep no images: none is sent again.'),
    why_no_request: s.perhapsText,
    answer,
    error,
    usage,
    duration_ms: s.nullable('integer'),
  },
  ({ asked, ms, ...call }: RecordedCall & { readonly id: string }) => ({
    ...call,
    request: 'call' in asked ? requestDocument(asked.call) : null,
    imagesLeftOut: 'call' in asked ? asked.images : 0,
    whyNoRequest: 'call' in asked ? null : asked.why,
    answer: answerDocument(call.answer),
    usage: usageDocument(call.usage),
    durationMs: ms,
  }),
)
const triedDocument = s.document(
  'TriedModelCall',
  {
    answer,
    error: s.say(error, 'Why the model did not answer.'),
    usage,
    usd: s.say(s.nullable('number'), 'Null: nothing was used, or the model has no price.'),
    duration_ms: s.integer,
  },
  (tried: TriedCall) => ({
    ...tried,
    answer: answerDocument(tried.answer),
    usage: usageDocument(tried.usage),
    durationMs: tried.ms,
  }),
)

const parameters = [
  s.parameter('step_key', 'path', { schema: { ...s.text, example: '0'.repeat(32) } }),
]
const list = operation('listModelCalls', 'The calls of models that a run made', {
  200: ['All of them.', calls],
})
const get = operation('getModelCall', 'A call of a model: what it was asked and answered', {
  parameters,
  200: recordedDocument,
})
const tryAgain = operation('tryModelCall', 'Make a recorded call again, changed', {
  parameters,
  body: changeBody,
  200: ['What the model answered, or why it did not.', triedDocument],
  409: 'The request is not kept, the connection cannot be used, or a budget has no room.',
  422: 'A field is not valid, or the model has no LLM connection.',
  429: 'Too many calls in a minute, or four tries at this moment.',
})
const draft = operation(
  'writeModelCall',
  'Add a draft to the project whose definition makes the call like this',
  {
    parameters,
    body: draftBody,
    201: ['The draft.', versionDocument],
    409: 'The request is not kept, or the project takes no drafts.',
    422: 'A field is not valid, or the definition cannot say what is changed.',
  },
)

/** The calls of models that runs made, which are made again, changed. */
export function designerModelCallRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)
  const tryCall = createTries(deps)

  const getCall = (c: Context<OrganizationCall>) => {
    const runId = c.req.param('kickoffId') ?? ''
    const step = c.req.param('stepKey') ?? ''
    return getCallOfRun(sql, c.var.caller.organizationId, { runId, step })
  }

  api.get('viewer', [PATH, list], async (c) => {
    const { organizationId } = c.var.caller
    const run = await findRunRecord(sql, { organizationId, id: c.req.param('kickoffId') ?? '' })
    if (!run) throw new AppError('not_found', 'Your organization has no such run.')
    const found = (await listSteps(sql, run.id)).filter(({ kind }) => kind === 'llm')
    return c.json({
      model_calls: found.map(({ key: id, name: model, ...step }) =>
        s.pickOf(callSummary)({ ...step, id, model, usage: usageDocument(step.usage) }),
      ),
    })
  })

  api.get('viewer', [`${PATH}/:stepKey`, get], async (c) => {
    const { recorded } = await getCall(c)
    return c.json(recordedDocument.of({ ...recorded, id: c.req.param('stepKey') ?? '' }))
  })

  api.post('editor', [`${PATH}/:stepKey/try`, tryAgain], async (c) => {
    const subject = await getCall(c)
    const change = await changeBody.read(c)
    const { organizationId, run } = subject
    const tried = await tryCall(c.var, {
      organizationId,
      deploymentId: run.deploymentId,
      call: changeCall(getAsked(subject), change),
      target: { kind: 'run', id: run.id },
    })
    return c.json(triedDocument.of(tried))
  })

  api.post('editor', [`${PATH}/:stepKey/version`, draft], async (c) => {
    const subject = await getCall(c)
    const { parameters_only: isBare, ...change } = await draftBody.read(c)
    const changed = changeCall(getAsked(subject), change)
    const made = await audited(
      c.var,
      (tx) => draftCall(tx, subject, { changed, withTexts: !isBare }),
      (created) => versionEntry('version_created', created),
    )
    return c.json(versionDocument.of(made), 201)
  })
}

/** Returns the tokens of a step. */
export const usageDocument = (given: TriedCall['usage']) =>
  given && { input_tokens: given.input_tokens, output_tokens: given.output_tokens }

/** What a change may have, as it was: what providers sealed is no matter of callers. */
const requestDocument = ({ model, messages, tools, ...rest }: LlmCall) => ({
  model,
  messages: messages.map(({ items: _items, ...message }) => message),
  tools: tools ?? [],
  temperature: rest.temperature ?? null,
  max_tokens: rest.max_tokens ?? null,
  reasoning_effort: rest.reasoning_effort ?? null,
})

const answerDocument = (given: TriedCall['answer']) =>
  given && { text: given.text, tool_calls: given.toolCalls.map(s.pickOf(toolCall)) }
