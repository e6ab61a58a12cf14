import * as v from 'valibot'
import type { Cluster } from '../kubernetes/cluster.ts'
import type { Collection } from './collection.ts'
import { collectPod, podSchema } from './from-pod.ts'
import { learnSecrets } from './secrets.ts'

const LIST_MAX = 500
const PODS_MAX = 100

/** The kinds of objects that a bundle has, by the path of their API group. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  '/api/v1': [
    'pods',
    'services',
    'persistentvolumeclaims',
    'serviceaccounts',
    'resourcequotas',
    'limitranges',
    'events',
  ],
  '/apis/apps/v1': ['deployments', 'replicasets', 'statefulsets'],
  '/apis/batch/v1': ['jobs', 'cronjobs'],
  '/apis/networking.k8s.io/v1': ['networkpolicies', 'ingresses'],
  '/apis/autoscaling/v2': ['horizontalpodautoscalers'],
  '/apis/policy/v1': ['poddisruptionbudgets'],
  '/apis/rbac.authorization.k8s.io/v1': ['roles', 'rolebindings'],
}

const objectList = v.object({
  metadata: v.optional(v.object({ continue: v.optional(v.string(), '') }), {}),
  items: v.array(v.unknown()),
})

/** Which parts of a cluster go into a bundle. */
interface ClusterScope {
  /** The namespaces of the platform and of its crews. */
  readonly namespaces: readonly string[]
  /** The namespaces whose pods' logs are read: those of crews have what models wrote. */
  readonly logged: readonly string[]
  /** The debug token, where it is known. */
  readonly token: string
}

/** Collects versions, objects, events, logs, reports and metrics of a cluster. */
export async function collectCluster(
  cluster: Cluster,
  scope: ClusterScope,
  collection: Collection,
): Promise<void> {
  const version = await cluster.call({ method: 'GET', path: '/version' })
  if ('failure' in version) {
    return collection.note('the cluster', version.failure.message)
  }
  collection.addJson('cluster/version.json', version.object)
  for (const namespace of scope.namespaces) {
    const token = await learnSecrets({ ...cluster, namespace }, collection)
    for (const [group, kinds] of Object.entries(KINDS)) {
      for (const kind of kinds) {
        const items = await listKind(cluster, { group, kind, namespace }, collection)
        if (kind !== 'pods') continue
        const pods = items.flatMap((item) => {
          const parsed = v.safeParse(podSchema, item)
          return parsed.success ? [parsed.output] : []
        })
        for (const pod of pods.slice(0, PODS_MAX)) {
          await collectPod({ ...cluster, namespace }, pod, {
            collection,
            token: scope.token || token,
            isLogged: scope.logged.includes(namespace),
          })
        }
      }
    }
  }
}

interface Kind {
  readonly group: string
  readonly kind: string
  readonly namespace: string
}

async function listKind(
  { call }: Cluster,
  { group, kind, namespace }: Kind,
  collection: Collection,
): Promise<readonly unknown[]> {
  const place = `${group}/namespaces/${encodeURIComponent(namespace)}`
  const result = await call({ method: 'GET', path: `${place}/${kind}?limit=${LIST_MAX}` })
  const what = `${kind} of ${namespace}`
  if ('failure' in result) {
    collection.note(what, result.failure.message)
    return []
  }
  const parsed = v.safeParse(objectList, result.object)
  if (!parsed.success) {
    collection.note(what, 'the API server answered with something that is no list')
    return []
  }
  if (parsed.output.metadata.continue) collection.note(what, `only the first ${LIST_MAX} are here`)
  collection.addJson(`cluster/${namespace}/${kind}.json`, parsed.output.items)
  return parsed.output.items
}
