import { setTimeout as delay } from 'node:timers/promises'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import type { Log } from '../../shared/log.ts'
import { applyMigration } from '../../shared/postgres/migrate.ts'
import type { Migration } from '../../shared/postgres/migration-files.ts'
import { explainFailure } from './explain-failure.ts'
import type { HeldLock, Loss, MigrationFigures, RowChange, TableUse } from './figures.ts'
import { listWaiting } from './observe.ts'

/** What migrations are rehearsed on. */
interface Copy {
  readonly sql: Database
  /** Of another connection, to look at the one that migrates. */
  readonly watcher: Database
  /** How the original is used. */
  readonly use: readonly TableUse[]
  readonly log: Log
}

/**
 * Applies migrations to a copy in their order, and measures each. Stops after one that fails, and
 * ends one that is at work when the time is up.
 */
export async function rehearse(
  copy: Copy,
  pending: readonly Migration[],
  timeMs: number,
): Promise<MigrationFigures[]> {
  const endsAt = performance.now() + timeMs
  const done: MigrationFigures[] = []
  for (const migration of pending) {
    const figures = await rehearseOne(copy, migration, endsAt)
    done.push(figures)
    copy.log.info({ migration: figures.name, ms: figures.ms }, 'migration rehearsed')
    if (figures.failure !== null) break
  }
  return done
}

async function rehearseOne(
  { sql, watcher, use, log }: Copy,
  migration: Migration,
  endsAt: number,
): Promise<MigrationFigures> {
  const before = await readTables(sql)
  // What was counted before is no longer seen as of the next transaction.
  await sql`select pg_stat_force_next_flush()`
  const [start] = await readPlace(sql, '0/0')
  let found = NOTHING_FOUND
  let failure: string | null = null
  const watch = watchLocks(watcher, { pid: start.pid, endsAt })
  const began = performance.now()
  try {
    await applyMigration(sql, migration, {
      log: log.child({}, { level: 'silent' }),
      beforeCommit: async (tx) => void (found = await look(tx, before)),
    })
  } catch (thrown) {
    failure = explainFailure(thrown, { statements: migration.statements, isOver: watch.isOver() })
  } finally {
    await watch.stop()
  }
  const ended = performance.now()
  const [end] = await readPlace(sql, start.wal)
  const { version, name, checksum: sha256, safeFrom, changesRowsOf } = migration
  return {
    version,
    name,
    sha256,
    isContract: safeFrom > 1,
    changesRowsOf,
    ms: Math.round(ended - began),
    walBytes: end.written,
    growthBytes: end.bytes - start.bytes,
    peakBytes: Math.max(found.bytes, end.bytes) - start.bytes,
    locks: held(found.locks, { before, use, ended, sinceOf: watch.sinceOf }),
    changes: found.changes,
    losses: found.losses,
    failure,
  }
}

interface Place {
  readonly pid: number
  readonly bytes: number
  readonly wal: string
  readonly written: number
}

const readPlace = (sql: Queryable, since: string) => sql<[Place]>`
  select pg_backend_pid() as pid, pg_database_size(current_database())::float8 as bytes,
    pg_current_wal_lsn()::text as wal,
    pg_wal_lsn_diff(pg_current_wal_lsn(), ${since}::pg_lsn)::float8 as written`

interface Table {
  readonly oid: string
  readonly name: string
  /** The partitioned table that it is a part of, or its own name. */
  readonly root: string
  readonly filenode: string | null
  readonly isPartition: boolean
  readonly columns: Readonly<Record<string, string>>
}

const readTables = (sql: Queryable): Promise<readonly Table[]> => sql<Table[]>`
  select c.oid::text, c.oid::regclass::text as name, relispartition as is_partition,
    coalesce(pg_partition_root(c.oid), c.oid)::regclass::text as root,
    pg_relation_filenode(c.oid)::text as filenode,
    (select coalesce(json_object_agg(attname, format_type(atttypid, atttypmod)), '{}')
      from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
  from pg_class c
  where relkind in ('r', 'p') and relnamespace = (
    select relnamespace from pg_class where oid = 'schema_migrations'::regclass)
    and c.oid <> 'schema_migrations'::regclass`

interface HeldMode {
  readonly oid: string
  readonly mode: string
}

interface Found {
  readonly bytes: number
  readonly locks: readonly HeldMode[]
  readonly changes: readonly RowChange[]
  readonly losses: readonly Loss[]
}

const NOTHING_FOUND: Found = { bytes: 0, locks: [], changes: [], losses: [] }

