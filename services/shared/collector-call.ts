import * as v from 'valibot'
import { signCollectorToken } from './collector-token.ts'
import type { CollectorTokenOptions } from './collector-token.ts'
import { AppError, toError } from './errors.ts'
import type { ErrorCode } from './errors.ts'

/** The collector, and the secret that signs tokens for it. */
export interface CollectorPlace {
  readonly collectorUrl: string
  readonly secret: string
  /** Who calls, as the collector records it. @default web */
  readonly service?: 'web' | 'worker'
}

/** A question to the API of the collector. */
interface CollectorCall {
  /** Below `/api`, with the query. */
  readonly path: string
  /** @default GET */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** What the token of the call says. */
  readonly claims: CollectorTokenOptions
  /** Headers beside the token. */
  readonly headers?: Readonly<Record<string, string>>
  /** A text in JSON. */
  readonly body?: string
  /** What a 404 means, for people. */
  readonly missing: string
}

/** Longer than the collector gives a question. */
export const COLLECTOR_MS = 10_000
/** More than a skeleton of 100,000 spans, or the largest span, takes. */
const BYTES_MAX = 64 << 20

/**
 * Asks the collector, with a token that was signed for this call. Raises `not_found`,
 * `invalid_request`, `conflict`, `unavailable` and `timeout` as the collector does.
 */
export async function callCollector(
  { collectorUrl, secret, service = 'web' }: CollectorPlace,
  { path, method = 'GET', claims, headers = {}, body, missing }: CollectorCall,
  signal: AbortSignal,
): Promise<Response> {
  const token = await signCollectorToken(secret, service, claims)
  const response = await fetch(`${collectorUrl}/api${path}`, {
    method,
    headers: {
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      authorization: `Bearer ${token}`,
    },
    ...(body === undefined ? {} : { body }),
    signal,
    redirect: 'error',
  }).catch((thrown: unknown) => {
    signal.throwIfAborted()
    throw unavailable(toError(thrown))
  })
  if (!response.ok) throw await errorOf(response, missing)
  return response
}

/** Reads an answer. Raises `bad_gateway` for one without end. */
export async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > BYTES_MAX) {
      throw new AppError('bad_gateway', `The collector's answer has more than ${BYTES_MAX} bytes.`)
    }
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** What readers can do something about stays as it is; anything else is a matter of operators. */
const PASSED_ON: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  409: 'conflict',
  503: 'unavailable',
  504: 'timeout',
}

async function errorOf(response: Response, missing: string): Promise<AppError> {
  const { status } = response
  if (status === 404) return new AppError('not_found', missing)
  const { message, details } = await problemOf(response)
  const code = PASSED_ON[status]
  if (code) return new AppError(code, message, { details })
  return new AppError('bad_gateway', `The trace collector answered ${status}. ${message}`)
}

const problem = v.object({
  message: v.optional(v.string(), ''),
  details: v.optional(v.record(v.string(), v.unknown()), {}),
})

async function problemOf(response: Response): Promise<v.InferOutput<typeof problem>> {
  const text = await readText(response).catch(() => '')
  const read = v.safeParse(v.pipe(v.string(), v.parseJson(), problem), text)
  return read.success ? read.output : { message: '', details: {} }
}

const unavailable = (cause: Error): AppError =>
  new AppError('unavailable', 'The trace collector does not answer. Platform health has more.', {
    cause,
  })
