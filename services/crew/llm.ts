import { setTimeout as sleep } from 'node:timers/promises'
import type { CrewFailure } from '../platform/crew-protocol.ts'
import { backoffMs } from '../shared/backoff.ts'
import { deadline } from '../shared/deadline.ts'
import { AppError, toError } from '../shared/errors.ts'
import { routeThrough } from '../shared/outgoing/forward-proxy.ts'
import type { ForwardProxy } from '../shared/outgoing/forward-proxy.ts'
import type { OutgoingGuard } from '../shared/outgoing/guard.ts'
import { readCompletion, readRefusal } from './llm-answer.ts'
import type { Completion } from './llm-answer.ts'
import { createStreamedAnswer } from './streamed-answer.ts'
import type { HearText } from './streamed-answer.ts'
import { providerOf } from './llm-provider.ts'
import { postJson } from '../shared/outgoing/post-json.ts'
import type { PostResult } from '../shared/outgoing/post-json.ts'

const RESPONSE_BYTES_MAX = 2_097_152
/** A streamed answer repeats its frame for each word. */
const STREAM_BYTES_MAX = 33_554_432
const STREAMED = { stream: true, stream_options: { include_usage: true } }
const ATTEMPTS_MAX = 4
const BACKOFF_MAX_MS = 8000
/** The longest `Retry-After` that is waited for; with a longer one the call fails. */
const RETRY_AFTER_MAX_MS = 30_000

interface LlmOptions {
  /** With the version path: `https://host/v1`. */
  readonly baseUrl: string
  readonly apiKey?: string
  /** For each HTTP request. */
  readonly timeoutMs: number
  /** For an address that an organization chose; one that the operator set goes without. */
  readonly guard?: OutgoingGuard | undefined
  /** For an address that the operator set. @default no proxy */
  readonly proxy?: ForwardProxy | undefined
  /** The first wait before a retry; it doubles each time. @default 500 */
  readonly backoffMs?: number
}

/** A call of a model. */
export interface LlmCall {
  readonly model: string
  readonly temperature?: number
  readonly max_tokens?: number
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
  /** `none`: the tools are there for what was said before, and may not be called. */
  readonly tool_choice?: 'auto' | 'none'
  /** An endpoint that refuses it is asked again without it. */
  readonly response_format?: ResponseFormat
}

/** The schema of an answer, on the wire. */
export interface ResponseFormat {
  readonly type: 'json_schema'
  readonly json_schema: {
    readonly name: string
    readonly schema: Readonly<Record<string, unknown>>
    /** The provider guarantees it; it takes some schemas only. */
    readonly strict: boolean
  }
}

/** A part of a message: a text, or an image in a data URL. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

/** A message on the wire. */
export interface ChatMessage {
  readonly role: string
  readonly content: string | readonly ContentPart[] | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly type: 'function'
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
}

/** Returns the text of a message; images are left out, and named by the text beside them. */
export const messageText = (content: ChatMessage['content']): string =>
  typeof content === 'string'
    ? content
    : (content ?? []).flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')

/** A function that a model may call, on the wire. */
export interface ChatTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description: string
    readonly parameters: Readonly<Record<string, unknown>>
  }
}

/** The result of a model call, with the number of HTTP requests that it took. */
export type LlmResult = { readonly attempts: number } & (
  | ({ readonly ok: true } & Completion)
  | { readonly ok: false; readonly failure: CrewFailure }
)

/** A model behind an OpenAI-compatible address. */
export interface Llm {
  /** As `gen_ai.provider.name`. */
  readonly provider: string
  readonly address: string
  readonly port: number
  /**
   * Raises only the reason of an aborted signal; every failure of the model is a result. With
   * `hearText` the answer is streamed, where the endpoint can; it begins again at offset 0 when the
   * call is repeated.
   */
  complete(call: LlmCall, signal: AbortSignal, hearText?: HearText): Promise<LlmResult>
}

type Attempt =
  | ({ readonly ok: true } & Completion)
  | { readonly ok: false; readonly failure: CrewFailure; readonly retry: Retry }
/**
 * Not at all, at once without the format of the answer or as a whole, after our own backoff, or
 * after as many milliseconds as the provider asks for.
 */
type Retry = 'never' | 'unformatted' | 'unstreamed' | 'backoff' | number

/**
 * A client of an OpenAI-compatible `chat/completions`: a deadline per request, retries where they
 * may help.
 */
export function createLlm(options: LlmOptions): Llm {
  const { hostname, port, protocol } = new URL(options.baseUrl)
  const { backoffMs: firstMs = 500 } = options
  return {
    provider: providerOf(hostname),
    address: hostname,
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
    async complete(asked, signal, follow) {
      let call = asked
      let hearText = follow
      for (let attempts = 1; ; attempts += 1) {
        const result = await attempt(options, { call, hearText }, signal)
        if (result.ok) return { ...result, attempts }
        const { failure, retry } = result
        const waitMs = waitOf(retry, () => backoffMs(attempts, { firstMs, maxMs: BACKOFF_MAX_MS }))
        if (waitMs > RETRY_AFTER_MAX_MS || attempts === ATTEMPTS_MAX) {
          return { ok: false, failure: withAttempts(failure, attempts), attempts }
        }
        if (retry === 'unformatted') call = withoutFormat(call)
        if (retry === 'unstreamed') hearText = undefined
        await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
      }
    },
  }
}

