import { canonicalJson } from '../../shared/canonical-json.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { signDocument } from '../../shared/signed-documents.ts'
import type { EventType } from '../webhooks/webhooks.ts'
import { foldNodes, nodesOf } from './merkle-tree.ts'
import { digestOf, keyId } from './receipt-documents.ts'
import type { SignedHead } from './receipt-documents.ts'
import { openSigningKey } from './receipt-keys.ts'
import type { ReceiptSeals, SigningKey } from './receipt-keys.ts'
import { loadNodes } from './tree-nodes.ts'

/** Holds an hour after the last head was signed, when the tree has grown. */
export const hasUnsignedLeaves = (sql: Queryable) => sql`exists (
  select from receipt_log where size > coalesce((select max(size) from receipt_heads), 0)
    and coalesce((select signed_at from receipt_heads order by size desc limit 1)
      <= now() - interval '1 hour', true))`

/** Signs the tree as it is. Returns undefined where nothing is new, or another worker is at it. */
export async function signHead(
  sql: Database,
  seals: ReceiptSeals,
): Promise<(SignedHead & Pick<SigningKey, 'isUnsigned'>) | undefined> {
  return sql.begin(async (tx) => {
    const [log] = await tx<{ id: string; size: number; at: Date }[]>`
      select id, size::float8, now() as at from receipt_log
      where ${hasUnsignedLeaves(tx)} for update skip locked`
    if (!log) return undefined
    const [former] = await tx<{ size: number; content: string }[]>`
      select size::float8, content from receipt_heads order by size desc limit 1`
    // Another worker may have signed it between the snapshot and the lock.
    if (former?.size === log.size) return undefined
    const { key, publicKey, isUnsigned } = await openSigningKey(tx, seals)
    const nodes = await loadNodes(tx, nodesOf({ begin: 0, size: log.size }))
    const head: SignedHead['head'] = {
      format: 'crew-platform-tree-head/1',
      log: log.id,
      size: log.size,
      root: foldNodes(nodes.map(({ hash }) => hash)).toString('hex'),
      at: log.at.toISOString(),
      previous: former ? digestOf(JSON.parse(former.content)) : null,
      key: keyId(publicKey),
    }
    const signature = signDocument(head, key)
    await tx`
      insert into receipt_heads (size, content, signature, signed_at)
      values (${log.size}, ${canonicalJson(head)}, ${Buffer.from(signature, 'hex')}, ${log.at})`
    await tellWebhooks(tx, { head, signature })
    return { head, signature, isUnsigned }
  })
}

/**
 * Lines a head up for the webhooks that name its event, each address of an organization once. They
 * get heads in order; one that asks for every event of its runs gets none.
 */
async function tellWebhooks(tx: Transaction, signed: SignedHead): Promise<void> {
  const { log, size, root, at } = signed.head
  const type: EventType = 'receipt_head_signed'
  const text = `The log of receipts has ${size} leaves, with the root ${root}.`
  const message = JSON.stringify({ type, timestamp: at, data: { ...signed, text } })
  await tx`
    select line_up_webhook_message(w.id, ${log}, ${type}, ${message}::text::jsonb)
    from (
      select distinct on (d.organization_id, h.url) h.id
      from webhooks h join deployments d on d.id = h.deployment_id
      where h.run_id is null and ${type} = any (h.event_types)
      order by d.organization_id, h.url, h.created_at, h.id) w`
}
