import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A proxy as companies have one, which alone knows where the names of the outside lead. */
export interface TestProxy {
  readonly url: string
  /** What passed: `CONNECT models.example:443`, `GET http://models.example/v1`. */
  readonly passed: string[]
  readonly stop: () => Promise<void>
}

interface TestProxyOptions {
  /** The port of this machine for each name. */
  readonly names: Readonly<Record<string, number>>
  /** Asks for these. */
  readonly login?: string
}

const ASKS = { 'proxy-authenticate': 'Basic realm="proxy"' }
const ASKED = `Proxy-Authenticate: ${ASKS['proxy-authenticate']}`

/** Starts a proxy on this machine; names that it does not know it refuses with 403. */
export async function startForwardProxy({ names, login }: TestProxyOptions): Promise<TestProxy> {
  const passed: string[] = []
  const sockets = new Set<Socket>()
  const wanted = login && `Basic ${Buffer.from(login).toString('base64')}`
  const statusFor = (name: string, authorization: string | undefined): number => {
    if (wanted !== undefined && authorization !== wanted) return 407
    return names[name] === undefined ? 403 : 200
  }
  const server = createServer((request, response) => {
    const { method, headers, url = '' } = request
    passed.push(`${method} ${url}`)
    const { hostname, pathname, search } = new URL(url)
    const status = statusFor(hostname, headers['proxy-authorization'])
    if (status !== 200) return void response.writeHead(status, ASKS).end()
    const place = { host: '127.0.0.1', port: names[hostname], path: pathname + search }
    const onward = httpRequest({ ...place, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  server.on('connect', ({ url = '', headers }, client: Socket, head: Buffer) => {
    passed.push(`CONNECT ${url}`)
    const [name = ''] = url.split(':')
    const status = statusFor(name, headers['proxy-authorization'])
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\n${ASKED}\r\n\r\n`)
    const onward = connect(names[name] ?? 0, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      onward.write(head)
      onward.pipe(client).pipe(onward)
    })
    for (const socket of [client, onward]) sockets.add(socket.on('error', () => {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    async stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
