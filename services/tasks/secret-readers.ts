import * as v from 'valibot'
import type { Kubernetes } from '../shared/kubernetes/client.ts'
import { kubernetesCondition } from '../shared/kubernetes/deployment.ts'
import type { Log } from '../shared/log.ts'
import { ensureBuildCertificates } from './build-certificates.ts'
import type { FollowConfig } from './env.ts'
import { findSecret, fingerprint, isMissing, succeed } from './platform-secret.ts'
import type { Values } from './platform-secret.ts'

/**
 * On a workload it names the keys that its pods read and the values with which they run; on its pod
 * template it makes a rolling restart. It stands in no manifest, so that later applies leave it
 * alone.
 */
const ANNOTATION = 'platform/secrets-hash'
/** With a long random key beside it, no reader of a hash can find a short password by trying. */
const SALT = 'SECRET_KEY_BASE'

const container = v.object({
  env: v.optional(
    v.array(
      v.object({
        valueFrom: v.optional(
          v.object({ secretKeyRef: v.optional(v.object({ name: v.string(), key: v.string() })) }),
        ),
      }),
    ),
    [],
  ),
  envFrom: v.optional(
    v.array(v.object({ secretRef: v.optional(v.object({ name: v.string() })) })),
    [],
  ),
})

const pod = v.object({
  containers: v.optional(v.array(container), []),
  initContainers: v.optional(v.array(container), []),
  volumes: v.optional(
    v.array(v.object({ secret: v.optional(v.object({ secretName: v.string() })) })),
    [],
  ),
})

const count = v.optional(v.number(), 0)

const workload = v.object({
  metadata: v.object({
    annotations: v.optional(v.record(v.string(), v.string()), {}),
    generation: count,
  }),
  spec: v.optional(
    v.object({ template: v.optional(v.object({ spec: v.optional(pod, {}) }), {}) }),
    {},
  ),
  status: v.optional(
    v.object({
      observedGeneration: count,
      replicas: count,
      updatedReplicas: count,
      readyReplicas: count,
      conditions: v.optional(v.array(kubernetesCondition), []),
    }),
    {},
  ),
})

type Workload = v.InferOutput<typeof workload>

/** The values of a Secret as pods have them, and as they are now. */
export interface Reading {
  /** As pods had them before. Those that run with others have missed a change. */
  readonly found: Values
  /** As pods know them that restart by themselves. @default found */
  readonly known?: Values
  /** As they are now; what differs from `known` was missing. @default found */
  readonly current?: Values
}

type Reader = Readonly<Record<'kind' | 'name', string>>

/**
 * Restarts what reads a Secret of the operator when that has changed since the last time. Only
 * looks when there is no such Secret: pods wait for it.
 */
export async function followSecret(
  kubernetes: Kubernetes,
  config: FollowConfig,
  log: Log,
): Promise<void> {
  await ensureBuildCertificates(kubernetes, config, log)
  const key = { namespace: config.POD_NAMESPACE, name: config.PLATFORM_SECRET }
  const secret = await findSecret(kubernetes, key)
  if (secret) await restartReaders(kubernetes, config, { found: secret.values, log })
  else log.info({ secret: key.name }, 'there is no such Secret yet; pods wait for it')
}

/**
 * Restarts the workloads whose pods run with other values of the keys that they read, and notes
 * with which values they run from now on.
 */
export async function restartReaders(
  kubernetes: Kubernetes,
  config: FollowConfig,
  { found, known = found, current = found, log }: Reading & { readonly log: Log },
): Promise<void> {
  for (const reader of readersOf(config)) {
    const read = await findWorkload(kubernetes, config, reader)
    if (!read) continue
    const { kind, name } = reader
    const keys = keysOf(read, { secret: config.PLATFORM_SECRET, all: [...current.keys()] })
    const [seen, wanted] = [read.metadata.annotations[ANNOTATION], note(keys, current)]
    const wasMissing = keys.some((key) => known.get(key) !== current.get(key))
    const isStale = hasMissed(seen, found) || (wasMissing && !isWaiting(read))
    if (!isStale && seen === wanted) continue
    const body = noted(wanted, { restarts: isStale })
    const path = pathOf(config, reader)
    succeed(await kubernetes({ method: 'PATCH', path, body }), `restart the ${kind} ${name}`)
    if (isStale) log.info({ [kind.toLowerCase()]: name }, 'restarting with the new secrets')
  }
}

