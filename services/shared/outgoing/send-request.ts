import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Route } from './guard.ts'
import { openAnswer } from './open-request.ts'

/** One HTTP request. */
export interface OutgoingRequest {
  readonly url: URL
  /** @default GET */
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
  /** The only deadline, also of the answer's body. */
  readonly signal: AbortSignal
  /** The way that it takes. @default the address that the URL's host name resolves to */
  readonly route?: Route | undefined
}

/** A response, read up to the limit. */
export interface OutgoingResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The body was longer than the limit; its beginning is here. */
  readonly isCut: boolean
}

/**
 * Sends a request and reads the answer up to a limit. Follows no redirect. `fetch` would give up
 * after five minutes by itself, and can be pinned to no address.
 */
export async function sendRequest(
  options: OutgoingRequest & { readonly responseBytesMax: number },
): Promise<OutgoingResponse> {
  const response = await openResponse(options)
  const head = { status: response.statusCode ?? 0, headers: response.headers }
  return { ...head, ...(await readBody(response, options.responseBytesMax)) }
}

/** Sends a request and returns its answer as soon as the head is there; the caller reads it. */
export function openResponse({
  method = 'GET',
  headers,
  body,
  ...rest
}: OutgoingRequest): Promise<IncomingMessage> {
  const sized =
    body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) }
  return openAnswer({ ...rest, method, body, headers: sized })
}

/** Reads a response up to a limit; 0: none of its body. */
export async function readBody(
  response: IncomingMessage,
  bytesMax: number,
): Promise<Pick<OutgoingResponse, 'body' | 'isCut'>> {
  if (bytesMax === 0) {
    response.destroy()
    return { body: Buffer.alloc(0), isCut: true }
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    chunks.push(chunk)
    // Leaving the loop destroys the connection: nothing of the rest is read.
    if (size > bytesMax) break
  }
  return { body: Buffer.concat(chunks).subarray(0, bytesMax), isCut: size > bytesMax }
}
