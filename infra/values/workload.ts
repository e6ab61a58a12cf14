import type * as k8s from '../k8s.ts'
import { ANY_TEXT, LABEL_KEY, NAMESPACE, OWN_KEY } from '../kubernetes-names.ts'
import { free, freeList } from '../template/free.ts'
import { boolean, group, integer, map, string, texts, word } from '../template/schema.ts'
import type { ItemRule } from '../template/item-rules.ts'
import * as type from '../value-types.ts'
import { withSelector } from './affinity.ts'

// What an operator may add to the pods of a component, or set otherwise. Free values go to
// Kubernetes as they are given.

const NAME = { ...NAMESPACE, expected: 'a name of up to 63 lower-case letters, digits and dashes' }
const VARIABLE = {
  pattern: /^[A-Za-z_][A-Za-z0-9_.-]{0,252}$/,
  expected: 'the name of a variable',
}
const PATH = { pattern: /^\/[^:]*$/, expected: 'an absolute path without a colon' }
const NOT_EMPTY = { pattern: /^[!-~]+$/, expected: 'an image' }

const sidecar = { name: 'log-shipper', image: 'registry.example.com/log-shipper:1.4.2' }

/** What only a container has that stays, which says so by its restart policy. */
const ofSidecar = (member: string): ItemRule => ({
  where: { member, is: 'there' },
  needs: { member: 'restartPolicy', among: ['Always'] },
  message: `must be "Always" with ${member}: other init containers end before it counts`,
})

/** What may be added to the main container of a component, and to its pod. */
const additions = {
  extraEnv: freeList<k8s.EnvVar>(
    'More variables of the main container, with a `value` or a `valueFrom`; none that the chart ' +
      'sets itself.',
    {
      type: 'EnvVar',
      demands: { name: VARIABLE },
      example: [
        { name: 'REGION', value: 'eu-1' },
        { name: 'API_KEY', valueFrom: { secretKeyRef: { name: 'my-keys', key: 'api-key' } } },
      ],
    },
  ),
  envFrom: freeList<k8s.EnvFromSource>(
    'Secrets and ConfigMaps of yours whose keys become variables of the main container.',
    { type: 'EnvFromSource', example: [{ configMapRef: { name: 'my-settings' } }] },
  ),
  extraVolumes: freeList<k8s.Volume>('More volumes of the pods.', {
    type: 'Volume',
    demands: { name: NAME },
    example: [{ name: 'scratch', emptyDir: { sizeLimit: '1Gi' } }],
  }),
  extraVolumeMounts: freeList<k8s.VolumeMount>('Mounts of volumes in the main container.', {
    type: 'VolumeMount',
    demands: { name: NAME, mountPath: PATH },
    example: [{ name: 'scratch', mountPath: '/var/scratch' }],
  }),
  extraInitContainers: freeList<k8s.Container>(
    "Containers that run before the chart's own, or beside them with `restartPolicy: Always`.",
    {
      type: 'Container',
      name: 'InitContainer',
      demands: { name: NAME, image: NOT_EMPTY },
      rules: ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'].map(ofSidecar),
      example: [{ ...sidecar, restartPolicy: 'Always' }],
    },
  ),
  extraContainers: freeList<k8s.Container>('Containers beside the main one.', {
    type: 'Container',
    demands: { name: NAME, image: NOT_EMPTY },
    example: [sidecar],
  }),
}

/** What may be set otherwise. */
const settings = {
  podSecurityContext: free<k8s.PodSecurityContext>(
    "Security context of the pods instead of the chart's own, as a whole.",
    {
      type: 'PodSecurityContext',
      example: {
        runAsUser: 10_001,
        runAsGroup: 10_001,
        fsGroup: 10_001,
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    },
  ),
  securityContext: free<k8s.SecurityContext>(
    "Security context of the main container, and of `migrate` before it, instead of the chart's " +
      'own, as a whole.',
    {
      type: 'SecurityContext',
      example: {
        runAsUser: 10_001,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
    },
  ),
  hostAliases: freeList<k8s.HostAlias>('Entries of `/etc/hosts` in the pods.', {
    type: 'HostAlias',
    example: [{ ip: '10.0.0.20', hostnames: ['models.example.com'] }],
  }),
  dnsPolicy: word(
    ['', 'ClusterFirst', 'Default', 'None'],
    '',
    'Where pods look names up. Empty means `ClusterFirst`; `None` needs `dnsConfig`.',
  ),
  dnsConfig: free<k8s.PodDnsConfig>('More settings for looking names up.', {
    type: 'PodDNSConfig',
    example: { options: [{ name: 'ndots', value: '2' }] },
  }),
  runtimeClassName: type.objectName("Runtime class of the pods. Empty means the node's own."),
  serviceAccount: group('The service account.', {
    annotations: type.annotations(
      'Its annotations, before those of `serviceAccount.annotations`.',
      {
        'eks.amazonaws.com/role-arn': 'arn:aws:iam::111122223333:role/platform',
      },
    ),
  }),
}

const lifecycle = free<k8s.Lifecycle>(
  'What the main container does after its start and before its end.',
  {
    type: 'Lifecycle',
    example: { preStop: { exec: { command: ['sleep', '10'] } } },
  },
)

const strategy = free<k8s.DeploymentStrategy>(
  "How pods are replaced, instead of the chart's own way.",
  {
    type: 'DeploymentStrategy',
    example: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } },
  },
)

