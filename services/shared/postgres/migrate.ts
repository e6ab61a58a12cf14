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
  /** The oldest schema version whose programs work on what it leaves. */
  readonly safeFrom: number
  /** All that it creates, if that is nothing but indexes. */
  readonly indexes: readonly IndexDefinition[]
}

/** A migration as a database has recorded it. */
export interface AppliedMigration {
  readonly version: number
  readonly name: string
  readonly checksum: string
}

interface Applied extends AppliedMigration {
  /** Null: of a program that did not keep it. */
  readonly safeFrom: number | null
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
 * `-- contract: safe from 0031`. Raises `schema_mismatch` when an applied file was changed, and
 * when the database is newer than this program and no longer safe for it.
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
  checkHistory(
    applied.map((migration) => ({ ...migration, safeFrom: null })),
    migrations,
  )
  await migrateWith(sql, migrations.slice(0, applied.length), log)
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
    await addSafeFrom(tx)
    const rows = await tx<Applied[]>`
      select version, name, checksum, safe_from from schema_migrations order by version`
    checkHistory(rows, migrations)
    return new Set(rows.map(({ version }) => version))
  })
  tellIfNewer(Math.max(0, ...applied), migrations.length, log)
  for (const migration of migrations.filter(({ version }) => !applied.has(version))) {
    await buildIndexes(sql, migration.indexes, log)
    await applyPatiently(sql, migration, log)
  }
  return migrations.at(-1)?.version ?? 0
}

/** Tables of earlier programs lack it. Asks first: the change locks the table. */
async function addSafeFrom(tx: Transaction): Promise<void> {
  const [column] = await tx`
    select from pg_attribute
    where attrelid = 'schema_migrations'::regclass and attname = 'safe_from'`
  if (!column) await tx`alter table schema_migrations add column safe_from int`
}

function tellIfNewer(database: number, program: number, log: Log): void {
  if (database <= program) return
  log.warn({ database, program }, 'the schema is newer than this program, and safe for it')
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
    const { version, name, checksum, safeFrom } = migration
    const inserted = await tx`
      insert into schema_migrations ${tx({ version, name, checksum, safeFrom })}
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

const CONTRACT = /^-- contract: safe from (\d{4})$/m

async function readMigration(folder: URL, name: string): Promise<Migration> {
  const statements = await readFile(new URL(name, folder), 'utf8')
  const checksum = createHash('sha256').update(statements).digest('hex')
  const indexes = readIndexes(statements)
  const version = Number.parseInt(name, 10)
  const safeFrom = Number(CONTRACT.exec(statements)?.[1] ?? 1)
  if (safeFrom > version) {
    throw new AppError(
      'schema_mismatch',
      `Migration ${name} is said to be safe from version ${safeFrom}, which comes after it. ` +
        `Name the first version whose programs work on what it leaves, ${version} at the latest.`,
    )
  }
  return { version, name, checksum, statements, safeFrom, indexes }
}

function checkHistory(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  for (const row of applied) {
    const ours = known.get(row.version)
    if (!ours) checkNewer(row, migrations.length)
    else if (ours.checksum !== row.checksum) {
      throw new AppError(
        'schema_mismatch',
        `Migration ${ours.name} differs from the one that was applied to this database. ` +
          `Applied files never change: restore it and put the change into a new file.`,
      )
    }
  }
}

/** Raises `schema_mismatch` unless programs of our version work on what a newer one has applied. */
function checkNewer({ version, name, safeFrom }: Applied, ours: number): void {
  if (safeFrom !== null && safeFrom <= ours) return
  const needed = safeFrom ?? version
  throw new AppError(
    'schema_mismatch',
    `The database has schema version ${version} (${name}), on which programs work that know ` +
      `version ${needed} or later; this one knows up to ${ours}. ` +
      `Run a newer program, or restore a backup from before the upgrade.`,
  )
}
