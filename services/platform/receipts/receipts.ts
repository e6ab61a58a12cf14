import type { Queryable } from '../../shared/postgres/database.ts'
import { isUuid } from '../automations/automations.ts'
import { loadEntries } from './audit-leaves.ts'
import { consistencySpans, inclusionSpans } from './merkle-tree.ts'
import type { Consistency, Receipt, SignedHead } from './receipt-documents.ts'
import { chainOf, listReceiptKeys } from './receipt-keys.ts'
import { starterOf } from './run-leaves.ts'
import { hashSpans } from './tree-nodes.ts'

interface HeadRow {
  readonly content: string
  readonly signature: Buffer
}

const toHead = ({ content, signature }: HeadRow): SignedHead => ({
  head: JSON.parse(content),
  signature: signature.toString('hex'),
})

/** Returns signed heads below a size, the largest first. */
export async function listHeads(
  sql: Queryable,
  { below, limit }: { readonly below?: number | undefined; readonly limit: number },
): Promise<SignedHead[]> {
  const rows = await sql<HeadRow[]>`
    select content, signature from receipt_heads
    where ${below ?? null}::bigint is null or size < ${below ?? null}::bigint
    order by size desc limit ${limit}`
  return rows.map(toHead)
}

/** Returns the head of a size, or the newest; undefined where there is none. */
async function findHead(sql: Queryable, size?: number): Promise<SignedHead | undefined> {
  const [row] = await sql<HeadRow[]>`
    select content, signature from receipt_heads
    where size = coalesce(${size ?? null}::bigint, (select max(size) from receipt_heads))`
  return row && toHead(row)
}

const inHex = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('hex'))

/**
 * Returns the proof that one head, or the newest, continues another; undefined where one of them is
 * missing.
 */
export async function findConsistency(
  sql: Queryable,
  sizes: { readonly first: number; readonly second?: number | undefined },
): Promise<Consistency | undefined> {
  const [first, second] = [await findHead(sql, sizes.first), await findHead(sql, sizes.second)]
  if (!first || !second || first.head.size > second.head.size) return undefined
  const proof = await hashSpans(sql, consistencySpans(first.head.size, second.head.size))
  const keys = chainOf(await listReceiptKeys(sql))
  return { format: 'crew-platform-consistency/1', first, second, proof: inHex(proof), keys }
}

/** Returns true once a signed head has the leaf of a run. */
export async function hasReceipt(sql: Queryable, runId: string): Promise<boolean> {
  const found = await sql`
    select from receipt_leaves
    where run_id = ${runId} and index < (select max(size) from receipt_heads)`
  return found.length > 0
}

/** A run whose receipt is asked for. */
interface ReceiptKey {
  readonly organizationId: number
  readonly runId: string
  /** The size of the head that it is to lead to. @default the newest */
  readonly size?: number | undefined
}

interface LeafRow {
  readonly index: number
  readonly content: string
  readonly salt: Buffer | null
}

interface RunLeafRow extends LeafRow {
  readonly starterId: string | null
  readonly starterName: string | null
}

/**
 * Returns the receipt of a run; undefined for one of another organization, and until a head is
 * signed that has it. That of a deleted run has no salt any more.
 */
export async function findReceipt(
  sql: Queryable,
  { organizationId, runId, size }: ReceiptKey,
): Promise<Receipt | undefined> {
  if (!isUuid(runId)) return undefined
  const [leaf] = await sql<RunLeafRow[]>`
    select l.index::float8, l.content, s.salt, e.starter_id, e.starter_name
    from receipt_leaves l left join receipt_salts s using (run_id)
      left join executions e on e.id = l.run_id
    where l.run_id = ${runId} and l.organization_id = ${organizationId}`
  const starter = leaf && { starter: starterOf(leaf) }
  return leaf && makeReceipt(sql, leaf, { size, hashed: starter })
}

/** An entry of the audit whose receipt is asked for. */
interface EntryKey extends Pick<ReceiptKey, 'size'> {
  /** null: it concerns the platform as a whole. */
  readonly organizationId: number | null
  readonly entryId: string
}

/**
 * Returns the receipt of an entry of the audit; undefined for one of another organization, and
 * until a head is signed that has it. That of a deleted entry has no salt any more.
 */
export async function findEntryReceipt(
  sql: Queryable,
  { organizationId, entryId, size }: EntryKey,
): Promise<Receipt | undefined> {
  if (!/^[1-9]\d{0,17}$/.test(entryId)) return undefined
  const [leaf] = await sql<LeafRow[]>`
    select l.index::float8, l.content, s.salt
    from receipt_leaves l left join receipt_salts s using (audit_id)
    where l.audit_id = ${entryId} and l.organization_id is not distinct from ${organizationId}`
  if (!leaf) return undefined
  const [entry] = await loadEntries(sql, sql`id = ${entryId}`)
  return makeReceipt(sql, leaf, {
    size,
    hashed: entry && { actor: entry.actor, facts: entry.facts },
  })
}

/** Returns those of some entries of the audit that a signed head has the leaf of. */
export async function entriesWithReceipt(
  sql: Queryable,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }[]>`
    select audit_id::text as id from receipt_leaves
    where audit_id = any (${ids}::bigint[]) and index < (select max(size) from receipt_heads)`
  return new Set(rows.map(({ id }) => id))
}

type Opened = NonNullable<Receipt['opened']>

interface Making extends Pick<ReceiptKey, 'size'> {
  /** What the leaf has as salted hashes; undefined: it is deleted. */
  readonly hashed: Omit<Opened, 'salt'> | undefined
}

async function makeReceipt(
  sql: Queryable,
  leaf: LeafRow,
  { size, hashed }: Making,
): Promise<Receipt | undefined> {
  const signed = await findHead(sql, size)
  if (!signed || signed.head.size <= leaf.index) return undefined
  const proof = await hashSpans(sql, inclusionSpans(leaf.index, signed.head.size))
  return {
    format: 'crew-platform-receipt/1',
    leaf: JSON.parse(leaf.content),
    index: leaf.index,
    proof: inHex(proof),
    ...signed,
    keys: chainOf(await listReceiptKeys(sql)),
    opened: leaf.salt && hashed ? { salt: leaf.salt.toString('hex'), ...hashed } : null,
  }
}