/** The names of those that have ready pods, which therefore had their keys. */
export async function listRunning(
  kubernetes: Kubernetes,
  config: FollowConfig,
): Promise<readonly string[]> {
  const running: string[] = []
  for (const reader of readersOf(config)) {
    const read = await findWorkload(kubernetes, config, reader)
    if (read && read.status.readyReplicas > 0) running.push(reader.name)
  }
  return running
}

async function findWorkload(
  kubernetes: Kubernetes,
  config: FollowConfig,
  reader: Reader,
): Promise<Workload | undefined> {
  const result = await kubernetes({ method: 'GET', path: pathOf(config, reader) })
  if (isMissing(result)) return undefined
  return v.parse(workload, succeed(result, `read the ${reader.kind} ${reader.name}`))
}

/** The keys of the Secret that the pods of a workload read, sorted. */
function keysOf(
  { spec }: Workload,
  { secret, all }: { readonly secret: string; readonly all: readonly string[] },
): readonly string[] {
  const { containers, initContainers, volumes } = spec.template.spec
  const each = [...containers, ...initContainers]
  const isWhole =
    volumes.some((volume) => volume.secret?.secretName === secret) ||
    each.some(({ envFrom }) => envFrom.some(({ secretRef }) => secretRef?.name === secret))
  const references = each.flatMap(({ env }) => env.map(({ valueFrom }) => valueFrom?.secretKeyRef))
  const named = references.flatMap((of) => (of?.name === secret ? [of.key] : []))
  return [...new Set(isWhole ? all : named)].toSorted()
}

/**
 * True for a rollout of which no new pod is ready. A pod does not start without its keys, so those
 * read the ones that were missing; another change of the template would only take the ready pods of
 * the version before out of service earlier.
 */
function isWaiting({ metadata, status }: Workload): boolean {
  const { observedGeneration, replicas, updatedReplicas, readyReplicas, conditions } = status
  if (observedGeneration < metadata.generation) return true
  const progress = conditions.find(({ type }) => type === 'Progressing')
  const isUnderWay = progress !== undefined && progress.reason !== 'NewReplicaSetAvailable'
  return isUnderWay && readyReplicas <= replicas - updatedReplicas
}

const pathOf = ({ POD_NAMESPACE: namespace }: FollowConfig, { kind, name }: Reader): string =>
  `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`

/** PostgreSQL comes first: the others sign in with the password that it sets when it starts. */
function readersOf({ RESTART_POSTGRES, RESTART_DEPLOYMENTS }: FollowConfig): readonly Reader[] {
  const postgres = RESTART_POSTGRES === undefined ? [] : [RESTART_POSTGRES]
  return [
    ...postgres.map((name) => ({ kind: 'StatefulSet', name })),
    ...RESTART_DEPLOYMENTS.map((name) => ({ kind: 'Deployment', name })),
  ]
}

/** The keys that pods read, and a hash of their values. */
function note(keys: readonly string[], values: Values): string {
  const read = keys.length === 0 ? [] : [SALT, ...keys].map((key) => values.get(key))
  return `${keys.join(',')}:${fingerprint(JSON.stringify(read))}`
}

/** True if a key that pods read had another value when that was noted. */
function hasMissed(seen: string | undefined, found: Values): boolean {
  const [keys, hash] = seen?.split(':') ?? []
  return hash !== undefined && seen !== note(keys?.split(',').filter(Boolean) ?? [], found)
}

function noted(hash: string, { restarts }: { readonly restarts: boolean }): object {
  const metadata = { annotations: { [ANNOTATION]: hash } }
  return restarts ? { metadata, spec: { template: { metadata } } } : { metadata }
}
