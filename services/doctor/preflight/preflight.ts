import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { verdictOf } from '../report.ts'
import type { DoctorComponent, DoctorReport } from '../report.ts'
import { isSelected } from '../selection.ts'
import type { Selection } from '../selection.ts'
import { checkCluster } from './checks/cluster.ts'
import { checkClock } from './checks/clock.ts'
import { checkCollectorDatabase, checkDatabase } from './checks/database.ts'
import { checkEgress } from './checks/egress.ts'
import { checkIdentity } from './checks/identity.ts'
import { checkRegistry } from './checks/registry.ts'
import { checkRights } from './checks/rights.ts'
import { checkStorage } from './checks/storage.ts'
import type { PreflightContext } from './context.ts'
import { failed } from './result.ts'
import type { Result } from './result.ts'

const CHECKS: Readonly<Record<string, (context: PreflightContext) => Promise<Result>>> = {
  cluster: checkCluster,
  rights: checkRights,
  storage: checkStorage,
  registry: checkRegistry,
  database: checkDatabase,
  collector_database: checkCollectorDatabase,
  auth: checkIdentity,
  egress: checkEgress,
  clock: checkClock,
}

/** The names of the checks before an installation, in the order of the report. */
export const PREFLIGHT_NAMES: readonly string[] = Object.keys(CHECKS)

/** What an installation is checked with, and which checks are meant. */
interface PreflightOptions extends Omit<PreflightContext, 'signal'>, Selection {
  /** The version that is to be installed. */
  readonly version: string
}

/** Runs the checks before an installation, all at the same time. Never rejects. */
export async function runPreflight(options: PreflightOptions): Promise<DoctorReport> {
  const started = performance.now()
  const names = PREFLIGHT_NAMES.filter((name) => isSelected(options, name))
  const results = await Promise.all(
    names.map(async (name) => [name, await runCheck(name, options)] as const),
  )
  const components = Object.fromEntries(results)
  return {
    status: verdictOf(components),
    duration_ms: Math.round(performance.now() - started),
    environment: {
      platform: false,
      auth_provider: options.installation.authProvider,
      version: options.version,
    },
    components,
  }
}

async function runCheck(name: string, context: PreflightOptions): Promise<DoctorComponent> {
  const started = performance.now()
  const { timeoutMs } = context
  const run = CHECKS[name]
  const limits = { name: `the check ${name}`, timeoutMs }
  const call = deadline(limits, async (signal) => run?.({ ...context, signal }))
  const result = await call.catch(toFailure)
  const { status, ...rest } = result ?? failed('check_failed', 'there is no such check')
  if (status === 'skipped') return { status, ...rest }
  return { status, latency_ms: Math.round(performance.now() - started), ...rest }
}

function toFailure(thrown: unknown): Result {
  const { message } = toError(thrown)
  if (!(thrown instanceof AppError)) return failed('check_failed', `check failed: ${message}`)
  return thrown.code === 'timeout'
    ? failed('timeout', `TimeoutError: ${message}`)
    : failed('cluster_unreachable', message)
}
