import { setTimeout as delay } from 'node:timers/promises'
import { buildIndexes } from './build-indexes.ts'
import { sqlState } from './failures.ts'
import type { Database, Queryable, Transaction } from './database.ts'
import { readMigrations } from './migration-files.ts'
import type { AppliedMigration, Migration, Replaced } from './migration-files.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'

interface Applied extends AppliedMigration {
  readonly safeFrom: number
}

/** Any number: what matters is that every replica of every version takes the same lock. */
const LOCK = 7_310_452_117

/**
 * Applies the numbered `.sql` files of a folder that the database does not have yet, each in its
 * own transaction. Safe with many replicas at once. Returns the version reached. A file of nothing
 * but `create index` does not stop those who write to a partitioned table: the indexes are built
 * concurrently on its partitions before. A file that gives up waiting for a lock is tried again,
 * for two minutes at least.
 *
 * A file leaves a schema on which older programs work, so that old and new replicas can run beside
 * each other, and a release can be taken back. One that cannot says from which version on they do:
 * `-- contract: safe from 0051`. One that changes rows says so: `-- changes rows of TABLE: why`.
 *
 * A database that has all files that a baseline replaces has the baseline, and keeps its record of
 * them. Raises `schema_mismatch` when an applied file was changed, when the database has only some
 * of those files, and when it is newer than this program and no longer safe for it.
 */
export async function migrate(sql: Database, folder: URL, log: Log): Promise<number> {
  return migrateWith(sql, await readMigrations(folder), log)
}

/** The schema at a version of the past, for data of that time. */
interface PastSchema {
  readonly folder: URL
  /** What was applied to the database that the data come from, in order. */
  readonly applied: readonly AppliedMigration[]
}

/**
 * Brings an empty database to the schema that another one had. Raises `schema_mismatch` when this
 * program does not know that schema.
 */
export async function migrateAsFormer(
  sql: Database,
  { folder, applied }: PastSchema,
  log: Log,
): Promise<void> {
  const migrations = await readMigrations(folder)
  // What this program does not know it cannot make, be it safe or not.
  const rows = applied.map((migration) => ({ ...migration, safeFrom: migration.version }))
  const last = Math.max(...checkHistory(rows, migrations))
  await migrateWith(
    sql,
    migrations.filter(({ version }) => version <= last),
    log,
  )
}

async function migrateWith(
  sql: Database,
  migrations: readonly Migration[],
  log: Log,
): Promise<number> {
  const applied = await sql.begin(async (tx) => {
    await lock(tx)
    await tx`
      create table if not exists schema_migrations (
        version int primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now(),
        safe_from int
      )`
    return checkHistory(await readApplied(tx), migrations)
  })
  const last = migrations.at(-1)?.version ?? 0
  tellIfNewer(Math.max(0, ...applied), last, log)
  for (const migration of migrations.filter(({ version }) => !applied.has(version))) {
    await applyMigration(sql, migration, { log })
  }
  return last
}

/** The version of a database's schema, and what this program would apply to it. */
interface PendingMigrations {
  readonly version: number
  readonly pending: readonly Migration[]
}

/**
 * Lists the migrations that a database does not have yet, in their order, and changes nothing.
 * Raises `schema_mismatch` as `migrate` does, and for a database that was never migrated.
 */
export async function listPending(sql: Queryable, folder: URL): Promise<PendingMigrations> {
  const migrations = await readMigrations(folder)
  const [table] = await sql<{ isThere: boolean }[]>`
    select to_regclass('schema_migrations') is not null as is_there`
  if (table?.isThere !== true) {
    throw new AppError(
      'schema_mismatch',
      'The database has no tables of this platform. Is it the right one?',
    )
  }
  const applied = checkHistory(await readApplied(sql), migrations)
  const pending = migrations.filter(({ version }) => !applied.has(version))
  return { version: Math.max(0, ...applied), pending }
}

// A table that is too old to be taken over may lack the column.
const readApplied = (sql: Queryable): Promise<Applied[]> => sql<Applied[]>`
  select version, name, checksum,
    coalesce((to_jsonb(m) ->> 'safe_from')::int, version) as safe_from
  from schema_migrations m order by version`

interface Application {
  readonly log: Log
  /** Looks at the transaction of a migration before it is committed. */
  readonly beforeCommit?: (tx: Transaction) => Promise<void>
}

