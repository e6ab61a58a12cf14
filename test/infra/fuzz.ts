import { fork } from 'node:child_process'
import { once } from 'node:events'
import { checkEquality } from './support/equality.ts'

const RUNS = 5000
const DATABASES = ['cluster', 'external'] as const

/** Proves `chart(values) == manifests(values)` for 5,000 random sets, in one process for each kind of database. */
async function main(script: string, database: string | undefined): Promise<void> {
  const numRuns = RUNS / DATABASES.length
  if (database !== undefined) return checkEquality({ postgres: database === 'cluster', numRuns })
  const codes = await Promise.all(
    DATABASES.map(async (name): Promise<unknown> => {
      const [code] = await once(fork(script, [name]), 'exit')
      return code
    }),
  )
  const hasFailed = codes.some((code) => code !== 0)
  console.log(
    hasFailed ? 'chart and manifests differ' : `chart and manifests are equal for ${RUNS} sets`,
  )
  if (hasFailed) process.exitCode = 1
}

const [, script = '', database] = process.argv
await main(script, database)
