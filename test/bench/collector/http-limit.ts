import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A process that reads requests with Node's own HTTP server and answers 200, without a token, a
 * span or a database: no collector on Node takes more requests than this one.
 */
const server = createServer((request, response) => {
  request.on('data', () => {})
  request.on('end', () => response.writeHead(200, { 'content-length': 0 }).end())
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.(`http://127.0.0.1:${port}`)
})
process.on('disconnect', () => process.exit())
