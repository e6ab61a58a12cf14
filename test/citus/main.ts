import { parseArgs } from 'node:util'
import { runKills } from './run-kills.ts'

const HELP = `npm run test:citus -- [options]

Two collectors write to a Citus of test/citus/lab.sh, one through its coordinator and one through a
worker, while the nodes are killed in turn, also in the middle of a commit. Then every span that was
acknowledged must be stored exactly once, and be rolled up.

  --kills <n>   how many (default 30)
  --help        this text

Exit code: 0 when all is there once, 1 when a span is lost or doubled, 2 for a wrong command line.
`

async function main(kills: string): Promise<void> {
  if (!/^\d{1,5}$/.test(kills)) throw new Error(`--kills must be a whole number; it is "${kills}".`)
  const report = await runKills(Number(kills), (text) => process.stderr.write(`${text}\n`))
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  process.exitCode = report.isRight ? 0 : 1
}

try {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '30' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(HELP)
  else await main(values.kills)
} catch (thrown) {
  process.stderr.write(`${String(thrown)}\n`)
  process.exitCode = 2
}
