import { hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'

/** The operator's keys that seal what the database keeps, and what would be lost with each. */
export const LOSSES = {
  SECRET_KEY_BASE: 'the keys of LLM connections and webhooks, and the secrets of crews',
  OAUTH_ENCRYPTION_KEY: 'the tokens of OAuth connections',
} as const

/** The variable of a sealing key. */
export type SealingKeyName = keyof typeof LOSSES

/** The variables of all sealing keys. */
export const SEALING_KEY_NAMES: readonly SealingKeyName[] = [
  'SECRET_KEY_BASE',
  'OAUTH_ENCRYPTION_KEY',
]

interface SealingKey {
  readonly name: SealingKeyName
  readonly current: string
  /** The key before, while it is rotated. */
  readonly previous?: string | undefined
}

/** A fingerprint, and the salt that it was taken with. */
interface Recorded {
  readonly salt: Buffer
  readonly fingerprint: Buffer
}

/**
 * Makes sure that a key is the one that this database is sealed with, and records the first one.
 * The key before may be given to rotate it. A key with which nothing is sealed yet may simply be
 * another one. Raises `invalid_configuration`, with what to do, before anything is sealed with a
 * wrong key.
 */
export async function checkSealingKey(sql: Queryable, key: SealingKey): Promise<void> {
  const fresh = takeFingerprint(key.current)
  await sql`
    insert into key_fingerprints ${sql({ purpose: key.name, ...fresh })}
    on conflict (purpose) do nothing`
  const recorded = await findRecorded(sql, key.name)
  if (isFingerprintOf(recorded, key.current)) return
  const mayReplace =
    (key.previous !== undefined && isFingerprintOf(recorded, key.previous)) ||
    !(await isSomethingSealed(sql, key.name))
  if (!mayReplace) throw wrongKey(key)
  // Another program may do the same; it has the same key, or its own start fails.
  await sql`
    update key_fingerprints set ${sql(fresh)}, recorded_at = now()
    where purpose = ${key.name} and fingerprint = ${recorded.fingerprint}`
}

/**
 * Lets the next program record the key that it has; what the former one sealed can no longer be
 * read.
 */
export async function forgetSealingKey(sql: Queryable, name: SealingKeyName): Promise<void> {
  await sql`delete from key_fingerprints where purpose = ${name}`
}

/** A key's name and the fingerprint of it that a database has. */
interface RecordedFingerprint {
  readonly name: SealingKeyName
  readonly salt: Buffer
  readonly fingerprint: Buffer
}

/** Lists the fingerprints of the keys that a database knows; never a key. */
export async function listFingerprints(sql: Queryable): Promise<RecordedFingerprint[]> {
  return sql<RecordedFingerprint[]>`
    select purpose as name, salt, fingerprint from key_fingerprints order by purpose`
}

async function findRecorded(sql: Queryable, name: SealingKeyName): Promise<Recorded> {
  const [row] = await sql<Recorded[]>`
    select salt, fingerprint from key_fingerprints where purpose = ${name}`
  if (row) return row
  throw new AppError('conflict', `The fingerprint of ${name} was removed meanwhile. Try again.`)
}

/**
 * Where the secrets of each key are. What ends by itself within hours is left out: the sessions of
 * people, and authorizations that were begun; and the keys of identities and agent cards, which are
 * made anew.
 */
const SEALED: Readonly<
  Record<SealingKeyName, readonly (readonly [table: string, column: string])[]>
> = {
  SECRET_KEY_BASE: [
    ['llm_connections', 'sealed_key'],
    ['webhooks', 'sealed_key'],
    ['triggers', 'sealed_key'],
    ['crew_variables', 'sealed_value'],
    ['crew_deployment_variables', 'sealed_value'],
    ['source_repositories', 'sealed_credential'],
    ['source_repositories', 'sealed_webhook_secret'],
    ['trace_forwards', 'sealed_headers'],
    ['receipt_keys', 'sealed_key'],
    ['erasures', 'sealed'],
  ],
  OAUTH_ENCRYPTION_KEY: [
    ['oauth_connections', 'access_token'],
    ['oauth_connections', 'refresh_token'],
    ['oauth_connections', 'client_secret'],
  ],
}

/**
 * Lists the keys that the database knows and is sealed with. It may be empty, or have the schema of
 * another version.
 */
export async function listKeysInUse(sql: Queryable): Promise<SealingKeyName[]> {
  const [table] = await sql<{ isThere: boolean }[]>`
    select to_regclass('key_fingerprints') is not null as is_there`
  if (!table?.isThere) return []
  const recorded = await sql<{ purpose: string }[]>`select purpose from key_fingerprints`
  const inUse: SealingKeyName[] = []
  for (const name of SEALING_KEY_NAMES) {
    const isKnown = recorded.some(({ purpose }) => purpose === name)
    if (isKnown && (await isSomethingSealed(sql, name))) inUse.push(name)
  }
  return inUse
}

async function isSomethingSealed(sql: Queryable, name: SealingKeyName): Promise<boolean> {
  for (const [table, column] of SEALED[name]) {
    const [place] = await sql<{ isThere: boolean }[]>`
      select exists (
        select from pg_attribute
        where attrelid = to_regclass(${table}) and attname = ${column}) as is_there`
    if (!place?.isThere) continue
    const [row] = await sql<{ found: boolean }[]>`
      select exists (select from ${sql(table)} where ${sql(column)} is not null) as found`
    if (row?.found) return true
  }
  return false
}

const digest = (key: string, salt: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, 'crew-platform key fingerprint', 32))

function takeFingerprint(key: string): Recorded {
  const salt = randomBytes(16)
  return { salt, fingerprint: digest(key, salt) }
}

/** Tells whether a fingerprint is that of a key. */
export const isFingerprintOf = ({ salt, fingerprint }: Recorded, key: string): boolean =>
  timingSafeEqual(digest(key, salt), fingerprint)

function wrongKey({ name, previous }: SealingKey): AppError {
  const given = previous === undefined ? name : `neither ${name} nor ${name}_PREVIOUS`
  const verb = previous === undefined ? 'is not' : 'is'
  return new AppError(
    'invalid_configuration',
    [
      `${given} ${verb} the key that this database was sealed with: ${LOSSES[name]} could not ` +
        'be read with it, so nothing was started.',
      'The Secret was probably emptied or replaced, and a new key generated. Put the former ' +
        `key back: from a backup, or from a pod that still runs with it (printenv ${name}).`,
      `To change the key on purpose, give the former one as ${name}_PREVIOUS.`,
      `To give up what it sealed, run the task "keys:accept ${name}".`,
    ].join(' '),
    { details: { variables: [name] } },
  )
}
