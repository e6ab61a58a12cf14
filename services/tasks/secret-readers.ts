import * as v from 'valibot'
import type { Kubernetes } from '../shared/kubernetes/client.ts'
import type { Log } from '../shared/log.ts'
import { ensureBuildCertificates } from './build-certificates.ts'
import type { FollowConfig } from './env.ts'
import { findSecret, fingerprint, isMissing, succeed } from './platform-secret.ts'
import type { Values } from './platform-secret.ts'

/**
 * On a workload it names the values with which its pods run; on its pod template it makes a rolling
 * restart. It stands in no manifest, so that later applies leave it alone.
 */
const ANNOTATION = 'platform/secrets-hash'

const workload = v.object({
  metadata: v.object({ annotations: v.optional(v.record(v.string(), v.string()), {}) }),
})

/** The values of a Secret, and the values that were expected. */
export interface Reading {
  /** As they were found. Pods that run with others have missed a change. */
  readonly found: Values
  /** As pods know them that restart by themselves. @default found */
  readonly known?: Values
  /** As they are now. @default found */
  readonly current?: Values
}

interface Reader {
  readonly kind: 'Deployment' | 'StatefulSet'
  readonly name: string
  readonly hash: (values: Values) => string
}

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
 * Restarts the workloads whose pods run with other values, and notes with which values they run
 * from now on.
 */
export async function restartReaders(
  kubernetes: Kubernetes,
  config: FollowConfig,
  { found, known = found, current = found, log }: Reading & { readonly log: Log },
): Promise<void> {
  for (const { kind, name, hash } of readersOf(config)) {
    const path = pathOf(config, { kind, name })
    const result = await kubernetes({ method: 'GET', path })
    if (isMissing(result)) continue
    const { annotations } = v.parse(workload, succeed(result, `read the ${kind} ${name}`)).metadata
    const [seen, wanted] = [annotations[ANNOTATION], hash(current)]
    const isStale = hash(known) !== wanted || (seen !== undefined && seen !== hash(found))
    if (!isStale && seen === wanted) continue
    const body = noted(wanted, { restarts: isStale })
    succeed(await kubernetes({ method: 'PATCH', path, body }), `restart the ${kind} ${name}`)
    if (isStale) log.info({ [kind.toLowerCase()]: name }, 'restarting with the new secrets')
  }
}

const withStatus = v.object({
  status: v.optional(v.object({ readyReplicas: v.optional(v.number(), 0) })),
})

/** The names of those that have ready pods, which therefore had their keys. */
export async function listRunning(
  kubernetes: Kubernetes,
  config: FollowConfig,
): Promise<readonly string[]> {
  const running: string[] = []
  for (const { kind, name } of readersOf(config)) {
    const result = await kubernetes({ method: 'GET', path: pathOf(config, { kind, name }) })
    if (isMissing(result)) continue
    const { status } = v.parse(withStatus, succeed(result, `read the ${kind} ${name}`))
    if (status && status.readyReplicas > 0) running.push(name)
  }
  return running
}

const pathOf = (
  { POD_NAMESPACE: namespace }: FollowConfig,
  { kind, name }: Pick<Reader, 'kind' | 'name'>,
): string => `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`

/** PostgreSQL comes first: the others sign in with the password that it sets when it starts. */
function readersOf({ RESTART_POSTGRES, RESTART_DEPLOYMENTS }: FollowConfig): readonly Reader[] {
  const postgres = RESTART_POSTGRES === undefined ? [] : [RESTART_POSTGRES]
  return [
    ...postgres.map((name) => ({ kind: 'StatefulSet', name, hash: hashOfPassword }) as const),
    ...RESTART_DEPLOYMENTS.map((name) => ({ kind: 'Deployment', name, hash: hashOfAll }) as const),
  ]
}

const hashOfAll = (values: Values): string =>
  fingerprint(JSON.stringify([...values].sort(([a], [b]) => (a < b ? -1 : 1))))

// With a long random key beside it, nobody who may read the hash can find a short password by
// trying.
const hashOfPassword = (values: Values): string =>
  fingerprint(JSON.stringify(['SECRET_KEY_BASE', 'DB_PASSWORD'].map((key) => values.get(key))))

function noted(hash: string, { restarts }: { readonly restarts: boolean }): object {
  const metadata = { annotations: { [ANNOTATION]: hash } }
  return restarts ? { metadata, spec: { template: { metadata } } } : { metadata }
}
