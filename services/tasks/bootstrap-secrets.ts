import { createHash, randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { AppError } from '../shared/errors.ts'
import type { Kubernetes, KubernetesResult } from '../shared/kubernetes.ts'
import type { Log } from '../shared/log.ts'
import { apply } from './crews/apply.ts'
import type { BootstrapConfig } from './env.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const LENGTH = 64
/** Attempts at a write that another writer keeps overtaking. */
const CONFLICTS_MAX = 10
/**
 * Keys that cannot be made anew: what the database keeps is sealed with the first two, and its server knows the third. They
 * are kept a second time, where no apply, upgrade or sync reaches them.
 */
const KEPT_KEYS: ReadonlySet<string> = new Set([
  'SECRET_KEY_BASE',
  'OAUTH_ENCRYPTION_KEY',
  'DB_PASSWORD',
])
/** On a pod template it makes a rolling restart; it stands in no manifest, so that later applies leave it alone. */
const ANNOTATION = 'platform/secrets-hash'

const secretObject = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  data: v.optional(v.record(v.string(), v.string()), {}),
})

type Values = ReadonlyMap<string, string>

interface Secret {
  readonly resourceVersion: string
  readonly values: Values
}

/**
 * Gives every key of the platform Secret a value (SPEC 5.1): the operator's own where there is one, else the one that
 * is there, else the one that was kept, else 64 random alphanumeric characters. Restarts the Deployments when an installed key changed. Safe to
 * run at any time and more than once; never prints a value. Raises `unavailable` and `forbidden` with what to do.
 */
export async function bootstrapSecrets(
  kubernetes: Kubernetes,
  config: BootstrapConfig,
  log: Log,
): Promise<void> {
  for (let attempt = 1; attempt <= CONFLICTS_MAX; attempt += 1) {
    if (await fill(kubernetes, config, log)) return
    log.info({ attempt }, 'another writer was faster; reading the Secret again')
  }
  throw new AppError(
    'unavailable',
    `The Secret ${config.PLATFORM_SECRET} changed ${CONFLICTS_MAX} times while it was written. Run this again.`,
  )
}

/** Answers false when the Secret was changed since it was read. */
async function fill(kubernetes: Kubernetes, config: BootstrapConfig, log: Log): Promise<boolean> {
  const { resourceVersion, values: current } = await readSecret(
    kubernetes,
    config,
    config.PLATFORM_SECRET,
  )
  const found = {
    current,
    overrides: await readOverrides(kubernetes, config),
    kept: await findKept(kubernetes, config),
  }
  const changes = plan(config.PLATFORM_SECRET_KEYS, found)
  // Before anything is sealed with them.
  await keep(kubernetes, config, { ...found, values: new Map([...current, ...changes]) })
  if (changes.size === 0) {
    log.info('every key of the platform Secret has its value')
    return true
  }
  if (!(await writeSecret(kubernetes, { config, changes, resourceVersion }))) return false
  tell(changes, found, log)
  if (makesRestart(changes, found)) await restart(kubernetes, config, { changes, log })
  return true
}

/** The operator's own values, what the Secret has, and what was kept of it. */
type Found = Readonly<Record<'current' | 'overrides' | 'kept', Values>>

function tell(changes: Values, { current, kept }: Found, log: Log): void {
  for (const [key, value] of changes) {
    const isRestored = !current.get(key) && kept.get(key) === value
    const said = isRestored ? 'key restored: the Secret had lost it' : 'key written'
    log.info({ key, fingerprint: fingerprint(value) }, said)
  }
}

/** Pods read the operator's values from their own Secret, whose checksum restarts them already. */
function makesRestart(changes: Values, { current, overrides, kept }: Found): boolean {
  const isInstalled = current.size > 0 || kept.size > 0
  return isInstalled && [...changes.keys()].some((key) => !overrides.get(key))
}

/** What has to be written: overrides that differ, and values for keys that have none. */
function plan(keys: readonly string[], { current, overrides, kept }: Found): Map<string, string> {
  const changes = new Map<string, string>()
  for (const key of new Set([...keys, ...overrides.keys()])) {
    const wanted = overrides.get(key) || current.get(key) || kept.get(key) || randomText()
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
  return toSecret(object)
}

function toSecret(object: unknown): Secret {
  const { metadata, data } = v.parse(secretObject, object)
  const values = Object.entries(data).map(
    ([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')] as const,
  )
  return { resourceVersion: metadata.resourceVersion, values: new Map(values) }
}

async function readOverrides(kubernetes: Kubernetes, config: BootstrapConfig): Promise<Values> {
  const name = config.PLATFORM_SECRET_OVERRIDES
  return name === undefined ? new Map() : (await readSecret(kubernetes, config, name)).values
}

/** The keys that were kept; none before the first install. */
async function findKept(kubernetes: Kubernetes, config: BootstrapConfig): Promise<Values> {
  const name = config.PLATFORM_SECRET_KEPT
  const result = await kubernetes({ method: 'GET', path: secretPath(config, name) })
  if ('failure' in result && result.failure.status === 404) return new Map()
  return toSecret(succeed(result, `read the Secret ${name}`)).values
}

/** Keeps the keys that cannot be made anew, with those that this install does not use any more. */
async function keep(
  kubernetes: Kubernetes,
  { POD_NAMESPACE: namespace, PLATFORM_SECRET_KEPT: name }: BootstrapConfig,
  { kept, values }: { readonly kept: Values; readonly values: Values },
): Promise<void> {
  const wanted = new Map([...kept, ...[...values].filter(([key]) => KEPT_KEYS.has(key))])
  if ([...wanted].every(([key, value]) => kept.get(key) === value)) return
  const labels = { 'app.kubernetes.io/part-of': 'platform' }
  await apply(
    kubernetes,
    { kind: 'Secret', name, namespace },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels },
      type: 'Opaque',
      data: encode(wanted),
    },
  )
}

const encode = (values: Values): Record<string, string> =>
  Object.fromEntries(
    [...values].map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  )

interface Write {
  readonly config: BootstrapConfig
  readonly changes: Values
  readonly resourceVersion: string
}

/** Answers false when the Secret was changed since it was read. */
async function writeSecret(
  kubernetes: Kubernetes,
  { config, changes, resourceVersion }: Write,
): Promise<boolean> {
  const path = secretPath(config, config.PLATFORM_SECRET)
  const result = await kubernetes({
    method: 'PATCH',
    path,
    body: { metadata: { resourceVersion }, data: encode(changes) },
  })
  if ('failure' in result && result.failure.status === 409) return false
  succeed(result, `write the Secret ${config.PLATFORM_SECRET}`)
  return true
}

async function restart(
  kubernetes: Kubernetes,
  config: BootstrapConfig,
  { changes, log }: { changes: Values; log: Log },
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
