import * as v from 'valibot'
import type {
  CrewFailure,
  RecordedAnswer,
  StepUsage,
} from '../platform/crew-contract/crew-protocol.ts'
import { stepKey } from '../platform/crew-contract/step-key.ts'
import { requestDigest } from '../platform/crew-contract/step-request.ts'
import type { StepRequest } from '../platform/crew-contract/step-request.ts'
import { AppError } from '../shared/errors.ts'
import { trackOpenSteps } from './open-steps.ts'
import type { ActContext, Channel, Step, Steps } from './steps.ts'

interface Replay {
  readonly answers: readonly RecordedAnswer[]
  /** Models are asked what the record does not answer. */
  readonly live?: boolean | undefined
  readonly channel: Pick<Channel, 'write' | 'committed'>
  readonly signal: AbortSignal
  /** Aborts when the replay is to be handed over. */
  readonly stopping: AbortSignal
}

/**
 * Begins the steps of a run that is performed again: whoever is asked answers from the record, and
 * is never really asked. A request that the record does not have is reported, and ends the run, but
 * for one to a model in a live replay.
 */
export function createReplaySteps(replay: Replay): Steps {
  const { answers, channel, signal, stopping } = replay
  const open = trackOpenSteps()
  const handOver = new Error('the replay ends')
  const halting = new AbortController()
  const find = openRecord(answers)

  const refuseToStart = (): void => {
    signal.throwIfAborted()
    if (stopping.aborted || halting.signal.aborted) throw handOver
  }

  function recorded<Result>(step: Step<Result>, place: number, found: RecordedAnswer): Result {
    channel.write({ type: 'replay_answered', at: now(), answer: place })
    if (found.usage) open.use(step.path, found.usage)
    if (found.error) throw failure(found.error)
    return step.schema ? v.parse(step.schema, found.result) : (found.result as Result)
  }

  const steps: Steps = {
    async perform<Result>(
      step: Step<Result>,
      act: (context: ActContext) => Promise<Result>,
    ): Promise<Result> {
      refuseToStart()
      const key = stepKey('', step.path)
      const self = open.enter(key, step.path)
      try {
        const { request, path } = step
        const use = (usage: StepUsage): void => open.use(path, usage)
        const context = { signal, step: key, parent: undefined, idempotencyKey: key, use }
        // It asks nobody but by steps of its own.
        if (!request) return await act({ ...context, use: () => {} })
        const place = find(step, requestDigest(request))
        const found = place === undefined ? undefined : answers[place]
        if (place !== undefined && found) return recorded(step, place, found)
        await diverge(replay, step, request)
        refuseToStart()
        return await act(context)
      } finally {
        open.leave(self)
      }
    },
    isRecorded: () => false,
    // What took too long did so in the record.
    within: () => steps,
    wait: async () => {},
    report: (event) => void channel.write(event),
    reportText: () => undefined,
    usage: () => open.usage(),
    park() {
      throw new Error('a person is asked by a request, which a replay answers')
    },
    askedBy: () => undefined,
    halt: () => halting.abort(),
    isHandOver: (thrown) => thrown === handOver,
    settle: () => open.settle(),
  }
  return steps
}

/**
 * Says that the record has no answer. Resolves once the worker has heard that a model is to be
 * asked, which it may refuse; raises `replay_diverged` for all that is not asked.
 */
async function diverge(
  { live = false, channel }: Replay,
  { kind, name, path, estimate }: Step<unknown>,
  request: StepRequest,
): Promise<void> {
  const told = { at: now(), kind, name, path: [...path] }
  const event = { ...told, type: 'replay_diverged' as const, request }
  if (live && kind === 'llm') {
    await channel.committed(channel.write({ ...event, asks: true, estimate }))
    return
  }
  channel.write(event)
  const message = `The record has no answer to what ${name} is asked at ${path.join(' / ')}.`
  throw failure({ code: 'replay_diverged', message })
}

const now = (): string => new Date().toISOString()

/** Makes the error that fails the run, with a code that a record may have of any crew. */
const failure = ({ code, message }: CrewFailure): AppError =>
  new AppError('unprocessable', message, { details: { failure: code } })

/**
 * Returns what finds the place of an answer to a request: the one of the same path, else the first
 * that was not taken yet, else the last.
 */
function openRecord(answers: readonly RecordedAnswer[]) {
  const places = new Map<string, number[]>()
  for (const [place, { kind, request_sha256: digest }] of answers.entries()) {
    const key = `${kind} ${digest}`
    places.set(key, [...(places.get(key) ?? []), place])
  }
  const taken = new Set<number>()
  return function find({ kind, path }: Step<unknown>, digest: string): number | undefined {
    const known = places.get(`${kind} ${digest}`) ?? []
    const at = path.join('/')
    const found =
      known.find((place) => !taken.has(place) && answers[place]?.path.join('/') === at) ??
      known.find((place) => !taken.has(place)) ??
      known.at(-1)
    if (found !== undefined) taken.add(found)
    return found
  }
}