const revisionHistoryLimit = integer(
  5,
  'Former versions that are kept for `kubectl rollout undo`.',
  {
    min: 0,
    max: 1000,
  },
)

const topologySpreadConstraints = freeList<k8s.TopologySpreadConstraint>(
  'How the pods spread over the cluster, instead of the constraint in `topologySpread`.',
  {
    type: 'TopologySpreadConstraint',
    demands: {
      topologyKey: { pattern: /^[!-~]+$/, expected: 'the label of a node' },
      whenUnsatisfiable: {
        pattern: /^(DoNotSchedule|ScheduleAnyway)$/,
        expected: 'DoNotSchedule or ScheduleAnyway',
      },
    },
    rules: [withSelector('matchLabelKeys')],
    example: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { 'app.kubernetes.io/component': 'web' } },
      },
    ],
  },
)

/** The times of a probe; `timeout` and `failures` as the chart has them. */
interface ProbeTimes {
  readonly period: number
  readonly failures: number
  readonly timeout?: number
}

const seconds = (value: number, doc: string, min = 1) => integer(value, doc, { min, max: 86_400 })

const probe = (doc: string, { period, failures, timeout = 5 }: ProbeTimes) =>
  group(doc, {
    initialDelaySeconds: seconds(0, 'Time before the first one.', 0),
    periodSeconds: seconds(period, 'Time between two.'),
    timeoutSeconds: seconds(timeout, 'Time for an answer.'),
    failureThreshold: integer(failures, 'How many must fail in a row.', { min: 1, max: 10_000 }),
  })

interface Times {
  readonly startup?: ProbeTimes
  readonly liveness?: ProbeTimes
  readonly readiness?: ProbeTimes
}

const probes = ({
  startup = { period: 5, failures: 60 },
  liveness = { period: 10, failures: 3 },
  readiness = { period: 5, failures: 3 },
}: Times = {}) => ({
  startupProbe: probe('Probes until the program is up; it is started again if they fail.', startup),
  livenessProbe: probe(
    'Probes of a program that is up; it is started again if they fail.',
    liveness,
  ),
  readinessProbe: probe('Probes of whether a pod gets requests.', readiness),
})

/** The time that a pod has to end. */
const grace = (value: number) => ({
  terminationGracePeriodSeconds: integer(value, 'Time that a pod has to end.', {
    min: 1,
    max: 86_400,
  }),
})

/** What an operator may add to the pods of a Deployment, or set otherwise. */
export const workload = (times?: Times) => ({
  ...additions,
  ...settings,
  lifecycle,
  strategy,
  revisionHistoryLimit,
  topologySpreadConstraints,
  ...probes(times),
})

/** The same for a Deployment whose pods have a time to end that is a value. */
export const endingWorkload = (times?: Times) => ({ ...workload(times), ...grace(30) })

/** The same for the one pod of a StatefulSet. */
export const statefulWorkload = (times: Times, graceSeconds: number) => ({
  ...additions,
  ...settings,
  revisionHistoryLimit,
  ...probes(times),
  ...grace(graceSeconds),
})

/** How many pods of a component may be missing while nodes are drained. */
export const disruption = group(
  'The PodDisruptionBudget, which is there while there is more than one pod.',
  {
    enabled: boolean(true, 'Create it.'),
    maxUnavailable: integer(1, 'Pods that may be missing.', { min: 1, max: 1000 }),
    maxUnavailablePercentage: integer(0, 'Share of the pods, instead of that number unless 0.', {
      min: 0,
      max: 100,
    }),
    minAvailable: integer(0, 'Pods that must be there, instead of `maxUnavailable` unless 0.', {
      min: 0,
      max: 1000,
    }),
    minAvailablePercentage: integer(
      0,
      'Share of the pods that must be there, instead of all of these unless 0.',
      { min: 0, max: 100 },
    ),
  },
)

const serviceAnnotations = map('Annotations of the Service.', {
  key: OWN_KEY,
  value: ANY_TEXT,
  example: { 'service.kubernetes.io/topology-mode': 'Auto' },
})

/** The Service of a component inside the cluster. */
export const service = group('The Service.', { annotations: serviceAnnotations })

/** A Service that may be reached from outside of the cluster. */
export const openService = group('The Service.', {
  type: word(
    ['ClusterIP', 'NodePort', 'LoadBalancer'],
    'ClusterIP',
    'Whether it is reached inside the cluster, on each node, or by a load balancer.',
  ),
  nodePort: integer(0, 'Port of the nodes, with `NodePort` or `LoadBalancer`. 0 means any.', {
    min: 0,
    max: 65_535,
  }),
  loadBalancerClass: string('', 'Class of the load balancer. It cannot be changed later.', {
    pattern:
      /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/,
    except: LABEL_KEY.except,
    expected: 'a class such as "service.k8s.aws/nlb", or ""',
  }),
  loadBalancerSourceRanges: texts(
    'Addresses that a load balancer lets in. Empty means all.',
    type.RANGE,
  ),
  annotations: serviceAnnotations,
})
