import { hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Queryable } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'

/** The operator's keys that seal what the database keeps, and what would be lost with each. */
const LOSSES = {
  SECRET_KEY_BASE: 'the keys of LLM connections and webhooks, and the secrets of crews',
  OAUTH_ENCRYPTION_KEY: 'the tokens of OAuth connections',
} as const

type SealingKeyName = keyof typeof LOSSES

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
  if (isOf(recorded, key.current)) return
  const mayReplace =
    (key.previous !== undefined && isOf(recorded, key.previous)) ||
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

async function findRecorded(sql: Queryable, name: SealingKeyName): Promise<Recorded> {
  const [row] = await sql<Recorded[]>`
    select salt, fingerprint from key_fingerprints where purpose = ${name}`
  if (row) return row
  throw new AppError('conflict', `The fingerprint of ${name} was removed meanwhile. Try again.`)
}

async function isSomethingSealed(sql: Queryable, name: SealingKeyName): Promise<boolean> {
  const [row] =
    name === 'SECRET_KEY_BASE'
      ? await sql<{ found: boolean }[]>`
          select exists (select from llm_connections where sealed_key is not null)
            or exists (select from webhooks) as found`
      : await sql<{ found: boolean }[]>`
          select exists (select from oauth_connections where access_token is not null) as found`
  return row?.found ?? false
}

const digest = (key: string, salt: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, 'crew-platform key fingerprint', 32))

function takeFingerprint(key: string): Recorded {
  const salt = randomBytes(16)
  return { salt, fingerprint: digest(key, salt) }
}

const isOf = ({ salt, fingerprint }: Recorded, key: string): boolean =>
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
