import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** Often enough to keep the promise, and cheap: it looks at open requests only. */
const SWEEPS_PER_LIMIT = 4
const WITHOUT_BODY = new Set(['GET', 'HEAD'])

interface Progress {
  readonly response: ServerResponse
  bytesRead: number
  /** The time at which so many had been read, by `performance.now()`. */
  at: number
}

/** The slowest body that is waited for: so many bytes in each such time. */
interface SlowestBody {
  readonly idleMs: number
  readonly bytesMin: number
}

/**
 * Ends requests whose body stops arriving, or drips: after `idleMs` without `bytesMin` more bytes
 * the sender gets a 408 and is cut off, and the reader of the body sees it close. A body that this
 * process is slow to read is not stalled.
 */
export function endStalledBodies(server: Server, { idleMs, bytesMin }: SlowestBody): void {
  const open = new Map<IncomingMessage, Progress>()
  const arrived: [IncomingMessage, ServerResponse][] = []

  function note(incoming: IncomingMessage, response: ServerResponse): void {
    if (WITHOUT_BODY.has(incoming.method ?? '')) return
    if (arrived.length === 0) setImmediate(followIncomplete)
    arrived.push([incoming, response])
  }

  /** Most bodies come with their heads: nobody has to follow those. */
  function followIncomplete(): void {
    for (const [incoming, response] of arrived.splice(0)) {
      if (!incoming.complete && !incoming.destroyed && !open.has(incoming)) {
        follow(incoming, response)
      }
    }
  }

  function follow(incoming: IncomingMessage, response: ServerResponse): void {
    open.set(incoming, { response, bytesRead: incoming.socket.bytesRead, at: performance.now() })
    incoming.once('close', () => open.delete(incoming))
  }

  function sweep(): void {
    const now = performance.now()
    for (const [incoming, progress] of open) {
      const { bytesRead } = incoming.socket
      if (incoming.complete) {
        open.delete(incoming)
      } else if (bytesRead - progress.bytesRead >= bytesMin || isHeldUpHere(incoming)) {
        Object.assign(progress, { bytesRead, at: now })
      } else if (now - progress.at >= idleMs) {
        open.delete(incoming)
        cut(incoming, progress.response)
      }
    }
  }

  // Before the service sees them: it may have responded when its listener returns.
  server.prependListener('request', note)
  const timer = setInterval(sweep, idleMs / SWEEPS_PER_LIMIT)
  timer.unref()
  server.once('close', () => clearInterval(timer))
}

/**
 * Bytes that nobody has read yet fill the buffer, so that no more are taken from the connection.
 */
const isHeldUpHere = (incoming: IncomingMessage): boolean =>
  incoming.readableLength >= incoming.readableHighWaterMark

function cut({ socket }: IncomingMessage, response: ServerResponse): void {
  if (socket.writable && !response.headersSent) {
    socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  }
  socket.destroySoon()
}
