import type { EnvSource } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'
import { endOnSignal, explain, run } from '../shared/run.ts'
import { verifyBuilds } from './build-checks/verify-builds.ts'
import { start } from './start.ts'

/** What was to be found out is still unknown. */
const NOT_TRIED = 3

/** Runs the worker, or the command that the command line names, and sets the exit code. */
export async function runCommand(args: readonly string[], source: EnvSource): Promise<void> {
  const [name, ...rest] = args
  if (name === undefined) return run(start, source)
  endOnSignal()
  const output = {
    out: (text: string) => void process.stdout.write(text),
    error: (text: string) => void process.stderr.write(text),
  }
  try {
    if (name !== 'verify-builds') {
      throw new AppError('invalid_request', `There is no command "${name}", only verify-builds.`)
    }
    process.exitCode = await verifyBuilds(rest, source, output)
  } catch (thrown) {
    output.error(`${explain(thrown).trimEnd()}\n`)
    process.exitCode = NOT_TRIED
  }
}
