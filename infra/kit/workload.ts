import * as k8s from '../k8s.ts'
import type { Construct } from 'constructs'
import type { Val } from '../template/expression.ts'
import { instead } from '../template/given.ts'
import { all, equals, isSet, merged, not, digits } from '../template/operators.ts'
import type { In, Symbolic } from '../template/operators.ts'
import { literal } from '../template/named.ts'
import { partWith } from '../template/parts.ts'
import { create } from './create.ts'
import { customPod, hostFields } from './customize.ts'
import type { HostValues, PodValues } from './customize.ts'
import { noted, eachText, spread, When, whenGiven, whenSet } from '../template/structure.ts'
import type { Exactly, Templated } from '../template/structure.ts'
import { values } from '../values.ts'
import type { Values } from '../values.ts'
import { labels, podLabelsOf, selectorLabels } from './labels.ts'
import { nameOf } from './names.ts'

/** Pod annotations by which a Prometheus without an operator finds metrics (SPEC 4.6). */
const scrapedAt = (port: Val<number>) => ({
  'prometheus.io/scrape': 'true',
  'prometheus.io/path': '/metrics',
  'prometheus.io/port': digits(port),
})

/** The values that place the pods of a component, with their labels and annotations. */
type Pods = Placement & Symbolic<Pick<Values['collector'], 'podLabels' | 'podAnnotations'>>

type Placement = Symbolic<
  Pick<Values['collector'], 'nodeSelector' | 'tolerations' | 'affinity' | 'priorityClassName'>
>

/** The values of a Deployment. */
type DeploymentValues = Pods &
  HostValues &
  PodValues &
  Symbolic<
    Pick<
      Values['collector'],
      'serviceAccount' | 'strategy' | 'revisionHistoryLimit' | 'topologySpreadConstraints'
    >
  >

const { topologySpread } = values

type Annotations = Readonly<Record<string, string | Val<string>>>

/** The service account of one component; no pod shares one. */
export function createServiceAccount(
  scope: Construct,
  component: string,
  annotations: Annotations = spread(values.serviceAccount.annotations),
): void {
  create(scope, k8s.KubeServiceAccount, {
    metadata: {
      name: nameOf(component),
      labels: labels(component),
      annotations,
    },
    automountServiceAccountToken: false,
  })
}

/** The annotations of the service account of a component with values of its own. */
export const accountAnnotations = ({
  serviceAccount,
}: Pick<DeploymentValues, 'serviceAccount'>): Annotations =>
  spread(merged(serviceAccount.annotations, values.serviceAccount.annotations))

interface ServiceOptions {
  readonly type?: In<string>
  readonly ports: readonly Templated<k8s.ServicePort>[]
  /** The values of the Service. */
  readonly given: Symbolic<Values['collector']['service']>
  readonly spec?: Exactly<Partial<k8s.ServiceSpec>>
}

/** The address of a component; cluster-internal unless it has another type. */
export function createService(
  scope: Construct,
  component: string,
  { type = 'ClusterIP', ports, given, spec }: ServiceOptions,
): void {
  create(scope, k8s.KubeService, {
    metadata: {
      name: nameOf(component),
      labels: labels(component),
      annotations: spread(given.annotations),
    },
    spec: { type, selector: selectorLabels(component), ports, ...spec },
  })
}

/** The address of a component that may be open to the outside. */
export function createOpenService(
  scope: Construct,
  component: string,
  { given, port }: { given: Symbolic<Values['web']['service']>; port: Val<number> },
): void {
  const isInside = equals(given.type, 'ClusterIP')
  const isBalanced = equals(given.type, 'LoadBalancer')
  createService(scope, component, {
    type: given.type,
    given,
    ports: [
      {
        name: 'http',
        port,
        targetPort: k8s.IntOrString.fromString('http'),
        nodePort: new When(all(not(isInside), isSet(given.nodePort)), given.nodePort),
      },
    ],
    spec: {
      loadBalancerClass: new When(
        all(isBalanced, isSet(given.loadBalancerClass)),
        given.loadBalancerClass,
      ),
      loadBalancerSourceRanges: new When(all(isBalanced, isSet(given.loadBalancerSourceRanges)), [
        eachText(given.loadBalancerSourceRanges, (range) => range),
      ]),
    },
  })
}

