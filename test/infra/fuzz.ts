import { fork } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { buildApiValidation, problemsOfRandomValues } from './support/api-validation.ts'
import { checkEquality } from './support/equality.ts'

const DATABASES = ['cluster', 'external'] as const
const USAGE = `Usage: npm run test:long -- fuzz [options]

  --equal N       random sets of which chart and manifests are compared (5000)
  --validated N   random sets whose objects the validation of Kubernetes sees (1000)
  --help          this text
`

interface Fuzz {
  readonly script: string
  /** In a child: the kind of database that it tries. */
  readonly database: string | undefined
  readonly equal: number
  readonly validated: number
}

/**
 * Proves `chart(values) == manifests(values)` for random sets, in one process for each kind
 * of database, and then, where there is Go to build its validation, that an API server of
 * Kubernetes takes all objects of more, and reads the same ones in the bytes of both.
 */
async function main({ script, database, equal, validated }: Fuzz): Promise<void> {
  const numRuns = Math.ceil(equal / DATABASES.length)
  if (database !== undefined) return checkEquality({ postgres: database === 'cluster', numRuns })
  const codes = await Promise.all(
    DATABASES.map(async (name): Promise<unknown> => {
      const [code] = await once(fork(script, [name, '--equal', String(equal)]), 'exit')
      return code
    }),
  )
  const hasFailed = codes.some((code) => code !== 0)
  console.log(
    hasFailed ? 'chart and manifests differ' : `chart and manifests are equal for ${equal} sets`,
  )
  const isTaken = validate(validated)
  if (hasFailed || !isTaken) process.exitCode = 1
}

function validate(numRuns: number): boolean {
  const obstacle = buildApiValidation()
  if (obstacle !== undefined) {
    console.log(`Kubernetes' own validation is skipped: ${obstacle}`)
    return true
  }
  const problems = problemsOfRandomValues(numRuns)
  console.log(
    problems.length === 0
      ? `Kubernetes takes every object of ${numRuns} sets, and reads the same ones in both`
      : `Kubernetes refuses or misreads what synth accepts:\n${problems.slice(0, 20).join('\n')}`,
  )
  return problems.length === 0
}

const count = (text: string): number => (/^\d+$/.test(text) ? Number(text) : Number.NaN)

const [, script = ''] = process.argv
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    equal: { type: 'string', default: '5000' },
    validated: { type: 'string', default: '1000' },
    help: { type: 'boolean', default: false },
  },
})
const equal = count(values.equal)
const validated = count(values.validated)
if (values.help) process.stdout.write(USAGE)
else if (Number.isInteger(equal + validated))
  void main({ script, database: positionals[0], equal, validated })
else {
  process.stderr.write(USAGE)
  process.exitCode = 2
}
