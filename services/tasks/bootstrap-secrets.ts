import { createHash, randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { AppError } from '../shared/errors.ts'
import type { Kubernetes, KubernetesResult } from '../shared/kubernetes.ts'
import type { Log } from '../shared/log.ts'
import type { BootstrapConfig } from './env.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const LENGTH = 64
/** Attempts at a write that another writer keeps overtaking. */
const CONFLICTS_MAX = 10
/** On a pod template it makes a rolling restart; it stands in no manifest, so that later applies leave it alone. */
const ANNOTATION = 'platform/secrets-hash'

const secretObject = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  data: v.optional(v.record(v.string(), v.string()), {}),
})

interface Secret {
  readonly resourceVersion: string
  readonly values: ReadonlyMap<string, string>
}

/**
 * Gives every key of the platform Secret a value (SPEC 5.1): the operator's own where there is one, else the one that
 * is there, else 64 random alphanumeric characters. Restarts the Deployments when an installed key changed. Safe to
 * run at any time and more than once; never prints a value. Raises `unavailable` and `forbidden` with what to do.
 */
export async function bootstrapSecrets(
  kubernetes: Kubernetes,
  config: BootstrapConfig,
  log: Log,
): Promise<void> {
  for (let attempt = 1; attempt <= CONFLICTS_MAX; attempt += 1) {
    const current = await readSecret(kubernetes, config, config.PLATFORM_SECRET)
    const overrides = config.PLATFORM_SECRET_OVERRIDES
      ? await readSecret(kubernetes, config, config.PLATFORM_SECRET_OVERRIDES)
      : undefined
    const changes = plan(
      config.PLATFORM_SECRET_KEYS,
      current.values,
      overrides?.values ?? new Map(),
    )
    if (changes.size === 0) return log.info('every key of the platform Secret has its value')
    if (
      await writeSecret(kubernetes, { config, changes, resourceVersion: current.resourceVersion })
    ) {
      for (const [key, value] of changes)
        log.info({ key, fingerprint: fingerprint(value) }, 'key written')
      // Pods read the operator's values from their own Secret, whose checksum restarts them already.
      const generated = [...changes.keys()].filter((key) => !overrides?.values.get(key))
      const isInstalled = current.values.size > 0
      if (isInstalled && generated.length > 0) await restart(kubernetes, config, { changes, log })
      return
    }
    log.info({ attempt }, 'another writer was faster; reading the Secret again')
  }
  throw new AppError(
    'unavailable',
    `The Secret ${config.PLATFORM_SECRET} changed ${CONFLICTS_MAX} times while it was written. Run this again.`,
  )
}

/** What has to be written: overrides that differ, and values for keys that have none. */
function plan(
  keys: readonly string[],
  current: ReadonlyMap<string, string>,
  overrides: ReadonlyMap<string, string>,
): Map<string, string> {
  const changes = new Map<string, string>()
  for (const key of new Set([...keys, ...overrides.keys()])) {
    const wanted = overrides.get(key) || current.get(key) || randomText()
    if (wanted !== current.get(key)) changes.set(key, wanted)
  }
  return changes
}

/** 64 alphanumerics, each equally likely: bytes beyond the last whole alphabet are thrown away. */
function randomText(): string {
  const limit = 256 - (256 % ALPHABET.length)
  let text = ''
  while (text.length < LENGTH) {
    const usable = randomBytes(LENGTH).filter((byte) => byte < limit)
    for (const byte of usable) text += ALPHABET[byte % ALPHABET.length]
  }
  return text.slice(0, LENGTH)
}

const secretPath = ({ POD_NAMESPACE }: BootstrapConfig, name: string): string =>
  `/api/v1/namespaces/${POD_NAMESPACE}/secrets/${name}`

async function readSecret(
  kubernetes: Kubernetes,
  config: BootstrapConfig,
  name: string,
): Promise<Secret> {
  const object = succeed(
    await kubernetes({ method: 'GET', path: secretPath(config, name) }),
    `read the Secret ${name}`,
  )
  const { metadata, data } = v.parse(secretObject, object)
  const values = Object.entries(data).map(
    ([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')] as const,
  )
  return { resourceVersion: metadata.resourceVersion, values: new Map(values) }
}

interface Write {
  readonly config: BootstrapConfig
  readonly changes: ReadonlyMap<string, string>
  readonly resourceVersion: string
}

/** Answers false when the Secret was changed since it was read. */
async function writeSecret(
  kubernetes: Kubernetes,
  { config, changes, resourceVersion }: Write,
): Promise<boolean> {
  const data = Object.fromEntries(
    [...changes].map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  )
  const path = secretPath(config, config.PLATFORM_SECRET)
  const result = await kubernetes({
    method: 'PATCH',
    path,
    body: { metadata: { resourceVersion }, data },
  })
  if ('failure' in result && result.failure.status === 409) return false
  succeed(result, `write the Secret ${config.PLATFORM_SECRET}`)
  return true
}

async function restart(
  kubernetes: Kubernetes,
  config: BootstrapConfig,
  { changes, log }: { changes: ReadonlyMap<string, string>; log: Log },
): Promise<void> {
  const hash = fingerprint([...changes].map((change) => change.join('=')).join('\n'))
  const body = { spec: { template: { metadata: { annotations: { [ANNOTATION]: hash } } } } }
  for (const name of config.RESTART_DEPLOYMENTS) {
    const path = `/apis/apps/v1/namespaces/${config.POD_NAMESPACE}/deployments/${name}`
    const result = await kubernetes({ method: 'PATCH', path, body })
    if ('failure' in result && result.failure.status === 404) continue
    succeed(result, `restart the Deployment ${name}`)
    log.info({ deployment: name }, 'restarting with the new secrets')
  }
}

const fingerprint = (value: string): string =>
  createHash('sha256').update(value).digest('hex').slice(0, 12)

function succeed(result: KubernetesResult, what: string): unknown {
  if ('object' in result) return result.object
  const { status, message } = result.failure
  if (status === 403)
    throw new AppError(
      'forbidden',
      `Not allowed to ${what}: ${message}. Apply the chart's Role and RoleBinding of the bootstrap Job again.`,
    )
  if (status === 404)
    throw new AppError(
      'not_found',
      `Could not ${what}: ${message}. Apply the whole chart, then run this again.`,
    )
  throw new AppError('unavailable', `Could not ${what}: ${message || `HTTP ${status}`}`)
}
