import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Database, Transaction } from './database.ts'
import { AppError } from './errors.ts'
import type { Log } from './log.ts'

interface Migration {
  readonly version: number
  readonly name: string
  readonly checksum: string
  readonly statements: string
}

interface Applied {
  readonly version: number
  readonly name: string
  readonly checksum: string
}

/** Any number: what matters is that every replica of every version takes the same lock. */
const LOCK = 7_310_452_117

/**
 * Applies the numbered `.sql` files of a folder that the database does not have yet, each in its own transaction.
 * Safe with many replicas at once. Returns the version reached.
 * Raises `schema_mismatch` when an applied file was changed or the database is newer than this program.
 */
export async function migrate(sql: Database, folder: URL, log: Log): Promise<number> {
  const migrations = await readMigrations(folder)
  await sql.begin(async (tx) => {
    await lock(tx)
    await tx`
      create table if not exists schema_migrations (
        version int primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`
    checkHistory(
      await tx<Applied[]>`select version, name, checksum from schema_migrations order by version`,
      migrations,
    )
  })
  for (const migration of migrations) await apply(sql, migration, log)
  return migrations.at(-1)?.version ?? 0
}

async function apply(sql: Database, migration: Migration, log: Log): Promise<void> {
  await sql.begin(async (tx) => {
    await lock(tx)
    // The row goes in first: whoever finds it there leaves the statements to the transaction that wrote it.
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
        `Migration ${name} should have the number ${index + 1}: files are numbered from 1 without gaps.`,
      )
    }
  })
  return migrations
}

async function readMigration(folder: URL, name: string): Promise<Migration> {
  const statements = await readFile(new URL(name, folder), 'utf8')
  const checksum = createHash('sha256').update(statements).digest('hex')
  return { version: Number.parseInt(name, 10), name, checksum, statements }
}

function checkHistory(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  for (const { version, name, checksum } of applied) {
    const ours = known.get(version)
    if (!ours) {
      throw new AppError(
        'schema_mismatch',
        `The database has schema version ${version} (${name}), which this program does not know (it knows up to ${migrations.length}). Run the newer program, or restore a backup from before the upgrade.`,
      )
    }
    if (ours.checksum !== checksum) {
      throw new AppError(
        'schema_mismatch',
        `Migration ${ours.name} differs from the one that was applied to this database. Applied files never change: restore it and put the change into a new file.`,
      )
    }
  }
}
