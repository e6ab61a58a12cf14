import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CrewEvent, RecordedStep } from '../platform/crew-contract/crew-protocol.ts'
import { acknowledge, attemptRun } from './attempt.ts'
import type { Attempt, Behaviour } from './attempt.ts'
import { endOf, problemsOf } from './rules.ts'
import type { StandInModel } from './stand-in-model.ts'

/** What the checks of a journal start from. */
export interface JournaledRun {
  /** How an attempt is made, but for its kickoff. */
  readonly common: Omit<Behaviour, 'kickoff' | 'hear'>
  /** A kickoff of a run that has not begun. */
  readonly kickoff: (id: string, journal?: readonly RecordedStep[]) => object
  readonly model: StandInModel | undefined
  readonly secrets: readonly string[]
}

type StepStarted = Extract<CrewEvent, { type: 'step_started' }>

/** How long an ack is held back, to see whether the crew waits for it. */
const WITHHELD_MS = 1000

const startsOf = ({ lines }: Attempt): StepStarted[] =>
  lines.flatMap(({ event }) => (event?.type === 'step_started' ? [event] : []))

const isAct = ({ kind }: StepStarted): boolean => kind === 'llm' || kind === 'tool'

/**
 * The journal that the next attempt of this run gets: what has finished, without the parts of
 * finished steps.
 */
export function journalOf(attempt: Attempt): RecordedStep[] {
  const starts = new Map(startsOf(attempt).map((each) => [each.step, each]))
  const finished = new Map(
    attempt.lines.flatMap(({ event }) =>
      event?.type === 'step_finished' ? [[event.step, event] as const] : [],
    ),
  )
  return [...finished].flatMap(([step, { result = null, usage }]) => {
    const start = starts.get(step)
    const isPart = start?.parent !== undefined && finished.has(start.parent)
    return start && !isPart ? [{ step, kind: start.kind, result, usage }] : []
  })
}

/** Holds back the ack of the first act, and looks whether the crew waits for it. */
export async function checkWaiting(run: JournaledRun): Promise<string[] | undefined> {
  const { common, kickoff, model, secrets } = run
  let withheld: StepStarted | undefined
  let isOver = false
  let callsBefore = 0
  const problems: string[] = []
  const attempt = await attemptRun({
    ...common,
    kickoff: kickoff(randomUUID()),
    hear(line, worker) {
      const { event } = line
      if (!withheld && event?.type === 'step_started' && isAct(event)) {
        withheld = event
        callsBefore = model?.calls() ?? 0
        void sleep(WITHHELD_MS).then(() => {
          isOver = true
          if ((model?.calls() ?? 0) > callsBefore) problems.push(tooSoon(event, 'called the model'))
          acknowledge(line, worker)
        })
        return
      }
      if (!withheld || isOver) return acknowledge(line, worker)
      if (event && 'step' in event && event.step === withheld.step) {
        problems.push(tooSoon(withheld, `reported ${event.type}`))
      }
    },
  })
  if (!withheld && endOf(attempt)) return undefined
  const expected = { isJournaled: true, secrets }
  return [...new Set(problems), ...problemsOf(attempt, expected)]
}

const tooSoon = ({ name, step }: StepStarted, act: string): string =>
  `It ${act} of the step ${name} (${step}) before its start was acknowledged. A crew waits for ` +
  'the ack of step_started before it acts, or a kill makes it pay twice.'

/** Gives half of what a run did, and then all of it, to attempts of the same run. */
export async function checkReplay(run: JournaledRun, first: Attempt): Promise<string[]> {
  const { common, kickoff, secrets } = run
  const whole = journalOf(first)
  // Without the tasks, whose parts would be left out.
  const parts = journalOf({ ...first, lines: first.lines.filter((line) => !endsTask(first, line)) })
  const half = parts.slice(0, Math.ceil(parts.length / 2))
  const problems: string[] = []
  for (const journal of [half, whole]) {
    const attempt = await attemptRun({ ...common, kickoff: kickoff(randomUUID(), journal) })
    const recorded = new Set(journal.map(({ step }) => step))
    problems.push(...problemsOf(attempt, { isJournaled: true, recorded, secrets }))
    problems.push(...differences(first, attempt, journal.length))
  }
  return problems
}

function endsTask(attempt: Attempt, { event }: Attempt['lines'][number]): boolean {
  if (event?.type !== 'step_finished') return false
  return startsOf(attempt).some(({ step, kind }) => step === event.step && kind === 'task')
}

function differences(first: Attempt, again: Attempt, recorded: number): string[] {
  const [before, after] = [endOf(first), endOf(again)]
  if (before?.type !== 'crew_completed' || !after) return []
  const run = `An attempt with ${recorded} finished steps in its journal`
  if (after.type !== before.type) return [`${run} ended with ${after.type}: crew_completed is due.`]
  if (after.type !== 'crew_completed') return []
  const { input_tokens: input, output_tokens: output } = after.usage
  return input === before.usage.input_tokens && output === before.usage.output_tokens
    ? []
    : [
        `${run} has used ${input} and ${output} tokens at its end, and the first attempt ` +
          `${before.usage.input_tokens} and ${before.usage.output_tokens}: the usage of recorded ` +
          'steps counts too.',
      ]
}

/** Compares the keys of steps in two attempts, and with those of another version. */
export function keyProblems(first: Attempt, again: Attempt, other: Attempt): string[] {
  const keys = (attempt: Attempt): string => startsOf(attempt)[0]?.step ?? ''
  return [
    ...(keys(first) === keys(again)
      ? []
      : [
          `The first step has the key ${keys(first)} and, in another attempt with the same ` +
            `version and inputs, ${keys(again)}: keys have to be the same in each attempt.`,
        ]),
    ...(keys(first) === keys(other)
      ? [
          `The first step has the key ${keys(first)} in two versions: another version has to ` +
            'have other keys.',
        ]
      : []),
  ]
}

/** Asks a run to stop while it acts. */
export async function checkStop(run: JournaledRun): Promise<string[]> {
  const { common, kickoff, secrets } = run
  let isTold = false
  const attempt = await attemptRun({
    ...common,
    kickoff: kickoff(randomUUID()),
    hear(line, worker) {
      const { event } = line
      if (!isTold && event?.type === 'step_started') {
        isTold = true
        worker.tell({ stop: true })
      }
      acknowledge(line, worker)
    },
  })
  const end = endOf(attempt)
  const problems = problemsOf(attempt, { isJournaled: true, secrets })
  return end?.type === 'failed'
    ? [...problems, `Asked to stop, it failed with ${end.error.code}: handed_over is asked for.`]
    : problems
}

/** Gives a result of a shape that no crew knows for each step. */
export async function checkStrangeResults(run: JournaledRun, first: Attempt): Promise<string[]> {
  const { common, kickoff } = run
  const strange = { of_another_crew: true }
  const journal = journalOf(first).map((each) => ({ ...each, result: strange }))
  const attempt = await attemptRun({ ...common, kickoff: kickoff(randomUUID(), journal) })
  const end = endOf(attempt)
  return end?.type === 'crew_completed'
    ? []
    : [
        `With recorded results of another shape it ended with ${end?.type ?? 'nothing'}: such a ` +
          'step is done again.',
      ]
}
