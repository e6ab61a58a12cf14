import type { CrewEvent } from '../../platform/crew-contract/crew-protocol.ts'
import type { OtherEvent } from '../../platform/crew-contract/crew-event.ts'
import { shownPath } from '../../platform/crew-contract/step-key.ts'
import type { ReplayedStep, ReplayResult } from '../../platform/replays/replay-queue.ts'
import type { RecordedRun } from '../../platform/replays/run-record.ts'
import type { Failure, Usage } from '../../platform/runs/runs.ts'
import type { Ending } from '../run/ending.ts'

type Diverged = Extract<CrewEvent, { type: 'replay_diverged' }>

/** What a crew said of a replay. */
export interface Heard {
  /** The places of the answers that it took. */
  readonly answered: ReadonlySet<number>
  readonly diverged: readonly Diverged[]
  /** The crew itself ended the run with a failure. */
  readonly isFailed: boolean
}

/** Listens to the crew of a replay. */
export function openVerdict() {
  const heard = { answered: new Set<number>(), diverged: [] as Diverged[], isFailed: false }
  return {
    heard: heard as Heard,
    hear(event: CrewEvent | OtherEvent): void {
      if (event.type === 'replay_answered') heard.answered.add(event.answer)
      if (event.type === 'replay_diverged') heard.diverged.push(event)
      if (event.type === 'failed') heard.isFailed = true
    },
  }
}

type Ended = Exclude<Ending, { outcome: 'waiting' }>

/** What was heard of a run, and why the worker ended it, if it did. */
interface Listened {
  readonly heard: Heard
  readonly why?: string | undefined
}

/** Compares a run with its record: the first step that differs comes before how it ended. */
export function judge(record: RecordedRun, ending: Ended, listened: Listened): ReplayResult {
  const { heard, why } = listened
  const output = ending.outcome === 'completed' ? ending.output : undefined
  const usage = ending.outcome === 'completed' ? toStepUsage(ending.usage) : undefined
  const difference = divergence(record, heard) ?? otherEnd(record, ending, heard)
  const found = { output, usage, ...difference }
  if (!difference) return { state: 'equal', ...found }
  if (!heard.diverged.some(({ asks }) => asks)) return { state: 'different', ...found }
  const reason = `${difference.reason} ${why ?? endOf(record, ending, heard)}`
  return { state: 'different', ...found, reason }
}

const toStepUsage = ({ inputTokens, outputTokens }: Usage) => ({
  input_tokens: inputTokens,
  output_tokens: outputTokens,
})

type Difference = Pick<ReplayResult, 'reason' | 'step' | 'recordedRequest' | 'request'>

/** Says how a run ended whose models were asked what the record does not answer. */
function endOf(record: RecordedRun, ending: Ended, { diverged }: Heard): string {
  const refused = diverged.find(({ asks }) => !asks)
  if (refused) {
    const at = `${refused.name} is asked at ${shownPath(refused.path)}`
    return `Then ${at}, which the record does not answer: it was not called, and the run ended.`
  }
  if (ending.outcome !== 'completed') return `It failed then: ${ending.failure.message}`
  return record.output === ending.output ? 'The output is the same.' : 'The outputs differ.'
}

/** Of several at a time, the one that the record has first. */
function divergence(record: RecordedRun, { answered, diverged }: Heard): Difference | undefined {
  const placed = diverged.map((event) => {
    const { kind, path } = event
    const of = record.answers.map((each, at) => ({ ...each, at, near: nearness(each.path, path) }))
    const others = of.filter((each) => each.kind === kind)
    const same = others.find(({ near }) => near === Infinity)?.at ?? -1
    const open = others.filter(({ at }) => !answered.has(at))
    const [nearest] = open.toSorted((a, b) => b.near - a.near || a.at - b.at)
    return { event, same, place: same >= 0 ? same : (nearest?.at ?? -1) }
  })
  const [first] = placed.toSorted((a, b) => orderOf(a.same) - orderOf(b.same))
  if (!first) return undefined
  const { kind, name, path, request } = first.event
  const recorded = record.places[first.place]?.request ?? undefined
  const reason =
    first.place < 0
      ? `${name} is asked at ${shownPath(path)}, and the record has nothing like it.`
      : `${name} is asked something else at ${shownPath(path)}.`
  return { reason, step: { kind, name, path }, recordedRequest: recorded, request }
}

/** How many keys two paths begin with in common; infinite for the same path. */
function nearness(one: readonly string[], other: readonly string[]): number {
  const differs = one.findIndex((key, index) => key !== other[index])
  if (differs >= 0) return differs
  return one.length === other.length ? Infinity : one.length
}

const orderOf = (place: number): number => (place >= 0 ? place : Infinity)

/** Programs that know no codes of their own say in the message what failed. */
const isSameFailure = (recorded: Failure | null, { code, message }: Failure): boolean =>
  recorded?.code === code && (code !== 'crew_failed' || recorded.message === message)

function otherEnd(record: RecordedRun, ending: Ended, heard: Heard): Difference | undefined {
  if (ending.outcome !== 'completed') {
    // What runs beside a failure ends sooner or later: it does not have to be asked again.
    if (isSameFailure(record.error, ending.failure)) return undefined
    return { reason: `It failed: ${ending.failure.message}` }
  }
  if (record.output === null) {
    return { reason: `It completed. The recorded run failed: ${record.error?.message ?? ''}` }
  }
  const unasked = record.answers.findIndex((_, place) => !heard.answered.has(place))
  const answer = record.answers[unasked]
  const place = record.places[unasked]
  if (answer && place) {
    const { kind, path } = answer
    const step: ReplayedStep = { kind, name: place.name, path }
    const reason = `${place.name} is not asked any more at ${shownPath(path)}.`
    return { reason, step, recordedRequest: place.request ?? undefined }
  }
  return record.output === ending.output ? undefined : { reason: 'The outputs differ.' }
}
