import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { addressUrl } from '../../../support/address-url.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'

export interface DatabaseProxy {
  /** The database of `target`, through this proxy. */
  readonly url: string
  /** Cuts all connections and takes no more: the server is down. */
  cut(): void
  /** Leaves the connections open but lets nothing through: the network is gone. */
  freeze(): void
  restore(): void
  close(): Promise<void>
}

/** A connection to the database that can be cut. */
export async function createDatabaseProxy(target: string): Promise<DatabaseProxy> {
  const address = parseAddress(target)
  const sockets = new Set<Socket>()
  let mode: 'open' | 'cut' | 'frozen' = 'open'
  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  }
  const forward = (from: Socket, to: Socket): void => {
    from.on('data', (chunk) => {
      if (mode === 'open') to.write(chunk)
    })
    from.on('close', () => to.destroy())
  }
  const server = createServer((client) => {
    if (mode === 'cut') return void client.destroy()
    const upstream = connect(address.port, address.host)
    for (const socket of [client, upstream]) track(socket)
    forward(client, upstream)
    forward(upstream, client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const drop = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: addressUrl({ ...address, host: '127.0.0.1', port }),
    cut() {
      mode = 'cut'
      drop()
    },
    freeze() {
      mode = 'frozen'
    },
    restore() {
      if (mode === 'frozen') drop()
      mode = 'open'
    },
    async close() {
      drop()
      server.close()
      await once(server, 'close')
    },
  }
}
