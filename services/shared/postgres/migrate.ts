import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { buildIndexes, readIndexes } from './build-indexes.ts'
import type { IndexDefinition } from './build-indexes.ts'
import { sqlState } from './failures.ts'
import type { Database, Transaction } from './database.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'

interface Migration {
  readonly version: number
  readonly name: string
  readonly checksum: string
  readonly statements: string
  /** All that it creates, if that is nothing but indexes. */
  readonly indexes: readonly IndexDefinition[]
}

interface Applied {
  readonly version: number
  readonly name: string
  readonly checksum: string
}

/** Any number: what matters is that every replica of every version takes the same lock. */
const LOCK = 7_310_452_117

/**
 * Applies the numbered `.sql` files of a folder that the database does not have yet, each in its
 * own transaction. Safe with many replicas at once. Returns the version reached. A file of nothing
 * but `create index` does not stop those who write to a partitioned table: the indexes are built
 * concurrently on its partitions before. A file that gives up waiting for a lock is tried again,
 * for two minutes at least. Raises `schema_mismatch` when an applied file was changed
 * or the database is newer than this program.
 */
export async function migrate(sql: Database, folder: URL, log: Log): Promise<number> {
  const migrations = await readMigrations(folder)
  const applied = await sql.begin(async (tx) => {
    await lock(tx)
    await tx`
      create table if not exists schema_migrations (
        version int primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`
    const rows = await tx<Applied[]>`
      select version, name, checksum from schema_migrations order by version`
    checkHistory(rows, migrations)
    return new Set(rows.map(({ version }) => version))
  })
  for (const migration of migrations.filter(({ version }) => !applied.has(version))) {
    await buildIndexes(sql, migration.indexes, log)
    await applyPatiently(sql, migration, log)
  }
  return migrations.at(-1)?.version ?? 0
}

const LOCK_TIMEOUT = '55P03'
const LOCK_TRIES = 120
const LOCK_PAUSE_MS = 1000

/**
 * Tries again when a lock was not to be had: a migration that sets `lock_timeout` waits for none
 * longer than writers, who queue up behind it, can bear.
 */
async function applyPatiently(sql: Database, migration: Migration, log: Log): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await apply(sql, migration, log)
      return
    } catch (thrown) {
      if (sqlState(thrown) !== LOCK_TIMEOUT || tries === LOCK_TRIES) throw thrown
      log.info({ name: migration.name }, 'a table is in use; trying again')
    }
    await delay(LOCK_PAUSE_MS)
  }
}

async function apply(sql: Database, migration: Migration, log: Log): Promise<void> {
  await sql.begin(async (tx) => {
    await lock(tx)
    if (migration.indexes.length > 0) await tx`set local lock_timeout = '2s'`
    // The row goes in first: who finds it there leaves the statements to the one who wrote it.
    const { version, name, checksum } = migration
    const inserted = await tx`
      insert into schema_migrations ${tx({ version, name, checksum })}
      on conflict (version) do nothing returning version`
    if (inserted.length === 0) return
    await tx.unsafe(migration.statements).simple()
    log.info({ version, name }, 'migration applied')
  })
}

async function lock(tx: Transaction): Promise<void> {
  // Another replica may be in the middle of a long migration: wait for it rather than fail.
  await tx`set local statement_timeout = '10min'`
  await tx`select pg_advisory_xact_lock(${LOCK})`
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const migrations = await Promise.all(names.map((name) => readMigration(folder, name)))
  migrations.forEach(({ version, name }, index) => {
    if (version !== index + 1) {
      throw new AppError(
        'schema_mismatch',
        `Migration ${name} should have the number ${index + 1}: ` +
          `files are numbered from 1 without gaps.`,
      )
    }
  })
  return migrations
}

async function readMigration(folder: URL, name: string): Promise<Migration> {
  const statements = await readFile(new URL(name, folder), 'utf8')
  const checksum = createHash('sha256').update(statements).digest('hex')
  const indexes = readIndexes(statements)
  return { version: Number.parseInt(name, 10), name, checksum, statements, indexes }
}

function checkHistory(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  for (const { version, name, checksum } of applied) {
    const ours = known.get(version)
    if (!ours) {
      throw new AppError(
        'schema_mismatch',
        `The database has schema version ${version} (${name}), which this program does not know ` +
          `(it knows up to ${migrations.length}). ` +
          `Run the newer program, or restore a backup from before the upgrade.`,
      )
    }
    if (ours.checksum !== checksum) {
      throw new AppError(
        'schema_mismatch',
        `Migration ${ours.name} differs from the one that was applied to this database. ` +
          `Applied files never change: restore it and put the change into a new file.`,
      )
    }
  }
}
