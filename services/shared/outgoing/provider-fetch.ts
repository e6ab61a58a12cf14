import type { CustomFetchOptions } from 'openid-client'
import { deadline } from '../deadline.ts'
import { AppError } from '../errors.ts'
import { routeThrough } from './forward-proxy.ts'
import type { ForwardProxy } from './forward-proxy.ts'
import type { OutgoingGuard } from './guard.ts'
import { sendRequest } from './send-request.ts'

const RESPONSE_BYTES_MAX = 256 << 10

/** The provider, and the time that it has. */
export interface ProviderFetchOptions {
  /** For messages: `Provider github`. */
  readonly name: string
  readonly timeoutMs: number
  /** Set: its addresses were chosen by an organization. */
  readonly guarded?: GuardedCalls | undefined
  /** For addresses that are the operator's. @default no proxy */
  readonly proxy?: ForwardProxy | undefined
}

/** The guard of the calls to addresses that an organization chose. */
export interface GuardedCalls {
  readonly guard: OutgoingGuard
  /** The one who chose them: nobody else waits for its look-ups. */
  readonly subject: string
}

/** A `fetch` as openid-client takes it. */
export type ProviderFetch = (url: string, options: CustomFetchOptions) => Promise<Response>

/**
 * Creates the one way to an OAuth or identity provider: a deadline that also covers the body, at
 * most 256 KiB, no redirect followed. Raises `timeout` and `bad_gateway`.
 */
export function createProviderFetch(options: ProviderFetchOptions): ProviderFetch {
  return async function fetchFromProvider(url, { method, headers, body }) {
    const name = `${options.name} at ${new URL(url).host}`
    return deadline({ name, timeoutMs: options.timeoutMs }, async (signal) => {
      const request = { method, headers, body, signal }
      const response = await send(new URL(url), request, options).catch((thrown: unknown) => {
        signal.throwIfAborted()
        throw thrown instanceof AppError ? thrown : unreachable(name, thrown)
      })
      if (response.status >= 300 && response.status < 400) {
        await response.body?.cancel()
        throw badResponse(`${name} answered with a redirect, which is not followed.`)
      }
      return rebuild(response, await readText(response, name))
    })
  }
}

type SentRequest = Pick<CustomFetchOptions, 'method' | 'headers' | 'body'> & {
  readonly signal: AbortSignal
}

/** Sends a request by the way that the guard or the operator's proxy has for it. */
async function send(
  url: URL,
  { method, headers, body: sent, signal }: SentRequest,
  { guarded, proxy }: ProviderFetchOptions,
): Promise<Response> {
  const route = guarded
    ? await guarded.guard.pin(url, { subject: guarded.subject, signal })
    : routeThrough(proxy, url)
  const { status, body, ...answer } = await sendRequest({
    url,
    method,
    headers: { ...Object.fromEntries(new Headers(headers)), 'accept-encoding': 'identity' },
    body: formOf(sent),
    // One more than is allowed: the reader below tells it from an answer that fits.
    responseBytesMax: RESPONSE_BYTES_MAX + 1,
    signal,
    route,
  })
  const given = Object.entries(answer.headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as [string, string]] : [],
  )
  const isEmpty = status === 204 || status === 205 || status === 304
  return new Response(isEmpty ? null : new Uint8Array(body), { status, headers: given })
}

/** What is sent to providers is a form, or nothing. */
function formOf(body: CustomFetchOptions['body']): string | undefined {
  return body instanceof URLSearchParams || typeof body === 'string' ? body.toString() : undefined
}

/** Returns a response with that text and status, and the two headers that its readers need. */
export function rebuild(response: Response, text: string, status = response.status): Response {
  const headers = new Headers()
  for (const name of ['content-type', 'www-authenticate']) {
    const value = response.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  const isEmpty = status === 204 || status === 205
  return new Response(isEmpty ? null : text, { status, headers })
}

async function readText(response: Response, name: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength
      // Leaving the loop cancels the stream: nothing of the rest is read.
      if (size > RESPONSE_BYTES_MAX) break
      chunks.push(chunk)
    }
  } catch (thrown) {
    throw unreachable(name, thrown)
  }
  if (size > RESPONSE_BYTES_MAX)
    throw badResponse(`${name} answered more than ${RESPONSE_BYTES_MAX} bytes.`)
  return Buffer.concat(chunks).toString('utf8')
}

/** The error of fetch says "fetch failed" and no more; its cause has the code, as ECONNREFUSED. */
function unreachable(name: string, thrown: unknown): AppError {
  const errors = [thrown, thrown instanceof Error ? thrown.cause : undefined]
  const named = errors.find((each) => each instanceof Error && 'code' in each)
  const code = named instanceof Error && 'code' in named ? ` (${String(named.code)})` : ''
  return new AppError('bad_gateway', `${name} could not be reached${code}. Try again.`, {
    details: { code: 'provider_unreachable' },
    headers: { 'retry-after': '5' },
  })
}

function badResponse(message: string): AppError {
  return new AppError('bad_gateway', message, { details: { code: 'provider_bad_answer' } })
}
