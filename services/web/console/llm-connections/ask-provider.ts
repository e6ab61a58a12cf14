import * as v from 'valibot'
import { asksForResponses, limitFor, readRefusal } from '../../../shared/models/refusals.ts'
import type { LlmApi } from '../../../shared/models/llm-call.ts'
import { deadline } from '../../../shared/deadline.ts'
import { toAppError } from '../../../shared/errors.ts'
import type { Route } from '../../../shared/outgoing/guard.ts'
import { sendRequest } from '../../../shared/outgoing/send-request.ts'
import { describeOutage } from '../../diagnostics/outage.ts'

const LIST_TIMEOUT_MS = 3000
/** A machine of one's own may have to load the model first. */
const CALL_TIMEOUT_MS = 30_000
/** The longest list that is read; some providers have hundreds of models. */
const BODY_BYTES_MAX = 2_097_152
/** The smallest number that `responses` of OpenAI takes. */
export const CALL_TOKENS_MAX = 16

/** A connection as it is tested: the base of its addresses, and its key. */
export interface Endpoint {
  /** With the version path, as crews call it. */
  readonly base: string
  readonly model: string
  readonly api: LlmApi
  /** undefined: calls carry none. */
  readonly key: string | undefined
  /** The header in which the list of models takes the key. @default that of calls */
  readonly listKey?: 'x-api-key' | undefined
  /** Chooses the way of each request. Raises `bad_gateway` for an address that is not called. */
  routeTo(url: URL, signal: AbortSignal): Promise<Route | undefined>
}

/** What an answer says of the key. */
export type KeyFinding = 'accepted' | 'refused' | 'required' | 'not_proven' | 'not_sent'
/** What an answer says of the model. */
export type ModelFinding = 'answers' | 'refused' | 'listed' | 'not_listed' | 'not_checked'

/** An answer of a provider, and what it proves. */
export interface Answer {
  readonly kind: 'answers'
  readonly host: string
  readonly status: number
  readonly ms: number
  /** The provider's reason as a sentence that follows the status; `.` when it gave none. */
  readonly said: string
  readonly key: KeyFinding
  readonly model: ModelFinding
}

/** The outcome of asking a provider. */
export type Outcome =
  | Answer
  /** An address that this organization entered, and that crews may not call. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unreachable'; readonly host: string; readonly error: string }

/**
 * Asks for the list of models with the key, and again without it where the first answer is a list:
 * one that is there for everybody proves no key.
 */
export async function askForModels(endpoint: Endpoint): Promise<Outcome> {
  // Anthropic lists 20 at a time.
  const url = new URL(`${endpoint.base}/models${endpoint.listKey ? '?limit=1000' : ''}`)
  const ask = (key: string | undefined) =>
    send(endpoint, { url, headers: listHeaders(endpoint, key), timeoutMs: LIST_TIMEOUT_MS })
  return orOutage(url, async () => {
    const answer = await ask(endpoint.key)
    const model = isGood(answer) ? findModel(answer.body, endpoint.model) : 'not_checked'
    if (endpoint.key === undefined || !isGood(answer)) return toAnswer(endpoint, answer, { model })
    const without = await ask(undefined).catch(() => undefined)
    const isProven = without !== undefined && isKeyRefused(without)
    return toAnswer(endpoint, answer, { model, ...(isProven ? { key: 'accepted' } : {}) })
  })
}

/** Makes a short call of the model, in the form of the connection. */
export async function callModel(endpoint: Endpoint): Promise<Outcome> {
  const { api, key } = endpoint
  const headers = { 'content-type': 'application/json', ...bearer(key) }
  const ask = (form: 'chat_completions' | 'responses') => {
    const { path, body } = callIn(form, endpoint)
    const url = new URL(endpoint.base + path)
    return send(endpoint, { url, headers, body: JSON.stringify(body), timeoutMs: CALL_TIMEOUT_MS })
  }
  return orOutage(new URL(endpoint.base), async () => {
    const first = await ask(api === 'responses' ? 'responses' : 'chat_completions')
    const isElsewhere = api === 'auto' && asksForResponses(first)
    return toCalled(endpoint, isElsewhere ? await ask('responses') : first)
  })
}

