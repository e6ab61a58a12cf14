import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'

/** One address for whichever crew there is, as a Service of Kubernetes has. */
export interface CrewAddress {
  readonly url: string
  /** The address that it leads to. */
  readonly target: () => string
  /** New connections go there from now on; those that are open stay where they are. */
  leadTo(port: number): void
  close(): void
}

/** Opens an address that leads nowhere yet. */
export async function openCrewAddress(): Promise<CrewAddress> {
  let target = 0
  const server = createServer((socket) => {
    const onward = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      one.pipe(other)
      // An error is followed by the close; what was sent before still arrives.
      one.on('error', () => {})
      one.on('close', () => other.destroySoon())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: () => `http://127.0.0.1:${target}`,
    leadTo: (port) => void (target = port),
    close: () => void server.close(),
  }
}
