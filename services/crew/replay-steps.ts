import * as v from 'valibot'
import type { CrewFailure, RecordedAnswer } from '../platform/crew-contract/crew-protocol.ts'
import { stepKey } from '../platform/crew-contract/step-key.ts'
import { requestDigest } from '../platform/crew-contract/step-request.ts'
import type { StepRequest } from '../platform/crew-contract/step-request.ts'
import { AppError } from '../shared/errors.ts'
import { trackOpenSteps } from './open-steps.ts'
import type { ActContext, Channel, Step, Steps } from './steps.ts'

interface Replay {
  readonly answers: readonly RecordedAnswer[]
  readonly channel: Pick<Channel, 'write'>
  readonly signal: AbortSignal
  /** Aborts when the replay is to be handed over. */
  readonly stopping: AbortSignal
}

/**
 * Begins the steps of a run that is performed again: whoever is asked answers from the record, and
 * is never really asked. A request that the record does not have is reported, and ends the run.
 */
export function createReplaySteps({ answers, channel, signal, stopping }: Replay): Steps {
  const open = trackOpenSteps()
  const handOver = new Error('the replay ends')
  const halting = new AbortController()
  const find = openRecord(answers)

  function answer<Result>(step: Step<Result>, request: StepRequest): Result {
    const { kind, name, path } = step
    const place = find(step, requestDigest(request))
    const found = place === undefined ? undefined : answers[place]
    if (place === undefined || !found) {
      channel.write({ type: 'replay_diverged', at: now(), kind, name, path: [...path], request })
      const message = `The record has no answer to what ${name} is asked at ${path.join(' / ')}.`
      throw failure({ code: 'replay_diverged', message })
    }
    channel.write({ type: 'replay_answered', at: now(), answer: place })
    if (found.usage) open.use(path, found.usage)
    if (found.error) throw failure(found.error)
    return step.schema ? v.parse(step.schema, found.result) : (found.result as Result)
  }

  const steps: Steps = {
    async perform<Result>(
      step: Step<Result>,
      act: (context: ActContext) => Promise<Result>,
    ): Promise<Result> {
      signal.throwIfAborted()
      if (stopping.aborted || halting.signal.aborted) throw handOver
      const key = stepKey('', step.path)
      const self = open.enter(key, step.path)
      try {
        if (step.request) return answer(step, step.request)
        // It asks nobody but by steps of its own.
        const context = { signal, step: key, parent: undefined, idempotencyKey: key }
        return await act({ ...context, use: () => {} })
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
