import { createServer } from 'node:net'

/**
 * Below the ports that the system gives to outgoing connections, which would take one before it is
 * used.
 */
let next = 10_000 + Math.floor(Math.random() * 10_000)

/** Among ours, the ports that browsers refuse to open (Fetch, "bad port"). */
const REFUSED_BY_BROWSERS = new Set([10_080])

/** A port of 127.0.0.1 that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = next
    next = next < 19_999 ? next + 1 : 10_000
    if (!REFUSED_BY_BROWSERS.has(port) && (await isFree(port))) return port
  }
  throw new Error('found no free port')
}

/** The first of ten neighbouring ports that nobody listens on at this moment. */
export async function freePortBase(): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const base = 20_000 + Math.floor(Math.random() * 12_000)
    const free = await Promise.all(Array.from({ length: 11 }, (_, i) => isFree(base + i)))
    if (free.every(Boolean)) return base
  }
  throw new Error('found no eleven neighbouring free ports')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
