import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import {
  callChange,
  changeCall,
  REQUEST_BYTES_MAX,
} from '../../../platform/model-calls/call-fields.ts'
import type { RecordedCall } from '../../../platform/model-calls/recorded-call.ts'
import { findRunRecord } from '../../../platform/runs/run-history.ts'
import { listSteps } from '../../../platform/runs/run-steps.ts'
import type { ListedStep } from '../../../platform/runs/run-steps.ts'
import { AppError } from '../../../shared/errors.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import type { LlmCall } from '../../../shared/models/llm-call.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { parseBody } from '../../http/parse-body.ts'
import { draftCall, getAsked, getCallOfRun } from '../../model-calls/subjects.ts'
import { createTries } from '../../model-calls/try-call.ts'
import type { TriedCall } from '../../model-calls/try-call.ts'
import { createApi } from '../api-room.ts'
import { versionDocument } from './documents.ts'

const PATH = '/executions/:kickoffId/model-calls'

/** A call that becomes a version: with the texts of its first messages, or without them. */
export const draftBody = v.strictObject({
  ...callChange.entries,
  parameters_only: v.optional(v.boolean('must be true or false'), false),
})

/** The calls of models that runs made, which are made again, changed. */
export function designerModelCallRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)
  const audited = createAudited(sql)
  const tryCall = createTries(deps)

  const getCall = (c: Context<OrganizationCall>) => {
    const runId = c.req.param('kickoffId') ?? ''
    const step = c.req.param('stepKey') ?? ''
    return getCallOfRun(sql, c.var.caller.organizationId, { runId, step })
  }

  api.get('viewer', PATH, async (c) => {
    const { organizationId } = c.var.caller
    const run = await findRunRecord(sql, { organizationId, id: c.req.param('kickoffId') ?? '' })
    if (!run) throw new AppError('not_found', 'Your organization has no such run.')
    const calls = (await listSteps(sql, run.id)).filter(({ kind }) => kind === 'llm')
    return c.json({ model_calls: calls.map(callSummary) })
  })

  api.get('viewer', `${PATH}/:stepKey`, async (c) => {
    const { recorded } = await getCall(c)
    return c.json({ id: c.req.param('stepKey'), ...recordedDocument(recorded) })
  })

  api.post('editor', `${PATH}/:stepKey/try`, async (c) => {
    const subject = await getCall(c)
    const change = parseBody(callChange, await readJson(c.req.raw, REQUEST_BYTES_MAX))
    const { organizationId, run } = subject
    const tried = await tryCall(c.var, {
      organizationId,
      deploymentId: run.deploymentId,
      call: changeCall(getAsked(subject), change),
      target: { kind: 'run', id: run.id },
    })
    return c.json(triedDocument(tried))
  })

  api.post('editor', `${PATH}/:stepKey/version`, async (c) => {
    const subject = await getCall(c)
    const body = parseBody(draftBody, await readJson(c.req.raw, REQUEST_BYTES_MAX))
    const { parameters_only: isBare, ...change } = body
    const changed = changeCall(getAsked(subject), change)
    const draft = await audited(
      c.var,
      (tx) => draftCall(tx, subject, { changed, withTexts: !isBare }),
      (created) => versionEntry('version_created', created),
    )
    return c.json(versionDocument(draft), 201)
  })

  return api.routes()
}

const callSummary = ({ key, name, path, state, startedAt, usage }: ListedStep) => ({
  id: key,
  model: name,
  path,
  state,
  started_at: startedAt,
  usage: usageDocument(usage),
})

const usageDocument = (usage: TriedCall['usage']) =>
  usage && { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens }

function recordedDocument({ asked, answer, model, path, usage, error, ms }: RecordedCall) {
  return {
    model,
    path,
    request: 'call' in asked ? requestDocument(asked.call) : null,
    images_left_out: 'call' in asked ? asked.images : 0,
    why_no_request: 'call' in asked ? null : asked.why,
    answer: answerDocument(answer),
    error,
    usage: usageDocument(usage),
    duration_ms: ms,
  }
}

/** What a change may have, as it was: what providers sealed is no matter of callers. */
const requestDocument = ({ model, messages, tools, ...rest }: LlmCall) => ({
  model,
  messages: messages.map(({ items: _items, ...message }) => message),
  tools: tools ?? [],
  temperature: rest.temperature ?? null,
  max_tokens: rest.max_tokens ?? null,
  reasoning_effort: rest.reasoning_effort ?? null,
})

const answerDocument = (answer: TriedCall['answer']) =>
  answer && {
    text: answer.text,
    tool_calls: answer.toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given })),
  }

const triedDocument = ({ answer, error, usage, usd, ms }: TriedCall) => ({
  answer: answerDocument(answer),
  error,
  usage: usageDocument(usage),
  usd,
  duration_ms: ms,
})
