import { containersOf, podsOf } from './platform.ts'
import type { Manifest } from './platform.ts'

/** Secrets of the operator, which no manifest makes. */
const isForeign = (name: string): boolean => !name.startsWith('demo-')

/** References between objects that lead nowhere. */
export function danglingReferences(objects: readonly Manifest[]): readonly string[] {
  const known = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
  const wanted = [
    ...podsOf(objects).flatMap(({ owner, pod }) =>
      podReferences(pod).map((target) => ({ owner, target })),
    ),
    ...objects.flatMap((object) =>
      bindingReferences(object).map((target) => ({
        owner: `${object.kind} ${object.metadata.name}`,
        target,
      })),
    ),
  ]
  const missing = wanted.filter(({ target }) => !known.has(target))
  return [
    ...missing.map(({ owner, target }) => `${owner}: there is no ${target}`),
    ...objects
      .filter(({ kind }) => kind === 'Service')
      .flatMap((service) => serviceFaults(service, objects)),
    ...podsOf(objects).flatMap(({ owner, pod }) => podFaults(owner, pod)),
  ]
}

function podReferences({ spec }: Manifest): readonly string[] {
  const env = containersOf({ spec }).flatMap(({ env: variables = [] }) =>
    variables.flatMap(({ valueFrom }: Manifest) => valueFrom?.secretKeyRef?.name ?? []),
  )
  const envFrom = containersOf({ spec }).flatMap(({ envFrom: sources = [] }) =>
    sources.flatMap(({ configMapRef }: Manifest) => configMapRef?.name ?? []),
  )
  const volumes = (spec.volumes ?? []).flatMap(
    ({ secret, configMap, persistentVolumeClaim }: Manifest) => [
      ...(secret ? [`Secret ${secret.secretName}`] : []),
      ...(configMap ? [`ConfigMap ${configMap.name}`] : []),
      ...(persistentVolumeClaim
        ? [`PersistentVolumeClaim ${persistentVolumeClaim.claimName}`]
        : []),
    ],
  )
  return [
    ...volumes.filter((target: string) => !isForeign(target.split(' ')[1] ?? '')),
    `ServiceAccount ${spec.serviceAccountName}`,
    ...env.filter((name: string) => !isForeign(name)).map((name: string) => `Secret ${name}`),
    ...envFrom.map((name: string) => `ConfigMap ${name}`),
  ]
}

function bindingReferences({ kind, roleRef, subjects, spec }: Manifest): readonly string[] {
  if (kind === 'StatefulSet') return [`Service ${spec.serviceName}`]
  if (kind === 'HorizontalPodAutoscaler') {
    return [`${spec.scaleTargetRef.kind} ${spec.scaleTargetRef.name}`]
  }
  if (kind === 'Ingress') {
    return spec.rules.map(({ http }: Manifest) => `Service ${http.paths[0].backend.service.name}`)
  }
  if (kind === 'HTTPRoute') return [`Service ${spec.rules[0].backendRefs[0].name}`]
  if (!['RoleBinding', 'ClusterRoleBinding'].includes(kind)) return []
  return [
    `${roleRef.kind} ${roleRef.name}`,
    ...subjects.map((subject: Manifest) => `${subject.kind} ${subject.name}`),
  ]
}

/** A Service must select a pod, and its ports must be ports of that pod. */
function serviceFaults(
  { metadata, spec }: Manifest,
  objects: readonly Manifest[],
): readonly string[] {
  const selected = podsOf(objects).filter(({ pod }) =>
    Object.entries(spec.selector).every(([key, value]) => pod.metadata.labels[key] === value),
  )
  const ports = selected.flatMap(({ pod }) =>
    containersOf(pod).flatMap((container) => container.ports ?? []),
  )
  const names = new Set(ports.map(({ name }) => name))
  return [
    ...(selected.length === 1
      ? []
      : [`Service ${metadata.name}: selects ${selected.length} workloads`]),
    ...spec.ports
      .filter(({ targetPort }: Manifest) => !names.has(targetPort))
      .map(
        ({ targetPort }: Manifest) => `Service ${metadata.name}: there is no port ${targetPort}`,
      ),
  ]
}

/** Mounts must have a volume and probes a port. */
function podFaults(owner: string, { spec }: Manifest): readonly string[] {
  const claims = owner.startsWith('StatefulSet') ? ['data'] : []
  const volumes = new Set([...claims, ...(spec.volumes ?? []).map(({ name }: Manifest) => name)])
  return containersOf({ spec }).flatMap(({ name, ports = [], volumeMounts = [], ...container }) => {
    const known = new Set(ports.map((port: Manifest) => port.name))
    const probed = [container.startupProbe, container.livenessProbe, container.readinessProbe]
      .map((probe) => (probe?.httpGet ?? probe?.tcpSocket)?.port)
      .filter((port) => typeof port === 'string' && !known.has(port))
    const mounted = volumeMounts.filter((mount: Manifest) => !volumes.has(mount.name))
    return [...probed, ...mounted.map((mount: Manifest) => mount.name)].map(
      (missing) => `${owner} ${name}: there is no ${missing}`,
    )
  })
}
