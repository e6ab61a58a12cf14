import { randomUUID } from 'node:crypto'
import type { RecordedStep } from '../platform/crew-contract/crew-protocol.ts'
import { HEARTBEAT_MS } from '../platform/crew-contract/crew-protocol.ts'
import { acknowledge, attemptRun } from './attempt.ts'
import type { Attempt, Behaviour } from './attempt.ts'
import {
  checkReplay,
  checkStop,
  checkStrangeResults,
  checkWaiting,
  journalOf,
  keyProblems,
} from './journal-checks.ts'
import type { JournaledRun } from './journal-checks.ts'
import { checkReplays } from './replay-check.ts'
import type { VerifyOptions } from './options.ts'
import { endOf, problemsOf } from './rules.ts'
import type { StandInModel } from './stand-in-model.ts'
import {
  checkDescription,
  checkHealth,
  checkRefusals,
  chooseInputs,
  explain,
} from './surroundings.ts'

/** What one check has found. */
export interface Finding {
  readonly check: string
  readonly status: 'ok' | 'fail' | 'skipped'
  readonly problems: readonly string[]
  readonly note: string
}

const JOURNAL_CHECKS = ['keys', 'waits for acks', 'goes on', 'strange results', 'stops']
const LEAVING = 'heartbeats and leaving'
const VERSION = 1
const GONE_MS = 5000
const SECRET = `key-${randomUUID()}`

const found = (check: string, problems: readonly string[], note = ''): Finding => ({
  check,
  status: problems.length === 0 ? 'ok' : 'fail',
  problems,
  note,
})
const skipped = (check: string, note: string): Finding => ({
  check,
  status: 'skipped',
  problems: [],
  note,
})

/** Checks a crew, one check after the other. Raises `unavailable` when nothing answers there. */
export async function* verifyCrew(
  options: VerifyOptions,
  model: StandInModel | undefined,
): AsyncGenerator<Finding> {
  yield found('health', await checkHealth(options))
  const { isJournaled, takesFiles, replays, problems, note } = await checkDescription(options)
  yield found('describe', problems, note)
  const chosen = await chooseInputs(options).catch((thrown: unknown) => ({
    inputs: {},
    problems: [explain(thrown)],
  }))
  yield found('inputs', chosen.problems)

  const kickoffOf = kickoffs(options, { inputs: chosen.inputs, model })
  const common = {
    url: options.url,
    token: options.token,
    timeoutMs: options.timeoutMs,
    isOpen: isJournaled,
  }
  const kickoff = kickoffOf(randomUUID(), { isJournaled })
  yield found('refusals', await checkRefusals({ ...common, kickoff }))
  const first = await attemptRun({ ...common, kickoff })
  const broken = runProblems(first, isJournaled)
  yield found('run', broken, noteOf(first))
  if (broken.length > 0) {
    return yield* [...JOURNAL_CHECKS, LEAVING].map((name) => skipped(name, 'the run is not right'))
  }
  if (takesFiles) {
    const run = { ...common, kickoff: withFile(kickoffOf(randomUUID(), { isJournaled })) }
    yield found('files', runProblems(await attemptRun(run), isJournaled))
  }
  const run: JournaledRun = {
    common,
    model,
    secrets: [SECRET],
    kickoff: (id, journal) => kickoffOf(id, { isJournaled, journal }),
  }
  if (replays) yield found('replays', await checkReplays(run, first))
  yield* journalFindings(first, {
    isJournaled,
    run,
    otherVersion: kickoffOf(randomUUID(), { isJournaled, version: VERSION + 1 }),
  })
  yield await checkLeaving({ ...common, kickoff: kickoffOf(randomUUID(), { isJournaled }) }, model)
}

/** Adds a file to a kickoff, which another input names. */
function withFile({ inputs, ...kickoff }: Kickoff): Kickoff {
  const content = Buffer.from('Bees dance.')
  const [id, size] = [randomUUID(), content.length]
  const about = { name: 'bees.txt', media_type: 'text/plain', size }
  return {
    ...kickoff,
    inputs: { ...inputs, a_file_of_verify: { file_id: id, ...about } },
    files: { [id]: { ...about, content_base64: content.toString('base64') } },
  }
}