/** Looks at what the transaction of a migration has done, before it is committed. */
async function look(tx: Queryable, before: readonly Table[]): Promise<Found> {
  const after = await readTables(tx)
  const [{ bytes }] = await readPlace(tx, '0/0')
  const locks = await tx<HeldMode[]>`
    select relation::text as oid, mode from pg_locks
    where pid = pg_backend_pid() and locktype = 'relation' and granted`
  const counts = await tx<(Omit<RowChange, 'table' | 'isRewritten'> & { oid: string })[]>`
    select relid::text as oid, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated,
      n_tup_del::float8 as deleted
    from pg_stat_xact_user_tables where n_tup_ins + n_tup_upd + n_tup_del > 0`
  const byOid = new Map(counts.map(({ oid, ...numbers }) => [oid, numbers]))
  const filenodes = new Map(after.map(({ oid, filenode }) => [oid, filenode]))
  const changes = before.flatMap(({ oid, name, filenode }) => {
    const numbers = byOid.get(oid) ?? { inserted: 0, updated: 0, deleted: 0 }
    const isRewritten = filenodes.has(oid) && filenodes.get(oid) !== filenode
    return byOid.has(oid) || isRewritten ? [{ table: name, ...numbers, isRewritten }] : []
  })
  return { bytes, locks, changes, losses: findLosses(before, after) }
}

/** Compares the tables by their names, which is how programs know them. */
function findLosses(before: readonly Table[], after: readonly Table[]): Loss[] {
  const byName = new Map(after.map((table) => [table.name, table]))
  return before.flatMap(({ name: table, columns, isPartition }): Loss[] => {
    const now = byName.get(table)
    if (!now) return [{ table, kind: 'lost_table' }]
    // Columns of parts are those of the whole.
    if (isPartition) return []
    return Object.entries(columns).flatMap(([column, type]): Loss[] => {
      const present = now.columns[column]
      if (present === type) return []
      if (present === undefined) return [{ table, kind: 'lost_column', column }]
      return [{ table, kind: 'changed_type', column, before: type, after: present }]
    })
  })
}

const WATCH_MS = 25

/**
 * Looks again and again at what a session holds, and ends its statement once the time is up. A lock
 * counts from the look before the one that saw it: rather too long than too short.
 */
function watchLocks(
  sql: Database,
  { pid, endsAt }: { readonly pid: number; readonly endsAt: number },
) {
  const since = new Map<string, number>()
  let last = performance.now()
  let isOver = false
  const stopped = new AbortController()
  const looking = (async () => {
    while (!stopped.signal.aborted) {
      const now = performance.now()
      const rows = await sql<HeldMode[]>`
        select relation::text as oid, mode from pg_locks
        where pid = ${pid} and locktype = 'relation' and granted`
      for (const { oid, mode } of rows) {
        const key = `${oid} ${mode}`
        if (!since.has(key)) since.set(key, last)
      }
      last = now
      if (now > endsAt) {
        isOver = true
        await sql`select pg_cancel_backend(${pid})`
      }
      await delay(WATCH_MS, undefined, { signal: stopped.signal }).catch(() => {})
    }
  })()
  // Its failure is raised by `stop`.
  looking.catch(() => {})
  return {
    isOver: () => isOver,
    /** When a lock was taken; one that no look saw was taken after the last one. */
    sinceOf: ({ oid, mode }: HeldMode): number => since.get(`${oid} ${mode}`) ?? last,
    async stop() {
      stopped.abort()
      await looking
    },
  }
}

/** Those that others wait for, and how SQL calls them; the strongest first. */
const BLOCKING = new Map([
  ['AccessExclusiveLock', 'ACCESS EXCLUSIVE'],
  ['ExclusiveLock', 'EXCLUSIVE'],
  ['ShareRowExclusiveLock', 'SHARE ROW EXCLUSIVE'],
  ['ShareLock', 'SHARE'],
])

interface LockTimes {
  readonly before: readonly Table[]
  readonly use: readonly TableUse[]
  readonly ended: number
  readonly sinceOf: (lock: HeldMode) => number
}

/** Each lock that others wait for, on tables that were there; the parts of one count as one. */
function held(locks: readonly HeldMode[], { before, use, ended, sinceOf }: LockTimes): HeldLock[] {
  const roots = new Map(before.map(({ oid, root }) => [oid, root]))
  const longest = new Map<string, HeldLock>()
  for (const lock of locks) {
    const [table, mode] = [roots.get(lock.oid), BLOCKING.get(lock.mode)]
    if (table === undefined || mode === undefined) continue
    const heldMs = Math.round(ended - sinceOf(lock))
    const key = `${table} ${mode}`
    if (heldMs < (longest.get(key)?.heldMs ?? 0)) continue
    const used = use.find((each) => each.table === table)
    longest.set(key, { table, mode, heldMs, waiting: listWaiting(mode, used) })
  }
  const order = [...BLOCKING.values()]
  return [...longest.values()].toSorted(
    (a, b) => a.table.localeCompare(b.table) || order.indexOf(a.mode) - order.indexOf(b.mode),
  )
}
