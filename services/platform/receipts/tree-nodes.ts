import type { Queryable } from '../../shared/postgres/database.ts'
import { foldNodes, nodesOf } from './merkle-tree.ts'
import type { NodeId, TreeNode } from './merkle-tree.ts'

/** Loads the hashes of complete subtrees, in the order in which they are asked for. */
export async function loadNodes(sql: Queryable, ids: readonly NodeId[]): Promise<TreeNode[]> {
  const rows = await sql<{ hash: Buffer | null }[]>`
    select n.hash from rows from (
        json_to_recordset(${JSON.stringify(ids)}::text::json) as (level smallint, position bigint))
        with ordinality as wanted (level, position, place)
      left join receipt_nodes n using (level, position) order by place`
  return ids.map((id, place) => {
    const hash = rows[place]?.hash
    if (hash) return { ...id, hash }
    throw new Error(`the tree of receipts has no node ${id.level}/${id.position}`)
  })
}

/** Stores new complete subtrees. */
export async function storeNodes(sql: Queryable, nodes: readonly TreeNode[]): Promise<void> {
  const rows = nodes.map(({ hash, ...id }) => ({ ...id, hash: hash.toString('hex') }))
  await sql`
    insert into receipt_nodes (level, position, hash)
    select level, position, decode(hash, 'hex')
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as n (level smallint, position bigint, hash text)`
}

/** Returns the hash of each span of leaves, as the proofs have them. */
export async function hashSpans(
  sql: Queryable,
  spans: readonly Parameters<typeof nodesOf>[0][],
): Promise<Buffer[]> {
  const ids = spans.map(nodesOf)
  const nodes = await loadNodes(sql, ids.flat())
  return ids.map(({ length }) => foldNodes(nodes.splice(0, length).map(({ hash }) => hash)))
}
