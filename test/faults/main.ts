import { parseArgs } from 'node:util'
import { testArchive } from './archive/main.ts'
import type { ArchiveFaultReport } from './archive/run-archive-faults.ts'
import { faultRuns } from './runs/run-faults.ts'
import type { RunFaultReport } from './runs/run-faults.ts'
import { runFaults } from './run-faults.ts'
import type { FaultReport } from './run-faults.ts'
import { faultPorts } from './ports/run-port-faults.ts'
import type { PortFaultReport } from './ports/run-port-faults.ts'
import { testWebhooks } from './webhooks/main.ts'
import type { WebhookFaultReport } from './webhooks/run-webhook-faults.ts'

const HELP = `npm run test:long -- faults [runs | webhooks | ports | archive] [options]

Replicas of the collector, PostgreSQL and the connections between them are killed in turn while
clients send, and hindered in other ways in between. Then every span that was acknowledged must be
stored exactly once, the roll-ups must be what the spans add up to, and each text must be found by
the search.

With "runs", worker, crew and PostgreSQL are killed, stopped and replaced while runs go on. Then
each model call must have been made once, and once more for each attempt that lost its lease in the
middle of it, and each run must have the output of an undisturbed one; the ledger of the budget has
to say what all calls have used.

With "webhooks", the senders of webhooks and their receiver are killed while runs tell of their
events. Then the receiver must have each event, those of a run in order, each under one id.

With "ports", web, worker, crew, PostgreSQL and the clients themselves are killed while clients call
tools of MCP and agents of A2A, events arrive at a trigger, and people decide. Then each call and
each event must have started one run, the events of a run must all be there, and one decision must
count for each that was asked for.

With "archive", what moves old days of traces into files is killed at any of its messages to
PostgreSQL and to the store, and its connections are cut. Then each span must be in the database or
in files, never in both or in neither, each answer must be the one of before, and no file may be
left that nothing knows.

  --kills <n>     how many kills (default 200)
  --replicas <n>  of the collector (default 3)
  --seed <n>      of the faults and the pauses between them (default: a random one, printed)
  --json          one JSON document on standard output instead of a table
  --help          this text

Exit code: 0 when all is there once; 1 when a span is lost or doubled or a roll-up is wrong, when a
step was paid for twice or a run is wrong, when an event is lost, out of order or changed, when a
call started no run or several, or when an archived day differs; 2 for a wrong command line.
`
const STOPS_SECONDS = [5, 30]
const PAUSE_AFTER = 20

type Subject = keyof typeof SUBJECTS

interface Options {
  readonly subject: Subject
  readonly kills: number
  readonly seed: number
  readonly json: boolean
  readonly replicas: number
}

/** Undefined when only the help is wanted. Raises for what is not understood. */
function readOptions(): Options | undefined {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
      replicas: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const [subject = 'spans', ...others] = positionals
  if (!isSubject(subject) || others.length > 0) {
    throw new Error(
      `"runs", "webhooks", "ports", "archive" or nothing; it is "${positionals.join(' ')}".`,
    )
  }
  return {
    subject,
    kills: whole('kills', values.kills),
    seed: whole('seed', values.seed),
    json: values.json,
    replicas: Math.max(1, whole('replicas', values.replicas)),
  }
}

const isSubject = (word: string): word is Subject => Object.hasOwn(SUBJECTS, word)

function whole(name: string, value: string): number {
  if (/^\d{1,10}$/.test(value)) return Number(value)
  throw new Error(`--${name} must be a whole number; it is "${value}".`)
}

function toText(report: FaultReport): string {
  const { faults, acknowledged, spans, rows, missing, wrongRollUps, unfoundTexts, seed } = report
  const counts = Object.entries(faults).map(
    ([name, times]) => `${String(times).padStart(5)} ${name}`,
  )
  return [
    ...counts,
    `${acknowledged} spans acknowledged; stored ${spans}, in ${rows} rows`,
    `${missing} lost, ${rows - spans} doubled, ${wrongRollUps} roll-ups wrong, ` +
      `${unfoundTexts} texts not found (seed ${seed})`,
    '',
  ].join('\n')
}

function runsToText(report: RunFaultReport): string {
  const { faults, attemptsCut, runs, steps, calls, inFlight, paidTwice } = report
  const { wrong, budget, seed } = report
  const lines = (counts: Readonly<Record<string, number>>, of = '') =>
    Object.entries(counts).map(([name, times]) => `${String(times).padStart(5)} ${of}${name}`)
  return [
    ...lines(faults),
    ...lines(attemptsCut, 'attempts cut off: '),
    `${runs} runs of ${steps} calls; ${calls} made, ${inFlight} cut off`,
    `${paidTwice.length} paid twice, ${wrong.length} runs wrong (seed ${seed})`,
    `${budget.used} tokens used; the budget has ${budget.spent}, and ${budget.reserved} reserved`,
    ...paidTwice,
    ...wrong,
    '',
  ].join('\n')
}