function waitOf(retry: Retry, backoff: () => number): number {
  if (retry === 'never') return Infinity
  if (retry === 'unformatted' || retry === 'unstreamed') return 0
  return retry === 'backoff' ? backoff() : retry
}

const withoutFormat = ({ response_format: _format, ...call }: LlmCall): LlmCall => call

function withAttempts({ code, message }: CrewFailure, attempts: number): CrewFailure {
  return { code, message: attempts === 1 ? message : `${message} (${attempts} attempts)` }
}

/** A call, and who follows its answer. */
interface Asked {
  readonly call: LlmCall
  readonly hearText?: HearText | undefined
}

async function attempt(options: LlmOptions, asked: Asked, signal: AbortSignal): Promise<Attempt> {
  const { baseUrl, apiKey, timeoutMs, guard, proxy } = options
  const url = new URL(`${baseUrl}/chat/completions`)
  const streamed = asked.hearText && createStreamedAnswer(asked.hearText)
  try {
    const answer = await deadline({ name: url.host, timeoutMs, signal }, async (stop) =>
      postJson({
        url,
        headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
        body: JSON.stringify({ ...requestBody(url, asked.call), ...(streamed && STREAMED) }),
        responseBytesMax: streamed ? STREAM_BYTES_MAX : RESPONSE_BYTES_MAX,
        onEvent: streamed && ((data) => streamed.add(data)),
        signal: stop,
        route: guard
          ? await guard.pin(url, { subject: url.host, signal: stop })
          : routeThrough(proxy, url),
      }),
    )
    // An endpoint that streams nothing has sent the answer as a whole.
    const whole = streamed && answer.body === '' ? { ...answer, ...streamed.whole() } : answer
    return readAnswer(url, whole, { ...options, asked })
  } catch (thrown) {
    signal.throwIfAborted()
    return unanswered(url, toError(thrown))
  }
}

/**
 * OpenAI's own endpoint has renamed the limit and refuses the old name for newer models; the others
 * know the old one.
 */
function requestBody({ hostname }: URL, { max_tokens, ...call }: LlmCall) {
  if (max_tokens === undefined) return call
  return hostname === 'api.openai.com'
    ? { ...call, max_completion_tokens: max_tokens }
    : { ...call, max_tokens }
}

function unanswered({ host }: URL, error: Error): Attempt {
  if (error instanceof AppError && error.code === 'timeout') {
    // Not again: it may be working on the first request still.
    const message = `The model at ${error.message} Raise LLM_TIMEOUT_SECONDS if it needs longer.`
    return { ok: false, retry: 'never', failure: { code: 'llm_timeout', message } }
  }
  if (error instanceof AppError && error.details['problem'] === 'private_address') {
    const message = `The model cannot be called: ${error.message}`
    return { ok: false, retry: 'never', failure: { code: 'llm_address_refused', message } }
  }
  const message =
    `The model at ${host} cannot be reached: ${reasonOf(error)}. Check OPENAI_BASE_URL, or the ` +
    'LLM connection, and the network.'
  return { ok: false, retry: 'backoff', failure: { code: 'llm_unreachable', message } }
}

/**
 * Returns the system's code, such as ECONNREFUSED, or the guard's message, without its full stop.
 */
function reasonOf(error: Error): string {
  if (error instanceof AppError) return error.message.replace(/\.$/, '')
  return 'code' in error ? String(error.code) : error.message
}

function readAnswer(
  { host }: URL,
  answer: PostResult,
  { apiKey, guard, asked }: LlmOptions & { readonly asked: Asked },
): Attempt {
  const { status, body, isPrivate } = answer
  if (status < 200 || status > 299) {
    // What stands on a private network at an address that an organization chose is not for its
    // eyes.
    const said = guard && isPrivate ? '.' : readRefusal(body ?? '', apiKey)
    const message = `The model at ${host} refused the call with HTTP ${status}${said}`
    const failure = { code: 'llm_rejected', message }
    return { ok: false, retry: retryAfterRefusal(answer, asked), failure }
  }
  const hasTools = asked.call.tools !== undefined
  const completion =
    body === undefined ? `more than ${RESPONSE_BYTES_MAX} bytes` : readCompletion(body, hasTools)
  if (typeof completion === 'object') return { ok: true, ...completion }
  const message = `The model at ${host} answered with ${completion}.`
  return { ok: false, retry: 'never', failure: { code: 'llm_invalid_response', message } }
}

function retryAfterRefusal(
  { status, body = '', retryAfter }: PostResult,
  { call, hearText }: Asked,
): Retry {
  if (status === 429 || status >= 500) return retryAfterMs(retryAfter)
  if (hearText && /stream/i.test(body)) return 'unstreamed'
  return call.response_format && /response.?format|json_schema/i.test(body)
    ? 'unformatted'
    : 'never'
}

/** `Retry-After` (RFC 9110 section 10.2.3) is a number of seconds or a date. */
function retryAfterMs(header: string | undefined): Retry {
  if (header === undefined) return 'backoff'
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(ms, 0) : 'backoff'
}
