import packageJson from '../../../package.json' with { type: 'json' }
import type { EnvSource } from '../../shared/env.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { openCluster } from '../kubernetes/cluster.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import type { PreflightCommand } from '../options.ts'
import type { Answer, DoctorComponent, DoctorReport } from '../report.ts'
import { verdictOf } from '../report.ts'
import { checkSelection, isSelected } from '../selection.ts'
import type { Selection } from '../selection.ts'
import type { Surroundings } from '../wait.ts'
import { planInstallation } from './installation.ts'
import { parseImage } from './registry-client.ts'
import { readValues } from './values.ts'
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

interface Place {
  readonly env: EnvSource
  readonly surroundings: Surroundings
}

/**
 * Prepares the checks before an installation, which can then run again and again. Raises
 * `invalid_request` and `invalid_configuration` for what the command line, the values or the
 * environment have wrong.
 */
export async function preflightOf(
  command: PreflightCommand,
  { env, surroundings }: Place,
): Promise<{ readonly ask: () => Promise<readonly Answer[]> }> {
  checkSelection(command, PREFLIGHT_NAMES)
  const { version } = packageJson
  const planned = planInstallation(await readValues(command.values), { env, version })
  const images = command.images.length > 0 ? command.images : planned.images
  for (const image of images) parseImage(image)
  return {
    async ask() {
      let opened: Promise<Cluster> | undefined
      const report = await runPreflight({
        ...command,
        installation: { ...planned, images },
        cluster: () => (opened ??= openCluster(command, env)),
        env,
        surroundings,
        version,
      })
      return [{ url: 'Before the installation', report }]
    },
  }
}

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
async function runPreflight(options: PreflightOptions): Promise<DoctorReport> {
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
