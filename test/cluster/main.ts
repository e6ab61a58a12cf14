import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bringUp, forgetState, takeDown } from './bed/bed.ts'
import { inside, isUp } from './bed/namespaces.ts'
import { makePlaces, places } from './bed/places.ts'
import { claim } from './bed/processes.ts'
import { coldParts, extendPath, missingRequirements } from './bed/requirements.ts'
import { HELP, readOptions } from './options.ts'
import type { Options } from './options.ts'
import type { StepOutcome } from './walk/main.ts'

const started = performance.now()
const progress = (text: string): void => {
  const seconds = String(Math.round((performance.now() - started) / 1000)).padStart(4)
  process.stderr.write(`${seconds} s  ${text}\n`)
}

/**
 * Walks inside the bed and returns what came of each step. An abort ends the walk with all that it
 * has started, such as a Helm that waits.
 */
async function walk(
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly StepOutcome[]> {
  if (names.length === 0) return []
  const file = join(places.state, 'walk.json')
  rmSync(file, { force: true })
  const main = join(import.meta.dirname, 'walk/main.ts')
  const node = [process.execPath, '--import', import.meta.resolve('tsx'), main, file, ...names]
  const [program = '', ...args] = inside(node)
  // A process group of its own, which can be ended as a whole.
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true })
  const end = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
  }
  signal.addEventListener('abort', end)
  await once(child, 'close')
  signal.removeEventListener('abort', end)
  // The walk is a program of ours; it writes what its own type says.
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as StepOutcome[]) : []
}

/** Why nothing is done here; undefined when something is. */
function reasonToSkip({ ifWarm }: Options): string | undefined {
  const missing = missingRequirements()
  if (missing.length > 0) return `it needs ${missing.join('; ')}`
  const cold = ifWarm ? coldParts() : []
  return cold.length > 0
    ? `not built yet: ${cold.join(', ')} (npm run test:long -- cluster builds them)`
    : undefined
}

function summary(outcomes: readonly StepOutcome[], wanted: readonly string[]): string {
  const failed = outcomes.filter(({ passed }) => !passed).map(({ name }) => name)
  const skipped = wanted.filter((name) => !outcomes.some((outcome) => outcome.name === name))
  return [
    failed.length === 0 ? '' : `failed: ${failed.join(', ')}\n`,
    skipped.length === 0 ? '' : `not walked: ${skipped.join(', ')}\n`,
    `${outcomes.length - failed.length} of ${wanted.length} steps passed\n`,
  ].join('')
}

async function run(options: Options): Promise<void> {
  extendPath()
  const reason = reasonToSkip(options)
  if (reason !== undefined) {
    process.stderr.write(`the cluster bed was skipped: ${reason}\n`)
    return
  }
  makePlaces()
  claim('test-cluster')
  const wasUp = isUp()
  if (options.down || options.fresh) await takeDown()
  if (options.down) return
  if (options.fresh) forgetState()
  const leave = async (): Promise<void> => {
    if (options.keep || wasUp) progress(`the bed stays up; ${enter()}`)
    else await takeDown()
  }
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      ended.abort()
      void leave().finally(() => process.exit(130))
    })
  }
  try {
    await bringUp(progress, options.steps.includes('former-release'))
    progress('the bed is up')
    const outcomes = await walk(options.steps, ended.signal)
    const seconds = Math.round((performance.now() - started) / 1000)
    const passed = outcomes.length === options.steps.length && outcomes.every((each) => each.passed)
    process.exitCode = passed ? 0 : 1
    const report = { passed, seconds, steps: outcomes }
    process.stdout.write(
      options.json ? `${JSON.stringify(report, null, 2)}\n` : summary(outcomes, options.steps),
    )
  } finally {
    await leave()
  }
}

/** How a person gets inside. */
function enter(): string {
  const settings = `KUBECONFIG=${places.kubeconfig} PATH=${places.programs}:$PATH`
  return `enter it with: ${settings} ${inside(['bash']).join(' ')}`
}

try {
  const options = readOptions(process.argv.slice(2))
  if (options) await run(options)
  else process.stdout.write(HELP)
} catch (thrown) {
  process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
  process.exitCode = 2
}
