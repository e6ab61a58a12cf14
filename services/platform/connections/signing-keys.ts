import type { Queryable } from '../../shared/postgres/database.ts'

/** The life of a key until the next one is made. */
const KEY_DAYS = 30
/** A key is published for that long before it signs, so that others have fetched it by then. */
const PUBLISHED_HOURS = 1
/** A key is published for that long after the next one was made. */
const OVERLAP_DAYS = 2

/** The tables of keys: of the identities of runs, and of agent cards. */
export type SigningKeyTable = 'identity_keys' | 'card_keys'

/** A key that signs, or will, or did. */
export interface SigningKey {
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
export const listSigningKeys = (sql: Queryable, table: SigningKeyTable): Promise<SigningKey[]> =>
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
export async function addSigningKey(
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
export async function resealSigningKey(
  sql: Queryable,
  table: SigningKeyTable,
  { kid, sealedKey }: Pick<SigningKey, 'kid' | 'sealedKey'>,
): Promise<void> {
  await sql`update ${sql(table)} set sealed_key = ${sealedKey} where kid = ${kid}`
}