interface Workload {
  readonly component: string
  /** The number of pods; absent while an autoscaler sets it. */
  readonly replicas: number | When<Val<number>>
  readonly pods: DeploymentValues
  /** @default rolled without a gap */
  readonly strategy?: Exactly<k8s.DeploymentStrategy>
  readonly annotations?: Annotations
  /** The port on which its pods serve `/metrics`. @default none */
  readonly metricsPort?: Val<number>
  readonly pod: Exactly<Omit<k8s.PodSpec, 'serviceAccountName'>>
  /** @default k8s.KubeDeployment */
  readonly kind?: typeof k8s.KubeDeployment
}

const WITHOUT_A_GAP = {
  type: 'RollingUpdate',
  rollingUpdate: {
    maxSurge: k8s.IntOrString.fromNumber(1),
    maxUnavailable: k8s.IntOrString.fromNumber(0),
  },
}

/**
 * A component without an identity of its own: spread over nodes, without access to the Kubernetes
 * API.
 */
export function createDeployment(scope: Construct, workload: Workload): void {
  const { component, replicas, pods, annotations, metricsPort, pod } = workload
  const scraped = metricsPort && scrapedAt(metricsPort)
  create(scope, workload.kind ?? k8s.KubeDeployment, {
    metadata: {
      name: nameOf(component),
      labels: labels(component),
      ...(scraped && { annotations: scraped }),
    },
    spec: {
      replicas,
      revisionHistoryLimit: pods.revisionHistoryLimit,
      strategy: instead(pods.strategy, workload.strategy ?? WITHOUT_A_GAP),
      selector: { matchLabels: selectorLabels(component) },
      template: {
        metadata: podMetadata(component, pods, { ...scraped, ...annotations }),
        spec: {
          ...podDefaults(component, pods, pods),
          topologySpreadConstraints: instead(
            pods.topologySpreadConstraints,
            spreadOver({ component: literal(component) }),
          ),
          ...customPod(pods, pod),
        },
      },
    },
  })
}

const spreadOver = partWith(
  { name: 'platform.topologySpread', comment: 'Keeps the pods of a component apart.' },
  ({ component }: { component: Val<string> }) => [
    {
      maxSkew: topologySpread.maxSkew,
      topologyKey: topologySpread.topologyKey,
      whenUnsatisfiable: topologySpread.whenUnsatisfiable,
      labelSelector: { matchLabels: selectorLabels(component) },
    },
  ],
)

/** The labels and annotations of a component's pods. */
export const podMetadata = (
  component: string,
  { podLabels, podAnnotations }: Pods,
  annotations: Readonly<Record<string, string | Val<string>>> = {},
) => ({
  labels: podLabelsOf(component, podLabels),
  annotations: { ...annotations, ...spread(podAnnotations) },
})

/** The fields that every pod of the platform has. */
export const podDefaults = (component: string, pods: Placement, hosts: HostValues) => ({
  serviceAccountName: nameOf(component),
  automountServiceAccountToken: false,
  enableServiceLinks: noted(
    'Kubernetes would add a handful of variables for each Service of the namespace.',
    false,
  ),
  ...scheduling({ pods }),
  ...hostNames({ hosts }),
})

const scheduling = partWith(
  {
    name: 'platform.scheduling',
    comment: 'Where the pods of a component run, by its values.',
  },
  ({ pods }: { pods: Placement }) => ({
    priorityClassName: whenSet(pods.priorityClassName),
    nodeSelector: whenSet(pods.nodeSelector),
    tolerations: whenSet(pods.tolerations),
    affinity: whenGiven<k8s.Affinity>(pods.affinity),
  }),
)

const hostNames = partWith(
  {
    name: 'platform.hostNames',
    comment: 'How the pods of a component look up names, and their run time.',
  },
  ({ hosts }: { hosts: HostValues }) => hostFields(hosts),
)

/** A directory that a container with a read-only root may write to. */
export const scratch = (path: string, size = '64Mi') => ({
  volume: { name: volumeName(path), emptyDir: { sizeLimit: k8s.Quantity.fromString(size) } },
  mount: { name: volumeName(path), mountPath: path },
})

const volumeName = (path: string): string => path.slice(1).replaceAll('/', '-')
