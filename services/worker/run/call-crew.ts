import { parseCrewEvent } from '../../platform/crew-contract/crew-event.ts'
import type { OtherEvent } from '../../platform/crew-contract/crew-event.ts'
import { LINE_CHARACTERS_MAX, SILENCE_MS } from '../../platform/crew-contract/crew-protocol.ts'
import type { CrewEvent, TextDelta } from '../../platform/crew-contract/crew-protocol.ts'
import { toError } from '../../shared/errors.ts'
import { readLineBatches } from '../../shared/http/read-lines.ts'
import { DRAINED, HANDED_OVER } from './ending.ts'
import type { Ending } from './ending.ts'
import { openCrew } from './open-crew.ts'
import type { CrewCall, CrewStream } from './open-crew.ts'
import { openCommits } from './open-commits.ts'

/** Far beyond the events of a list of 10,000 items, with some ten calls each. */
const EVENTS_MAX = 1_000_000
/** The time that a crew which is being replaced has, to be there again. */
const REPLACED_DELAY_SECONDS = 2

/** The time for a crew that answers too late, before the run is offered to it again. */
const SLOW_DELAY_SECONDS = 30

/** Without a reason, each abort makes an error of its own. */
const ENDED = new Error('the call has ended')

/** An event that a worker keeps: all but heartbeats, and texts that are still being written. */
export type KeptEvent = Exclude<CrewEvent, TextDelta> | OtherEvent

/** The call of a crew, and who hears what it reports. */
interface FollowedCall extends CrewCall {
  /**
   * Commits events after those of earlier calls, which may still go on. Returns why the crew has to
   * end after the calls in flight, if so: no step may begin any more.
   */
  readonly onEvents: (events: readonly KeptEvent[]) => Promise<string | undefined>
  /** Called with the way to tell a crew that takes lines more; the signal aborts at the end. */
  readonly onOpen?: (tell: CrewStream['tell'], ended: AbortSignal) => void
  /** Called with each part of a text that a model is writing. */
  readonly onText?: (delta: TextDelta) => void
  /** @default 30_000 */
  readonly silenceMs?: number | undefined
}

/**
 * Runs a kickoff on a crew and follows it to its end. A stream that breaks off is `retried`, unless
 * the crew had announced that it was being replaced: then it is `released`, as is a kickoff that a
 * crew did not answer in time. Raises the reason of the signal, and the errors of `onEvents`.
 */
export async function callCrew(call: FollowedCall): Promise<Ending> {
  const opened = await openCrew(call)
  if ('isPaused' in opened) return DRAINED
  if (!opened.ok) {
    const { failure, isSlow } = opened
    if (!isSlow) return { outcome: 'error', failure }
    return { outcome: 'released', failure, delaySeconds: SLOW_DELAY_SECONDS }
  }
  const { stream } = opened
  const stop = (): void => stream.tell({ stop: true })
  const ended = new AbortController()
  if (stream.isJournaled) call.onOpen?.(stream.tell, ended.signal)
  call.pause.addEventListener('abort', stop, { once: true })
  if (call.pause.aborted) stop()
  try {
    return await follow(call, stream)
  } finally {
    ended.abort(ENDED)
    call.pause.removeEventListener('abort', stop)
    stream.close()
  }
}

async function follow(call: FollowedCall, stream: CrewStream): Promise<Ending> {
  const { url, silenceMs = SILENCE_MS } = call
  const commits = openCommits<KeptEvent, string | undefined>({
    commit: call.onEvents,
    onCommitted(events, reason) {
      // Before the ack: whoever waits for it may not act any more.
      if (reason !== undefined) stream.tell({ stop: true, reason })
      if (stream.isJournaled) acknowledge(stream, events)
    },
  })
  const signal = AbortSignal.any([call.signal, commits.failed])
  const limits = { charactersMax: LINE_CHARACTERS_MAX, silenceMs, signal }
  const batches = eventBatches(readLineBatches(stream.body, limits), call.onText)
  let isStopping = false
  try {
    for (let seen = 0; seen <= EVENTS_MAX;) {
      const next = await nextBatch(batches, signal)
      if (typeof next === 'string') {
        await commits.settle()
        return isStopping ? interrupted(url) : broken(url, next)
      }
      const { events, characters } = next
      isStopping ||= events.some(({ type }) => type === 'crew_stopping')
      seen += events.length
      if (events.length > 0) await commits.add(events, characters)
      const ending = events.map(endingOf).find((each) => each !== undefined)
      if (ending) {
        await commits.settle()
        stream.end()
        return ending
      }
    }
    await commits.settle()
    return broken(url, `it reported more than ${EVENTS_MAX} events`)
  } finally {
    await batches.return(undefined)
  }
}

/** Tells the crew that these events are committed. */
function acknowledge({ tell }: CrewStream, events: readonly KeptEvent[]): void {
  const ack = events.findLast(({ seq }) => seq !== undefined)?.seq
  if (ack !== undefined) tell({ ack })
}

/** Events that arrived together, and the length of their lines. */
interface EventBatch {
  readonly events: readonly KeptEvent[]
  readonly characters: number
}

async function* eventBatches(
  batches: AsyncIterable<readonly string[]>,
  onText?: (delta: TextDelta) => void,
): AsyncGenerator<EventBatch> {
  for await (const lines of batches) {
    const events = lines.map(parseCrewEvent).filter((event): event is KeptEvent => {
      if (event.type === 'text_delta') onText?.(event)
      return event.type !== 'text_delta' && event.type !== 'heartbeat'
    })
    yield { events, characters: lines.reduce((sum, { length }) => sum + length, 0) }
  }
}

/** Returns the next events, or why there are none. */
async function nextBatch(
  batches: AsyncGenerator<EventBatch>,
  signal: AbortSignal,
): Promise<EventBatch | string> {
  try {
    const { done, value } = await batches.next()
    signal.throwIfAborted()
    return done ? 'the connection ended' : value
  } catch (thrown) {
    signal.throwIfAborted()
    const { message, cause } = toError(thrown)
    return cause instanceof Error ? `${message} (${cause.message})` : message
  }
}

function broken(url: string, why: string): Ending {
  const message =
    `The crew at ${new URL(url).host} was lost in the middle of the run: ${why}. ` +
    'Look at the log of its pod.'
  return { outcome: 'retried', failure: { code: 'crew_lost', message } }
}

function interrupted(url: string): Ending {
  const message = `The crew at ${new URL(url).host} was replaced in the middle of the run.`
  const failure = { code: 'crew_replaced', message }
  return { outcome: 'released', failure, delaySeconds: REPLACED_DELAY_SECONDS }
}

/** Returns the ending that an event announces, if it is the last one of its run. */
export function endingOf(event: CrewEvent | OtherEvent): Ending | undefined {
  if (event.type === 'handed_over') return HANDED_OVER
  if (event.type === 'approval_requested') {
    const { step, task, output, call } = event
    return { outcome: 'waiting', approval: { step, task, output, call } }
  }
  if (event.type === 'run_requested') {
    const { step, automation, inputs } = event
    return { outcome: 'waiting', call: { step, automation, inputs } }
  }
  if (event.type === 'failed') return { outcome: 'error', failure: event.error }
  if (event.type !== 'crew_completed') return undefined
  const { output, usage } = event
  const tokens = { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }
  return { outcome: 'completed', output, usage: tokens }
}
