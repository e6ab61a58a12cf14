import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import { given, instead, items } from '../template/given.ts'
import type { JsonObject } from '../template/json.ts'

import type { Symbolic } from '../template/operators.ts'
import { partWith } from '../template/parts.ts'
import { noted, whenSet } from '../template/structure.ts'
import type { Exactly } from '../template/structure.ts'
import type { Values } from '../values.ts'

type ProbeName = 'startupProbe' | 'livenessProbe' | 'readinessProbe'
type Probe = Exactly<k8s.Probe>
type Container = Exactly<Omit<k8s.Container, ProbeName>> & { readonly [P in ProbeName]?: Probe }
type PodSpec = Exactly<Omit<k8s.PodSpec, 'serviceAccountName'>>

/** The values with which an operator changes the main container of a component. */
export type ContainerValues = Symbolic<
  Pick<
    Values['collector'],
    | 'extraEnv'
    | 'envFrom'
    | 'extraVolumeMounts'
    | 'securityContext'
    | 'startupProbe'
    | 'livenessProbe'
    | 'readinessProbe'
  >
> & { readonly lifecycle?: Val<JsonObject> }

/** The values with which an operator changes the pods of a component. */
export type PodValues = Symbolic<
  Pick<
    Values['collector'],
    'extraVolumes' | 'extraInitContainers' | 'extraContainers' | 'podSecurityContext'
  >
>

/** The values that name hosts, look-ups and run time of a pod. */
export type HostValues = Symbolic<
  Pick<Values['collector'], 'hostAliases' | 'dnsPolicy' | 'dnsConfig' | 'runtimeClassName'>
>

// The chart's own lists are arrays, or missing.
const listOf = (own: unknown) => (own ?? []) as readonly never[]

/** The main container of a component, with what the operator adds to it and sets otherwise. */
export const mainContainer = (values: ContainerValues, own: Container): Container => ({
  ...own,
  envFrom: [...listOf(own.envFrom), items<k8s.EnvFromSource>(values.envFrom)],
  env: [...listOf(own.env), items<k8s.EnvVar>(values.extraEnv)],
  ...probesAt(values, own),
  ...(values.lifecycle && { lifecycle: given<k8s.Lifecycle>(values.lifecycle) }),
  volumeMounts: [...listOf(own.volumeMounts), items<k8s.VolumeMount>(values.extraVolumeMounts)],
  securityContext: instead(values.securityContext, own.securityContext),
})

type Times = ContainerValues[ProbeName]

/** The probes of a container at the times that the values give. */
export const probesAt = (
  values: Pick<ContainerValues, ProbeName>,
  { startupProbe, livenessProbe, readinessProbe }: Pick<Container, ProbeName>,
) => ({
  ...(startupProbe && { startupProbe: timed(startupProbe, values.startupProbe) }),
  ...(livenessProbe && { livenessProbe: timed(livenessProbe, values.livenessProbe) }),
  ...(readinessProbe && { readinessProbe: timed(readinessProbe, values.readinessProbe) }),
})

/** A probe at the times that the values give. */
const timed = (own: Probe, probe: Times): Probe => ({ ...own, ...times({ probe }) })

const times = partWith(
  { name: 'platform.probeTimes', comment: 'The times of a probe, by its values.' },
  ({ probe: { initialDelaySeconds, ...others } }: { probe: Times }) => ({
    initialDelaySeconds: noted('The server keeps no delay of 0.', whenSet(initialDelaySeconds)),
    ...others,
  }),
)

/** A pod with what the operator adds to it and sets otherwise; its containers come first. */
export const customPod = (values: PodValues, own: PodSpec): PodSpec => ({
  ...own,
  securityContext: instead(values.podSecurityContext, own.securityContext),
  initContainers: [items<k8s.Container>(values.extraInitContainers), ...listOf(own.initContainers)],
  containers: [...listOf(own.containers), items<k8s.Container>(values.extraContainers)],
  volumes: [...listOf(own.volumes), items<k8s.Volume>(values.extraVolumes)],
})

/** The fields of a pod about hosts, look-ups and its run time. */
export const hostFields = (values: HostValues) => ({
  runtimeClassName: whenSet(values.runtimeClassName),
  hostAliases: given<k8s.HostAlias[]>(values.hostAliases),
  dnsPolicy: whenSet(values.dnsPolicy),
  dnsConfig: given<k8s.PodDnsConfig>(values.dnsConfig),
})
