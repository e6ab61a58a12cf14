import { X509Certificate } from 'node:crypto'
import * as v from 'valibot'
import { isSecretName } from '../../shared/redact.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import type { Collection } from './collection.ts'
import { collectPod, podSchema } from './from-pod.ts'

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

/** Text of this length is hardly a word. */
const LONG = 16
const DEBUG_TOKEN = 'PLATFORM_DEBUG_TOKEN'

const object = v.object({
  metadata: v.object({ name: v.string() }),
  type: v.optional(v.string()),
  data: v.nullish(v.record(v.string(), v.string()), {}),
})

const list = v.object({ items: v.array(object) })

type Stored = v.InferOutput<typeof object>

/**
 * Reads Secrets and ConfigMaps: their values to find them again elsewhere, and into the bundle
 * their keys, the lengths, and what certificates say of themselves. Returns the debug token, or an
 * empty text.
 */
async function learnSecrets(cluster: Cluster, collection: Collection): Promise<string> {
  const secrets = await read(cluster, 'secrets', collection)
  const decoded = secrets.map((secret) => ({ ...secret, data: decode(secret.data ?? {}) }))
  collection.redaction.learn(decoded.flatMap(({ data }) => secretsIn(data)))
  const maps = await read(cluster, 'configmaps', collection)
  for (const [kind, stored] of [
    ['secrets', decoded],
    ['configmaps', maps],
  ] as const) {
    const shown = stored.map(describe)
    if (shown.length > 0) collection.addJson(`cluster/${cluster.namespace}/${kind}.json`, shown)
  }
  return decoded.find(({ data }) => data[DEBUG_TOKEN])?.data[DEBUG_TOKEN] ?? ''
}

async function read(
  { call, namespace }: Cluster,
  kind: string,
  collection: Collection,
): Promise<readonly Stored[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${kind}?limit=500`
  const result = await call({ method: 'GET', path })
  const parsed = v.safeParse(list, 'object' in result ? result.object : undefined)
  if (parsed.success) return parsed.output.items
  const why = 'failure' in result ? result.failure.message : 'the answer is no list'
  collection.note(`${kind} of ${namespace}`, why)
  return []
}

/** A name of a user or a host in a Secret is a word that stands everywhere. */
const secretsIn = (data: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(data).flatMap(([key, value]) =>
    isSecretName(key) || value.length >= LONG || /\d/.test(value) ? [value] : [],
  )

const decode = (data: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString('utf8'),
    ]),
  )

/** Lists the keys in a way that no rule of the redaction takes for a secret. */
function describe({ metadata, type, data }: Stored): object {
  const contents = Object.entries(data ?? {}).map(([name, value]) => ({
    name,
    bytes: Buffer.byteLength(value),
    ...certificateIn(value),
  }))
  return { name: metadata.name, ...(type ? { type } : {}), contents }
}

function certificateIn(text: string): object {
  if (!text.includes('-----BEGIN CERTIFICATE-----')) return {}
  try {
    const { subject, issuer, validFrom, validTo } = new X509Certificate(text)
    return { certificate: { subject, issuer, valid_from: validFrom, valid_to: validTo } }
  } catch {
    return { certificate: 'not readable' }
  }
}
