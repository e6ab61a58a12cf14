import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { CollectorEnv } from '../services/collector/env.ts'
import { archiveSettings, archiveVolume, noArchive } from './archive.ts'
import { CollectorPrices, hasPrices, pricesFile } from './collector-prices.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { mainContainer } from './kit/customize.ts'
import {
  collectorDatabaseEnv,
  createsOnTraceServer,
  hasOwnTraceServer,
  waitForPostgres,
} from './kit/database.ts'
import { dbProxySidecar } from './kit/db-proxy.ts'
import { releaseNamespace } from './kit/create.ts'
import { env, setWhen, unset } from './kit/env.ts'
import { collectorImage, databasePodPullSecrets, runs } from './kit/image.ts'
import type { WorkScaling } from './kit/keda.ts'
import { healthProbes } from './kit/probes.ts'
import { proofEnv } from './kit/proof.ts'
import { initResources, resourcesOf } from './kit/resources.ts'
import { formerKey, fromSecret, secretsChecksum } from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { replicasOf, scale } from './kit/scaling.ts'
import {
  accountAnnotations,
  createDeployment,
  createService,
  createServiceAccount,
  scratch,
} from './kit/workload.ts'
import { instead } from './template/given.ts'
import {
  amountText,
  all,
  any,
  asJson,
  digits,
  isSet,
  not,
  orElse,
  pick,
  text,
} from './template/operators.ts'
import { noted, onlyWhen, when } from './template/structure.ts'
import { values } from './values.ts'

const { collector, postgres, envVars } = values

/** The trace collector: stateless, with a PostgreSQL database of its own (SPEC 2.6, 4.6). */
export class Collector extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'collector', accountAnnotations(collector))
    onlyWhen(hasPrices, new CollectorPrices(this, 'prices'))
    createService(this, 'collector', { given: collector.service, ports: servicePorts })
    createDeployment(this, {
      component: 'collector',
      replicas: replicasOf(collector),
      pods: collector,
      metricsPort: collector.metricsPort,
      annotations: {
        ...secretsChecksum('COLLECTOR_JWT_SECRET', 'COLLECTOR_JWT_SECRET_PREVIOUS', 'DB_PASSWORD'),
        ...pricesFile.annotations,
      },
      pod: {
        imagePullSecrets: databasePodPullSecrets(collectorImage),
        securityContext: podSecurity(PLATFORM_USER),
        terminationGracePeriodSeconds: collector.terminationGracePeriodSeconds,
        initContainers: [
          ...dbProxySidecar(),
          ...waitForPostgres('collector', isInCluster),
          migrate(),
        ],
        containers: [mainContainer(collector, receiver())],
        volumes: [
          tmp.volume,
          ...caVolumes(),
          certificate.volume,
          expressionsVolume,
          pricesFile.volume,
          archiveVolume.volume,
        ],
      },
    })
    scale(this, 'collector', { ...collector, work: queueFill })
  }
}

const servicePorts = [
  { name: 'http', port: collector.port, targetPort: k8s.IntOrString.fromString('http') },
  {
    name: 'metrics',
    port: collector.metricsPort,
    targetPort: k8s.IntOrString.fromString('metrics'),
  },
  when<k8s.ServicePort>(collector.grpc.enabled, {
    name: 'grpc',
    port: collector.grpc.port,
    targetPort: k8s.IntOrString.fromString('grpc'),
  }),
]

const { keda } = collector.autoscaling

const ofRelease = text`{namespace="${releaseNamespace}"}`
const averageShare = text`avg(collector_queue_bytes${ofRelease} / collector_queue_capacity_bytes)`
const averageFill = text`100 * ${averageShare}`

/** How full the queues of the collectors are, in percent. */
const queueFill: WorkScaling = {
  isEnabled: keda.enabled,
  pollingIntervalSeconds: keda.pollingIntervalSeconds,
  triggers: [
    {
      type: 'prometheus',
      name: 'queue',
      metricType: 'Value',
      useCachedMetrics: true,
      metadata: {
        serverAddress: keda.prometheusUrl,
        query: orElse(keda.query, averageFill),
        threshold: digits(keda.targetQueuePercentage),
        ignoreNullValues: noted('No answer is no empty queue.', 'false'),
      },
      authenticationRef: when<{ name: string }>(isSet(keda.triggerAuthentication), {
        name: keda.triggerAuthentication,
      }),
    },
  ],
}

const tmp = scratch('/tmp')

const CERTIFICATE_DIRECTORY = '/certificate'
const hasCertificate = all(collector.grpc.enabled, isSet(collector.grpc.tlsSecret))

/** The certificate of the port for gRPC. */
const certificate = {
  volume: when<k8s.Volume>(hasCertificate, {
    name: 'certificate',
    secret: { secretName: collector.grpc.tlsSecret },
  }),
  mount: when<k8s.VolumeMount>(hasCertificate, {
    name: 'certificate',
    mountPath: CERTIFICATE_DIRECTORY,
    readOnly: true,
  }),
}

const { citus } = collector
const { redact } = collector.config

/** The operator's own expressions, as a file. */
const EXPRESSIONS_PATH = '/etc/redaction'
const EXPRESSIONS_FILE = `${EXPRESSIONS_PATH}/expressions`
const expressionsVolume = when<k8s.Volume>(isSet(redact.expressionsSecret), {
  name: 'redaction',
  secret: { secretName: redact.expressionsSecret },
})
const expressionsMount = when<k8s.VolumeMount>(isSet(redact.expressionsSecret), {
  name: 'redaction',
  mountPath: EXPRESSIONS_PATH,
  readOnly: true,
})

/** Holds while traces are in the chart's own PostgreSQL. */
const isInCluster = all(postgres.enabled, not(hasOwnTraceServer))

