import { k8s } from 'cdk8s-plus-28'
import type { Construct } from 'constructs'
import type { Val } from '../template/expression.ts'
import { isSet, sha256 } from '../template/operators.ts'
import type { Symbolic } from '../template/operators.ts'
import { create, each, spread, when, whenSet } from '../template/structure.ts'
import type { Exactly } from '../template/structure.ts'
import { values } from '../values.ts'
import type { Values } from '../values.ts'
import { labels, selectorLabels } from './labels.ts'
import { nameOf } from './names.ts'

type Scheduling = Symbolic<
  Pick<Values['collector'], 'nodeSelector' | 'tolerations' | 'priorityClassName'>
>

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
  ports: readonly Exactly<k8s.ServicePort>[],
): void {
  create(scope, k8s.KubeService, {
    metadata: { name: nameOf(component), labels: labels(component) },
    spec: { type: 'ClusterIP', selector: selectorLabels(component), ports },
  })
}

interface Workload {
  readonly component: string
  readonly replicas: Val<number>
  readonly scheduling: Scheduling
  readonly annotations: Readonly<Record<string, string | Val<string>>>
  readonly pod: Exactly<Omit<k8s.PodSpec, 'serviceAccountName'>>
}

/** A stateless component: rolled without a gap, spread over nodes, without access to the Kubernetes API. */
export function createDeployment(scope: Construct, workload: Workload): void {
  const { component, replicas, scheduling, annotations, pod } = workload
  create(scope, k8s.KubeDeployment, {
    metadata: { name: nameOf(component), labels: labels(component) },
    spec: {
      replicas,
      revisionHistoryLimit: 5,
      strategy: {
        type: 'RollingUpdate',
        rollingUpdate: {
          maxSurge: k8s.IntOrString.fromNumber(1),
          maxUnavailable: k8s.IntOrString.fromNumber(0),
        },
      },
      selector: { matchLabels: selectorLabels(component) },
      template: {
        metadata: { labels: selectorLabels(component), annotations },
        spec: {
          ...podDefaults(component, scheduling),
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: selectorLabels(component) },
            },
          ],
          ...pod,
        },
      },
    },
  })
}

/** What every pod of the platform starts from. */
export const podDefaults = (component: string, scheduling: Scheduling) => ({
  serviceAccountName: nameOf(component),
  automountServiceAccountToken: false,
  // Kubernetes would add a handful of variables for each Service of the namespace.
  enableServiceLinks: false,
  priorityClassName: whenSet(scheduling.priorityClassName),
  nodeSelector: whenSet(scheduling.nodeSelector),
  tolerations: whenSet(scheduling.tolerations),
})

/** A directory that a container with a read-only root may write to. */
export const scratch = (path: string) => ({
  volume: { name: volumeName(path), emptyDir: { sizeLimit: k8s.Quantity.fromString('64Mi') } },
  mount: { name: volumeName(path), mountPath: path },
})

const volumeName = (path: string): string => path.slice(1).replaceAll('/', '-')

const extraEnv = nameOf('extra-env')

/** The operator's own variables. They come by reference, so they can never be named twice beside the chart's own. */
export const extraEnvVars = {
  name: extraEnv,
  from: [
    when<k8s.EnvFromSource>(isSet(values.extraEnvVars), { configMapRef: { name: extraEnv } }),
    each<EnvFromSecret, k8s.EnvFromSource>(values.envFromSecrets, (item) => ({
      secretRef: { name: item('name') },
    })),
  ],
  checksum: { 'checksum/extra-env': sha256(values.extraEnvVars) },
}

type EnvFromSecret = Values['envFromSecrets'][number]
