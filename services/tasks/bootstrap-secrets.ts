import { randomBytes } from 'node:crypto'
import { AppError } from '../shared/errors.ts'
import { apply } from '../shared/kubernetes/apply.ts'
import type { Kubernetes } from '../shared/kubernetes/client.ts'
import type { Log } from '../shared/log.ts'
import { ensureBuildCertificates } from './build-certificates.ts'
import type { BootstrapConfig } from './env.ts'
import { refuseLostKeys } from './lost-keys.ts'
import { findSecret, fingerprint, getSecret, secretPath, succeed } from './platform-secret.ts'
import type { SecretKey, Values } from './platform-secret.ts'
import { restartReaders } from './secret-readers.ts'
import type { Reading } from './secret-readers.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const LENGTH = 64
/** Attempts at a write that another writer keeps overtaking. */
const CONFLICTS_MAX = 10
/**
 * Keys that cannot be made anew: what the database keeps is sealed with the first two, and its
 * server knows the third. Any other key that is deleted is made anew.
 */
const LASTING_KEYS: ReadonlySet<string> = new Set([
  'SECRET_KEY_BASE',
  'OAUTH_ENCRYPTION_KEY',
  'DB_PASSWORD',
])
/**
 * Gives every key of the platform Secret a value (SPEC 5.1): the operator's own where there is one,
 * else the one that is there, else the one that was kept, else 64 random alphanumeric characters.
 * Restarts what reads an installed key that changed, by this task or by hand. Safe to run at any
 * time and more than once; never prints a value. Raises `unavailable` and `forbidden` with what to
 * do, and `invalid_configuration`, before anything has changed, for a lost key that sealed data
 * needs.
 */
export async function bootstrapSecrets(
  kubernetes: Kubernetes,
  config: BootstrapConfig,
  log: Log,
): Promise<void> {
  await ensureBuildCertificates(kubernetes, config, log)
  for (let attempt = 1; attempt <= CONFLICTS_MAX; attempt += 1) {
    if (await fill(kubernetes, config, log)) return
    log.info({ attempt }, 'another writer was faster; reading the Secret again')
  }
  throw new AppError(
    'unavailable',
    `The Secret ${config.PLATFORM_SECRET} changed ${CONFLICTS_MAX} times while it was ` +
      'written. Run this again.',
  )
}

/** Returns false when the Secret was changed since it was read. */
async function fill(kubernetes: Kubernetes, config: BootstrapConfig, log: Log): Promise<boolean> {
  const { resourceVersion, values: current } = await getSecret(
    kubernetes,
    secretKeyOf(config, config.PLATFORM_SECRET),
  )
  const kept = await readKept(kubernetes, config)
  const isEmptied = nonEmpty(current).length === 0 && kept.size > 0
  const found = { current, overrides: await readOverrides(kubernetes, config), kept, isEmptied }
  const changes = plan(config.PLATFORM_SECRET_KEYS, found)
  const known = new Map([...kept, ...nonEmpty(current), ...nonEmpty(found.overrides)])
  const made = [...changes.keys()].filter((key) => !known.get(key))
  await refuseLostKeys(kubernetes, config, { made, password: known.get('DB_PASSWORD'), log })
  // Before anything is sealed with them.
  await keep(kubernetes, config, { ...found, values: new Map([...current, ...changes]) })
  if (changes.size === 0) log.info('every key of the platform Secret has its value')
  else if (!(await writeSecret(kubernetes, { config, changes, resourceVersion }))) return false
  report(changes, found, log)
  await restartReaders(kubernetes, config, { ...readingOf(changes, found), log })
  return true
}

const nonEmpty = (values: Values): [string, string][] =>
  [...values].filter(([, value]) => value !== '')

/** The operator's own values, what the Secret has, and what was kept of it. */
interface Found extends Readonly<Record<'current' | 'overrides' | 'kept', Values>> {
  /** Something has replaced the Secret of an installation: all keys come back as they were. */
  readonly isEmptied: boolean
}

