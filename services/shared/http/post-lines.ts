import { once } from 'node:events'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'

/** A connection takes posts for so long, so that they reach servers that start meanwhile. */
const KEPT_MS = 30_000
/** The time that a server has to end its answer, once it was told all. */
const END_MS = 2000

/** Connections that stay open between posts. */
export type KeptConnections = ReturnType<typeof keepConnections>

/** Opens a pool of connections that stay open between posts, where the server offers that. */
export function keepConnections() {
  const options = { keepAlive: true, scheduling: 'fifo', maxFreeSockets: 64 } as const
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) }
  const since = new WeakMap<Duplex, number>()
  return {
    agentFor: ({ protocol }: URL) => (protocol === 'https:' ? agents.https : agents.http),
    /** Returns false for a connection that was used for long enough. */
    isFresh(socket: Duplex): boolean {
      const first = since.get(socket) ?? performance.now()
      since.set(socket, first)
      return performance.now() - first < KEPT_MS
    },
    close(): void {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

interface LinePost {
  readonly url: URL
  readonly token: string
  /** JSON: the whole body, or its first line. */
  readonly document: string
  /** Set: the body stays open for more lines, and has an empty one this often. */
  readonly keepAliveMs?: number | undefined
  /** Ends the connection, also after the answer began. */
  readonly signal: AbortSignal
  /** @default a connection of its own */
  readonly pool?: KeptConnections | undefined
}

/** An answer, and the way to tell its sender more. */
export interface LineAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: ReadableStream<Uint8Array>
  /** Writes a line into the body of the request, where that stays open. */
  readonly tell: (line: object) => void
  /** Says that all was told and heard: a connection that is kept takes the next post. */
  readonly end: () => void
  /** Ends the connection, unless it was kept. */
  readonly close: () => void
}

/**
 * Posts JSON, both ways at once: `fetch` answers only after it sent all. Follows no redirect.
 */
export async function postLines(post: LinePost): Promise<LineAnswer> {
  const { keepAliveMs, signal, pool } = post
  const isOpen = keepAliveMs !== undefined
  const request = send(post)
  const answered = await answerOf(request).catch((thrown: unknown) => {
    // The server had closed it meanwhile.
    if (request.reusedSocket && !signal.aborted) return undefined
    throw thrown
  })
  if (!answered) return postLines({ ...post, pool: undefined })
  const isKept = pool !== undefined && answered.headers.connection === 'keep-alive'
  const keepAlive = isOpen ? setInterval(() => request.write('\n'), keepAliveMs) : undefined
  let hasEnded = false
  function close(): void {
    clearInterval(keepAlive)
    if (!hasEnded) request.destroy()
  }
  answered.once('close', close)
  return {
    status: answered.statusCode ?? 0,
    contentType: answered.headers['content-type'] ?? '',
    body: bodyOf(answered, isKept),
    tell: (line) => {
      if (isOpen && !request.destroyed && !hasEnded) request.write(`${JSON.stringify(line)}\n`)
    },
    end() {
      hasEnded = isKept && request.socket !== null && pool.isFresh(request.socket)
      close()
      if (hasEnded) finish(request, answered)
    },
    close,
  }
}

function send({ url, token, document, keepAliveMs, signal, pool }: LinePost): ClientRequest {
  const isOpen = keepAliveMs !== undefined
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest
  const type = isOpen ? 'application/x-ndjson' : 'application/json'
  const length = isOpen ? {} : { 'content-length': Buffer.byteLength(document) }
  const request = open(url, {
    method: 'POST',
    agent: pool?.agentFor(url) ?? false,
    signal,
    headers: { authorization: `Bearer ${token}`, 'content-type': type, ...length },
  })
  // What breaks later is seen where the answer is read.
  request.on('error', () => {})
  request.setNoDelay(true)
  if (isOpen) request.write(`${document}\n`)
  else request.end(document)
  return request
}

/** Lets a connection go back once both sides are through; one whose server is not in time ends. */
function finish(request: ClientRequest, response: IncomingMessage): void {
  const late = setTimeout(() => request.destroy(), END_MS).unref()
  response.once('close', () => clearTimeout(late))
  response.resume()
  request.end()
}

async function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

/**
 * The body as a stream that ends where the connection breaks: what arrived before that is read
 * still, which a stream that fails would drop.
 */
function bodyOf(response: IncomingMessage, isKept: boolean): ReadableStream<Uint8Array> {
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
      // Who asked says what becomes of a connection that may be kept.
      if (!isKept) response.destroy()
    },
  })
}
