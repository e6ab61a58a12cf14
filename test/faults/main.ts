import { parseArgs } from 'node:util'
import { runFaults } from './run-faults.ts'
import type { FaultReport } from './run-faults.ts'
import { testWebhooks } from './webhooks/main.ts'
import type { WebhookFaultReport } from './webhooks/run-webhook-faults.ts'

const HELP = `npm run test:faults -- [webhooks] [options]

The collector, PostgreSQL and the connections between them are killed in turn while clients send,
and hindered in other ways in between. Then every span that was acknowledged must be stored exactly
once, and the roll-ups must be what the spans add up to.

With "webhooks", the senders of webhooks and their receiver are killed while runs tell of their
events. Then the receiver must have each event, those of a run in order, each under one id.

  --kills <n>   how many kills (default 200)
  --seed <n>    of the faults and the pauses between them (default: a random one, which is printed)
  --json        one JSON document on standard output instead of a table
  --help        this text

Exit code: 0 when all is there once, 1 when a span is lost or doubled, a roll-up is wrong, or an
event is lost, out of order or changed, 2 for a wrong command line.
`
const STOPS_SECONDS = [5, 30]

interface Options {
  readonly webhooks: boolean
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
  const other = positionals.find((each) => each !== 'webhooks')
  if (other !== undefined) throw new Error(`"${other}" is not understood; it may be "webhooks".`)
  return {
    webhooks: positionals.length > 0,
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

function webhooksToText(report: WebhookFaultReport): string {
  const { kills, events, received, repeated, lost, disordered, changed, seed } = report
  return [
    `${kills} kills; ${events} events told, ${received} messages accepted, ${repeated} repeated`,
    `${lost} lost, ${disordered} out of order, ${changed} changed (seed ${seed})`,
    '',
  ].join('\n')
}

async function main({ webhooks, kills, seed, json }: Options): Promise<void> {
  const started = performance.now()
  process.stderr.write(`${kills} kills, seed ${seed}\n`)
  if (webhooks) {
    const report = await testWebhooks({ kills, seed })
    process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : webhooksToText(report))
    process.exitCode = report.isRight ? 0 : 1
    return
  }
  const report = await runFaults({
    kills,
    seed,
    stopsSeconds: STOPS_SECONDS,
    onProgress(progress) {
      if (progress.kills % 10 > 0) return
      const seconds = Math.round((performance.now() - started) / 1000)
      const { kills: done, acknowledged } = progress
      process.stderr.write(`${seconds} s: ${done}/${kills} kills, ${acknowledged} spans\n`)
    },
  })
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : toText(report))
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
