import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Starts an HTTP server on this machine that answers as a test tells it to; at any port when it
 * is 0.
 */
export async function startHttpServer(listener: RequestListener, wanted = 0) {
  const server = createServer(listener)
  server.listen(wanted, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
