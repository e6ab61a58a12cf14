import { AppError } from '../../shared/errors.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { CheckContext } from './check.ts'
import { COMPONENT_NAMES } from './checks/list.ts'
import type { ComponentName, Components } from './checks/list.ts'
import type { FailureCode } from './failure-code.ts'
import { failed } from './finding.ts'
import type { ComponentResult, Finding } from './finding.ts'
import { describeOutage, isTimeout, textOf } from './outage.ts'
import { RUN_CODES } from './run-codes.ts'

/** A check together with its surroundings. */
export interface BoundCheck {
  /** The code when the check runs out of time. */
  readonly timeout: FailureCode
  run(context: CheckContext): Promise<Finding>
}

/** A bound check for each component. */
export type BoundChecks = Readonly<Record<ComponentName, BoundCheck>>

/** The limits of SPEC 8, in milliseconds. */
export interface Limits {
  /** When the signal of a check aborts. */
  readonly abortMs: number
  /** When a check has failed whatever it does. */
  readonly checkMs: number
  /** When all checks have. */
  readonly totalMs: number
}

/** The limits in production. */
export const LIMITS: Limits = { abortMs: 2750, checkMs: 3000, totalMs: 10_000 }

/** Called once for each component, with its result. */
export type OnResult = (name: ComponentName, result: ComponentResult) => void

/** Options of `runChecks`. */
interface RunChecksOptions {
  readonly checks: BoundChecks
  readonly limits: Limits
  readonly sql: Database
  readonly onResult: OnResult
}

/**
 * Runs all checks at the same time. Never rejects and never takes longer than `totalMs`: a check
 * that throws, hangs or ignores its signal is a failed component, not a failed report.
 */
export async function runChecks(options: RunChecksOptions): Promise<Components> {
  const { limits, onResult } = options
  const results = new Map<ComponentName, ComponentResult>()
  const started = performance.now()
  const settle: OnResult = (name, result) => {
    if (results.has(name)) return
    results.set(name, result)
    onResult(name, result)
  }
  const all = COMPONENT_NAMES.map(async (name) => settle(name, await runCheck(options, name)))
  const guard = alarm(limits.totalMs)
  await Promise.race([Promise.all(all), guard.rings])
  guard.cancel()
  const error = `TimeoutError: no result within ${limits.totalMs} ms`
  for (const name of COMPONENT_NAMES) {
    settle(name, { ...failed(RUN_CODES.timeout, error), latency_ms: since(started) })
  }
  // Each name was settled above, with what its own check returned; here they come into order.
  return Object.fromEntries(COMPONENT_NAMES.map((name) => [name, results.get(name)])) as Components
}

async function runCheck({ checks, limits, sql }: RunChecksOptions, name: ComponentName) {
  const check = checks[name]
  const started = performance.now()
  const stop = new AbortController()
  const noAnswer = new AppError('timeout', `no answer within ${limits.abortMs} ms`)
  const soft = setTimeout(() => stop.abort(noAnswer), limits.abortMs)
  const hard = alarm(limits.checkMs)
  const call = async (): Promise<Finding> => check.run({ signal: stop.signal, sql })
  try {
    const finding = await Promise.race([call().catch(toFinding(check.timeout)), hard.rings])
    return timed(
      finding ?? failed(check.timeout, `TimeoutError: no answer within ${limits.checkMs} ms`),
      started,
    )
  } finally {
    clearTimeout(soft)
    hard.cancel()
    stop.abort(noAnswer)
  }
}

const toFinding = (timeout: FailureCode) => (thrown: unknown) =>
  isTimeout(thrown)
    ? failed(timeout, describeOutage(thrown))
    : failed(RUN_CODES.check_failed, `check failed: ${textOf(thrown)}`)

function timed({ status, ...rest }: Finding, started: number): ComponentResult {
  return status === 'skipped'
    ? { status, ...rest }
    : { status, latency_ms: since(started), ...rest }
}

const since = (started: number): number => Math.round(performance.now() - started)

function alarm(ms: number): { rings: Promise<undefined>; cancel: () => void } {
  let timer: NodeJS.Timeout | undefined
  const rings = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  return { rings, cancel: () => clearTimeout(timer) }
}
