import type { Queryable } from '../../shared/postgres/database.ts'

/** The life of a key until the next one is made. */
const KEY_DAYS = 30
/** A key is published for that long before it signs, so that others have fetched it by then. */
const PUBLISHED_HOURS = 1
/** A key is published for that long after the next one was made. */
const OVERLAP_DAYS = 2

/** A key that signs, or will, or did. */
export interface IdentityKey {
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
export const listIdentityKeys = (sql: Queryable): Promise<IdentityKey[]> => sql<IdentityKey[]>`
  select kid, sealed_key, public_key,
    created_at <= now() - ${PUBLISHED_HOURS} * interval '1 hour' as is_known,
    created_at <= now() - ${KEY_DAYS} * interval '1 day' as is_old
  from identity_keys k
  where not exists (
    select from identity_keys next where next.created_at > k.created_at
      and next.created_at <= now() - ${OVERLAP_DAYS} * interval '1 day')
  order by created_at desc, kid`

/** Adds a key, and deletes those that are not published any more. */
export async function addIdentityKey(
  sql: Queryable,
  { kid, sealedKey, publicKey }: Pick<IdentityKey, 'kid' | 'sealedKey' | 'publicKey'>,
): Promise<void> {
  await sql`
    insert into identity_keys (kid, sealed_key, public_key)
    values (${kid}, ${sealedKey}, ${JSON.stringify(publicKey)}::text::jsonb)`
  await sql`
    delete from identity_keys
    where created_at < now() - ${KEY_DAYS + OVERLAP_DAYS} * interval '1 day'
      and kid <> all (${(await listIdentityKeys(sql)).map((each) => each.kid)}::uuid[])`
}

/** Puts another seal on a key. */
export async function resealIdentityKey(
  sql: Queryable,
  { kid, sealedKey }: Pick<IdentityKey, 'kid' | 'sealedKey'>,
): Promise<void> {
  await sql`update identity_keys set sealed_key = ${sealedKey} where kid = ${kid}`
}
