import { createServer } from 'node:net'

/** Finds a port of this machine that nobody listens on: the wanted one, if it is free. */
export async function findFreePort(host: string, wanted = 0): Promise<number> {
  const port = await tryPort(host, wanted)
  if (port === undefined && wanted !== 0) return findFreePort(host)
  if (port === undefined) throw new Error(`No port of ${host} is free.`)
  return port
}

function tryPort(host: string, wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(wanted, host, () => {
      const address = server.address()
      const port = typeof address === 'object' ? address?.port : undefined
      server.close(() => resolve(port))
    })
  })
}
