import type { CrewEvent } from '../platform/crew-contract/crew-protocol.ts'
import type { Attempt, HeardLine } from './attempt.ts'

/** What an attempt is held against. */
interface Expected {
  /** The crew has the capability `journal`. */
  readonly isJournaled: boolean
  /** The keys of the steps that the kickoff's journal had. */
  readonly recorded?: ReadonlySet<string>
  /** Texts that no event may hold. */
  readonly secrets?: readonly string[]
}

const PROBLEMS_MAX = 10
/** What nobody keeps. */
const UNNUMBERED: ReadonlySet<string> = new Set(['heartbeat', 'text_delta'])
const LAST: ReadonlySet<string> = new Set([
  'crew_completed',
  'failed',
  'handed_over',
  'approval_requested',
  'run_requested',
])

/** The event with which an attempt ended, if it did. */
export function endOf({ lines }: Attempt): CrewEvent | undefined {
  const event = lines.findLast((line) => line.event && LAST.has(line.event.type))?.event
  return event?.type === 'other' ? undefined : event
}

/** The rules for events that an answer breaks: where, and what is asked for. */
export function problemsOf(attempt: Attempt, expected: Expected): string[] {
  const refused = refusalOf(attempt)
  if (refused !== undefined) return [refused]
  const problems = [
    ...attempt.lines.flatMap(({ number, problem }) =>
      problem === undefined ? [] : [`Line ${number}: ${problem}.`],
    ),
    ...orderProblems(attempt, expected),
    ...stepProblems(attempt, expected),
    ...taskProblems(attempt),
    ...secretProblems(attempt, expected),
    ...endProblems(attempt),
  ]
  const left = problems.length - PROBLEMS_MAX
  return left > 0 ? [...problems.slice(0, PROBLEMS_MAX), `… and ${left} more.`] : problems
}

function refusalOf({ status, contentType, cut }: Attempt): string | undefined {
  if (status === 0) return cut
  if (status !== 200) {
    return `It answers HTTP ${status} ${cut} to a kickoff that is in order: 200 is asked for.`
  }
  if (contentType.startsWith('application/x-ndjson')) return undefined
  const type = contentType === '' ? 'no content-type' : `the content-type "${contentType}"`
  return `The answer has ${type}: "application/x-ndjson" is asked for.`
}

function orderProblems({ lines }: Attempt, { isJournaled }: Expected): string[] {
  const said = lines.filter(({ event }) => event !== undefined && !UNNUMBERED.has(event.type))
  const [first] = said
  const problems =
    first && first.event?.type !== 'crew_started'
      ? [`Line ${first.number}: the first event is ${typeOf(first)}; it has to be crew_started.`]
      : []
  let last = 0
  for (const line of said) {
    const seq = line.event?.seq
    if (seq === undefined && !isJournaled) continue
    if (seq !== last + 1) {
      const number = seq === undefined ? 'no seq' : `seq ${seq}`
      problems.push(
        `Line ${line.number}: ${typeOf(line)} has ${number}; ` +
          `it has to be ${last + 1}: events are numbered 1, 2, … within the attempt.`,
      )
    }
    last = seq ?? last + 1
  }
  return problems
}

const typeOf = ({ event }: HeardLine): string =>
  event?.type === 'other' ? event.event.type : (event?.type ?? 'no event')

function stepProblems({ lines }: Attempt, { recorded = new Set<string>() }: Expected): string[] {
  const steps: Steps = { recorded, open: new Set(), ended: new Set() }
  const problems = lines.flatMap(({ number, event }) =>
    stepProblemsOf(event, steps).map((problem) => `Line ${number}: ${problem}`),
  )
  const isDone = lines.some(({ event }) => event?.type === 'crew_completed')
  const left = isDone ? [...steps.open] : []
  return [...problems, ...left.map((step) => `The step ${step} never ended, but the run did.`)]
}

interface Steps {
  readonly recorded: ReadonlySet<string>
  readonly open: Set<string>
  readonly ended: Set<string>
}

function stepProblemsOf(event: HeardLine['event'], steps: Steps): string[] {
  if (event?.type === 'step_started') return startProblems(event, steps)
  if (event?.type !== 'step_finished' && event?.type !== 'step_failed') return []
  if (event.type === 'step_finished') steps.ended.add(event.step)
  return steps.open.delete(event.step)
    ? []
    : [`${event.type} of ${event.step}, which had not started in this attempt.`]
}

type StepStarted = Extract<CrewEvent, { type: 'step_started' }>

function startProblems({ step, parent }: StepStarted, { recorded, open, ended }: Steps): string[] {
  const problems = [
    ...(recorded.has(step)
      ? [`the step ${step} starts again; the journal has its result, to be taken.`]
      : []),
    ...(open.has(step) ? [`the step ${step} starts a second time before it ended.`] : []),
    ...(ended.has(step) ? [`the step ${step} starts again after it had finished.`] : []),
    ...(parent !== undefined && !open.has(parent)
      ? [`the parent ${parent} of the step ${step} is not a step in progress.`]
      : []),
  ]
  open.add(step)
  return problems
}

function taskProblems({ lines }: Attempt): string[] {
  const open = new Set<string>()
  return lines.flatMap(({ number, event }) => {
    if (event?.type === 'task_started') open.add(event.task)
    if (event?.type !== 'task_completed' || open.delete(event.task)) return []
    return [`Line ${number}: task_completed of ${event.task}, which had no task_started before it.`]
  })
}

function secretProblems({ lines }: Attempt, { secrets = [] }: Expected): string[] {
  const isTold = lines.some(({ event }) => {
    const text = JSON.stringify(event) ?? ''
    return secrets.some((secret) => text.includes(secret))
  })
  return isTold ? ['An event holds a key of the kickoff. Keys and tokens are never reported.'] : []
}

function endProblems(attempt: Attempt): string[] {
  const { lines, cut } = attempt
  const index = lines.findIndex(({ event }) => event !== undefined && LAST.has(event.type))
  if (index < 0) {
    const why = cut === '' ? 'The answer ended without a last event.' : cut
    return [`${why} A run ends with one of ${[...LAST].join(', ')}.`]
  }
  const [after] = lines.slice(index + 1).filter(({ event }) => event?.type !== 'heartbeat')
  const last = lines[index]
  return after && last
    ? [`Line ${after.number}: nothing may follow ${typeOf(last)}, which is the last event.`]
    : []
}
