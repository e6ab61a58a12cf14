import type { EnvSource } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'
import { ask, findObstacle } from './ask.ts'
import { compareKeys } from './compare-keys.ts'
import type { KeyComparison } from './compare-keys.ts'
import { compareWithLastGood } from './last-good.ts'
import type { Difference } from './last-good.ts'
import { readOptions, USAGE } from './options.ts'
import type { DoctorOptions } from './options.ts'
import { printAnswers, printDifference } from './print.ts'
import type { Answer } from './report.ts'
import { selectFromAnswer } from './selection.ts'
import { waitUntilOk } from './wait.ts'
import type { Surroundings } from './wait.ts'

const EXIT = { ok: 0, degraded: 1, fail: 2, unreachable: 3, misused: 64 } as const

/** The output and the exit code of the command. */
export interface DoctorResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
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
  try {
    const options = readOptions(args, env)
    if (!options) return { exitCode: EXIT.ok, stdout: USAGE, stderr: '' }
    return await report(options, surroundings)
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return { exitCode: EXIT.misused, stdout: '', stderr: `${thrown.message}\n\n${USAGE}` }
  }
}

async function report(options: DoctorOptions, surroundings: Surroundings): Promise<DoctorResult> {
  const answers = await answersOf(options, surroundings)
  const [first] = answers
  const keys = options.pods ? compareKeys(answers) : undefined
  const difference =
    options.diff !== undefined && first?.report
      ? await compareWithLastGood(options.diff, first.report)
      : undefined
  const stdout = options.json
    ? toJson(answers, { keys, difference }, options)
    : printAnswers(answers, keys) + (difference ? printDifference(difference) : '')
  return { exitCode: exitCodeOf(answers, keys), stdout, stderr: '' }
}

async function answersOf(
  options: DoctorOptions,
  surroundings: Surroundings,
): Promise<readonly Answer[]> {
  const { urls, waitMs } = options
  const askAll = async (): Promise<readonly Answer[]> => {
    const answers = await Promise.all(urls.map((url) => ask(url, options)))
    return answers.map((answer) => selectFromAnswer(answer, options))
  }
  if (waitMs === undefined) return askAll()
  const findAny = async (): Promise<string | undefined> => {
    const obstacles = urls.map((url) => findObstacle(url, options.timeoutMs))
    return (await Promise.all(obstacles)).find((obstacle) => obstacle !== undefined)
  }
  return waitUntilOk({ waitMs, ask: askAll, findObstacle: findAny }, surroundings)
}

function exitCodeOf(answers: readonly Answer[], keys: KeyComparison | undefined): number {
  const codes = answers.map(({ report }) => (report ? EXIT[report.status] : EXIT.unreachable))
  return Math.max(...codes, keys?.same === false ? EXIT.degraded : EXIT.ok)
}

interface Comparisons {
  readonly keys: KeyComparison | undefined
  readonly difference: Difference | undefined
}

/**
 * One platform: its report as it came, or beside what changed. Several pods: all of them, and their
 * keys.
 */
function toJson(
  answers: readonly Answer[],
  { keys, difference }: Comparisons,
  { pods }: DoctorOptions,
): string {
  const [first] = answers
  const single = first?.report ?? { url: first?.url, problem: first?.problem }
  const several = { pods: answers, ...(keys ? { oauth_keys: keys } : {}) }
  const body = difference ? { report: single, difference } : pods ? several : single
  return `${JSON.stringify(body, null, 2)}\n`
}
