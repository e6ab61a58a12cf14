import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Pinned } from './guard.ts'
import { isPrivateAddress } from './private-addresses.ts'

/** One HTTP request. */
export interface OutgoingRequest {
  readonly url: URL
  /** @default GET */
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** The only deadline, also of the answer's body. */
  readonly signal: AbortSignal
  /** The address to connect to. @default the one that the URL's host name resolves to */
  readonly pinned?: Pinned | undefined
}

/** A response, read up to the limit. */
export interface OutgoingResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** It came from an address that is not on the public Internet. */
  readonly isPrivate: boolean
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
  // A connection that is kept open is no longer the response's once that was read.
  const head = headOf(response)
  return { ...head, ...(await readBody(response, options.responseBytesMax)) }
}

/** Sends a request and returns its answer as soon as the head is there; the caller reads it. */
export async function openResponse(options: OutgoingRequest): Promise<IncomingMessage> {
  const { url, method = 'GET', body, signal, headers, pinned } = options
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  const request = open(url, { method, signal, ...pinned, headers: { ...headers, ...length } })
  // An abort in the middle of the answer raises both where the answer is read and here.
  request.on('error', () => {})
  request.end(body)
  return answerOf(request)
}

const headOf = (response: IncomingMessage) => ({
  status: response.statusCode ?? 0,
  headers: response.headers,
  isPrivate: isPrivateAddress(response.socket.remoteAddress ?? ''),
})

async function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
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