function report(changes: Values, found: Found, log: Log): void {
  for (const [key, value] of changes) {
    const said = isRestored(found, [key, value])
      ? 'key restored: the Secret had lost it'
      : 'key written'
    log.info({ key, fingerprint: fingerprint(value) }, said)
  }
}

const isRestored = ({ current, kept }: Found, [key, value]: [string, string]): boolean =>
  !current.get(key) && kept.get(key) === value

/**
 * Pods have the former value of a key that was lost, and read the operator's values from their own
 * Secret, whose checksum restarts them already. Those of a first install wait for their keys.
 */
function readingOf(changes: Values, { current, overrides, kept }: Found): Reading {
  const isInstalled = current.size > 0 || kept.size > 0
  const lost = [...kept].filter(([key]) => changes.has(key) && !current.get(key))
  const found = new Map([...current, ...lost])
  const known = [...changes].filter(([key]) => !isInstalled || overrides.get(key))
  return {
    found,
    known: new Map([...found, ...known]),
    current: new Map([...current, ...changes]),
  }
}

/** Returns the values to write: overrides that differ, and values for keys that have none. */
function plan(keys: readonly string[], found: Found): Map<string, string> {
  const { current, overrides, kept, isEmptied } = found
  const changes = new Map<string, string>()
  for (const key of new Set([...keys, ...overrides.keys()])) {
    const back = isEmptied || LASTING_KEYS.has(key) ? kept.get(key) : undefined
    const wanted = overrides.get(key) || current.get(key) || back || randomText()
    if (wanted !== current.get(key)) changes.set(key, wanted)
  }
  return changes
}

/** 64 alphanumerics, each equally likely: bytes beyond the last whole alphabet are discarded. */
function randomText(): string {
  const limit = 256 - (256 % ALPHABET.length)
  let text = ''
  while (text.length < LENGTH) {
    const usable = randomBytes(LENGTH).filter((byte) => byte < limit)
    for (const byte of usable) text += ALPHABET[byte % ALPHABET.length]
  }
  return text.slice(0, LENGTH)
}

const secretKeyOf = ({ POD_NAMESPACE: namespace }: BootstrapConfig, name: string): SecretKey => ({
  namespace,
  name,
})

async function readOverrides(kubernetes: Kubernetes, config: BootstrapConfig): Promise<Values> {
  const name = config.PLATFORM_SECRET_OVERRIDES
  return name === undefined
    ? new Map()
    : (await getSecret(kubernetes, secretKeyOf(config, name))).values
}

/** The keys that were kept; none before the first install. */
async function readKept(kubernetes: Kubernetes, config: BootstrapConfig): Promise<Values> {
  const secret = await findSecret(kubernetes, secretKeyOf(config, config.PLATFORM_SECRET_KEPT))
  return secret?.values ?? new Map()
}

/**
 * Keeps all keys a second time, where no apply, upgrade or sync reaches them, with those that this
 * install does not use any more.
 */
async function keep(
  kubernetes: Kubernetes,
  { POD_NAMESPACE: namespace, PLATFORM_SECRET_KEPT: name }: BootstrapConfig,
  { kept, values }: { readonly kept: Values; readonly values: Values },
): Promise<void> {
  const wanted = new Map([...kept, ...nonEmpty(values)])
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

/** Returns false when the Secret was changed since it was read. */
async function writeSecret(
  kubernetes: Kubernetes,
  { config, changes, resourceVersion }: Write,
): Promise<boolean> {
  const path = secretPath(secretKeyOf(config, config.PLATFORM_SECRET))
  const result = await kubernetes({
    method: 'PATCH',
    path,
    body: { metadata: { resourceVersion }, data: encode(changes) },
  })
  if ('failure' in result && result.failure.status === 409) return false
  succeed(result, `write the Secret ${config.PLATFORM_SECRET}`)
  return true
}
