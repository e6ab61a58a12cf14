import { parseArgs } from 'node:util'
import { noteBuildCanary } from '../../platform/crews/build-checks.ts'
import type { BuildCanary } from '../../platform/crews/build-checks.ts'
import { findCrewNamespace } from '../../platform/crews/crew-namespace.ts'
import { noteGarbage } from '../../platform/crews/crew-images.ts'
import { findInternalOrganization } from '../../platform/crews/internal-crews.ts'
import { readEnv } from '../../shared/env.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { createKubernetes, inClusterAddress } from '../../shared/kubernetes/client.ts'
import { databaseAddress } from '../../shared/postgres/address.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { openCluster } from '../deployments/kubernetes/open-cluster.ts'
import { workerEnv } from '../env.ts'
import { makeCanary } from './canary-image.ts'
import type { CanaryDeps } from './canary-deps.ts'

export const VERIFY_BUILDS_USAGE = `Usage: node build/worker/main.js verify-builds [options]

Makes a small image as a deployment does: a Job has BuildKit build it and push it to the registry of
crews, it is read back by its digest, and a pod of a node runs it. Then all of it is removed. Runs
in a pod of the worker; the diagnostic report says how the last one ended.

  --verbose   print what the build prints
  --json      print one line of JSON instead of text
  --help      print this

Exit code 0: an image was built, pushed, read and pulled. 1: it was not, and a code says why. 3:
that could not be tried, as no images are built here or something that it needs is missing.
`

const PATIENCE = { stuckMs: 60_000, pollMs: 1000 }

/** Where a command prints. */
interface Output {
  readonly out: (text: string) => void
  readonly error: (text: string) => void
}

/**
 * Makes a canary of builds and keeps what came of it. Returns the exit code. Raises
 * `invalid_request` and `invalid_configuration`, and what the database raises.
 */
export async function verifyBuilds(
  args: readonly string[],
  source: EnvSource,
  output: Output,
): Promise<number> {
  const given = readOptions(args)
  if (given.help) {
    output.out(VERIFY_BUILDS_USAGE)
    return 0
  }
  const config = readEnv(workerEnv, source)
  const sql = connectDatabase(databaseAddress(config), { name: 'verify-builds', max: 1 })
  try {
    const { deps, place } = await openCanary(sql, source)
    const log = (text: string): void => {
      if (given.verbose) output.error(text)
    }
    const result = await timed({ ...deps, place, log }, given.json ? undefined : output)
    await noteBuildCanary(sql, result)
    await noteGarbage(sql)
    if (given.json) output.out(`${JSON.stringify(result)}\n`)
    return result.problem ? 1 : 0
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const OPTIONS = {
  verbose: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

function readOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: false }).values
  } catch (cause) {
    const message = `${toError(cause).message}\n\n${VERIFY_BUILDS_USAGE}`
    throw new AppError('invalid_request', message, { cause })
  }
}

async function openCanary(sql: Database, source: EnvSource) {
  const address = inClusterAddress(source)
  const kubernetes = address && createKubernetes(address)
  const opened = kubernetes && openCluster(readEnv(workerEnv, source), kubernetes)
  const builder = opened?.cluster.builder
  if (!kubernetes || !opened || !builder) {
    throw new AppError(
      'invalid_configuration',
      'No images are built here. In a cluster they need buildkit.enabled, ' +
        'internalRegistry.enabled and crews.fromSource, and a registry without an htpasswdSecret.',
    )
  }
  const organization = await findInternalOrganization(sql)
  if (!organization) {
    throw new AppError('invalid_configuration', 'The internal organization is not installed yet.')
  }
  const { cluster, baseNamespace } = opened
  const place = await findCrewNamespace(sql, baseNamespace, organization.id)
  const signal = new AbortController().signal
  const { id: organizationId } = organization
  const deps = { kubernetes, cluster, builder, organizationId, patience: PATIENCE, signal }
  return { deps, place }
}

async function timed(deps: CanaryDeps, output: Output | undefined): Promise<BuildCanary> {
  const started = performance.now()
  const seconds = (): number => Math.round((performance.now() - started) / 100) / 10
  const problem = await makeCanary(deps, (part, fact) =>
    output?.out(`✓ ${part.padEnd(14)} ${String(seconds()).padStart(6)} s  ${fact}\n`),
  )
  if (problem) {
    output?.out(`✗ ${problem.code}: ${problem.message}\n  docs/failure-codes.md says what to do.\n`)
  }
  return { problem: problem ?? null, seconds: seconds() }
}
