import { containersOf, podsOf } from './platform.ts'
import type { Manifest } from './platform.ts'

type Rule = (objects: readonly Manifest[]) => readonly string[]

interface Container {
  readonly owner: string
  readonly container: Manifest
  readonly spec: Manifest
}

const containers = (objects: readonly Manifest[]): readonly Container[] =>
  podsOf(objects).flatMap(({ owner, pod }) =>
    containersOf(pod).map((container) => ({ owner, container, spec: pod.spec })),
  )

/** A rule about each container; what it answers is a fault. */
const perContainer =
  (isFault: (container: Manifest, spec: Manifest) => boolean): Rule =>
  (objects) =>
    containers(objects)
      .filter(({ container, spec }) => isFault(container, spec))
      .map(({ owner, container }) => `${owner} ${container.name}`)

const perPod =
  (isFault: (spec: Manifest, owner: string) => boolean): Rule =>
  (objects) =>
    podsOf(objects)
      .filter(({ pod, owner }) => isFault(pod.spec, owner))
      .map(({ owner }) => owner)

const probes = (container: Manifest): readonly Manifest[] =>
  [container.startupProbe, container.livenessProbe, container.readinessProbe].filter(Boolean)

const isProbedElsewhere = (container: Manifest): boolean => {
  const ports = (container.ports ?? []).flatMap((port: Manifest) => [port.name, port.containerPort])
  return probes(container)
    .map((probe) => (probe.httpGet ?? probe.tcpSocket)?.port)
    .some((port) => port !== undefined && !ports.includes(port))
}

const actionOf = ({ exec, httpGet, tcpSocket }: Manifest): Manifest => exec ?? httpGet ?? tcpSocket

const isHeadless = (objects: readonly Manifest[], name: string): boolean =>
  objects.some(
    ({ kind, metadata, spec }) =>
      kind === 'Service' && metadata.name === name && spec.clusterIP === 'None',
  )

const volumesOf = (spec: Manifest): readonly Manifest[] => spec.volumes ?? []

const matches = (selector: Manifest, labels: Manifest): boolean =>
  Object.entries(selector.matchLabels ?? selector).every(([key, value]) => labels[key] === value)

const hasWritableRoot = perContainer(
  ({ securityContext }) => !securityContext?.readOnlyRootFilesystem,
)

/** What kube-linter finds with its defaults, by the names of its checks. */
export const KUBE_LINTER: Readonly<Record<string, Rule>> = {
  'dangling-service': (objects) =>
    objects
      .filter(({ kind }) => kind === 'Service')
      .filter(
        ({ spec }) =>
          !podsOf(objects).some(({ pod }) => matches(spec.selector, pod.metadata.labels)),
      )
      .map(({ metadata }) => metadata.name),
  'deprecated-service-account-field': perPod((spec) => 'serviceAccount' in spec),
  'drop-net-raw': perContainer(
    ({ securityContext }) => !securityContext?.capabilities?.drop?.includes('ALL'),
  ),
  'duplicate-env-var': perContainer(({ env = [] }) => {
    const names = env.map(({ name }: Manifest) => name)
    return new Set(names).size < names.length
  }),
  'env-var-secret': perContainer(({ env = [] }) =>
    env.some(({ name, value }: Manifest) => /secret/i.test(name) && value),
  ),
  'host-network, host-pid, host-ipc': perPod(
    (spec) => spec.hostNetwork || spec.hostPID || spec.hostIPC,
  ),
  'job-ttl-seconds-after-finished': (objects) =>
    objects
      .filter(({ kind, spec }) => kind === 'Job' && !spec.ttlSecondsAfterFinished)
      .map(({ metadata }) => metadata.name),
  'latest-tag': perContainer(({ image }) => !/:[^:/]+$/.test(image) || image.endsWith(':latest')),
  'liveness-port, readiness-port, startup-port': perContainer(isProbedElsewhere),
  'mismatching-selector': (objects) =>
    objects
      .filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))
      .filter(({ spec }) => !matches(spec.selector, spec.template.metadata.labels))
      .map(({ metadata }) => metadata.name),
  'no-anti-affinity': (objects) =>
    objects
      .filter(({ kind, spec }) => kind === 'Deployment' && spec.replicas > 1)
      .filter(({ spec }) => !spec.template.spec.affinity?.podAntiAffinity)
      .map(({ metadata }) => metadata.name),
  'no-read-only-root-fs': hasWritableRoot,
  'pdb-unhealthy-pod-eviction-policy': (objects) =>
    objects
      .filter(
        ({ kind, spec }) => kind === 'PodDisruptionBudget' && !spec.unhealthyPodEvictionPolicy,
      )
      .map(({ metadata }) => metadata.name),
  'privilege-escalation-container': perContainer(
    ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
  ),
  'privileged-container': perContainer(({ securityContext }) => securityContext?.privileged),
  'run-as-non-root': perContainer(
    ({ securityContext }, { securityContext: pod }) =>
      !(securityContext?.runAsNonRoot ?? pod?.runAsNonRoot),
  ),
  'docker-sock, sensitive-host-mounts': perPod((spec) =>
    volumesOf(spec).some((volume) => 'hostPath' in volume),
  ),
  'ssh-port': perContainer(({ ports = [] }) =>
    ports.some(({ containerPort }: Manifest) => containerPort === 22),
  ),
  'unsafe-sysctls': perPod((spec) => spec.securityContext?.sysctls),
  'unset-cpu-requirements, unset-memory-requirements': perContainer(
    ({ resources }) =>
      !(resources?.requests?.cpu && resources.requests.memory && resources.limits?.memory),
  ),
}

