import * as k8s from '../k8s.ts'
import type { Construct } from 'constructs'
import type { Val } from '../template/expression.ts'
import type { In, Symbolic } from '../template/operators.ts'
import { create } from './create.ts'
import { spread, whenGiven, whenSet } from '../template/structure.ts'
import type { Exactly, Templated, When } from '../template/structure.ts'
import { values } from '../values.ts'
import type { Values } from '../values.ts'
import { labels, selectorLabels } from './labels.ts'
import { scrapedAt } from './metrics.ts'
import { nameOf } from './names.ts'

/** The values that place the pods of a component, with their labels and annotations. */
export type Pods = Symbolic<
  Pick<
    Values['collector'],
    | 'nodeSelector'
    | 'tolerations'
    | 'affinity'
    | 'priorityClassName'
    | 'podLabels'
    | 'podAnnotations'
  >
>

const { topologySpread } = values

/** The service account of one component; no pod shares one. */
export function createServiceAccount(
  scope: Construct,
  component: string,
  annotations: Readonly<Record<string, string | Val<string>>> = spread(
    values.serviceAccount.annotations,
  ),
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

/** The cluster-internal address of a component. */
export function createService(
  scope: Construct,
  component: string,
  ports: readonly Templated<k8s.ServicePort>[],
): void {
  createTypedService(scope, component, { type: 'ClusterIP', ports })
}

/** The address of a component, which may be open on each node as well. */
export function createTypedService(
  scope: Construct,
  component: string,
  { type, ports }: { type: In<string>; ports: readonly Templated<k8s.ServicePort>[] },
): void {
  create(scope, k8s.KubeService, {
    metadata: { name: nameOf(component), labels: labels(component) },
    spec: { type, selector: selectorLabels(component), ports },
  })
}

interface Workload {
  readonly component: string
  /** The number of pods; absent while an autoscaler sets it. */
  readonly replicas: number | When<Val<number>>
  readonly pods: Pods
  /** @default rolled without a gap */
  readonly strategy?: Exactly<k8s.DeploymentStrategy>
  readonly annotations?: Readonly<Record<string, string | Val<string>>>
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
      revisionHistoryLimit: 5,
      strategy: workload.strategy ?? WITHOUT_A_GAP,
      selector: { matchLabels: selectorLabels(component) },
      template: {
        metadata: podMetadata(component, pods, { ...scraped, ...annotations }),
        spec: {
          ...podDefaults(component, pods),
          topologySpreadConstraints: [
            {
              maxSkew: topologySpread.maxSkew,
              topologyKey: topologySpread.topologyKey,
              whenUnsatisfiable: topologySpread.whenUnsatisfiable,
              labelSelector: { matchLabels: selectorLabels(component) },
            },
          ],
          ...pod,
        },
      },
    },
  })
}

/** The labels and annotations of a component's pods. */
export const podMetadata = (
  component: string,
  { podLabels, podAnnotations }: Pods,
  annotations: Readonly<Record<string, string | Val<string>>> = {},
) => ({
  labels: { ...selectorLabels(component), ...spread(podLabels) },
  annotations: { ...annotations, ...spread(podAnnotations) },
})

/** The fields that every pod of the platform has. */
export const podDefaults = (
  component: string,
  pods: Omit<Pods, 'podLabels' | 'podAnnotations'>,
) => ({
  serviceAccountName: nameOf(component),
  automountServiceAccountToken: false,
  // Kubernetes would add a handful of variables for each Service of the namespace.
  enableServiceLinks: false,
  priorityClassName: whenSet(pods.priorityClassName),
  nodeSelector: whenSet(pods.nodeSelector),
  tolerations: whenSet(pods.tolerations),
  affinity: whenGiven<k8s.Affinity>(pods.affinity),
})

/** A directory that a container with a read-only root may write to. */
export const scratch = (path: string, size = '64Mi') => ({
  volume: { name: volumeName(path), emptyDir: { sizeLimit: k8s.Quantity.fromString(size) } },
  mount: { name: volumeName(path), mountPath: path },
})

const volumeName = (path: string): string => path.slice(1).replaceAll('/', '-')
