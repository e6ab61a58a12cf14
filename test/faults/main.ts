import { parseArgs } from 'node:util'
import { faultRuns } from './runs/run-faults.ts'
import type { RunFaultReport } from './runs/run-faults.ts'
import { runFaults } from './run-faults.ts'
import type { FaultReport } from './run-faults.ts'

const HELP = `npm run test:faults -- [runs] [options]

The collector, PostgreSQL and the connections between them are killed in turn while clients send,
and hindered in other ways in between. Then every span that was acknowledged must be stored exactly
once, and the roll-ups must be what the spans add up to.

With "runs", worker, crew and PostgreSQL are killed and replaced while runs go on. Then each model
call must have been made once, and once more for each kill that cut it off, and each run must have
the output of an undisturbed one.

  --kills <n>   how many kills (default 200)
  --seed <n>    of the faults and the pauses between them (default: a random one, which is printed)
  --json        one JSON document on standard output instead of a table
  --help        this text

Exit code: 0 when all is there once, 1 when a span is lost or doubled or a roll-up is wrong, or when
a step was paid for twice or a run is wrong, 2 for a wrong command line.
`
const STOPS_SECONDS = [5, 30]

interface Options {
  readonly isOfRuns: boolean
  readonly kills: number
  readonly seed: number
  readonly json: boolean
}

/** Undefined when only the help is wanted. Raises for what is not understood. */
function readOptions(): Options | undefined {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const [what, ...others] = positionals
  if ((what !== undefined && what !== 'runs') || others.length > 0) {
    throw new Error(`Either "runs" or nothing; it is "${positionals.join(' ')}".`)
  }
  return {
    isOfRuns: what === 'runs',
    kills: whole('kills', values.kills),
    seed: whole('seed', values.seed),
    json: values.json,
  }
}

function whole(name: string, value: string): number {
  if (/^\d{1,10}$/.test(value)) return Number(value)
  throw new Error(`--${name} must be a whole number; it is "${value}".`)
}

function toText(report: FaultReport): string {
  const { faults, acknowledged, spans, rows, missing, wrongRollUps, seed } = report
  const counts = Object.entries(faults).map(
    ([name, times]) => `${String(times).padStart(5)} ${name}`,
  )
  return [
    ...counts,
    `${acknowledged} spans acknowledged; stored ${spans}, in ${rows} rows`,
    `${missing} lost, ${rows - spans} doubled, ${wrongRollUps} roll-ups wrong (seed ${seed})`,
    '',
  ].join('\n')
}

async function faultCollector({ kills, seed }: Options, say: Say): Promise<FaultReport> {
  return runFaults({
    kills,
    seed,
    stopsSeconds: STOPS_SECONDS,
    onProgress: ({ kills: done, acknowledged }) => say(done, `${acknowledged} spans`),
  })
}

function runsToText(report: RunFaultReport): string {
  const { faults, runs, steps, calls, inFlight, paidTwice, wrong, seed } = report
  const counts = Object.entries(faults).map(
    ([name, times]) => `${String(times).padStart(5)} ${name}`,
  )
  return [
    ...counts,
    `${runs} runs of ${steps} calls; ${calls} made, ${inFlight} cut off`,
    `${paidTwice.length} paid twice, ${wrong.length} runs wrong (seed ${seed})`,
    ...paidTwice,
    ...wrong,
    '',
  ].join('\n')
}

type Say = (done: number, what: string) => void

async function main(options: Options): Promise<void> {
  const { kills, seed, json, isOfRuns } = options
  const started = performance.now()
  process.stderr.write(`${kills} kills, seed ${seed}\n`)
  const say: Say = (done, what) => {
    if (done % 10 > 0) return
    const seconds = Math.round((performance.now() - started) / 1000)
    process.stderr.write(`${seconds} s: ${done}/${kills} kills, ${what}\n`)
  }
  const [report, text] = isOfRuns
    ? await faultRuns({
        kills,
        seed,
        onProgress: ({ kills: done, runs, calls }) => say(done, `${runs} runs, ${calls} calls`),
      }).then((found) => [found, runsToText(found)] as const)
    : await faultCollector(options, say).then((found) => [found, toText(found)] as const)
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
