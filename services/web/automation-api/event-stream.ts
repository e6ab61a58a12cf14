import { readEvents } from '../../platform/run-events.ts'
import type { RunEvent } from '../../platform/run-events.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { Follower } from './run-watch.ts'

const PAGE_EVENTS = 100
/** Shorter than the idle limits of usual proxies. */
const HEARTBEAT_MS = 15_000
/** The pause of a client before it connects again. */
const RETRY_MS = 5000
/** Then the client connects again, and its token is checked again. */
const STREAM_MS_MAX = 900_000

/** A stream of a run's events, and the means to write it. */
export interface EventStream {
  readonly sql: Database
  readonly log: Log
  readonly runId: string
  /** The number of the last event that the client has. */
  readonly after: number
  readonly follower: Follower
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal
}

/** An event as callers see it: its number is its id. */
export const toWire = ({ number, attempt, event }: RunEvent) => ({ id: number, attempt, ...event })

/**
 * Writes the events of a run as server-sent events, up to the end of the run. They carry no name,
 * so that a client hears of every type; `type` is in the data.
 */
export function streamEvents(stream: EventStream): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const closed = new AbortController()
  const chunks = writeEvents(stream, closed.signal)
  const close = (): void => {
    closed.abort()
    stream.follower.leave()
  }
  stream.gone.addEventListener('abort', close, { once: true })
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        close()
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
}

async function* writeEvents(
  { sql, log, runId, follower, ...stream }: EventStream,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const endAt = performance.now() + STREAM_MS_MAX
  let { after } = stream
  try {
    yield `retry: ${RETRY_MS}\n\n`
    while (!signal.aborted && !follower.isStopping() && performance.now() < endAt) {
      const page = await readEvents(sql, runId, { after, limit: PAGE_EVENTS })
      for (const each of page.events) yield toMessage(each)
      after = page.events.at(-1)?.number ?? after
      if (page.isOver) return
      if (page.events.length === 0) yield ': still here\n\n'
      if (page.events.length < PAGE_EVENTS) await follower.changed(HEARTBEAT_MS, signal)
    }
  } catch (thrown) {
    // The client connects again and goes on where it was.
    log.warn({ kickoff_id: runId, reason: toError(thrown).message }, 'a stream of events broke off')
  } finally {
    follower.leave()
  }
}

const toMessage = (event: RunEvent): string =>
  `id: ${event.number}\ndata: ${JSON.stringify(toWire(event))}\n\n`
