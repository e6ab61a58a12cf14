import { join, resolve } from 'node:path'
import type { Registry } from 'prom-client'
import type * as v from 'valibot'
import { countCrews } from '../../platform/crews/crew-counts.ts'
import { createVariableSeals } from '../../platform/crews/crew-variables.ts'
import { readerOf } from '../../platform/connections/llm-usage.ts'
import { crewToken } from '../../shared/crew-token.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError } from '../../shared/errors.ts'
import { createKubernetes, inClusterAddress } from '../../shared/kubernetes/client.ts'
import type { Kubernetes } from '../../shared/kubernetes/client.ts'
import type { Log } from '../../shared/log.ts'
import { machineVariables } from '../../shared/machine-variables.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { signToolsReadToken } from '../../shared/tools-read-token.ts'
import type { workerEnv } from '../env.ts'
import { createCrewEnvironment } from './crew-environment.ts'
import type { CrewHost } from './crew-host.ts'
import { keepLooking } from '../build-checks/keep-looking.ts'
import { openCluster } from './kubernetes/open-cluster.ts'
import type { OpenCluster } from './kubernetes/open-cluster.ts'
import { openKubernetesHost } from './kubernetes/open-host.ts'
import { createProcessHost } from './process/process-host.ts'
import { startReconciler } from './reconciler.ts'
import type { Reconciler } from './reconciler.ts'
import { Counter, Gauge } from 'prom-client'
import type { CrewCounts } from '../../platform/crews/crew-counts.ts'
import { CREW_STATES } from '../../platform/crews/crew-deployments.ts'
import { deadline } from '../../shared/deadline.ts'
import { noteGarbage, takeGarbage } from '../../platform/crews/crew-images.ts'
import { startRetention } from '../retention.ts'

interface ImageUpkeep {
  readonly sql: Database
  readonly host: Pick<CrewHost, 'freeImages'>
  readonly log: Log
}

/** Frees the room of deleted images, once an hour if it is due. */
const startImageUpkeep = (upkeep: ImageUpkeep): { stop(): Promise<void> } =>
  startRetention({
    of: 'crew images',
    expire: () => freeImages(upkeep),
    onDeleted: () => {},
    log: upkeep.log,
  })

const SCRAPE_MS = 2000

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
  const address = inClusterAddress(source)
  const kubernetes = address && createKubernetes(address)
  const opened = kubernetes && openCluster(config, kubernetes)
  const host = kubernetes
    ? opened && createClusterHost({ config, source, sql, kubernetes }, opened)
    : createProcesses({ config, source, log })
  const upkeep = host && startImageUpkeep({ sql, host, log })
  const builder = opened?.cluster.builder
  const looking = builder && keepLooking({ sql, log, builder })
  const reconciler = startReconciler({
    sql,
    log,
    host,
    seals: createVariableSeals(key, previous),
    tokenOf: (automationId) => crewToken(key, automationId),
    onFailed: registerCrewMetrics(registry, () => countCrews(sql)),
  })
  return {
    wake: reconciler.wake,
    async stop() {
      await Promise.all([looking?.stop(), upkeep?.stop(), reconciler.stop()])
    },
  }
}

/** Undefined where nothing can run crews. */
function createProcesses({
  config,
  source,
  log,
}: Pick<Crews, 'config' | 'source' | 'log'>): CrewHost | undefined {
  const { CREW_PROCESSES_DIRECTORY: root, CREW_TOOLS_URL: toolsUrl } = config
  if (root === undefined) return undefined
  if (toolsUrl === undefined) {
    throw new AppError(
      'invalid_configuration',
      'CREW_PROCESSES_DIRECTORY is set and CREW_TOOLS_URL is not: crews would have no tools ' +
        'index. Set both, or neither.',
    )
  }
  return createProcessHost({
    root: resolve(root),
    toolsUrl,
    log,
    secretKeyBase: config.SECRET_KEY_BASE,
    platformVersion: config.PLATFORM_VERSION,
    collector: collectorOf(config),
    modelUrl: config.CREW_MODEL_URL,
    machine: { ...machineVariables(source), UV_PYTHON_INSTALL_DIR: join(resolve(root), 'pythons') },
  })
}

function createClusterHost(
  {
    config,
    source,
    sql,
    kubernetes,
  }: Pick<Crews, 'config' | 'source' | 'sql'> & { readonly kubernetes: Kubernetes },
  opened: OpenCluster,
): CrewHost {
  const { SECRET_KEY_BASE: secretKeyBase, CREW_COLLECTOR_URL: url } = config
  const collector = collectorOf({ ...config, COLLECTOR_URL: url })
  return openKubernetesHost(opened, {
    kubernetes,
    sql,
    read: readerOf(source),
    secretKeyBase,
    quotaBytes: config.CREW_STORAGE_MAX,
    async environmentOf(wanted, drainSeconds) {
      const given = { secretKeyBase, collector, drainSeconds }
      return (await createCrewEnvironment(given, wanted)).variables
    },
    toolsTokenOf: (organizationId, expiresAtMs) =>
      signToolsReadToken(secretKeyBase, organizationId, { expiresAtMs }),
  })
}

function collectorOf({
  COLLECTOR_URL: url,
  COLLECTOR_JWT_SECRET: secret,
}: Pick<Crews['config'], 'COLLECTOR_URL' | 'COLLECTOR_JWT_SECRET'>) {
  return url === undefined || secret === undefined ? undefined : { url, secret }
}

/**
 * Registers the metrics of crews from source; `count` is asked at each scrape. Returns what counts
 * a failure.
 */
export function registerCrewMetrics(
  registry: Registry,
  count: () => Promise<CrewCounts>,
): () => void {
  const registers = [registry]
  new Gauge({
    name: 'worker_crews',
    help:
      'Automations from source by the state of their newest deployment; NaN while the database ' +
      'is unavailable.',
    labelNames: ['state'] as const,
    registers,
    async collect() {
      const counts = await deadline({ name: 'crews', timeoutMs: SCRAPE_MS }, count).catch(() => {})
      for (const state of CREW_STATES) this.set({ state }, counts ? (counts[state] ?? 0) : NaN)
    },
  })
  const failures = new Counter({
    name: 'worker_crew_failures_total',
    help: 'Deployments of crews that failed, and crews that failed after they had been online.',
    registers,
  })
  return () => failures.inc()
}

/** Frees the room of deleted images when it is due and no crew is built. Returns how often. */
export async function freeImages({ sql, host }: Omit<ImageUpkeep, 'log'>): Promise<number> {
  if (!(await takeGarbage(sql))) return 0
  try {
    await host.freeImages()
    return 1
  } catch (thrown) {
    await noteGarbage(sql)
    throw thrown
  }
}
