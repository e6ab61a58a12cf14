import type { RunEvent } from '../../../platform/runs/run-events.ts'
import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { toTextMessage } from '../../run-texts/queue-texts.ts'
import type { TextQueue } from '../../run-texts/queue-texts.ts'
import { PAGE_EVENTS } from './event-page.ts'
import type { Follower } from './run-watch.ts'

/** The headers of a stream of events. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  // Proxies of nginx's kind would keep the events back to fill their buffers.
  'x-accel-buffering': 'no',
}

const encoder = new TextEncoder()
/** Shorter than the idle limits of usual proxies. */
const HEARTBEAT_MS = 15_000
/** The pause of a client before it connects again. */
const RETRY_MS = 5000
/** Then the client connects again, and its token is checked again. */
const STREAM_MS_MAX = 900_000

/** A stream of a run's events, and the means to write it. */
interface EventStream {
  readonly log: Log
  readonly runId: string
  /** The number of the last event that the client has. */
  readonly after: number
  readonly follower: Follower
  /** @default what models write is told once it is whole */
  readonly texts?: TextQueue | undefined
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal
}

/**
 * Writes the events of a run as server-sent events, up to the end of the run. They carry no name,
 * so that a client hears of every type; `type` is in the data.
 */
export function streamEvents(stream: EventStream): ReadableStream<Uint8Array> {
  const closed = new AbortController()
  const chunks = writeEvents(stream, closed.signal)
  const close = (): void => {
    closed.abort()
    leave(stream)
  }
  stream.gone.addEventListener('abort', close, { once: true })
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
      },
      async cancel() {
        close()
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
}

const leave = ({ follower, texts }: EventStream): void => {
  follower.leave()
  texts?.leave()
}

async function* writeEvents(
  stream: EventStream,
  signal: AbortSignal,
): AsyncGenerator<string | Uint8Array, void> {
  const { log, runId, follower } = stream
  const endAt = performance.now() + STREAM_MS_MAX
  const news = followNews(stream, signal)
  let { after } = stream
  try {
    yield `retry: ${RETRY_MS}\n\n`
    while (!signal.aborted && !follower.isStopping() && performance.now() < endAt) {
      const page = await follower.read(after)
      if (page.events.length > 0) yield page.bytes
      after = page.events.at(-1)?.number ?? after
      if (page.isOver) return
      news.skipEnded(page.events)
      if (page.events.length === 0) yield ': still here\n\n'
      if (page.events.length < PAGE_EVENTS) yield* news.texts()
    }
  } catch (thrown) {
    // The client connects again and goes on where it was.
    log.warn({ kickoff_id: runId, reason: toError(thrown).message }, 'a stream of events broke off')
  } finally {
    leave(stream)
  }
}

/** What comes between two looks at the events. */
function followNews({ follower, texts }: EventStream, signal: AbortSignal) {
  const ended = new Set<unknown>()
  return {
    /** Takes note of the answers that the client has as a whole. */
    skipEnded(events: readonly RunEvent[]): void {
      for (const { event } of events) if (event.type === 'llm_call') ended.add(event['step'])
    },
    /** Yields texts until there are new events, or a heartbeat is due. */
    async *texts(): AsyncGenerator<string, void> {
      const over = new AbortController()
      const change = follower.changed(HEARTBEAT_MS, signal).then(() => over.abort())
      if (!texts) return change
      for (;;) {
        // One that comes late, after the event that has all of it, is of no use.
        const current = texts.take().filter(({ step }) => !ended.has(step))
        yield* current.map(toTextMessage)
        if (over.signal.aborted) return
        await texts.arrival(HEARTBEAT_MS, over.signal)
      }
    },
  }
}
