import { randomBytes } from 'node:crypto'
import { digestOf } from '../../platform/receipts/receipt-documents.ts'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openCopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { listPending } from '../../shared/postgres/migrate.ts'
import type { Migration } from '../../shared/postgres/migration-files.ts'
import { fileOf, readDump } from '../backup/archive.ts'
import type { Archive, DatabaseEntry } from '../backup/archive.ts'
import { NOT_RESTORED } from '../backup/create-backup.ts'
import type { BackupDatabase } from '../backup/create-backup.ts'
import { restoreDatabase } from '../backup/restore-database.ts'
import { createTarget, dropTarget } from '../backup/target.ts'
import { compareRows } from './compare-rows.ts'
import type { DatabaseFigures, Limits, Reason } from './figures.ts'
import { judge } from './judge.ts'
import { CONNECTION_NAME, observeUse } from './observe.ts'
import { hasPrograms, tryPrograms } from './programs.ts'
import type { ProgramTrial } from './programs.ts'
import { rehearse } from './rehearse.ts'

/** A backup of a database, and how it is tried. */
interface Rehearsal {
  readonly archive: Archive
  readonly backup: string
  readonly entry: DatabaseEntry
  readonly limits: Limits
  /** What the operator says is free; undefined: the server is asked. */
  readonly freeBytes: number | undefined
  /** Where programs are, by the release. Those that are not named are not tried. */
  readonly programs: ProgramPlaces
  readonly log: Log
}

/** The directories of the programs of this release and of the one before. */
export interface ProgramPlaces {
  readonly own: string | undefined
  readonly former: string | undefined
  /** Further certificate authorities that they trust, in PEM. */
  readonly caFile: string | undefined
}

/** Whose programs are tried. */
export type Release = 'own' | 'former'

interface Proved {
  readonly figures: DatabaseFigures
  readonly reasons: readonly Reason[]
  readonly trials: Readonly<Partial<Record<Release, ProgramTrial>>>
}

/**
 * Restores a backup beside a database, migrates the copy, compares, and drops it. The original is
 * only read. Raises `conflict` for a backup of another schema, for too little room, and while
 * another rehearsal of it is running.
 */
export async function proveDatabase(
  { name, address, migrations }: BackupDatabase,
  plan: Rehearsal,
): Promise<Proved> {
  const { version: from, pending } = await use(address, (sql) =>
    sql.begin('read only', (tx) => listPending(tx, migrations)),
  )
  const to = pending.at(-1)?.version ?? from
  // With nothing pending, only the way back is left to be tried.
  if (pending.length === 0 && plan.programs.former === undefined)
    return { figures: { name, from, to, rehearsal: null }, reasons: [], trials: {} }
  if (plan.entry.schemaVersion !== from) {
    throw new AppError(
      'conflict',
      `The backup ${plan.backup} has schema ${plan.entry.schemaVersion} of ${name}, and the ` +
        `database has ${from}: it says nothing about an upgrade from there. Make a new backup.`,
    )
  }
  const end = await lockRehearsal(address)
  try {
    await dropLeftovers(address, plan.log)
    const copy = `${prefixOf(address)}${randomBytes(4).toString('hex')}`
    await createTarget(address, copy)
    try {
      return await prove({ name, address, migrations }, { ...plan, copy, from, to, pending })
    } finally {
      await dropTarget(address, copy)
    }
  } finally {
    end()
  }
}

interface Trial extends Rehearsal {
  readonly copy: string
  readonly from: number
  readonly to: number
  readonly pending: readonly Migration[]
}

async function prove(
  { name, address, migrations }: BackupDatabase,
  { archive, backup, limits, log, from, to, pending, ...trial }: Trial,
): Promise<Proved> {
  const place = { ...address, database: trial.copy }
  const room = await checkRoom(address, place, trial.freeBytes)
  log.info({ database: name, seconds: limits.observeSeconds }, 'watching how the database is used')
  const used = await use(address, (sql) => observeUse(sql, limits.observeSeconds))
  const path = fileOf(backup, name)
  const read = (): AsyncIterable<Buffer> => readDump(archive, path)
  const began = performance.now()
  const quiet = log.child({}, { level: 'warn' })
  const source = { dump: read(), migrations, name: path, log: quiet }
  const { contents, rows, tables: count, differences } = await restoreDatabase(place, source)
  if (differences.length > 0) log.warn({ database: name, differences }, NOT_RESTORED)
  const restoredMs = Math.round(performance.now() - began)
  log.info({ database: name, rows, tables: count, ms: restoredMs }, 'backup restored and compared')
  const done = await use(place, (sql) =>
    use(place, async (watcher) => {
      const [{ bytes }] = await readSize(sql)
      const timeMs = limits.minutes * 60_000
      return {
        bytes,
        migrations: await rehearse({ sql, watcher, use: used, log }, pending, timeMs),
      }
    }),
  )
  const tables = await compareRows(place, { contents, readDump: read })
  const fingerprint = digestOf(contents.map((each) => [each.table.name, each.rows, each.checksum]))
  const rehearsal = { restoredMs, fingerprint, room, use: used, tables, ...done }
  const measured = { database: name, pending: pending.length, ...rehearsal }
  const reasons = judge(measured, limits)
  const figures = { name, from, to, rehearsal }
  // A copy that is not migrated says nothing about programs.
  if (done.migrations.some(({ failure }) => failure !== null))
    return { figures, reasons, trials: {} }
  const trials = await use(place, (sql) =>
    tryAll(trial.programs, { database: name, copy: place, sql }),
  )
  log.info({ database: name, releases: Object.keys(trials) }, 'programs tried on the copy')
  const problems = RELEASES.flatMap((of) =>
    (trials[of]?.problems ?? []).map((problem) => toReason(name, of, problem)),
  )
  return { figures, reasons: [...reasons, ...problems], trials }
}

