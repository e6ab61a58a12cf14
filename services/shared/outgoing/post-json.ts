import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Pinned } from './guard.ts'
import { isPrivateAddress } from './private-addresses.ts'

interface PostOptions {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** 0: nothing of the body is read. */
  readonly responseBytesMax: number
  readonly signal: AbortSignal
  /** The address to connect to. @default the one that the URL's host name resolves to */
  readonly pinned?: Pinned | undefined
}

/** A response, read up to the limit; `body` is undefined when it was longer. */
export interface PostResult {
  readonly status: number
  /** It came from an address that is not on the public Internet. */
  readonly isPrivate: boolean
  readonly retryAfter: string | undefined
  /** `undefined`: longer than the limit. */
  readonly body: string | undefined
}

/**
 * Posts JSON and reads the whole answer, up to a limit. The signal is the only deadline: `fetch`
 * would give up after five minutes by itself, and a reasoning model may think for longer. Follows
 * no redirect.
 */
export async function postJson(options: PostOptions): Promise<PostResult> {
  const { url, body, signal, headers, pinned } = options
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest
  const request = open(url, {
    method: 'POST',
    signal,
    ...pinned,
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  // An abort in the middle of the answer raises both where the answer is read and here.
  request.on('error', () => {})
  request.end(body)
  const response = await answerOf(request)
  return {
    status: response.statusCode ?? 0,
    isPrivate: isPrivateAddress(response.socket.remoteAddress ?? ''),
    retryAfter: response.headers['retry-after'],
    body: await readText(response, options.responseBytesMax),
  }
}

async function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

async function readText(response: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  if (bytesMax === 0) {
    response.destroy()
    return undefined
  }
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    // Leaving the loop destroys the connection: nothing of the rest is read.
    if (size > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
