import { parseArgs } from 'node:util'
import { runKills } from './run-kills.ts'
import { runMove } from './run-move.ts'
import { LEFT_OUT, runSuite } from './run-suite.ts'
import { startNodes } from './stage.ts'

const HELP = `npm run test:long -- citus [options]

Starts the Citus of test/citus/lab.sh and tests the trace collector on it, in three parts:

  suite   the tests of the collector, each file with a distributed database of its own
  kills   two collectors write, one through the coordinator and one through a worker, while the
          nodes are killed in turn, also in the middle of a commit; then every span that was
          acknowledged must be stored exactly once, and be rolled up
  move    a plain trace database is copied to Citus and distributed while clients go on sending;
          again every span that was acknowledged must be stored once, and be rolled up

  --only <part>   one of them
  --kills <n>     how many (default 30)
  --help          this text

${LEFT_OUT}
Exit code: 0 when all is well, 1 when a test fails or a span is lost or doubled, 2 for a wrong
command line.
`

interface Options {
  readonly kills: number
  readonly only: string | undefined
}

async function main({ kills, only }: Options): Promise<void> {
  const isWanted = (part: string): boolean => only === undefined || only === part
  const outcomes: [part: string, isRight: boolean][] = []
  if (isWanted('suite')) outcomes.push(['suite', await runSuite(await startNodes())])
  if (isWanted('kills')) outcomes.push(['kills', print(await runKills(kills, tell))])
  if (isWanted('move')) outcomes.push(['move', print(await runMove(tell))])
  for (const [part, isRight] of outcomes)
    process.stdout.write(`${part}: ${isRight ? 'passed' : 'FAILED'}\n`)
  process.stdout.write(LEFT_OUT)
  process.exitCode = outcomes.every(([, isRight]) => isRight) ? 0 : 1
}

const PARTS = ['suite', 'kills', 'move']

const tell = (text: string): void => void process.stderr.write(`${text}\n`)

function print(report: { readonly isRight: boolean }): boolean {
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  return report.isRight
}

function readOptions({ kills, only }: { kills: string; only?: string }): Options {
  if (!/^\d{1,5}$/.test(kills)) throw new Error(`--kills must be a whole number; it is "${kills}".`)
  if (only !== undefined && !PARTS.includes(only))
    throw new Error(`--only must be one of ${PARTS.join(', ')}; it is "${only}".`)
  return { kills: Number(kills), only }
}

try {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '30' },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(HELP)
  else await main(readOptions(values))
} catch (thrown) {
  process.stderr.write(`${String(thrown)}\n`)
  process.exitCode = 2
}
