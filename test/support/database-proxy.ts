import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import { addressUrl } from './address-url.ts'

/** Stands between a service and PostgreSQL. */
export interface DatabaseProxy {
  readonly url: string
  /** Cuts off the connection of the next answer for which this holds, which goes no further. */
  cutWhen(isLast: (answer: Buffer) => boolean): void
  close(): Promise<void>
}

/** Starts a proxy; `onCut` runs before the client learns of it. */
export async function startDatabaseProxy(
  databaseUrl: string,
  onCut: () => void = () => {},
): Promise<DatabaseProxy> {
  const target = parseAddress(databaseUrl)
  const sockets = new Set<Socket>()
  let isLast: ((answer: Buffer) => boolean) | undefined
  const server: Server = createServer((client) => {
    const upstream = connect(target.port, target.host)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    client.pipe(upstream)
    upstream.on('data', (answer) => {
      if (!isLast?.(answer)) return void client.write(answer)
      isLast = undefined
      onCut()
      client.destroy()
    })
    client.on('close', () => upstream.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: addressUrl({ ...target, host: '127.0.0.1', port }),
    cutWhen: (holds) => void (isLast = holds),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
