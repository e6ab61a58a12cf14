import { isSpread } from './structure.ts'

// The order in which people write and read manifests; what is not listed follows in alphabetical
// order.
const ORDER = `
  apiVersion kind metadata type name namespace labels annotations immutable replicas
  revisionHistoryLimit serviceName strategy backoffLimit activeDeadlineSeconds
  ttlSecondsAfterFinished podSelector policyTypes ingress egress selector template maxSkew
  topologyKey whenUnsatisfiable serviceAccountName automountServiceAccountToken
  enableServiceLinks imagePullSecrets priorityClassName restartPolicy
  terminationGracePeriodSeconds nodeSelector tolerations affinity topologySpreadConstraints
  initContainers containers image imagePullPolicy command args from to ports envFrom env
  startupProbe livenessProbe readinessProbe lifecycle requests limits resources volumeMounts
  volumes volumeClaimTemplates host path pathType port targetPort containerPort protocol exec
  httpGet tcpSocket value valueFrom matchLabels matchExpressions key operator values apiGroups
  resourceNames verbs apiGroup roleRef subjects
`
  .trim()
  .split(/\s+/)

const RANK = new Map(ORDER.map((key, index) => [key, index]))
const LAST = ORDER.length

/**
 * The keys of a map, sorted. A security context opens a pod but closes a container, which is the
 * map with an image.
 */
export function inReadingOrder(map: object): readonly string[] {
  const keys = Object.keys(map)
  if (keys.length < 2) return keys
  const rank = (key: string): number => {
    // Those of the chart before those of the operator.
    if (isSpread(key)) return LAST + (key.includes('"op":"labels"') ? 2 : 3)
    if (key === 'resources' && 'verbs' in map) return RANK.get('apiGroups') ?? LAST
    if (key === 'securityContext')
      return 'image' in map ? LAST + 1 : (RANK.get('nodeSelector') ?? LAST)
    return RANK.get(key) ?? LAST
  }
  return keys
    .map((key) => ({ key, rank: rank(key) }))
    .sort((a, b) => a.rank - b.rank || (a.key < b.key ? -1 : 1))
    .map(({ key }) => key)
}
