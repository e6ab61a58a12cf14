import { setTimeout as sleep } from 'node:timers/promises'
import { lacksCapacity, readRefusal } from './refusals.ts'
import { backoffMs } from '../backoff.ts'
import { deadline } from '../deadline.ts'
import { AppError, toError } from '../errors.ts'
import { routeThrough } from '../outgoing/forward-proxy.ts'
import type { ForwardProxy } from '../outgoing/forward-proxy.ts'
import type { OutgoingGuard } from '../outgoing/guard.ts'
import { correct } from './corrections.ts'
import type { Asked, Habit } from './corrections.ts'
import { createHabits } from './habits.ts'
import type { Habits } from './habits.ts'
import type { Completion } from './llm-answer.ts'
import type { LlmApi, LlmCall } from './llm-call.ts'
import { chatCompletions } from './wire/chat-completions.ts'
import { responses } from './wire/responses.ts'
import type { HearText, WireForm } from './wire/wire-form.ts'
import { postJson } from '../outgoing/post-json.ts'
import type { PostResult } from '../outgoing/post-json.ts'

/** The well-known values of `gen_ai.provider.name` by the host that answers. */
const PROVIDERS: readonly (readonly [suffix: string, name: string])[] = [
  ['.openai.azure.com', 'azure.ai.openai'],
  ['.services.ai.azure.com', 'azure.ai.inference'],
  ['.amazonaws.com', 'aws.bedrock'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
  ['api.anthropic.com', 'anthropic'],
  ['api.cohere.com', 'cohere'],
  ['api.deepseek.com', 'deepseek'],
  ['api.groq.com', 'groq'],
  ['api.mistral.ai', 'mistral_ai'],
  ['api.perplexity.ai', 'perplexity'],
  ['api.x.ai', 'x_ai'],
]

const RESPONSE_BYTES_MAX = 2_097_152
/** A streamed answer repeats its frame for each word. */
const STREAM_BYTES_MAX = 33_554_432
const ATTEMPTS_MAX = 4
const BACKOFF_MAX_MS = 8000
/** The longest `Retry-After` that is waited for; with a longer one the call fails. */
const RETRY_AFTER_MAX_MS = 30_000

interface LlmOptions {
  /** With the version path: `https://host/v1`. */
  readonly baseUrl: string
  readonly apiKey?: string | undefined
  /** @default auto: `chat_completions`, or what the endpoint asks for */
  readonly api?: LlmApi | undefined
  /** The service tier to ask for, as far as the endpoint has it and room in it. @default none */
  readonly serviceTier?: string | undefined
  /** What endpoints have asked for so far. @default nothing */
  readonly habits?: Habits
  /** For each HTTP request. */
  readonly timeoutMs: number
  /** For an address that an organization chose; one that the operator set goes without. */
  readonly guard?: OutgoingGuard | undefined
  /** For an address that the operator set. @default no proxy */
  readonly proxy?: ForwardProxy | undefined
  /** The first wait before a retry; it doubles each time. @default 500 */
  readonly backoffMs?: number
}

/** Why a call failed; runs end with these codes. */
export interface LlmFailure {
  readonly code:
    | 'llm_rejected'
    | 'llm_unreachable'
    | 'llm_timeout'
    | 'llm_invalid_response'
    | 'llm_address_refused'
  readonly message: string
}

/** The result of a model call, with the number of HTTP requests that it took. */
export type LlmResult = {
  readonly attempts: number
  readonly refusedTier?: Asked['refusedTier']
} & (({ readonly ok: true } & Completion) | { readonly ok: false; readonly failure: LlmFailure })

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
  | { readonly ok: false; readonly failure: LlmFailure; readonly retry: Retry }
/**
 * Not at all, at once as the endpoint asks for it, after our own backoff, or after as many
 * milliseconds as the provider asks for.
 */
type Retry = 'never' | Asked | 'backoff' | number

const FORMS: Readonly<Record<Habit['form'], WireForm>> = {
  chat_completions: chatCompletions,
  responses,
}

/**
 * A client of an OpenAI-compatible endpoint: a deadline per request, retries where they may help,
 * and what the endpoint asks for instead.
 */
export function createLlm(options: LlmOptions): Llm {
  const { hostname, port, protocol } = new URL(options.baseUrl)
  const { backoffMs: firstMs = 500, api = 'auto', habits = createHabits() } = options
  return {
    provider: providerOf(hostname),
    address: hostname,
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
    async complete(call, signal, hearText) {
      const key = { ...options, api, model: call.model }
      const habit = habits.find(key)
      const tier = habit.isWithoutTiers ? undefined : options.serviceTier
      let asked: Asked = { call, hearText, habit, tier, isFormFree: api === 'auto' }
      for (let attempts = 1; ; attempts += 1) {
        const result = await attempt(options, asked, signal)
        if (result.ok && asked.habit !== habit) habits.learn(key, asked.habit)
        const { refusedTier } = asked
        if (result.ok) {
          const { serviceTier = asked.tier } = result
          return { ...result, serviceTier, refusedTier, attempts }
        }
        const { failure, retry } = result
        const waitMs = waitOf(retry, () => backoffMs(attempts, { firstMs, maxMs: BACKOFF_MAX_MS }))
        if (waitMs > RETRY_AFTER_MAX_MS || attempts === ATTEMPTS_MAX) {
          return {
            ok: false,
            failure: {
              code: failure.code,
              message:
                attempts === 1 ? failure.message : `${failure.message} (${attempts} attempts)`,
            },
            refusedTier,
            attempts,
          }
        }
        if (typeof retry === 'object') asked = retry
        await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
      }
    },
  }
}

function waitOf(retry: Retry, backoff: () => number): number {
  if (retry === 'never') return Infinity
  if (typeof retry === 'object') return 0
  return retry === 'backoff' ? backoff() : retry
}

async function attempt(options: LlmOptions, asked: Asked, signal: AbortSignal): Promise<Attempt> {
  const { baseUrl, apiKey, timeoutMs, guard, proxy } = options
  const { call, hearText, habit, tier } = asked
  const form = FORMS[habit.form]
  const url = new URL(baseUrl + form.path)
  const streamed = hearText && form.openStream(hearText)
  const how = { ...habit, tier, host: url.hostname, isStreamed: streamed !== undefined }
  try {
    const answer = await deadline({ name: url.host, timeoutMs, signal }, async (stop) =>
      postJson({
        url,
        headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
        body: JSON.stringify(form.toBody(call, how)),
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

interface Reading extends LlmOptions {
  readonly asked: Asked
}

function readAnswer(url: URL, answer: PostResult, reading: Reading): Attempt {
  const { status, body } = answer
  if (status < 200 || status > 299) return refused(url, answer, reading)
  const { call, habit } = reading.asked
  const completion =
    body === undefined
      ? `more than ${RESPONSE_BYTES_MAX} bytes`
      : FORMS[habit.form].read(body, call.tools !== undefined)
  if (typeof completion === 'string') {
    const message = `The model at ${url.host} answered with ${completion}.`
    return { ok: false, retry: 'never', failure: { code: 'llm_invalid_response', message } }
  }
  return 'errorBody' in completion
    ? refused(url, { ...answer, status: 502, body: completion.errorBody }, reading)
    : { ok: true, ...completion }
}

function refused({ host }: URL, answer: PostResult, { apiKey, asked }: Reading): Attempt {
  const { status, body = '', retryAfter } = answer
  // On a private network it is at an origin that the operator lists: the guard refuses all others.
  const said = readRefusal(body, apiKey)
  const message = `The model at ${host} refused the call with HTTP ${status}${said}`
  const isFull = asked.tier !== undefined && lacksCapacity({ status, body })
  const isPassing = !isFull && (status === 429 || status >= 500)
  const failure = { code: 'llm_rejected', message } as const
  if (isPassing) return { ok: false, retry: retryAfterMs(retryAfter), failure }
  const again = correct(asked, { status, body })
  const { tier } = asked
  if (!again || tier === undefined || again.tier === tier) {
    return { ok: false, retry: again ?? 'never', failure }
  }
  return { ok: false, retry: { ...again, refusedTier: { tier, error: failure } }, failure }
}

/** `Retry-After` (RFC 9110 section 10.2.3) is a number of seconds or a date. */
function retryAfterMs(header: string | undefined): Retry {
  if (header === undefined) return 'backoff'
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(ms, 0) : 'backoff'
}

/**
 * The provider behind an OpenAI-compatible endpoint; the semantic conventions name an unknown one
 * after the protocol.
 */
function providerOf(host: string): string {
  return PROVIDERS.find(([suffix]) => host.endsWith(suffix))?.[1] ?? 'openai'
}