/** Applies one migration, the indexes of which are built before. */
export async function applyMigration(
  sql: Database,
  migration: Migration,
  options: Application,
): Promise<void> {
  const began = performance.now()
  await buildIndexes(sql, migration.indexes, options.log)
  if (!(await applyPatiently(sql, migration, options))) return
  const { version, name } = migration
  options.log.info(
    { version, name, ms: Math.round(performance.now() - began) },
    'migration applied',
  )
}

function tellIfNewer(database: number, program: number, log: Log): void {
  if (database <= program) return
  log.warn({ database, program }, 'the schema is newer than this program, and safe for it')
}

/** A lock that was not to be had in time, and a circle of waits, which a migration may lose. */
const IN_USE = new Set(['55P03', '40P01'])
const LOCK_TRIES = 120
const LOCK_PAUSE_MS = 1000

/**
 * Returns false where another replica was first. Tries again when a lock was not to be had: a
 * migration that sets `lock_timeout` waits for none longer than writers, who queue up behind it,
 * can bear.
 */
async function applyPatiently(
  sql: Database,
  migration: Migration,
  options: Application,
): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await apply(sql, migration, options)
    } catch (thrown) {
      if (!IN_USE.has(sqlState(thrown) ?? '') || tries === LOCK_TRIES) throw thrown
      options.log.info({ name: migration.name }, 'a table is in use; trying again')
    }
    await delay(LOCK_PAUSE_MS)
  }
}

async function apply(
  sql: Database,
  migration: Migration,
  { beforeCommit }: Application,
): Promise<boolean> {
  return sql.begin(async (tx) => {
    await lock(tx)
    if (migration.indexes.length > 0) await tx`set local lock_timeout = '2s'`
    // The row goes in first: who finds it there leaves the statements to the one who wrote it.
    const { version, name, checksum, safeFrom } = migration
    const inserted = await tx`
      insert into schema_migrations ${tx({ version, name, checksum, safeFrom })}
      on conflict (version) do nothing returning version`
    if (inserted.length === 0) return false
    await tx.unsafe(migration.statements).simple()
    await beforeCommit?.(tx)
    return true
  })
}

async function lock(tx: Transaction): Promise<void> {
  // Another replica may be in the middle of a long migration: wait for it rather than fail.
  await tx`set local statement_timeout = '10min'`
  await tx`select pg_advisory_xact_lock(${LOCK})`
}

/** Returns the versions that a database has. Raises `schema_mismatch` where it has others. */
function checkHistory(
  applied: readonly Applied[],
  migrations: readonly Migration[],
): ReadonlySet<number> {
  const [first] = migrations
  const rows = first?.replaces ? takeOver(applied, first, first.replaces) : applied
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  for (const row of rows) {
    const ours = known.get(row.version)
    if (ours) checkSame(row, ours)
    else checkNewer(row, migrations.at(-1)?.version ?? 0)
  }
  return new Set(rows.map(({ version }) => version))
}

/** Puts the baseline in the place of the files that it stands for. */
function takeOver(
  applied: readonly Applied[],
  { version, name, checksum, safeFrom }: Migration,
  { release, files }: Replaced,
): readonly Applied[] {
  if (!applied.some((row) => row.version < version)) return applied
  const former = applied.filter((row) => row.version <= version)
  const last = former.at(-1)
  if (former.length < files.length) {
    throw new AppError(
      'schema_mismatch',
      `The database has schema version ${last?.version} (${last?.name}). This program takes it ` +
        `over from version ${version} on: install ${release} first, whose migrations lead there, ` +
        'and this one then.',
    )
  }
  former.forEach((row, index) => checkSame(row, files[index]))
  const rest = applied.filter((row) => row.version > version)
  return [{ version, name, checksum, safeFrom }, ...rest]
}

function checkSame(row: Applied, ours: AppliedMigration | undefined): void {
  if (ours?.checksum === row.checksum) return
  throw new AppError(
    'schema_mismatch',
    `Migration ${row.name} differs from the one that was applied to this database. ` +
      `Applied files never change: restore it and put the change into a new file.`,
  )
}

/** Raises `schema_mismatch` unless programs of our version work on what a newer one has applied. */
function checkNewer({ version, name, safeFrom }: Applied, ours: number): void {
  if (safeFrom <= ours) return
  throw new AppError(
    'schema_mismatch',
    `The database has schema version ${version} (${name}), on which programs work that know ` +
      `version ${safeFrom} or later; this one knows up to ${ours}. ` +
      `Run a newer program, or restore a backup from before the upgrade.`,
  )
}
