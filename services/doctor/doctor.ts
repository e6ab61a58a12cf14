import type { EnvSource } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'
import { ask, findObstacle } from './ask.ts'
import { makeBundle } from './bundle/command.ts'
import { BUNDLE_USAGE, readBundleOptions } from './bundle/options.ts'
import type { BundleCommand } from './bundle/options.ts'
import { compareKeys } from './compare-keys.ts'
import type { KeyComparison } from './compare-keys.ts'
import { runFix } from './fixes/command.ts'
import { FIX_USAGE, readFixOptions } from './fixes/options.ts'
import { compareWithLastGood } from './last-good.ts'
import type { Difference } from './last-good.ts'
import { readOptions, USAGE } from './options.ts'
import type { AskCommand, PreflightCommand } from './options.ts'
import { makePlan } from './plan/command.ts'
import { preflightOf } from './preflight/command.ts'
import { printAnswers, printDifference } from './print.ts'
import type { Answer } from './report.ts'
import { selectFromAnswer } from './selection.ts'
import { waitUntilOk } from './wait.ts'
import type { Surroundings, Waiting } from './wait.ts'

const EXIT = { ok: 0, degraded: 1, fail: 2, unreachable: 3, misused: 64 } as const

interface DoctorResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  /** Goes to standard output instead of the text. */
  readonly archive?: Uint8Array
}

/**
 * Runs the `doctor` command. Never raises for wrong use; the result has its output and its exit
 * code.
 */
export async function runDoctor(
  args: readonly string[],
  env: EnvSource,
  surroundings: Surroundings,
): Promise<DoctorResult> {
  const [first, ...rest] = args
  const isBundle = first === 'bundle'
  const isFix = !isBundle && args.includes('--fix')
  try {
    if (isFix) {
      const fix = readFixOptions(args, env)
      if (!fix) return { exitCode: EXIT.ok, stdout: FIX_USAGE, stderr: '' }
      return { ...(await runFix(fix, env, surroundings)), stderr: '' }
    }
    if (isBundle) return await bundle(readBundleOptions(rest, env), env)
    const command = readOptions(args, env)
    if (!command) return { exitCode: EXIT.ok, stdout: USAGE, stderr: '' }
    if (command.kind === 'plan') {
      return { exitCode: EXIT.ok, stdout: await makePlan(command, env), stderr: '' }
    }
    const waiting =
      command.kind === 'ask'
        ? waitingFor(command)
        : await preflightOf(command, { env, surroundings })
    return await report(command, waiting, surroundings)
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    const usage = isBundle ? BUNDLE_USAGE : isFix ? FIX_USAGE : USAGE
    return { exitCode: EXIT.misused, stdout: '', stderr: `${thrown.message}\n\n${usage}` }
  }
}

async function bundle(command: BundleCommand | undefined, env: EnvSource): Promise<DoctorResult> {
  if (!command) return { exitCode: EXIT.ok, stdout: BUNDLE_USAGE, stderr: '' }
  const { archive, text, hasContent } = await makeBundle(command, env)
  const exitCode = hasContent ? EXIT.ok : EXIT.unreachable
  return { exitCode, stdout: '', stderr: text, ...(archive ? { archive } : {}) }
}

async function report(
  command: AskCommand | PreflightCommand,
  { ask: askAll, findObstacle: findAny }: Pick<Waiting, 'ask' | 'findObstacle'>,
  surroundings: Surroundings,
): Promise<DoctorResult> {
  const { waitMs, diff } = command
  const pods = command.kind === 'ask' && command.pods
  const answers =
    waitMs === undefined
      ? await askAll()
      : await waitUntilOk(
          { waitMs, ask: askAll, ...(findAny ? { findObstacle: findAny } : {}) },
          surroundings,
        )
  const [first] = answers
  const keys = pods ? compareKeys(answers) : undefined
  const difference =
    diff !== undefined && first?.report ? await compareWithLastGood(diff, first.report) : undefined
  const stdout = command.json
    ? toJson(answers, { keys, difference, pods })
    : printAnswers(answers, keys) + (difference ? printDifference(difference) : '')
  return { exitCode: exitCodeOf(answers, keys), stdout, stderr: '' }
}

/** Asks a platform, or each of its pods. */
function waitingFor(command: AskCommand): Pick<Waiting, 'ask' | 'findObstacle'> {
  const { urls, timeoutMs } = command
  return {
    async ask() {
      const answers = await Promise.all(urls.map((url) => ask(url, command)))
      return answers.map((answer) => selectFromAnswer(answer, command))
    },
    async findObstacle() {
      const obstacles = await Promise.all(urls.map((url) => findObstacle(url, timeoutMs)))
      return obstacles.find((obstacle) => obstacle !== undefined)
    },
  }
}

function exitCodeOf(answers: readonly Answer[], keys: KeyComparison | undefined): number {
  const codes = answers.map(({ report }) => (report ? EXIT[report.status] : EXIT.unreachable))
  return Math.max(...codes, keys?.same === false ? EXIT.degraded : EXIT.ok)
}

interface Comparisons {
  readonly keys: KeyComparison | undefined
  readonly difference: Difference | undefined
  readonly pods: boolean
}

/**
 * One platform: its report as it came, or beside what changed. Several pods: all of them, and their
 * keys.
 */
function toJson(answers: readonly Answer[], { keys, difference, pods }: Comparisons): string {
  const [first] = answers
  const single = first?.report ?? { url: first?.url, problem: first?.problem }
  const several = { pods: answers, ...(keys ? { oauth_keys: keys } : {}) }
  const body = difference ? { report: single, difference } : pods ? several : single
  return `${JSON.stringify(body, null, 2)}\n`
}
