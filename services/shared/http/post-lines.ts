import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'

interface LinePost {
  readonly url: URL
  readonly token: string
  /** JSON: the whole body, or its first line. */
  readonly document: string
  /** Set: the body stays open for more lines, and has an empty one this often. */
  readonly keepAliveMs?: number | undefined
  /** Ends the connection, also after the answer began. */
  readonly signal: AbortSignal
}

/** An answer, and the way to tell its sender more. */
export interface LineAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: ReadableStream<Uint8Array>
  /** Writes a line into the body of the request, where that stays open. */
  readonly tell: (line: object) => void
  /** Ends the connection. */
  readonly close: () => void
}

/**
 * Posts JSON over a connection of its own, both ways at once: `fetch` answers only after it sent
 * all. Follows no redirect.
 */
export async function postLines(post: LinePost): Promise<LineAnswer> {
  const { url, token, document, keepAliveMs, signal } = post
  const isOpen = keepAliveMs !== undefined
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest
  const type = isOpen ? 'application/x-ndjson' : 'application/json'
  const length = isOpen ? {} : { 'content-length': Buffer.byteLength(document) }
  const request = open(url, {
    method: 'POST',
    agent: false,
    signal,
    headers: { authorization: `Bearer ${token}`, 'content-type': type, ...length },
  })
  // What breaks later is seen where the answer is read.
  request.on('error', () => {})
  request.setNoDelay(true)
  if (isOpen) request.write(`${document}\n`)
  else request.end(document)
  const response = await answerOf(request)
  const keepAlive = isOpen ? setInterval(() => request.write('\n'), keepAliveMs) : undefined
  const close = (): void => {
    clearInterval(keepAlive)
    request.destroy()
  }
  response.once('close', close)
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    body: bodyOf(response),
    tell: (line) => {
      if (isOpen && !request.destroyed) request.write(`${JSON.stringify(line)}\n`)
    },
    close,
  }
}

async function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

/**
 * The body as a stream that ends where the connection breaks: what arrived before that is read
 * still, which a stream that fails would drop.
 */
function bodyOf(response: IncomingMessage): ReadableStream<Uint8Array> {
  let isOver = false
  return new ReadableStream({
    start(controller) {
      const end = (): void => {
        if (!isOver) controller.close()
        isOver = true
      }
      response.on('data', (chunk: Buffer) => {
        if (isOver) return
        controller.enqueue(chunk)
        if ((controller.desiredSize ?? 0) <= 0) response.pause()
      })
      // An aborted response may raise more than one.
      for (const event of ['end', 'error', 'close']) response.on(event, end)
    },
    pull: () => void response.resume(),
    cancel() {
      isOver = true
      response.destroy()
    },
  })
}
