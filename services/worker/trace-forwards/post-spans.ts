import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import * as v from 'valibot'
import type { DueForward } from '../../platform/traces/forward-queue.ts'
import { readForwardHeaders } from '../../platform/traces/trace-forwards.ts'
import type { WebhookKeys } from '../../platform/webhooks/webhook-keys.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { readAddress } from '../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import { sendRequest } from '../../shared/outgoing/send-request.ts'
import type { OutgoingResponse } from '../../shared/outgoing/send-request.ts'

/** The means to send spans. */
export interface PostDeps {
  readonly guard: OutgoingGuard
  readonly keys: WebhookKeys
  /** For each request, from the look-up of the name to the end of the answer. */
  readonly timeoutMs: number
}

/** What a receiver answered. */
type PostOutcome =
  | { readonly is: 'accepted'; readonly rejected: number; readonly problem: string | null }
  /** A smaller request may be accepted. */
  | { readonly is: 'too-large' }
  /** Later it may be accepted. */
  | { readonly is: 'later'; readonly problem: string; readonly retryAfterSeconds: number }
  /** It will not be accepted as it is. */
  | { readonly is: 'refused'; readonly problem: string }

const ANSWER_BYTES_MAX = 64 * 1024
const RETRY_SECONDS_MAX = 3600
const compress = promisify(gzip)

/**
 * Posts spans as OTLP over HTTP, protobuf with gzip. Follows no redirect. Raises the reason of the
 * signal.
 */
export async function postSpans(
  { guard, keys, timeoutMs }: PostDeps,
  { forward, body }: { readonly forward: DueForward; readonly body: Buffer },
  signal: AbortSignal,
): Promise<PostOutcome> {
  const headers = openHeaders(keys, forward)
  if (!headers) return { is: 'refused', problem: UNREADABLE }
  try {
    const base = readAddress(forward.endpoint, 'The address')
    const url = new URL(`${base.href.replace(/\/$/, '')}/v1/traces`)
    const zipped = await compress(body)
    const response = await deadline({ name: url.host, timeoutMs, signal }, async (stop) =>
      sendRequest({
        url,
        method: 'POST',
        headers: { ...headers, ...OWN },
        body: zipped,
        responseBytesMax: ANSWER_BYTES_MAX,
        signal: stop,
        route: await guard.pin(url, {
          subject: `organization ${forward.organizationId}`,
          signal: stop,
        }),
      }),
    )
    return outcomeOf(response)
  } catch (thrown) {
    signal.throwIfAborted()
    return outcomeOfFailure(toError(thrown), timeoutMs)
  }
}

const UNREADABLE =
  'The headers cannot be read with SECRET_KEY_BASE. Enter the headers of this forward again.'

const OWN = {
  'user-agent': 'platform-trace-forwards',
  'content-type': 'application/x-protobuf',
  'content-encoding': 'gzip',
  connection: 'close',
}

function openHeaders(keys: WebhookKeys, forward: DueForward) {
  const { sealedHeaders, id, organizationId } = forward
  if (!sealedHeaders) return {}
  const text = keys.open(sealedHeaders, { id, deploymentId: organizationId })
  return text === undefined ? undefined : readForwardHeaders(text)
}

/** As OTLP says what is tried again. */
const LATER = new Set([408, 429, 500, 502, 503, 504])

function outcomeOf({ status, headers, body }: OutgoingResponse): PostOutcome {
  if (status >= 200 && status < 300) return { is: 'accepted', ...readAnswer(headers, body) }
  if (status === 413) return { is: 'too-large' }
  const problem = `The receiver answered HTTP ${status}${MEANINGS[status] ?? ''}.`
  if (!LATER.has(status)) return { is: 'refused', problem }
  return { is: 'later', problem, retryAfterSeconds: secondsOf(headers['retry-after']) }
}

const MEANINGS: Readonly<Record<number, string>> = {
  401: ': it asks for other headers',
  403: ': the headers do not allow it',
  404: ': there is no /v1/traces below the address',
  415: ': it takes no protobuf',
}

function outcomeOfFailure(error: Error, timeoutMs: number): PostOutcome {
  const code = 'code' in error ? String(error.code) : ''
  if (
    error instanceof AppError &&
    (code === 'unprocessable' || error.details['problem'] === 'private_address')
  )
    return { is: 'refused', problem: error.message }
  const problem =
    error instanceof AppError
      ? code === 'timeout'
        ? `The receiver did not answer within ${timeoutMs} ms.`
        : error.message
      : `The receiver could not be reached${code === '' ? '' : ` (${code})`}.`
  return { is: 'later', problem, retryAfterSeconds: 0 }
}

/** Of `Retry-After`, in seconds or as a date. */
function secondsOf(given: string | undefined): number {
  const seconds = /^\d{1,9}$/.test(given ?? '')
    ? Number(given)
    : (Date.parse(given ?? '') - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), RETRY_SECONDS_MAX) : 0
}

const NOTHING_REJECTED = { rejected: 0, problem: null }

const jsonAnswer = v.object({
  partialSuccess: v.object({
    rejectedSpans: v.optional(v.pipe(v.union([v.string(), v.number()]), v.transform(Number)), 0),
    errorMessage: v.optional(v.string(), ''),
  }),
})

/** Reads what the receiver did not take. An answer that cannot be read says nothing. */
export function readAnswer(
  headers: OutgoingResponse['headers'],
  body: Buffer,
): { rejected: number; problem: string | null } {
  if (headers['content-type']?.startsWith('application/json')) {
    const read = v.safeParse(v.pipe(v.string(), v.parseJson(), jsonAnswer), body.toString())
    if (!read.success) return NOTHING_REJECTED
    const { rejectedSpans, errorMessage } = read.output.partialSuccess
    return toRejected(rejectedSpans, errorMessage)
  }
  const partial = fieldsOf(body).find(({ number }) => number === 1)?.bytes
  if (!partial) return NOTHING_REJECTED
  const fields = fieldsOf(partial)
  const message = fields.find(({ number }) => number === 2)?.bytes?.toString() ?? ''
  return toRejected(fields.find(({ number }) => number === 1)?.value ?? 0, message)
}

function toRejected(count: number, message: string) {
  const rejected = Number.isSafeInteger(count) && count > 0 ? count : 0
  const said = message.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 500)
  return { rejected, problem: said === '' ? null : `The receiver says: ${said}` }
}

interface Field {
  readonly number: number
  readonly value?: number
  readonly bytes?: Buffer
}

/** The numbers and messages of a protobuf message, up to the first that is malformed. */
function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = []
  for (let at = 0; at < message.length;) {
    const tag = varintAt(message, at)
    const value = tag && varintAt(message, tag.end)
    if (!tag || !value) break
    const [number, type] = [Math.floor(tag.value / 8), tag.value % 8]
    if (type === 0) fields.push({ number, value: value.value })
    else if (type !== 2 || value.end + value.value > message.length) break
    else fields.push({ number, bytes: message.subarray(value.end, value.end + value.value) })
    at = type === 0 ? value.end : value.end + value.value
  }
  return fields
}

const VARINT_BYTES = 10

function varintAt(message: Buffer, at: number): { value: number; end: number } | undefined {
  let value = 0
  for (let place = 0; place < VARINT_BYTES; place += 1) {
    const byte = message[at + place]
    if (byte === undefined) return undefined
    value += (byte % 128) * 2 ** (7 * place)
    if (byte < 128) return { value, end: at + place + 1 }
  }
  return undefined
}
