import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../../../support/free-port.ts'

/** A server that does what a test needs it to. */
export interface Fault {
  readonly url: string
  readonly port: number
  /** Connections that are open now. */
  open(): number
  stop(): Promise<void>
}

/** Answers HTTP as told. */
export async function httpServer(listener: RequestListener): Promise<Fault> {
  const server = createHttpServer(listener)
  return serving(server)
}

/** Does with each connection as told. */
export const socketServer = (onConnection: (socket: Socket) => void): Promise<Fault> =>
  serving(createServer(onConnection))

async function serving(server: ReturnType<typeof createServer>): Promise<Fault> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    open: () => sockets.size,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Takes connections and never says anything. */
export const silent = (): Promise<Fault> => socketServer((socket) => socket.resume())

/** Cuts every connection as soon as something is asked. */
export const resetting = (): Promise<Fault> =>
  socketServer((socket) => socket.once('data', () => socket.resetAndDestroy()))

export const json = (status: number, body: unknown): Promise<Fault> =>
  httpServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })

export const page = (status = 200): Promise<Fault> =>
  httpServer((_, response) => {
    response.writeHead(status, { 'content-type': 'text/html' })
    response.end('<!doctype html><title>Welcome to nginx</title>')
  })

export const redirect = (location: string): Promise<Fault> =>
  httpServer((_, response) => {
    response.writeHead(302, { location })
    response.end()
  })

/** An answer that begins well and is 10 MB long. */
export const huge = (): Promise<Fault> =>
  httpServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(`{"status":"ok","x":"${'x'.repeat(10 << 20)}"}`)
  })

/** Sends the head of an answer, and then a byte now and again. */
export const dripping = (): Promise<Fault> =>
  httpServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 20)
    response.once('close', () => clearInterval(timer))
  })

/** Nobody listens. */
export async function closed(): Promise<Fault> {
  const port = await freePort()
  return { url: `http://127.0.0.1:${port}`, port, open: () => 0, stop: async () => {} }
}

/**
 * Swallows connection attempts, as a firewall that drops packets does: a process that listens with a backlog of one,
 * stopped, its queue full.
 */
export async function blackHole(): Promise<Fault> {
  const script =
    "const s=require('net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},()=>process.stdout.write(String(s.address().port)))"
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [told] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(told.toString())
  child.kill('SIGSTOP')
  const fillers = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  await delay(150)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    open: () => 0,
    async stop() {
      for (const filler of fillers) filler.destroy()
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
