import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../shared/postgres/database.ts'
import type { TableUse } from './figures.ts'

/** The name of all connections of a rehearsal, which count as no use. */
export const CONNECTION_NAME = 'upgrade-prove'

const SAMPLE_MS = 200
/** Locks of those that only read. */
const READS = ['AccessShareLock', 'RowShareLock']

/**
 * Watches for some seconds how the tables of a database are used, in transactions that only read:
 * by the locks that sessions hold, and by the counters of the server.
 */
export async function observeUse(sql: Database, seconds: number): Promise<TableUse[]> {
  const before = await readCounters(sql)
  const seen = { readers: new Map<string, Set<string>>(), writers: new Map<string, Set<string>>() }
  const end = performance.now() + seconds * 1000
  for (;;) {
    for (const { table, holder, isReading } of await readHolders(sql)) {
      const holders = isReading ? seen.readers : seen.writers
      holders.set(table, (holders.get(table) ?? new Set()).add(holder))
    }
    const remains = end - performance.now()
    if (remains <= 0) break
    await delay(Math.min(SAMPLE_MS, remains))
  }
  const after = await readCounters(sql)
  return [...after].map(([table, { bytes, scans, writes }]) => ({
    table,
    bytes,
    scans: Math.max(0, scans - (before.get(table)?.scans ?? 0)),
    writes: Math.max(0, writes - (before.get(table)?.writes ?? 0)),
    readers: seen.readers.get(table)?.size ?? 0,
    writers: seen.writers.get(table)?.size ?? 0,
  }))
}

/** The kinds of statements that wait for a lock on a table that is used so. */
export function listWaiting(mode: string, used: TableUse | undefined): string[] {
  const { scans = 0, readers = 0, writes = 0, writers = 0 } = used ?? {}
  const isReadInVain = mode === 'ACCESS EXCLUSIVE' && scans + readers > 0
  return [
    ...(isReadInVain ? ['SELECT'] : []),
    ...(writes + writers > 0 ? ['INSERT', 'UPDATE', 'DELETE', 'MERGE'] : []),
  ]
}

interface Counters {
  readonly table: string
  readonly bytes: number
  readonly scans: number
  readonly writes: number
}

async function readCounters(sql: Database): Promise<Map<string, Counters>> {
  const rows = await sql.begin(
    'read only',
    (tx) => tx<Counters[]>`
      select coalesce(pg_partition_root(relid), relid)::regclass::text as table,
        sum(pg_total_relation_size(relid))::float8 as bytes,
        sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::float8 as scans,
        sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 as writes
      from pg_stat_user_tables group by 1 order by 1`,
  )
  return new Map(rows.map((row) => [row.table, row]))
}

/** What a session holds now; a statement is told from the next one of its session by its begin. */
const readHolders = (sql: Database) =>
  sql.begin(
    'read only',
    (tx) => tx<{ table: string; holder: string; isReading: boolean }[]>`
      select coalesce(pg_partition_root(l.relation), l.relation)::regclass::text as table,
        concat_ws(' ', l.pid, a.query_start) as holder, l.mode in ${tx(READS)} as is_reading
      from pg_locks l
      join pg_stat_activity a using (pid)
      join pg_class c on c.oid = l.relation and c.relkind in ('r', 'p')
      where l.locktype = 'relation' and l.granted and a.datname = current_database()
        and coalesce(a.backend_type, 'client backend') = 'client backend'
        and a.application_name not in (${CONNECTION_NAME}, 'backup')
        and c.relnamespace not in (
          select oid from pg_namespace where nspname in ('pg_catalog', 'information_schema'))`,
  )
