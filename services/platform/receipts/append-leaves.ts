import { randomBytes } from 'node:crypto'
import { canonicalJson } from '../../shared/canonical-json.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { auditLeaf, loadEntries } from './audit-leaves.ts'
import { growTree, hashLeaf, nodesOf } from './merkle-tree.ts'
import { loadEndedRuns, loadRunFacts, runLeaf } from './run-leaves.ts'
import { loadNodes, storeNodes } from './tree-nodes.ts'

const SALT_BYTES = 32
const ENTRIES_MAX = 500

interface NewLeaf {
  readonly organizationId: number | null
  readonly runId: string | null
  readonly auditId: string | null
  readonly salt: Buffer
  readonly content: string
  /** When the run ended, or the entry was made. */
  readonly at: Date
}

/** Holds while a run that has ended, or an entry of the audit, has no leaf. */
export const hasNewLeaves = (sql: Queryable) =>
  sql`(exists (select from runs_without_leaf(1)) or exists (select from entries_without_leaf(1)))`

/**
 * Appends leaves for some of the runs that have ended, and of the entries of the audit. Returns how
 * many; 0 also while another worker is at it.
 */
export async function appendLeaves(sql: Database, prices: readonly Price[] = []): Promise<number> {
  return sql.begin(async (tx) => {
    const [log] = await tx<{ size: string }[]>`
      select size::text from receipt_log for update skip locked`
    if (!log) return 0
    const leaves = [...(await makeRunLeaves(tx, prices)), ...(await makeAuditLeaves(tx))]
    if (leaves.length > 0) await store(tx, Number(log.size), leaves)
    return leaves.length
  })
}

async function makeRunLeaves(tx: Transaction, prices: readonly Price[]): Promise<NewLeaf[]> {
  const runs = await loadEndedRuns(tx)
  const facts = await loadRunFacts(tx, runs, prices)
  return runs.map((run) => {
    const salt = randomBytes(SALT_BYTES)
    const content = canonicalJson(runLeaf(run, salt, facts))
    const { organizationId, id: runId, finishedAt: at } = run
    return { organizationId, runId, auditId: null, salt, content, at }
  })
}

async function makeAuditLeaves(tx: Transaction): Promise<NewLeaf[]> {
  const isNew = tx`id in (select audit_id from entries_without_leaf(${ENTRIES_MAX}))`
  const entries = await loadEntries(tx, isNew)
  return entries.map((entry) => {
    const salt = randomBytes(SALT_BYTES)
    const content = canonicalJson(auditLeaf(entry, salt))
    const { organizationId, id: auditId, at } = entry
    return { organizationId, runId: null, auditId, salt, content, at }
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
        "organizationId" int, "runId" uuid, "auditId" bigint, content text, salt text,
        at timestamptz)),
    kept as (
      insert into receipt_leaves (index, organization_id, run_id, audit_id, content)
      select index, "organizationId", "runId", "auditId", content from leaf),
    salted as (
      insert into receipt_salts (run_id, audit_id, salt)
      select "runId", "auditId", decode(salt, 'hex') from leaf)
    update receipt_log set size = size + ${leaves.length},
      runs_until = greatest(runs_until, (select max(at) from leaf where "runId" is not null)),
      audit_until = greatest(audit_until, (select max(at) from leaf where "auditId" is not null))`
}
