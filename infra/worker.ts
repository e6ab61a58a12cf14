import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { WorkerEnv } from '../services/worker/env.ts'
import { addressOf, queueInCluster, scalesByQueue } from './calls.ts'
import { buildCertificates, crewsFromSourceEnv, WorkerAccess } from './crews-from-source.ts'
import { platformPrices, readsPrices } from './collector-prices.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { mainContainer } from './kit/customize.ts'
import { databaseEnv } from './kit/database.ts'
import { env, setWhen, unset } from './kit/env.ts'
import { extraEnvVars, extraMounts, extraVolumes } from './kit/extras.ts'
import { platformImage, platformVersion, runs } from './kit/image.ts'
import type { Trigger, WorkScaling } from './kit/keda.ts'
import { platformPod } from './kit/platform-pod.ts'
import { databaseHealthProbes } from './kit/probes.ts'
import { proxyEnv } from './kit/proxy.ts'
import { resourcesOf } from './kit/resources.ts'
import {
  fromSecret,
  noOauthEncryptionKey,
  secretKeyBase,
  secretsChecksum,
} from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER } from './kit/security.ts'
import { replicasOf, scale } from './kit/scaling.ts'
import {
  accountAnnotations,
  createDeployment,
  createService,
  createServiceAccount,
  scratch,
} from './kit/workload.ts'
import { all, digits, exceeds, isSet, pick, plus } from './template/operators.ts'
import { onlyWhen, when } from './template/structure.ts'
import { values } from './values.ts'

const { audit, limits, worker, collector, envVars, oauth, outgoing, runs: history } = values

/** Runs the automations that the API starts. */
export class Worker extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'worker', accountAnnotations(worker))
    onlyWhen(makesCrews, new WorkerAccess(this, 'access'))
    createDeployment(this, {
      component: 'worker',
      replicas: replicasOf(worker),
      pods: worker,
      metricsPort: worker.port,
      annotations: {
        ...secretsChecksum(
          'SECRET_KEY_BASE',
          'SECRET_KEY_BASE_PREVIOUS',
          'COLLECTOR_JWT_SECRET',
          'REGISTRY_KEY',
          'PLATFORM_OAUTH_API_KEY',
          'DB_PASSWORD',
        ),
        ...extraEnvVars.checksum,
        ...platformPrices.annotations,
      },
      pod: {
        ...platformPod('worker', { ...secretKeyBase(), ...noOauthEncryptionKey }, worker),
        // For the runs that are still going, and then for their reports.
        automountServiceAccountToken: values.crews.fromSource,
        terminationGracePeriodSeconds: plus(worker.drainSeconds, 30),
        containers: [mainContainer(worker, runner())],
        volumes: [
          tmp.volume,
          platformPrices.volume,
          buildCertificates.volume,
          ...caVolumes(),
          ...extraVolumes(),
        ],
      },
    })
    onlyWhen(scalesByQueue, new QueueAddress(this, 'queue'))
    scale(this, 'worker', { ...worker, work: queueLength })
  }
}

/** The address at which KEDA asks any of the workers; they read the same queue. */
class QueueAddress extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createService(this, 'worker', {
      given: worker.service,
      ports: [{ name: 'http', port: worker.port, targetPort: k8s.IntOrString.fromString('http') }],
    })
  }
}

const { keda } = worker.autoscaling

/**
 * The runs that there are for workers. KEDA asks a worker rather than PostgreSQL, so that it needs
 * neither a password nor the certificate authority of the database.
 */
const queueLength: WorkScaling = {
  isEnabled: keda.enabled,
  pollingIntervalSeconds: keda.pollingIntervalSeconds,
  triggers: [
    {
      type: 'metrics-api',
      name: 'runs',
      metricType: 'AverageValue',
      useCachedMetrics: true,
      metadata: {
        url: queueInCluster,
        valueLocation: 'runs',
        targetValue: pick(
          exceeds(keda.targetRuns, 0),
          digits(keda.targetRuns),
          digits(worker.concurrency),
        ),
      },
    },
    when<Trigger>(exceeds(keda.targetWaitSeconds, 0), {
      type: 'metrics-api',
      name: 'wait',
      metricType: 'Value',
      useCachedMetrics: true,
      metadata: {
        url: queueInCluster,
        valueLocation: 'oldest_seconds',
        targetValue: digits(keda.targetWaitSeconds),
      },
    }),
  ],
}

/** A Git repository that is pulled is there, and the archive of its files. */
const tmp = scratch('/tmp', '512Mi')
const makesCrews = all(values.crews.fromSource, values.rbac.create)
const runner = () => ({
  name: 'worker',
  ...runs(platformImage),
  // More, shorter collections of garbage: each one of 6 ms holds up the steps of all runs.
  command: ['node', '--max-semi-space-size=2', 'build/worker/main.js'],
  ports: [{ name: 'http', containerPort: worker.port }],
  envFrom: extraEnvVars.from(),
  env: env<WorkerEnv>({
    ...databaseEnv('worker'),
    PORT: digits(worker.port),
    HOST: unset,
    LOG_LEVEL: envVars.LOG_LEVEL,
    ...proxyEnv(),
    PLATFORM_VERSION: platformVersion,
    ...secretKeyBase(),
    // Crews run in pods of their own.
    CREW_PROCESSES_DIRECTORY: unset,
    CREW_TOOLS_URL: unset,
    CREW_MODEL_URL: unset,
    WORKER_CONCURRENCY: digits(worker.concurrency),
    CREW_PATIENCE_SECONDS: digits(worker.crewPatienceSeconds),
    EXECUTION_TIMEOUT_SECONDS: digits(worker.executionTimeoutSeconds),
    WORKER_DRAIN_SECONDS: digits(worker.drainSeconds),
    RUNS_RETENTION_DAYS: digits(history.retentionDays),
    AUDIT_RETENTION_DAYS: digits(audit.retentionDays),
    AUDIT_LOG: audit.log,
    QUEUED_RUNS_MAX: digits(limits.queuedRuns),
    WEBHOOK_PRIVATE_ORIGINS: setWhen(
      isSet(outgoing.webhookPrivateOrigins),
      outgoing.webhookPrivateOrigins,
    ),
    GIT_PRIVATE_ORIGINS: setWhen(isSet(outgoing.gitPrivateOrigins), outgoing.gitPrivateOrigins),
    PLATFORM_OAUTH_API_BASE_URL: setWhen(oauth.enabled, addressOf({ from: 'worker', to: 'oauth' })),
    PLATFORM_OAUTH_API_KEY: setWhen(oauth.enabled, fromSecret('PLATFORM_OAUTH_API_KEY')),
    COLLECTOR_PRICES_FILE: setWhen(readsPrices, platformPrices.path),
    COLLECTOR_URL: setWhen(collector.enabled, addressOf({ from: 'worker', to: 'collector' })),
    COLLECTOR_JWT_SECRET: setWhen(collector.enabled, fromSecret('COLLECTOR_JWT_SECRET')),
    ...crewsFromSourceEnv,
  }),
  ...databaseHealthProbes,
  resources: resourcesOf(worker.resources),
  volumeMounts: [
    tmp.mount,
    platformPrices.mount,
    buildCertificates.mount,
    ...caMounts(),
    ...extraMounts(),
  ],
  securityContext: containerSecurity(PLATFORM_USER),
})
