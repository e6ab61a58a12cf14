import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { toError } from '../../shared/errors.ts'
import type { Route } from '../../shared/outgoing/guard.ts'
import { openResponse } from '../../shared/outgoing/send-request.ts'

/** The answer to `httpGet`. */
export interface HttpAnswer {
  readonly status: number
  /** The parsed body; undefined if it is not JSON, exceeds `bytesMax`, or did not arrive. */
  readonly json: unknown
  /** The error that cut the body off: the connection broke or hung after the head of the answer. */
  readonly cut?: Error
  /** How far the other clock is ahead, by the header `Date`; undefined without one. */
  readonly skewMs?: number | undefined
  /** When the certificate of the connection expires; undefined without TLS. */
  readonly certificateExpires?: Date | undefined
}

/** Options of `httpGet`. */
interface HttpGetOptions {
  readonly signal: AbortSignal
  /** The most bytes of the body that are read; 0 reads none. */
  readonly bytesMax: number
  /** The way that was chosen for it. @default the address that its name resolves to */
  readonly route?: Route | undefined
}

/**
 * Sends one GET without credentials. Follows no redirect, and leaves no socket behind: an answer
 * that is too large is cut off, and an abort destroys the connection. Rejects when no head of an
 * answer arrives.
 */
export async function httpGet(
  url: URL,
  { signal, bytesMax, route }: HttpGetOptions,
): Promise<HttpAnswer> {
  const headers = {
    accept: 'application/json',
    connection: 'close',
    'user-agent': 'platform-probe',
  }
  const sent = Date.now()
  const response = await openResponse({ url, headers, signal, route })
  const head = { status: response.statusCode ?? 0, ...surroundingsOf(response, sent) }
  try {
    return { ...head, json: await readJson(response, bytesMax) }
  } catch (thrown) {
    return { ...head, json: undefined, cut: toError(signal.aborted ? signal.reason : thrown) }
  } finally {
    response.destroy()
  }
}

/** What an answer says beside its content. */
function surroundingsOf(
  { headers, socket }: IncomingMessage,
  sentMs: number,
): Pick<HttpAnswer, 'skewMs' | 'certificateExpires'> {
  const theirs = Date.parse(headers.date ?? '')
  const expires = socket instanceof TLSSocket ? socket.getPeerCertificate().valid_to : undefined
  return {
    // The header has no fractions; ours is the middle of the call.
    skewMs: Number.isNaN(theirs) ? undefined : theirs + 500 - (sentMs + Date.now()) / 2,
    certificateExpires: expires ? new Date(expires) : undefined,
  }
}

async function readJson(response: IncomingMessage, bytesMax: number): Promise<unknown> {
  if (bytesMax === 0) return undefined
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bytesMax) return undefined
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}
