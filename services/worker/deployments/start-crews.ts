import { join, resolve } from 'node:path'
import type { Registry } from 'prom-client'
import type * as v from 'valibot'
import { countCrews } from '../../platform/crew-counts.ts'
import { createVariableSeals } from '../../platform/crew-variables.ts'
import { crewToken } from '../../shared/crew-token.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { machineVariables } from '../../shared/machine-variables.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { workerEnv } from '../env.ts'
import type { CrewHost } from './crew-host.ts'
import { registerCrewMetrics } from './crew-metrics.ts'
import { createProcessHost } from './process/process-host.ts'
import { startReconciler } from './reconciler.ts'
import type { Reconciler } from './reconciler.ts'

interface Crews {
  readonly config: v.InferOutput<typeof workerEnv>
  readonly source: EnvSource
  readonly log: Log
  readonly sql: Database
  readonly registry: Registry
}

/** Looks after the crews that are made from source. Raises `invalid_configuration`. */
export function startCrews({ config, source, log, sql, registry }: Crews): Reconciler {
  const { SECRET_KEY_BASE: key, SECRET_KEY_BASE_PREVIOUS: previous } = config
  return startReconciler({
    sql,
    log,
    host: createHost({ config, source, log }),
    seals: createVariableSeals(key, previous),
    tokenOf: (automationId) => crewToken(key, automationId),
    onFailed: registerCrewMetrics(registry, () => countCrews(sql)),
  })
}

/** Undefined where nothing can run crews. */
function createHost({
  config,
  source,
  log,
}: Pick<Crews, 'config' | 'source' | 'log'>): CrewHost | undefined {
  const { CREW_PROCESSES_DIRECTORY: root, CREW_TOOLS_URL: toolsUrl } = config
  if (root === undefined) return undefined
  if (toolsUrl === undefined) {
    throw new AppError(
      'invalid_configuration',
      'CREW_PROCESSES_DIRECTORY is set and CREW_TOOLS_URL is not: crews would have no tools. ' +
        'Set both, or neither.',
    )
  }
  return createProcessHost({
    root: resolve(root),
    toolsUrl,
    log,
    secretKeyBase: config.SECRET_KEY_BASE,
    platformVersion: config.PLATFORM_VERSION,
    collector: collectorOf(config),
    machine: { ...machineVariables(source), UV_PYTHON_INSTALL_DIR: join(resolve(root), 'pythons') },
  })
}

function collectorOf({ COLLECTOR_URL: url, COLLECTOR_JWT_SECRET: secret }: Crews['config']) {
  return url === undefined || secret === undefined ? undefined : { url, secret }
}