function webhooksToText(report: WebhookFaultReport): string {
  const { kills, events, received, repeated, lost, disordered, changed, seed } = report
  return [
    `${kills} kills; ${events} events told, ${received} messages accepted, ${repeated} repeated`,
    `${lost} lost, ${disordered} out of order, ${changed} changed (seed ${seed})`,
    '',
  ].join('\n')
}

function portsToText(report: PortFaultReport): string {
  const { faults, calls, runs, approvals, wrongRuns, wrongEvents, wrongDecisions, seed } = report
  const lines = (counts: Readonly<Record<string, number>>, of = '') =>
    Object.entries(counts).map(([name, times]) => `${String(times).padStart(5)} ${name}${of}`)
  return [
    ...lines(faults),
    ...lines(calls, ' calls'),
    `${runs} runs, ${approvals} decisions`,
    `${wrongRuns.length} calls without their one run, ${wrongEvents.length} runs without all ` +
      `events, ${wrongDecisions.length} with a wrong decision (seed ${seed})`,
    ...wrongRuns,
    ...wrongEvents,
    ...wrongDecisions,
    '',
  ].join('\n')
}

function archiveToText(report: ArchiveFaultReport): string {
  const { faults, rounds, spans, steps, store, seed, misplaced, orphans } = report
  const { wrongAnswers, unverified } = report
  return [
    ...Object.entries(faults).map(([name, times]) => `${String(times).padStart(5)} ${name}`),
    `${spans} spans archived ${rounds} times into a ${store}, in up to ${steps} messages`,
    `${misplaced} times misplaced, ${wrongAnswers.length} answers wrong, ${unverified.length} ` +
      `days not verified, ${orphans} files left (seed ${seed})`,
    ...wrongAnswers,
    ...unverified,
    '',
  ].join('\n')
}

type Say = (done: number, what: string) => void

interface Outcome {
  readonly report: { readonly isRight: boolean }
  readonly text: string
}

/** What can be disturbed. */
const SUBJECTS = {
  async spans({ kills, seed, replicas }: Options, say: Say): Promise<Outcome> {
    const report = await runFaults({
      kills,
      seed,
      replicas,
      stopsSeconds: STOPS_SECONDS,
      onProgress: ({ kills: done, acknowledged }) => say(done, `${acknowledged} spans`),
    })
    return { report, text: toText(report) }
  },
  async runs({ kills, seed }: Options, say: Say): Promise<Outcome> {
    const report = await faultRuns({
      kills,
      seed,
      pauseAfter: PAUSE_AFTER,
      onProgress: ({ kills: done, runs, calls }) => say(done, `${runs} runs, ${calls} calls`),
    })
    return { report, text: runsToText(report) }
  },
  async webhooks({ kills, seed }: Options, say: Say): Promise<Outcome> {
    const report = await testWebhooks({ kills, seed, onKill: (done) => say(done, 'webhooks') })
    return { report, text: webhooksToText(report) }
  },
  async ports({ kills, seed }: Options, say: Say): Promise<Outcome> {
    const report = await faultPorts({ kills, seed, onKill: (done) => say(done, 'ports') })
    return { report, text: portsToText(report) }
  },
  async archive({ kills, seed }: Options, say: Say): Promise<Outcome> {
    const report = await testArchive({ kills, seed, onKill: (done) => say(done, 'archive') })
    return { report, text: archiveToText(report) }
  },
}

async function main(options: Options): Promise<void> {
  const { kills, seed, json, subject } = options
  const started = performance.now()
  process.stderr.write(`${kills} kills, seed ${seed}\n`)
  const say: Say = (done, what) => {
    if (done % 10 > 0) return
    const seconds = Math.round((performance.now() - started) / 1000)
    process.stderr.write(`${seconds} s: ${done}/${kills} kills, ${what}\n`)
  }
  const { report, text } = await SUBJECTS[subject](options, say)
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : text)
  process.exitCode = report.isRight ? 0 : 1
}

try {
  const options = readOptions()
  if (options) await main(options)
  else process.stdout.write(HELP)
} catch (thrown) {
  process.stderr.write(`${String(thrown)}\n`)
  process.exitCode = 2
}
