import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

export interface Load {
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
 * sockets without a promise for each request: a client library would cost more than what it
 * measures. After a 503 it sends the same again; raises when another answer is not 200.
 */
export async function sendLoad(load: Load): Promise<LoadResult> {
  const sockets = await load.connections.ready()
  const latenciesMs: number[] = []
  let refusals = 0
  const queue = load.bodies.values()
  const onRefusal = (): void => void refusals++
  const started = performance.now()
  await Promise.all(
    sockets.map((socket) => sendOver(socket, load, { queue, latenciesMs, onRefusal })),
  )
  const seconds = (performance.now() - started) / 1000
  return { seconds, latenciesMs, refusals }
}

interface Progress {
  readonly queue: Iterator<Buffer>
  readonly latenciesMs: number[]
  readonly onRefusal: () => void
}

/** Sends bodies of the queue over one connection until none is left. */
function sendOver(
  socket: Socket,
  load: Load,
  { queue, latenciesMs, onRefusal }: Progress,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let body = queue.next()
    let sent = performance.now()
    let answer = ''
    const end = (error?: Error): void => {
      socket.off('data', onData)
      if (error) reject(error)
      else resolve()
    }
    const onData = (chunk: Buffer): void => {
      answer += chunk.toString('latin1')
      if (!isComplete(answer)) return
      const status = answer.slice(9, 12)
      answer = ''
      if (status === '503') {
        onRefusal()
        setTimeout(() => send(socket, load, body.value), AFTER_REFUSAL_MS)
      } else if (status === '200') {
        latenciesMs.push(performance.now() - sent)
        body = queue.next()
        if (body.done === true) return end()
        sent = performance.now()
        send(socket, load, body.value)
      } else end(new Error(`the answer was ${status}`))
    }
    if (body.done === true) return resolve()
    socket.on('data', onData)
    send(socket, load, body.value)
  })
}

/** Up to this size a copy costs less than a write of its own. */
const SMALL_BYTES = 16_384

function send(socket: Socket, { contentType, token }: Load, body: Buffer): void {
  const head = Buffer.from(
    `POST /v1/traces HTTP/1.1\r\nhost: bench\r\ncontent-type: ${contentType}\r\n` +
      `authorization: ${token}\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  if (body.length <= SMALL_BYTES) return void socket.write(Buffer.concat([head, body]))
  socket.cork()
  socket.write(head)
  socket.write(body)
  socket.uncork()
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
