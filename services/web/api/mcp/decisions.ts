import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { DECISIONS } from '../../../platform/approvals/approval-decisions.ts'
import type { Approval, AskedCall } from '../../../platform/runs/run-approvals.ts'
import { isObject } from '../../../shared/is-object.ts'
import type { Fields } from '../json-rpc.ts'
import { capabilitiesOf } from './era.ts'
import type { Era } from './era.ts'

/** What is shown of what a person decides about; the whole of it is in the console. */
const SHOWN_CHARACTERS = 8_000
const STATE_CHARACTERS_MAX = 16_000
const KEY = 'decision'

/** What a person is asked for: three ways to decide, and a text with two of them. */
const REQUESTED = {
  type: 'object',
  properties: {
    decision: { type: 'string', title: 'Decision', enum: DECISIONS },
    text: {
      type: 'string',
      title: 'Text',
      description:
        'To edit: what counts instead; for a call, its arguments as JSON. To reject: why.',
    },
  },
  required: ['decision'],
}

const asked = v.object({
  run: v.string(),
  task: v.string(),
  call: v.optional(v.string()),
  /** The keys of the questions of a server. */
  asks: v.optional(v.array(v.string())),
})
/** The question that was asked. The client carries it: it says nothing that is trusted. */
type Asked = v.InferOutput<typeof asked>

/** Whether the person behind the client can be asked (2026-07-28, elicitation in a form). */
export function canAsk(era: Era, params: Fields): boolean {
  const { elicitation } = capabilitiesOf(params)
  if (era !== 'per-request' || !isObject(elicitation)) return false
  return isObject(elicitation['form']) || elicitation['url'] === undefined
}

const request = (message: string, requestedSchema: unknown) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema },
})

/** Returns the result that asks for the decision for which a run waits. */
export function toQuestion(approval: Approval): Fields {
  const { runId, task, call } = approval
  const asks = call?.question && Object.keys(call.question.messages)
  const state: Asked = { run: runId, task, ...(call && { call: call.id }), ...(asks && { asks }) }
  return {
    resultType: 'input_required',
    inputRequests: asks ? ofServer(call) : { [KEY]: request(questionOf(approval), REQUESTED) },
    requestState: Buffer.from(JSON.stringify(state)).toString('base64url'),
  }
}

/** No two questions of a task have a key in common (the extension with tasks). */
const prefixOf = ({ task, call, askedAt }: Approval): string =>
  `${createHash('sha256')
    .update(JSON.stringify([task, call?.id, askedAt]))
    .digest('base64url')
    .slice(0, 16)}.`

const renameKeys = (fields: Fields, rename: (key: string) => string): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [rename(key), value]))

/** Returns what a task asks for while its run waits for a decision. */
export function toInputRequests(approval: Approval): Fields {
  const { inputRequests } = toQuestion(approval)
  const prefix = prefixOf(approval)
  return isObject(inputRequests) ? renameKeys(inputRequests, (key) => prefix + key) : {}
}

/** Reads the decision in the answers to a task; undefined: there is none about what it asks now. */
export function readTaskAnswer(approval: Approval, { inputResponses }: Fields): Fields | undefined {
  const prefix = prefixOf(approval)
  const given = isObject(inputResponses) ? Object.entries(inputResponses) : []
  const own = Object.fromEntries(given.filter(([key]) => key.startsWith(prefix)))
  const { requestState } = toQuestion(approval)
  const answer = {
    requestState,
    inputResponses: renameKeys(own, (key) => key.slice(prefix.length)),
  }
  return readAnswer(answer)?.body
}

/** The questions of the server of a tool, as it asked them. */
function ofServer({ parameters, question }: AskedCall): Fields {
  const { properties } = parameters
  const forms = isObject(properties) ? properties : {}
  const asked = Object.entries(question?.messages ?? {}).map(([key, message]) => {
    const { additionalProperties: _, ...form } = isObject(forms[key]) ? forms[key] : {}
    return [key, request(`${question?.server} asks: ${message}`, form)]
  })
  return Object.fromEntries(asked)
}

function questionOf({ task, call, proposed, decideBy, undecided }: Approval): string {
  const about = call
    ? `the call ${call.name} of the task ${task}`
    : `the output of the task ${task}`
  const cut = proposed.length > SHOWN_CHARACTERS ? '\n… The console has all of it.' : ''
  const until = `Undecided until ${decideBy.toISOString()}, it counts as: ${undecided}.`
  const shown = proposed.slice(0, SHOWN_CHARACTERS)
  return `A run waits for a decision about ${about}. ${until}\n\n${shown}${cut}`
}

/**
 * Reads which question a request answers, and the decision as `POST …/resume` takes it, undefined
 * where the person made none. Returns undefined for what is no answer to a question of ours.
 */
export function readAnswer({ requestState, inputResponses }: Fields) {
  const isText = typeof requestState === 'string' && requestState.length <= STATE_CHARACTERS_MAX
  const text = isText ? Buffer.from(requestState, 'base64url').toString('utf8') : ''
  const state = v.safeParse(v.pipe(v.string(), v.parseJson(), asked), text)
  if (!state.success) return undefined
  const { run, task, call, asks } = state.output
  const responses = isObject(inputResponses) ? inputResponses : {}
  const decision = asks ? readAnswers(asks, responses) : readDecision(responses)
  return { runId: run.toLowerCase(), body: decision && { ...decision, task, call } }
}

function readDecision({ [KEY]: response }: Fields): Fields | undefined {
  const content = contentOf(response)
  // Forms send what was left empty as an empty text.
  const isEmpty = content?.['text'] === '' && content['decision'] !== 'edit'
  return isEmpty ? { ...content, text: undefined } : content
}

/** All questions are answered, or they are declined; or the person left them for later. */
function readAnswers(asks: readonly string[], responses: Fields): Fields | undefined {
  const given = asks.map((key) => [key, contentOf(responses[key])] as const)
  if (given.every(([, content]) => content !== undefined)) {
    return { decision: 'edit', text: JSON.stringify(Object.fromEntries(given)) }
  }
  const isDeclined = asks.some(
    (key) => (isObject(responses[key]) ? responses[key]['action'] : undefined) === 'decline',
  )
  return isDeclined ? { decision: 'reject' } : undefined
}

function contentOf(response: unknown): Fields | undefined {
  const isAccepted = isObject(response) && response['action'] === 'accept'
  return isAccepted && isObject(response['content']) ? response['content'] : undefined
}
