import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

interface Load {
  readonly connections: Connections
  readonly token: string
  readonly contentType: string
  readonly bodies: readonly Buffer[]
}

export interface LoadResult {
  readonly seconds: number
  /** Of each request, from its first byte to its 200; milliseconds. */
  readonly latenciesMs: number[]
  /** How many answers were 503. */
  readonly refusals: number
}

const AFTER_REFUSAL_MS = 100

/** Connections that stay open from one load to the next, as those of exporters do. */
export interface Connections {
  /** Opens those that are missing, such as one that the server has closed, and returns all. */
  ready(): Promise<readonly Socket[]>
  close(): void
}

export function createConnections(url: string, count: number): Connections {
  const sockets = new Set<Socket>()
  return {
    async ready() {
      while (sockets.size < count) {
        const socket = await open(url)
        sockets.add(socket)
        // A connection that breaks under load shows there; one that breaks between loads is
        // replaced.
        socket.on('error', () => {}).on('close', () => sockets.delete(socket))
        socket.resume()
      }
      return [...sockets]
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/**
 * Sends every body once, over connections that are kept, each with one request at a time. Raw
 * sockets, requests that are written out beforehand, and neither a promise nor a text for each: the
 * load shares the machine with what it measures. After a 503 it sends the same again; raises when
 * another answer is not 200.
 */
export async function sendLoad(load: Load): Promise<LoadResult> {
  const sockets = await load.connections.ready()
  const latenciesMs: number[] = []
  let refusals = 0
  const queue = load.bodies.map((body) => toRequest(body, load)).values()
  const onRefusal = (): void => void refusals++
  const started = performance.now()
  await Promise.all(sockets.map((socket) => sendOver(socket, { queue, latenciesMs, onRefusal })))
  const seconds = (performance.now() - started) / 1000
  return { seconds, latenciesMs, refusals }
}

/** A request, in one piece or two. */
type Request = readonly Buffer[]

interface Progress {
  readonly queue: Iterator<Request>
  readonly latenciesMs: number[]
  readonly onRefusal: () => void
}

/** Sends requests of the queue over one connection until none is left. */
function sendOver(socket: Socket, { queue, latenciesMs, onRefusal }: Progress): Promise<void> {
  return new Promise((resolve, reject) => {
    let request = queue.next()
    let sent = performance.now()
    const readStatus = createStatusReader()
    const end = (error?: Error): void => {
      socket.off('data', onData).off('close', onClose)
      if (error) reject(error)
      else resolve()
    }
    const onData = (chunk: Buffer): void => {
      const status = readStatus(chunk)
      if (status === undefined) return
      if (status === '503') {
        onRefusal()
        setTimeout(() => send(socket, request.value), AFTER_REFUSAL_MS)
      } else if (status === '200') {
        const now = performance.now()
        latenciesMs.push(now - sent)
        request = queue.next()
        if (request.done === true) return end()
        sent = now
        send(socket, request.value)
      } else end(new Error(`the answer was ${status}`))
    }
    const onClose = (): void => end(new Error('the connection was closed before the answer'))
    if (request.done === true) return resolve()
    socket.on('data', onData).on('close', onClose)
    send(socket, request.value)
  })
}

/** Up to this size a copy costs less than a write of its own. */
const SMALL_BYTES = 16_384

function toRequest(body: Buffer, { contentType, token }: Load): Request {
  const head = Buffer.from(
    `POST /v1/traces HTTP/1.1\r\nhost: bench\r\ncontent-type: ${contentType}\r\n` +
      `authorization: ${token}\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  return body.length <= SMALL_BYTES ? [Buffer.concat([head, body])] : [head, body]
}

function send(socket: Socket, request: Request): void {
  const [whole] = request
  if (whole && request.length === 1) return void socket.write(whole)
  socket.cork()
  for (const part of request) socket.write(part)
  socket.uncork()
}

/** Where the status of an answer is, and that of nearly all of them. */
const STATUS_AT = 9
const OK = Buffer.from('200')

/**
 * Returns the status once an answer is complete. An answer with 200 that is as long as one before
 * is complete: they differ in their dates alone.
 */
function createStatusReader(): (chunk: Buffer) => string | undefined {
  let answer = ''
  let usualBytes = 0
  return (chunk) => {
    const isUsual = answer === '' && chunk.length === usualBytes
    if (isUsual && chunk.compare(OK, 0, OK.length, STATUS_AT, STATUS_AT + OK.length) === 0) {
      return '200'
    }
    answer += chunk.toString('latin1')
    if (!isComplete(answer)) return undefined
    const status = answer.slice(STATUS_AT, STATUS_AT + OK.length)
    if (status === '200') usualBytes = answer.length
    answer = ''
    return status
  }
}

async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  return socket
}

function isComplete(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n')
  if (head < 0) return false
  const length = /content-length: (\d+)/i.exec(answer)?.[1]
  if (length === undefined) return answer.endsWith('0\r\n\r\n')
  return answer.length >= head + 4 + Number(length)
}
