import type { CrewEvent, TextDelta } from '../platform/crew-contract/crew-protocol.ts'
import { deadline } from '../shared/deadline.ts'
import { toError } from '../shared/errors.ts'
import { createCommits } from './commits.ts'
import type { Commits } from './commits.ts'
import type { Channel } from './steps.ts'

/** The time that a worker has to commit the last event. */
const LAST_ACK_MS = 10_000

interface EventStreamOptions {
  /** Performs the run; the signal aborts when the reader closes the stream. */
  readonly run: (channel: Channel, signal: AbortSignal) => Promise<void>
  readonly heartbeatMs: number
  /** Aborts when the process stops: the reader is notified, and the run goes on until it ends. */
  readonly draining?: AbortSignal | undefined
  /** Follows what the reader says; until it ends, nothing counts as committed by itself. */
  readonly follow?: ((commits: Commits, signal: AbortSignal) => Promise<void>) | undefined
  /** Called once, however the run ends. */
  readonly onEnd: (end: RunEnd) => void
}

interface RunEnd {
  /**
   * The end of the run: the last event's kind, or `abandoned` when the reader closed the stream.
   */
  readonly outcome: string
  readonly duration_ms: number
  readonly error?: string | undefined
}

/** The events of a run as lines of JSON, with a heartbeat line whenever the reader waits. */
export function streamEvents(options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { run, heartbeatMs, draining, follow } = options
  const gone = new AbortController()
  const leave = (why: string): void => gone.abort(new Error(why))
  const started = performance.now()
  const end = (outcome: string, error?: string): void =>
    options.onEnd({ outcome, duration_ms: Math.round(performance.now() - started), error })
  return new ReadableStream({
    async start(controller) {
      const lines = writeLines(controller, gone.signal)
      const commits = createCommits(gone.signal)
      const channel: Channel = {
        write: (event) => lines.write(event),
        tell: (delta) => lines.tell(delta),
        committed: async (seq) => (follow ? commits.until(seq) : undefined),
      }
      const followed = follow?.(commits, gone.signal).catch((thrown: unknown) => {
        if (!lines.isOver()) leave(`The worker cannot be heard: ${toError(thrown).message}`)
      })
      const timer = setInterval(() => beat(controller), heartbeatMs)
      const tellStop = (): void => void lines.write({ type: 'crew_stopping', at: now() })
      draining?.addEventListener('abort', tellStop)
      const unforeseen = await run(channel, gone.signal).catch((thrown: unknown) => {
        if (gone.signal.aborted) return undefined
        lines.write({ type: 'failed', at: now(), error: UNFORESEEN })
        return toError(thrown).stack
      })
      clearInterval(timer)
      draining?.removeEventListener('abort', tellStop)
      const last = lines.end()
      if (gone.signal.aborted) return end('abandoned')
      end(last?.event.type ?? 'failed', unforeseen ?? (last && codeOf(last.event)))
      if (last && followed) await Promise.race([followed, hearOf(commits, last.seq)])
      if (!gone.signal.aborted) controller.close()
    },
    cancel: () => leave('The reader of this run closed the stream.'),
  })
}

/**
 * Waits for the last ack. A connection that is closed while the worker still writes acks is reset,
 * and what has not arrived there by then is lost.
 */
function hearOf(commits: Commits, seq: number): Promise<void> {
  const limit = { name: 'The worker', timeoutMs: LAST_ACK_MS }
  return deadline(limit, () => commits.until(seq)).catch(() => {})
}

const UNFORESEEN = {
  code: 'internal',
  message: 'Something went wrong inside the crew; its log has the details.',
}

const codeOf = (event: CrewEvent): string | undefined =>
  event.type === 'failed' ? event.error.code : undefined

type Controller = ReadableStreamDefaultController<Uint8Array>

/**
 * Writes numbered events. Those of one turn of the event loop go out as one piece, which the worker
 * commits at once: the end of a task, and the start of the next one with its first call.
 */
function writeLines(controller: Controller, gone: AbortSignal) {
  let seq = 0
  let waiting = ''
  let last: { readonly seq: number; readonly event: CrewEvent } | undefined
  let isOver = false
  function flush(): void {
    if (waiting !== '' && !gone.aborted) controller.enqueue(encoder.encode(waiting))
    waiting = ''
  }
  function push(line: object): void {
    if (waiting === '') setImmediate(flush)
    waiting += `${JSON.stringify(line)}\n`
  }
  return {
    isOver: () => isOver,
    write(event: CrewEvent): number {
      seq += 1
      if (isOver) return seq
      push({ ...event, seq })
      last = { seq, event }
      return seq
    },
    /** What nobody keeps has no number; a reader that does not read needs none of it. */
    tell(delta: TextDelta): void {
      if (!isOver && (controller.desiredSize ?? 0) > 0) push(delta)
    },
    /** Writes no more; returns the last event. */
    end(): typeof last {
      isOver = true
      flush()
      return last
    },
  }
}

function beat(controller: Controller): void {
  // A reader that does not read needs no more lines.
  if ((controller.desiredSize ?? 0) <= 0) return
  controller.enqueue(encoder.encode(`${JSON.stringify({ type: 'heartbeat', at: now() })}\n`))
}

const now = (): string => new Date().toISOString()
const encoder = new TextEncoder()
