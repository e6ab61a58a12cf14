import { parseArgs } from 'node:util'
import { findFormerCommit } from './releases.ts'
import { runUpgrade } from './run-upgrade.ts'

const HELP = `npm run test:long -- upgrade [options]

Upgrades an installation under load and takes it back once. The programs of a former release are
bundled from its own sources, and run alone, while both databases are migrated, beside those of this
working tree, alone again on the new schema, and not at all any more. Meanwhile runs are started and
asked for through both, and spans are sent to both. Then every run must have completed with the same
output, every acknowledged span must be there once, and no program may have said a word of error.

  --from REF     a tag or a commit (default: the commit before the newest migration)
  --rounds N     runs in each of the six phases (default 20)
  --json         one JSON document on standard output instead of a text
  --help         this text

Exit code: 0 when all is right, 1 when it is not, 2 for a wrong command line.
`

function readOptions() {
  const { values } = parseArgs({
    options: {
      from: { type: 'string' },
      rounds: { type: 'string', default: '20' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  if (!/^[1-9]\d{0,4}$/.test(values.rounds))
    throw new Error(`--rounds must be a whole number above 0; it is "${values.rounds}".`)
  return { ...values, rounds: Number(values.rounds) }
}

async function main(): Promise<number> {
  const options = readOptions()
  if (!options) return (void process.stdout.write(HELP), 0)
  const from = options.from ?? (await findFormerCommit())
  const say = (text: string): void => void process.stderr.write(`${text}\n`)
  const report = await runUpgrade({ from, rounds: options.rounds, say })
  const { runs, traces, wrongRuns, wrongTraces, refusals, complaints, exitCodes } = report
  const text = [
    `${runs} runs and ${traces} traces, from ${from} to this and back and forth`,
    `${wrongRuns.length} runs and ${wrongTraces.length} traces wrong, ` +
      `${refusals.length} calls refused, ` +
      `${complaints.length} errors logged, exit codes ${exitCodes.join(' ')}`,
    ...wrongRuns,
    ...wrongTraces,
    ...refusals,
    ...complaints,
    '',
  ].join('\n')
  process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : text)
  return report.isRight ? 0 : 1
}

process.exitCode = await main().catch((thrown: unknown) => {
  process.stderr.write(`${String(thrown)}\n`)
  return 2
})
