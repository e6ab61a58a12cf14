import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { canonicalJson } from '../../shared/canonical-json.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { signDocument } from '../../shared/signed-documents.ts'
import { createVault } from '../../shared/vault.ts'
import type { StatedKey } from './receipt-documents.ts'

/** The operator's key that seals the one that signs, and the one before. */
export interface ReceiptSeals {
  readonly current: string
  readonly previous?: string | undefined
}

/** A key that signs heads. */
export interface SigningKey {
  readonly key: KeyObject
  /** SubjectPublicKeyInfo in hexadecimal digits. */
  readonly publicKey: string
  /** It was made because the one before cannot be opened, and has not signed it. */
  readonly isUnsigned: boolean
}

const vaultOf = (seals: ReceiptSeals) =>
  createVault({ label: 'crew-platform receipt key', ...seals })

/**
 * Returns the key that signs. A new one is made where there is none yet, where it was sealed with
 * the previous key of the operator, and then the old one signs that the new one follows it, or
 * where it cannot be opened. Runs under the lock of the log.
 */
export async function openSigningKey(tx: Transaction, seals: ReceiptSeals): Promise<SigningKey> {
  const last = await openLast(tx, seals)
  if (!last) return { ...(await addKey(tx, seals, null)), isUnsigned: false }
  const { publicKey, opened } = last
  if (!opened) return { ...(await addKey(tx, seals, { publicKey })), isUnsigned: true }
  const key = createPrivateKey(opened.secret)
  const own = opened.isCurrent ? { key, publicKey } : await addKey(tx, seals, { key, publicKey })
  return { ...own, isUnsigned: false }
}

/**
 * Makes a key that follows the one that the previous key of the operator sealed, so that the
 * operator's is no longer needed. Undefined where no head was signed yet.
 */
export async function renewSigningKey(
  sql: Database,
  seals: ReceiptSeals,
): Promise<'resealed' | 'current' | 'unreadable' | undefined> {
  return sql.begin(async (tx) => {
    await tx`select from receipt_log for update`
    const last = await openLast(tx, seals)
    if (!last) return undefined
    if (!last.opened) return 'unreadable'
    if (last.opened.isCurrent) return 'current'
    await openSigningKey(tx, seals)
    return 'resealed'
  })
}

async function openLast(tx: Transaction, seals: ReceiptSeals) {
  const [last] = await tx<{ publicKey: Buffer; sealedKey: Buffer | null }[]>`
    select public_key, sealed_key from receipt_keys order by number desc limit 1`
  if (!last) return undefined
  const publicKey = last.publicKey.toString('hex')
  const opened = last.sealedKey ? vaultOf(seals).open(last.sealedKey, publicKey) : undefined
  return { publicKey, opened }
}

async function addKey(
  tx: Transaction,
  seals: ReceiptSeals,
  former: { readonly publicKey: string; readonly key?: KeyObject } | null,
): Promise<Omit<SigningKey, 'isUnsigned'>> {
  const [{ log, at }] = await tx<[{ log: string; at: Date }]>`
    select id as log, now() as at from receipt_log`
  const { privateKey: key, publicKey: spki } = generateKeyPairSync('ed25519')
  const publicKey = spki.export({ format: 'der', type: 'spki' }).toString('hex')
  const pem = String(key.export({ format: 'pem', type: 'pkcs8' }))
  const statement = {
    format: 'crew-platform-key-succession/1',
    log,
    key: publicKey,
    previous: former?.publicKey ?? null,
    at: at.toISOString(),
  }
  const signature = former?.key ? signDocument(statement, former.key) : null
  // The former key is good for nothing any more, and is not kept.
  await tx`update receipt_keys set sealed_key = null where sealed_key is not null`
  await tx`
    insert into receipt_keys (public_key, sealed_key, statement, signature)
    values (${Buffer.from(publicKey, 'hex')}, ${vaultOf(seals).seal(pem, publicKey)},
      ${canonicalJson(statement)}, ${signature && Buffer.from(signature, 'hex')})`
  return { key, publicKey }
}

/** Lists the keys that have signed heads, the first one first. */
export async function listReceiptKeys(sql: Queryable): Promise<StatedKey[]> {
  const rows = await sql<{ statement: string; signature: Buffer | null }[]>`
    select statement, signature from receipt_keys order by number`
  return rows.map(({ statement, signature }) => ({
    statement: JSON.parse(statement),
    signature: signature?.toString('hex') ?? null,
  }))
}

/** Returns the keys after the last one that no former key has signed: a chain that holds. */
export function chainOf(keys: readonly StatedKey[]): StatedKey[] {
  return keys.slice(keys.findLastIndex(({ signature }) => signature === null) + 1)
}
