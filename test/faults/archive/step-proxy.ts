import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A way to a server on which each message of its clients is a step. */
export interface StepProxy {
  readonly port: number
  /** Called with each step; false lets the message not through. */
  onStep: () => boolean
  /** Cuts all connections. */
  cut(): void
  close(): Promise<void>
}

export async function createStepProxy(target: number): Promise<StepProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    }
    client.on('data', (chunk) => {
      if (proxy.onStep()) upstream.write(chunk)
    })
    upstream.on('data', (chunk) => client.write(chunk))
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const { port } = server.address() as AddressInfo
  const proxy: StepProxy = {
    port,
    onStep: () => true,
    cut,
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