function callIn(form: 'chat_completions' | 'responses', { base, model }: Endpoint) {
  const question = 'Say yes.'
  if (form === 'responses') {
    const body = { model, input: question, max_output_tokens: CALL_TOKENS_MAX, store: false }
    return { path: '/responses', body }
  }
  const limit = { [limitFor(new URL(base).hostname)]: CALL_TOKENS_MAX }
  const body = { model, messages: [{ role: 'user', content: question }], ...limit }
  return { path: '/chat/completions', body }
}

function toCalled(endpoint: Endpoint, answer: Received): Answer {
  const key = endpoint.key === undefined ? 'not_sent' : 'accepted'
  if (isCompletion(answer)) return toAnswer(endpoint, answer, { key, model: 'answers' })
  const isPassing = answer.status === 429 || answer.status >= 500
  const model = isKeyRefused(answer) || isPassing ? 'not_checked' : 'refused'
  return toAnswer(endpoint, answer, { model })
}

const completion = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([
    v.object({ choices: v.array(v.unknown()) }),
    v.object({ output: v.array(v.unknown()) }),
  ]),
)

/** Models that reason may spend the few tokens before they say a word; OpenAI refuses that. */
const isCompletion = (answer: Received): boolean =>
  isGood(answer)
    ? v.is(completion, answer.body)
    : answer.status === 400 && /output limit was reached/i.test(answer.body)

function toAnswer(
  { key }: Endpoint,
  answer: Received,
  found: { readonly model: ModelFinding; readonly key?: KeyFinding },
): Answer {
  const { host, status, ms, body } = answer
  const unproven = key === undefined ? 'not_sent' : 'not_proven'
  const refused = key === undefined ? 'required' : 'refused'
  const said = isGood(answer) ? '.' : readRefusal(body, key).replace(/(?<![.!?])$/, '.')
  const ofKey = isKeyRefused(answer) ? refused : unproven
  return { kind: 'answers', host, status, ms, said, key: ofKey, ...found }
}

const isGood = ({ status }: Received): boolean => status >= 200 && status < 300

/** Some providers answer 400 to a wrong key. */
const isKeyRefused = ({ status, body }: Received): boolean =>
  status === 401 || status === 403 || (status === 400 && /\bapi.?key\b/i.test(body))

const modelList = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ data: v.array(v.object({ id: v.string() })) }),
)

function findModel(body: string, model: string): ModelFinding {
  const list = v.safeParse(modelList, body)
  if (!list.success) return 'not_checked'
  // Gemini lists paths, and Ollama the tag that is taken when none is named.
  const names = new Set([model, `models/${model}`, `${model}:latest`])
  return list.output.data.some(({ id }) => names.has(id)) ? 'listed' : 'not_listed'
}

const bearer = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` }

const listHeaders = ({ listKey }: Endpoint, key: string | undefined): Record<string, string> =>
  listKey === undefined
    ? bearer(key)
    : { 'anthropic-version': '2023-06-01', ...(key === undefined ? {} : { [listKey]: key }) }

interface Request {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Set: it is posted. */
  readonly body?: string
  readonly timeoutMs: number
}

interface Received {
  readonly host: string
  readonly status: number
  readonly ms: number
  readonly body: string
}

/** Follows no redirect: the key goes to this host only. */
async function send(endpoint: Endpoint, request: Request): Promise<Received> {
  const { url, headers, body, timeoutMs } = request
  const started = performance.now()
  const answer = await deadline({ name: url.host, timeoutMs }, async (signal) =>
    sendRequest({
      url,
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', 'user-agent': 'platform-probe', ...headers },
      body,
      signal,
      route: await endpoint.routeTo(url, signal),
      responseBytesMax: BODY_BYTES_MAX,
    }),
  )
  const ms = Math.round(performance.now() - started)
  return { host: url.host, status: answer.status, ms, body: answer.body.toString('utf8') }
}

async function orOutage({ host }: URL, ask: () => Promise<Answer>): Promise<Outcome> {
  try {
    return await ask()
  } catch (thrown) {
    const { details, message } = toAppError(thrown)
    if (details['problem'] === 'private_address') return { kind: 'refused', why: message }
    return { kind: 'unreachable', host, error: describeOutage(thrown) }
  }
}
