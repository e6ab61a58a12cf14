import type { Hono } from 'hono'
import { AppError } from '../../../shared/errors.ts'
import { toByteStream } from '../../../shared/http/byte-stream.ts'
import type { Log } from '../../../shared/log.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { exportTraces } from '../../traces/export-selection.ts'
import { readFilter } from './list-filter.ts'
import { readListQuery } from './list-query.ts'
import { readerOf } from './reader-of.ts'
import { createRoom } from '../frame/room.ts'

/** Exports and tails at a time, of all people: each keeps a connection to the collector busy. */
const EXPORTS = 4
const TAILS = 20
/** A reader that takes longer for a piece loses its connection. */
const READ_MS = 60_000
/** A tail ends after this, and its page connects again: by then its session may be over. */
const TAIL_MS = 120_000
/** How soon a tail ends when the service stops. */
const LOOK_MS = 1000

/** Serves what lasts: the export of a list of traces, and the events of traces that change. */
export function traceStreamRoutes(deps: WebDeps): Hono<SignedIn> {
  const room = createRoom(deps)
  const exports = createSeats(EXPORTS, 'exports')
  const tails = createSeats(TAILS, 'live lists')

  room.page('viewer', '/trace-export', async (c) => {
    const reader = readerOf(c, deps)
    const query = readListQuery(new URL(c.req.url).searchParams)
    const filter = await readFilter(deps.sql, c.var.session.user.organizationId, query)
    const leave = exports.take()
    const lines = exportTraces(reader, filter)
    // A filter that makes no sense is an error page rather than half a download.
    const first = await lines.next().catch((thrown: unknown) => {
      leave()
      throw thrown
    })
    return stream(prepend(first.value, lines), {
      type: 'application/x-ndjson',
      name: `traces-${new Date().toISOString().slice(0, 10)}.ndjson`,
      log: deps.log,
      onEnd: leave,
    })
  })

  room.page('viewer', '/trace-events', async (c) => {
    const reader = readerOf(c, deps)
    const leave = tails.take()
    const over = new AbortController()
    const ends = performance.now() + TAIL_MS
    const look = setInterval(() => {
      if (deps.isDraining() || performance.now() > ends) over.abort()
    }, LOOK_MS).unref()
    const onEnd = (): void => {
      clearInterval(look)
      over.abort()
      leave()
    }
    try {
      const { body } = await reader.tail(c.req.header('last-event-id'), over.signal)
      const type = 'text/event-stream'
      return stream(untilAborted(body, over.signal), { type, log: deps.log, onEnd })
    } catch (thrown) {
      onEnd()
      throw thrown
    }
  })

  return room.routes
}

interface Seats {
  /** Returns what gives the seat back, once. Raises `unavailable` when all are taken. */
  take(): () => void
}

function createSeats(max: number, what: string): Seats {
  let taken = 0
  return {
    take() {
      if (taken >= max) {
        throw new AppError('unavailable', `There are ${max} ${what} under way; try again.`, {
          headers: { 'retry-after': '5' },
        })
      }
      taken++
      let isTaken = true
      return () => {
        if (isTaken) taken--
        isTaken = false
      }
    },
  }
}

interface Streamed {
  readonly type: string
  /** The name of the file, for what is saved. */
  readonly name?: string
  readonly log: Log
  readonly onEnd: () => void
}

type Parts = AsyncGenerator<string | Uint8Array, void, undefined>

function stream(parts: Parts, { type, name, log, onEnd }: Streamed): Response {
  const body = toByteStream(parts, {
    timeoutMs: READ_MS,
    isForEachPiece: true,
    onEnd(failure) {
      onEnd()
      if (failure) log.warn({ message: failure.message }, 'a stream of traces was cut off')
    },
  })
  const headers = new Headers({ 'content-type': type, 'x-accel-buffering': 'no' })
  if (name !== undefined) headers.set('content-disposition', `attachment; filename="${name}"`)
  return new Response(body, { headers })
}

async function* prepend(first: string | Uint8Array | void, rest: Parts): Parts {
  if (first !== undefined) yield first
  yield* rest
}

/** The end of a tail is no failure: its reader connects again. */
async function* untilAborted(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of body ?? []) yield chunk
  } catch (thrown) {
    if (!signal.aborted) throw thrown
  }
}