interface Kickoff {
  readonly inputs: object
  readonly [field: string]: unknown
}

interface KickoffKind {
  readonly isJournaled: boolean
  readonly journal?: readonly RecordedStep[] | undefined
  readonly version?: number
}

function kickoffs(
  { models: names }: VerifyOptions,
  { inputs, model }: { readonly inputs: object; readonly model: StandInModel | undefined },
) {
  const endpoint = model && { base_url: model.baseUrl, api_key: SECRET }
  const models = Object.fromEntries(names.map((name) => [name, endpoint]))
  return (id: string, { isJournaled, journal = [], version = VERSION }: KickoffKind): Kickoff => ({
    kickoff_id: id,
    inputs,
    ...(names.length === 0 ? {} : { models }),
    ...(isJournaled ? { version, journal, for_a_newer_crew: true } : {}),
  })
}

function runProblems(attempt: Attempt, isJournaled: boolean): string[] {
  const end = endOf(attempt)
  const problems = problemsOf(attempt, { isJournaled, secrets: [SECRET] })
  if (end?.type === 'failed') {
    return [...problems, `The run failed with ${end.error.code}: ${end.error.message}`]
  }
  return end?.type === 'handed_over'
    ? [...problems, 'It handed the run over without being asked to.']
    : problems
}

function noteOf(attempt: Attempt): string {
  const end = endOf(attempt)
  const { length } = attempt.lines
  return end ? `${length} lines, then ${end.type}` : `${length} lines`
}

interface JournalChecks {
  readonly isJournaled: boolean
  readonly run: JournaledRun
  readonly otherVersion: object
}

async function* journalFindings(
  first: Attempt,
  { isJournaled, run, otherVersion }: JournalChecks,
): AsyncGenerator<Finding> {
  const steps = journalOf(first).length
  const why = !isJournaled
    ? 'the crew has no capability "journal"'
    : steps === 0
      ? 'no step of the run finished'
      : ''
  if (why !== '') return yield* JOURNAL_CHECKS.map((name) => skipped(name, why))
  const again = await attemptRun({ ...run.common, kickoff: run.kickoff(randomUUID()) })
  const other = await attemptRun({ ...run.common, kickoff: otherVersion })
  yield found('keys', keyProblems(first, again, other))
  const waiting = await checkWaiting(run)
  yield waiting
    ? found('waits for acks', waiting)
    : skipped('waits for acks', 'the run calls neither a model nor a tool in a step')
  yield found('goes on', await checkReplay(run, first), `after ${steps} steps`)
  yield found('strange results', await checkStrangeResults(run, first))
  yield found('stops', await checkStop(run))
}

/** Leaves while a model is called: heartbeats until then, and no call and no run afterwards. */
async function checkLeaving(run: Behaviour, model: StandInModel | undefined): Promise<Finding> {
  if (!model) return skipped(LEAVING, 'it needs --model, to hold back an answer')
  model.hold(true)
  const attempt = await attemptRun({
    ...run,
    timeoutMs: Math.min(run.timeoutMs, HEARTBEAT_MS * 3),
    hear(line, worker) {
      if (line.event?.type === 'heartbeat' && model.open() > 0) return worker.leave()
      acknowledge(line, worker)
    },
  })
  const isCalled = model.open() > 0
  const hasBeaten = attempt.lines.some(({ event }) => event?.type === 'heartbeat')
  const isGone = await isTrueWithin(() => model.open() === 0, GONE_MS)
  model.hold(false)
  if (!isCalled && endOf(attempt)) return skipped(LEAVING, 'the run has called no --model')
  return found(LEAVING, [
    ...(hasBeaten
      ? []
      : ['No heartbeat came within 15 s of a model call: one is due every 5 s of silence.']),
    ...(isGone
      ? []
      : ['The connection was closed, and 5 s later the model was still called, for nothing.']),
  ])
}

async function isTrueWithin(test: () => boolean, forMs: number): Promise<boolean> {
  const end = performance.now() + forMs
  while (!test() && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return test()
}
