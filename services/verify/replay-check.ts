import { randomUUID } from 'node:crypto'
import type { CrewEvent, RecordedAnswer } from '../platform/crew-contract/crew-protocol.ts'
import { requestDigest } from '../platform/crew-contract/step-request.ts'
import { attemptRun } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import type { JournaledRun } from './journal-checks.ts'
import { endOf } from './rules.ts'

const eventsOf = ({ lines }: Attempt): CrewEvent[] =>
  lines.flatMap(({ event }) => (event && event.type !== 'other' ? [event] : []))

/** What a run was answered, as its record has it, and the steps that say not what they ask. */
function recordOf(attempt: Attempt) {
  const events = eventsOf(attempt)
  const starts = events.filter((each) => each.type === 'step_started')
  const asking = new Set(starts.flatMap(({ step, request }) => (request ? [step] : [])))
  const outer = starts.filter(({ parent }) => parent === undefined || !asking.has(parent))
  const answers = outer.flatMap(({ step, kind, path, request }): RecordedAnswer[] => {
    const end = events.find((each) => each.type === 'step_finished' && each.step === step)
    if (!request || end?.type !== 'step_finished') return []
    const { result = null, usage } = end
    return [{ kind, path, request_sha256: requestDigest(request), result, usage }]
  })
  return { answers, silent: outer.filter(({ kind, request }) => kind === 'llm' && !request) }
}

/** Has a run performed again with its record, and with an empty one. */
export async function checkReplays(run: JournaledRun, first: Attempt): Promise<string[]> {
  const { common, kickoff, model } = run
  const { answers, silent } = recordOf(first)
  if (silent[0]) {
    return [`The step ${silent[0].name} of a model has no request: no replay can answer it.`]
  }
  const calls = model?.calls() ?? 0
  const again = (given: readonly RecordedAnswer[]) =>
    attemptRun({
      ...common,
      kickoff: { ...kickoff(randomUUID()), models: {}, replay: { answers: given } },
    })
  const equal = await again(answers)
  const empty = answers.length > 0 ? await again([]) : undefined
  const asked = (model?.calls() ?? 0) - calls
  return [
    ...equalProblems(first, equal, answers.length),
    ...(empty ? emptyProblems(empty) : []),
    ...(asked > 0 ? [`Replays have called the model ${asked} times: they ask nobody.`] : []),
  ]
}

function equalProblems(first: Attempt, again: Attempt, count: number): string[] {
  const [before, after] = [endOf(first), endOf(again)]
  const events = eventsOf(again)
  const taken = new Set(events.flatMap((e) => (e.type === 'replay_answered' ? [e.answer] : [])))
  const problems: string[] = []
  if (after?.type !== 'crew_completed') {
    problems.push(`A replay with its own record ended with ${after?.type ?? 'nothing'}.`)
  } else if (before?.type === 'crew_completed' && before.output !== after.output) {
    problems.push('A replay with its own record has another output.')
  }
  if (taken.size !== count) {
    problems.push(`A replay has taken ${taken.size} of the ${count} answers of its record.`)
  }
  if (events.some(({ type }) => type === 'step_started')) {
    problems.push('A replay has reported step_started: its steps are no steps of a run.')
  }
  return problems
}

const emptyProblems = (attempt: Attempt): string[] =>
  eventsOf(attempt).some(({ type }) => type === 'replay_diverged') &&
  endOf(attempt)?.type === 'failed'
    ? []
    : ['A replay with an empty record has to report replay_diverged, and to end with failed.']