/** What kube-score finds with its defaults beside that. */
export const KUBE_SCORE: Readonly<Record<string, Rule>> = {
  'container-ephemeral-storage-request-and-limit': perContainer(
    ({ resources }) => !resources?.limits?.['ephemeral-storage'],
  ),
  'container-image-pull-policy': perContainer(
    ({ imagePullPolicy }) => imagePullPolicy !== 'Always',
  ),
  'container-ports-check': perContainer(({ ports = [] }) =>
    ports.some(({ name }: Manifest) => !name || name.length > 15),
  ),
  'container-resources': perContainer(({ resources }) => !resources?.limits?.cpu),
  'container-security-context-readonlyrootfilesystem': hasWritableRoot,
  'container-security-context-user-group-id': perContainer(
    ({ securityContext }, { securityContext: pod }) =>
      (securityContext?.runAsUser ?? pod?.runAsUser ?? 0) < 10_000,
  ),
  'deployment-has-poddisruptionbudget': (objects) =>
    objects
      .filter(({ kind, spec }) => kind === 'Deployment' && spec.replicas > 1)
      .filter(
        ({ metadata }) =>
          !objects.some(
            (object) =>
              object.kind === 'PodDisruptionBudget' && object.metadata.name === metadata.name,
          ),
      )
      .map(({ metadata }) => metadata.name),
  'pod-networkpolicy': (objects) =>
    podsOf(objects)
      .filter(
        ({ pod }) =>
          !objects.some(
            ({ kind, spec }) =>
              kind === 'NetworkPolicy' &&
              spec.policyTypes.length === 2 &&
              matches(spec.podSelector, pod.metadata.labels),
          ),
      )
      .map(({ owner }) => owner),
  'pod-probes-identical': perContainer(
    ({ livenessProbe, readinessProbe }) =>
      livenessProbe &&
      readinessProbe &&
      JSON.stringify(actionOf(livenessProbe)) === JSON.stringify(actionOf(readinessProbe)),
  ),
  'pod-probes': (objects) =>
    podsOf(objects)
      .filter(({ owner }) => !owner.startsWith('Job'))
      .flatMap(({ owner, pod }) =>
        pod.spec.containers
          .filter((container: Manifest) => !container.readinessProbe || !container.livenessProbe)
          .map((container: Manifest) => `${owner} ${container.name}`),
      ),
  'pod-topology-spread-constraints': perPod(
    (spec, owner) => owner.startsWith('Deployment') && !spec.topologySpreadConstraints?.length,
  ),
  'statefulset-has-servicename': (objects) =>
    objects
      .filter(({ kind, spec }) => kind === 'StatefulSet' && !isHeadless(objects, spec.serviceName))
      .map(({ metadata }) => metadata.name),
}
