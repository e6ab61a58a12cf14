import { randomUUID } from 'node:crypto'
import { exportJWK, importPKCS8 } from 'jose'
import type { CryptoKey } from 'jose'
import { AppError } from '../../shared/errors.ts'
import { makeKeyPair } from '../../shared/key-pair.ts'
import type { Log } from '../../shared/log.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { createVault } from '../../shared/vault.ts'

/** What the keys of a table sign, and with which algorithm. */
interface SigningUse {
  readonly table: SigningKeyTable
  /** What they sign, for the log, as in `crew-platform identity key`. */
  readonly label: string
  readonly algorithm: 'RS256' | 'ES256'
}

/** Options of `createSigningKeys`. */
export interface SigningKeysOptions {
  readonly sql: Database
  readonly log: Log
  /** The text that seals the private keys, and the one before. */
  readonly current: string
  readonly previous?: string | undefined
}

/** The keys that something is signed with. */
export interface SigningKeys {
  /** Returns the public keys: those that sign, will sign, or did lately. */
  readonly published: () => Promise<readonly SigningKey['publicKey'][]>
  readonly forSigning: () => Promise<{ readonly kid: string; readonly key: CryptoKey }>
}

/** Creates the access to the keys, and makes a new one when it is time. They are sealed at rest. */
export function createSigningKeys(options: SigningKeysOptions, use: SigningUse): SigningKeys {
  const { sql, log, current, previous } = options
  const { table, label, algorithm } = use
  const vault = createVault({ label, current, previous })

  async function add(): Promise<void> {
    const { privateKey, publicKey } = await makeKeyPair(algorithm)
    const kid = randomUUID()
    const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const jwk = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: algorithm }
    await addSigningKey(sql, table, { kid, sealedKey: vault.seal(pem, kid), publicKey: jwk })
    log.info({ kid }, `a ${label} was made`)
  }

  async function listReadable() {
    return (await listSigningKeys(sql, table)).flatMap((key) => {
      const found = vault.open(key.sealedKey, key.kid)
      return found ? [{ ...key, ...found }] : []
    })
  }

  return {
    async published() {
      // Anybody may ask: only the very first key is made for that.
      if ((await listSigningKeys(sql, table)).length === 0) await add()
      return (await listSigningKeys(sql, table)).map(({ publicKey }) => publicKey)
    },
    async forSigning() {
      const [newest] = await listReadable()
      // Two replicas may both make one at the same time: then there are two.
      if (!newest || newest.isOld) await add()
      const keys = await listReadable()
      // The newest that receivers have had the time to fetch; any while none is so old.
      const chosen = keys.find(({ isKnown }) => isKnown) ?? keys.at(-1)
      if (!chosen) throw new AppError('internal', `There is no ${label}.`)
      const { kid, secret: pem, isCurrent } = chosen
      if (!isCurrent) await resealSigningKey(sql, table, { kid, sealedKey: vault.seal(pem, kid) })
      return { kid, key: await importPKCS8(pem, algorithm) }
    },
  }
}

/** The life of a key until the next one is made. */
const KEY_DAYS = 30
/** A key is published for that long before it signs, so that others have fetched it by then. */
const PUBLISHED_HOURS = 1
/** A key is published for that long after the next one was made. */
const OVERLAP_DAYS = 2

/** The tables of keys: of the identities of runs, and of agent cards. */
type SigningKeyTable = 'identity_keys' | 'card_keys'

/** A key that signs, or will, or did. */
interface SigningKey {
  readonly kid: string
  readonly sealedKey: Buffer
  /** A JWK. */
  readonly publicKey: Readonly<Record<string, unknown>>
  /** It has been published for long enough. */
  readonly isKnown: boolean
  /** The next one is to be made. */
  readonly isOld: boolean
}

/** Returns the keys that are published, the newest first. */
const listSigningKeys = (sql: Queryable, table: SigningKeyTable): Promise<SigningKey[]> =>
  sql<SigningKey[]>`
  select kid, sealed_key, public_key,
    created_at <= now() - ${PUBLISHED_HOURS} * interval '1 hour' as is_known,
    created_at <= now() - ${KEY_DAYS} * interval '1 day' as is_old
  from ${sql(table)} k
  where not exists (
    select from ${sql(table)} next where next.created_at > k.created_at
      and next.created_at <= now() - ${OVERLAP_DAYS} * interval '1 day')
  order by created_at desc, kid`

/** Adds a key, and deletes those that are not published any more. */
async function addSigningKey(
  sql: Queryable,
  table: SigningKeyTable,
  { kid, sealedKey, publicKey }: Pick<SigningKey, 'kid' | 'sealedKey' | 'publicKey'>,
): Promise<void> {
  await sql`
    insert into ${sql(table)} (kid, sealed_key, public_key)
    values (${kid}, ${sealedKey}, ${JSON.stringify(publicKey)}::text::jsonb)`
  await sql`
    delete from ${sql(table)}
    where created_at < now() - ${KEY_DAYS + OVERLAP_DAYS} * interval '1 day'
      and kid <> all (${(await listSigningKeys(sql, table)).map((each) => each.kid)}::uuid[])`
}

/** Puts another seal on a key. */
async function resealSigningKey(
  sql: Queryable,
  table: SigningKeyTable,
  { kid, sealedKey }: Pick<SigningKey, 'kid' | 'sealedKey'>,
): Promise<void> {
  await sql`update ${sql(table)} set sealed_key = ${sealedKey} where kid = ${kid}`
}
