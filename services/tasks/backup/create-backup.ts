import { randomBytes } from 'node:crypto'
import { listFingerprints } from '../../platform/connections/key-fingerprints.ts'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import { fileOf, listBackups, nameBackup, readDump, writeDump, writeManifest } from './archive.ts'
import type { Archive, DatabaseEntry, DatabaseName, Manifest } from './archive.ts'
import { dumpDatabase } from './dump-database.ts'
import type { DumpSize } from './dump-database.ts'
import { checkDump, restoreDatabase } from './restore-database.ts'
import { createTarget, dropTarget } from './target.ts'

/** A database of the installation, and where the schema of its tables is. */
export interface BackupDatabase {
  readonly name: DatabaseName
  readonly address: DatabaseAddress
  readonly migrations: URL
}

/** What is backed up, and what becomes of the backups. */
interface BackupPlan {
  readonly archive: Archive
  readonly databases: readonly BackupDatabase[]
  /** Whole backups that are kept. */
  readonly keep: number
  /** Restore each backup into a database that is dropped afterwards, or only read it. */
  readonly verify: 'restore' | 'read'
  readonly log: Log
}

/**
 * Backs all databases up, checks the result by what the store has, and removes the oldest backups.
 * Returns the name. A backup that fails is not whole, and removes no other one.
 */
export async function createBackup(plan: BackupPlan): Promise<string> {
  const { archive, databases, log } = plan
  const createdAt = new Date()
  const name = nameBackup(createdAt)
  const main = databases.find((database) => database.name === 'main')
  if (!main) throw new AppError('invalid_configuration', 'The main database is not configured.')
  const facts = await readFacts(main.address)
  const entries: DatabaseEntry[] = []
  for (const database of databases) entries.push(await backUp(plan, name, database))
  for (const database of databases) {
    await verifyDatabase(plan, name, database)
  }
  const format = 1
  const manifest: Manifest = {
    format,
    createdAt: createdAt.toISOString(),
    verified: plan.verify,
    databases: entries,
    ...facts,
  }
  await writeManifest(archive, name, manifest)
  log.info({ backup: name, place: archive.store.place, verified: plan.verify }, 'backup made')
  await removeOldest(plan, name)
  return name
}

async function backUp(
  { archive, log }: BackupPlan,
  backup: string,
  { name, address }: BackupDatabase,
): Promise<DatabaseEntry> {
  const started = performance.now()
  let size: DumpSize = { tables: 0, rows: 0 }
  const schemaVersion = await useMain(address, async (sql) => {
    const [row] = await sql<{ version: number }[]>`
      select coalesce(max(version), 0)::int as version from schema_migrations`
    return row?.version ?? 0
  })
  const dump = dumpDatabase(address, (whole) => (size = whole))
  const bytes = await writeDump(archive, fileOf(backup, name), dump)
  const ms = Math.round(performance.now() - started)
  log.info({ database: name, ...size, bytes, ms }, 'database backed up')
  return { name, database: address.database, bytes, schemaVersion, ...size }
}

/** Checks what the store has of a database by restoring it beside it, or by reading it. */
export async function verifyDatabase(
  { archive, verify, log }: Pick<BackupPlan, 'archive' | 'verify' | 'log'>,
  backup: string,
  { name, address, migrations }: BackupDatabase,
): Promise<void> {
  const path = fileOf(backup, name)
  const dump = readDump(archive, path)
  if (verify === 'read') {
    log.info({ database: name, ...(await checkDump(dump, path)) }, 'backup read and compared')
    return
  }
  const database = `${address.database.slice(0, 40)}_check_${randomBytes(4).toString('hex')}`
  await createTarget(address, database)
  try {
    const quiet = log.child({}, { level: 'warn' })
    const source = { dump, migrations, name: path, log: quiet }
    const {
      differences,
      contents: _,
      ...size
    } = await restoreDatabase({ ...address, database }, source)
    if (differences.length > 0) log.warn({ database: name, differences }, NOT_RESTORED)
    log.info({ database: name, ...size }, 'backup restored and compared')
  } finally {
    await dropTarget(address, database)
  }
}

/** What a restored database has that the other one has not, or the other way round. */
export const NOT_RESTORED =
  'the structure of the restored database differs: it is that of the migrations'

/** Migrations of a database that is dropped afterwards interest nobody. */

async function removeOldest({ archive, keep, log }: BackupPlan, current: string): Promise<void> {
  const all = await listBackups(archive)
  const whole = all.filter(({ isWhole }) => isWhole)
  const kept = new Set(whole.slice(-keep).map(({ name }) => name))
  // One that is not whole may be in the making by another program.
  const abandoned = nameBackup(new Date(Date.now() - ABANDONED_MS))
  const gone = all.filter(
    ({ name, isWhole }) => !kept.has(name) && name < (isWhole ? current : abandoned),
  )
  for (const { name, paths } of gone) {
    // The manifest first: what is left of it otherwise would look whole.
    for (const path of paths.toSorted(
      (a, b) => Number(b.includes('/manifest')) - Number(a.includes('/manifest')),
    ))
      await archive.store.remove(path)
    log.info({ backup: name }, 'former backup removed')
  }
}

/** Longer than a backup takes. */
const ABANDONED_MS = 2 * 86_400_000

const REFERENCES_MAX = 10_000

/** What the manifest says of the main database. */
const readFacts = (address: DatabaseAddress): Promise<Pick<Manifest, 'keys' | 'references'>> =>
  useMain(address, async (sql) => {
    const keys = await listFingerprints(sql)
    const images = await sql<{ image: string }[]>`
      select distinct image from crew_deployments where image is not null and ended_at is null
      order by image limit ${REFERENCES_MAX}`
    const repositories = await sql<{ url: string }[]>`
      select distinct url || '#' || ref as url from source_repositories
      order by url limit ${REFERENCES_MAX}`
    return {
      keys: keys.map(({ name, salt, fingerprint }) => ({
        name,
        salt: salt.toString('hex'),
        fingerprint: fingerprint.toString('hex'),
      })),
      references: {
        images: images.map(({ image }) => image),
        repositories: repositories.map(({ url }) => url),
      },
    }
  })

async function useMain<Result>(
  address: DatabaseAddress,
  use: (sql: ReturnType<typeof connectDatabase>) => Promise<Result>,
): Promise<Result> {
  const sql = connectDatabase(address, { name: 'backup', max: 1 })
  try {
    return await use(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}
