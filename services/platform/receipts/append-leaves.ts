import { randomBytes } from 'node:crypto'
import { canonicalJson } from '../../shared/canonical-json.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { auditLeaf, loadEntries } from './audit-leaves.ts'
import { growTree, hashLeaf, nodesOf } from './merkle-tree.ts'
import { loadEndedRuns, loadRunFacts, runLeaf } from './run-leaves.ts'
import type { WithoutLeaf } from './run-leaves.ts'
import { loadNodes, storeNodes } from './tree-nodes.ts'

const SALT_BYTES = 32
const ENTRIES_MAX = 500

interface NewLeaf {
  readonly organizationId: number | null
  readonly runId: string | null
  readonly auditId: string | null
  readonly salt: Buffer
  readonly content: string
}

/**
 * Holds while a run has ended, or an entry of the audit was made, after the newest leaf, and when
 * it is time to look for what was committed later than that.
 */
export const hasNewLeaves = (sql: Queryable) => sql`receipts_are_due()`

/**
 * Appends leaves for some of the runs that have ended, and of the entries of the audit: what came
 * after the newest leaf, and once a minute all that has none. Returns how many; 0 also while
 * another worker is at it.
 */
export async function appendLeaves(sql: Database, prices: readonly Price[] = []): Promise<number> {
  return sql.begin(async (tx) => {
    const [log] = await tx<{ size: string; isSweep: boolean }[]>`
      select size::text, swept_at < now() - interval '1 minute' as is_sweep
      from receipt_log for update skip locked`
    if (!log) return 0
    const which = log.isSweep ? 'without_leaf' : 'behind_leaves'
    const leaves = [
      ...(await makeRunLeaves(tx, which, prices)),
      ...(await makeAuditLeaves(tx, which)),
    ]
    if (leaves.length > 0) await store(tx, Number(log.size), leaves)
    else if (log.isSweep) await tx`update receipt_log set swept_at = now()`
    return leaves.length
  })
}

async function makeRunLeaves(
  tx: Transaction,
  which: WithoutLeaf,
  prices: readonly Price[],
): Promise<NewLeaf[]> {
  const runs = await loadEndedRuns(tx, which)
  const facts = await loadRunFacts(tx, runs, prices)
  return runs.map((run) => {
    const salt = randomBytes(SALT_BYTES)
    const content = canonicalJson(runLeaf(run, salt, facts))
    const { organizationId, id: runId } = run
    return { organizationId, runId, auditId: null, salt, content }
  })
}

async function makeAuditLeaves(tx: Transaction, which: WithoutLeaf): Promise<NewLeaf[]> {
  const isNew = tx`id in (select audit_id from ${tx(`entries_${which}`)}(${ENTRIES_MAX}))`
  const entries = await loadEntries(tx, isNew)
  return entries.map((entry) => {
    const salt = randomBytes(SALT_BYTES)
    const content = canonicalJson(auditLeaf(entry, salt))
    const { organizationId, id: auditId } = entry
    return { organizationId, runId: null, auditId, salt, content }
  })
}

async function store(tx: Transaction, size: number, leaves: readonly NewLeaf[]): Promise<void> {
  const edge = await loadNodes(tx, nodesOf({ begin: 0, size }))
  const hashes = leaves.map(({ content }) => hashLeaf(content))
  await storeNodes(tx, growTree(edge, hashes))
  const rows = leaves.map(({ salt, ...leaf }, place) => ({
    ...leaf,
    index: size + place,
    salt: salt.toString('hex'),
  }))
  await tx`
    with leaf as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as l (index bigint,
        "organizationId" int, "runId" uuid, "auditId" bigint, content text, salt text)),
    kept as (
      insert into receipt_leaves (index, organization_id, run_id, audit_id, content)
      select index, "organizationId", "runId", "auditId", content from leaf),
    salted as (
      insert into receipt_salts (run_id, audit_id, salt)
      select "runId", "auditId", decode(salt, 'hex') from leaf)
    update receipt_log set size = size + ${leaves.length},
      runs_until = greatest(runs_until, (
        select max(finished_at) from leaf join executions e on e.id = "runId")),
      audit_until = greatest(audit_until, (
        select max(at) from leaf join audit_entries a on a.id = "auditId"))`
}