/** The variables that the service and its migration have in common. */
const common = {
  ...collectorDatabaseEnv,
  ...proofEnv(),
  LOG_LEVEL: envVars.LOG_LEVEL,
  COLLECTOR_JWT_SECRET: fromSecret('COLLECTOR_JWT_SECRET'),
  HOST: unset,
  COLLECTOR_WRITERS: unset,
  COLLECTOR_MAX_BODY_BYTES: unset,
  COLLECTOR_MEMORY_BYTES: unset,
  COLLECTOR_DISTRIBUTE: setWhen(citus.distribute, 'true'),
  COLLECTOR_DDL_DATABASE_URL: setWhen(isSet(citus.coordinatorSecret), {
    valueFrom: {
      secretKeyRef: { name: citus.coordinatorSecret, key: citus.coordinatorKey },
    },
  }),
}

/** The variables of the service alone, which the migration leaves to their defaults. */
const noService = {
  PORT: unset,
  METRICS_PORT: unset,
  GRPC_PORT: unset,
  GRPC_TLS_DIRECTORY: unset,
  STORAGE_TYPE: unset,
  SINK_TYPE: unset,
  RETENTION_WEEKS: unset,
  ...noArchive,
  HTTP_PROXY: unset,
  HTTPS_PROXY: unset,
  NO_PROXY: unset,
  COLLECTOR_ORGANIZATION_RETENTION_DAYS: unset,
  COLLECTOR_MAX_STORAGE_BYTES: unset,
  COLLECTOR_VOLUME_SIZE: unset,
  COLLECTOR_PRICES_FILE: unset,
  COLLECTOR_SEARCH: unset,
  COLLECTOR_JWT_SECRET_PREVIOUS: unset,
  COLLECTOR_READ_DATABASE_URL: unset,
  COLLECTOR_REQUIRE_SCOPES: unset,
  COLLECTOR_REDACT: unset,
  COLLECTOR_REDACT_FILE: unset,
  COLLECTOR_REDACT_HASH_KEY: unset,
}

/** Brings the collector's database to the schema of this image, before each start. */
const migrate = () => ({
  name: 'migrate',
  ...runs(collectorImage),
  command: ['node', 'build/collector/main.js', 'migrate'],
  env: env<CollectorEnv>({
    ...common,
    ...noService,
    COLLECTOR_CREATE_DATABASE: pick(any(isInCluster, createsOnTraceServer), 'true', 'false'),
  }),
  resources: initResources(),
  volumeMounts: [tmp.mount, ...caMounts()],
  securityContext: instead(collector.securityContext, containerSecurity(PLATFORM_USER)),
})

const receiverMounts = () => [
  tmp.mount,
  ...caMounts(),
  certificate.mount,
  expressionsMount,
  pricesFile.mount,
  archiveVolume.mount,
]

const receiver = () => ({
  name: 'collector',
  ...runs(collectorImage),
  command: ['node', 'build/collector/main.js'],
  ports: [
    { name: 'http', containerPort: collector.port },
    { name: 'metrics', containerPort: collector.metricsPort },
    when<k8s.ContainerPort>(collector.grpc.enabled, {
      name: 'grpc',
      containerPort: collector.grpc.port,
    }),
  ],
  env: env<CollectorEnv>({
    ...common,
    COLLECTOR_CREATE_DATABASE: unset,
    PORT: digits(collector.port),
    METRICS_PORT: digits(collector.metricsPort),
    GRPC_PORT: setWhen(collector.grpc.enabled, digits(collector.grpc.port)),
    GRPC_TLS_DIRECTORY: setWhen(hasCertificate, CERTIFICATE_DIRECTORY),
    STORAGE_TYPE: collector.config.storageType,
    SINK_TYPE: collector.config.sinkType,
    RETENTION_WEEKS: collector.config.retentionWeeks,
    ...archiveSettings,
    COLLECTOR_ORGANIZATION_RETENTION_DAYS: setWhen(
      isSet(collector.config.organizationRetentionDays),
      asJson(collector.config.organizationRetentionDays),
    ),
    COLLECTOR_MAX_STORAGE_BYTES: setWhen(
      isSet(collector.config.maxStorageBytes),
      collector.config.maxStorageBytes,
    ),
    COLLECTOR_VOLUME_SIZE: setWhen(isInCluster, amountText(postgres.storage.size)),
    COLLECTOR_PRICES_FILE: setWhen(hasPrices, pricesFile.path),
    COLLECTOR_SEARCH: pick(collector.config.search, 'on', 'off'),
    COLLECTOR_JWT_SECRET_PREVIOUS: formerKey('COLLECTOR_JWT_SECRET_PREVIOUS'),
    COLLECTOR_READ_DATABASE_URL: setWhen(isSet(collector.readDatabase.urlSecret), {
      valueFrom: {
        secretKeyRef: {
          name: collector.readDatabase.urlSecret,
          key: collector.readDatabase.urlKey,
        },
      },
    }),
    COLLECTOR_REQUIRE_SCOPES: pick(collector.config.requireScopes, 'true', 'false'),
    COLLECTOR_REDACT: setWhen(isSet(redact.kinds), redact.kinds),
    COLLECTOR_REDACT_FILE: setWhen(isSet(redact.expressionsSecret), EXPRESSIONS_FILE),
    COLLECTOR_REDACT_HASH_KEY: setWhen(isSet(redact.hashKeySecret), {
      valueFrom: { secretKeyRef: { name: redact.hashKeySecret, key: 'hashKey' } },
    }),
  }),
  ...healthProbes,
  resources: resourcesOf(collector.resources),
  volumeMounts: receiverMounts(),
  securityContext: containerSecurity(PLATFORM_USER),
})