/** Those of before are there in mid-upgrade, and after a way back. */
const RELEASES = ['own', 'former'] as const

/** After rows were compared: programs write, too. */
async function tryAll(
  { caFile, ...places }: ProgramPlaces,
  on: {
    readonly database: BackupDatabase['name']
    readonly copy: DatabaseAddress
    readonly sql: Database
  },
): Promise<Proved['trials']> {
  const trials: Partial<Record<Release, ProgramTrial>> = {}
  for (const release of RELEASES) {
    const directory = places[release]
    if (directory === undefined || !(await hasPrograms(directory, on.database))) continue
    trials[release] = await tryPrograms({ ...on, directory, caFile })
  }
  return trials
}

const toReason = (database: Reason['database'], of: Release, problem: string): Reason => ({
  kind: of === 'own' ? 'programs' : 'former_programs',
  database,
  migration: null,
  table: null,
  text:
    `The ${of === 'own' ? '' : 'former '}programs do not work on the new schema: ` + `${problem}.`,
})

const prefixOf = ({ database }: DatabaseAddress): string => `${database.slice(0, 40)}_prove_`

/** Drops what killed rehearsals of this database have left. None is running: the lock is ours. */
async function dropLeftovers(address: DatabaseAddress, log: Log): Promise<void> {
  const prefix = prefixOf(address)
  const names = await use(
    address,
    (sql) => sql<{ name: string }[]>`
    select datname as name from pg_database where starts_with(datname, ${prefix})`,
  )
  for (const { name } of names) {
    if (!/^[0-9a-f]{8}$/.test(name.slice(prefix.length))) continue
    await dropTarget(address, name)
    log.warn({ database: name }, 'the copy of a rehearsal that was killed is dropped')
  }
}

/** Holds a lock for as long as its session lasts, so that a killed program has it no longer. */
async function lockRehearsal(address: DatabaseAddress): Promise<() => void> {
  const session = await openCopyConnection(
    { ...address, database: 'postgres' },
    { name: CONNECTION_NAME },
  )
  const prefix = prefixOf(address).replaceAll("'", "''")
  const [row] = await session.rows(`select pg_try_advisory_lock(hashtextextended('${prefix}', 0))`)
  if (row?.[0] === 't') return () => session.close()
  session.close()
  throw new AppError(
    'conflict',
    `Another rehearsal of ${address.database} is running. Wait for its end, or end it.`,
  )
}

/**
 * Refuses when the volume has no room for the copy, for what migrations write anew, and for the log
 * of the server. The server is asked by `df`, as far as the user may run programs there.
 */
async function checkRoom(
  original: DatabaseAddress,
  copy: DatabaseAddress,
  given: number | undefined,
): Promise<{ neededBytes: number; freeBytes: number | null }> {
  const [{ bytes, walBytes }] = await use(original, readSize)
  const neededBytes = 2 * bytes + walBytes
  const freeBytes = given ?? (await use(copy, askForRoom))
  if (freeBytes === null || freeBytes >= neededBytes) return { neededBytes, freeBytes }
  throw new AppError(
    'conflict',
    `The server has ${gib(freeBytes)} free, and a rehearsal of ${original.database} needs ` +
      `${gib(neededBytes)}: twice its ${gib(bytes)}, and ${gib(walBytes)} for the log. Give its ` +
      'volume more, or restore the backup to another server and rehearse there.',
  )
}

const readSize = (sql: Database) => sql<[{ bytes: number; walBytes: number }]>`
  select pg_database_size(current_database())::float8 as bytes,
    pg_size_bytes(current_setting('max_wal_size'))::float8 as wal_bytes`

async function askForRoom(sql: Database): Promise<number | null> {
  const [may] = await sql<{ runs: boolean }[]>`
    select pg_has_role('pg_execute_server_program', 'usage') as runs`
  if (may?.runs !== true) return null
  return sql.begin(async (tx) => {
    await tx`create temp table room (line text) on commit drop`
    // It begins in the directory of the data.
    await tx`copy room from program 'df -Pk . || true'`
    const rows = await tx<{ line: string }[]>`select line from room`
    const [, , , free] = rows.at(-1)?.line.trim().split(/\s+/) ?? []
    return free !== undefined && /^\d+$/.test(free) ? Number(free) * 1024 : null
  })
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GiB`

/** Opens a database for one use. */
export async function use<Result>(
  address: DatabaseAddress,
  ask: (sql: Database) => Promise<Result>,
): Promise<Result> {
  const sql = connectDatabase(address, { name: CONNECTION_NAME, max: 1 })
  try {
    return await ask(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}
