import * as v from 'valibot'
import { eraseRestored } from '../../platform/erasures/perform-erasure.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openCopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import { migrate } from '../../shared/postgres/migrate.ts'
import { fileOf, listBackups, readDump } from './archive.ts'
import type { Archive, DatabaseName } from './archive.ts'
import { listTables } from './catalog.ts'
import type { BackupDatabase } from './create-backup.ts'
import { copyRows, DUMP_TIMEOUT_MS, quoteName, TEXT_SETTINGS } from './dump-database.ts'
import { readFrames } from './frames.ts'
import { dumpNote } from './notes.ts'
import type { TableNote } from './notes.ts'

/** What was erased, and what is held. */
const LEDGER: Readonly<Record<DatabaseName, readonly string[]>> = {
  main: ['erasures', 'erasure_items', 'legal_holds'],
  collector: ['erasures', 'held_traces'],
}

interface LedgerTable {
  readonly table: TableNote
  readonly rows: readonly Buffer[]
}

/** Where a ledger may be that is newer than a backup. */
export interface LedgerPlan {
  readonly archive: Archive
  /** The name of the backup that is restored. */
  readonly backup: string
  /** The database as it is to be called; undefined: there is none yet. */
  readonly former: DatabaseAddress | undefined
  readonly log: Log
  readonly print: (line: string) => void
}

/**
 * Puts what was erased and held since a backup into a database that was filled from it, and erases
 * it there, before anything serves: by the ledger of the database that it replaces, or of the
 * newest backup that can be read. What the collector has erased, it deletes at its start.
 */
export async function applyLedger(
  { name, address, migrations }: BackupDatabase,
  { archive, backup, former, log, print }: LedgerPlan,
): Promise<void> {
  const sources = [
    ...(former
      ? [{ from: `the database ${former.database}`, read: () => readDatabase(former, name) }]
      : []),
    ...(await listBackups(archive))
      .filter((each) => each.isWhole && each.name > backup)
      .toReversed()
      .map((each) => ({
        from: `the backup ${each.name}`,
        read: () => readBackup(archive, fileOf(each.name, name), name),
      })),
  ]
  for (const { from, read } of sources) {
    try {
      const ledger = await read()
      await merge(address, { name, ledger, migrations, log })
      print(`${name}: erasures and holds are those of ${from}`)
      break
    } catch (thrown) {
      const reason = toError(thrown).message
      print(`${name}: the erasures of ${from} are not known (${reason})`)
    }
  }
  if (name === 'collector') return
  const sql = connectDatabase(address, { name: 'restore', max: 1 })
  try {
    const [table] = await sql<{ isThere: boolean }[]>`
      select to_regclass('erasures') is not null as is_there`
    const count = table?.isThere ? await eraseRestored(sql) : 0
    if (count > 0) print(`${name}: ${count} things were erased anew`)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function readDatabase(address: DatabaseAddress, name: DatabaseName): Promise<LedgerTable[]> {
  const options = { name: 'restore', statementTimeoutMs: DUMP_TIMEOUT_MS }
  const session = await openCopyConnection(address, options)
  try {
    await session.query(`${TEXT_SETTINGS}; begin isolation level repeatable read read only`)
    const ledger: LedgerTable[] = []
    for (const table of (await listTables(session)).filter((each) => isOf(name, each))) {
      const rows: Buffer[] = []
      for await (const some of copyRows(session, table)) rows.push(some)
      ledger.push({ table, rows })
    }
    return ledger
  } finally {
    session.close()
  }
}

async function readBackup(
  archive: Archive,
  path: string,
  name: DatabaseName,
): Promise<LedgerTable[]> {
  const ledger: LedgerTable[] = []
  let rows: Buffer[] | undefined
  for await (const frame of readFrames(readDump(archive, path))) {
    if (frame.kind === 'rows') {
      rows?.push(frame.rows)
      continue
    }
    rows = undefined
    const note = v.parse(dumpNote, frame.note)
    if (note.note !== 'table' || !isOf(name, note)) continue
    rows = []
    ledger.push({ table: note, rows })
  }
  return ledger
}

const isOf = (database: DatabaseName, { name }: TableNote): boolean =>
  LEDGER[database].includes(name)

interface Merge extends Pick<BackupDatabase, 'name' | 'migrations'> {
  readonly ledger: readonly LedgerTable[]
  readonly log: Log
}

async function merge(
  address: DatabaseAddress,
  { name, ledger, migrations, log }: Merge,
): Promise<void> {
  if (ledger.every(({ rows }) => rows.length === 0)) return
  // A backup of a release without these tables gets them now, and not at the next start.
  const sql = connectDatabase(address, { name: 'restore', max: 1 })
  try {
    await migrate(sql, migrations, log)
  } finally {
    await sql.end({ timeout: 5 })
  }
  const session = await openCopyConnection(address, { name: 'restore' })
  try {
    await session.query('begin')
    const there = new Set(ledger.map(({ table }) => table.name))
    for (const { table, rows } of ledger) await copyFormer(session, table, rows)
    for (const [table, statement] of MERGES[name]) {
      if (there.has(table)) await session.query(statement)
    }
    await session.query('commit')
  } finally {
    session.close()
  }
}

/** Loads rows into a table beside the one that they are of. */
async function copyFormer(
  session: CopyConnection,
  { name, columns }: TableNote,
  rows: readonly Buffer[],
): Promise<void> {
  const lines = columns.map((column) => `${quoteName(column.name)} ${column.type}`)
  await session.query(`create temporary table former_${name} (${lines.join(', ')}) on commit drop`)
  async function* each(): AsyncGenerator<Buffer> {
    yield* rows
  }
  await session.copyIn(`copy former_${name} from stdin`, each())
}

const IS_OF_THERE = 'organization_id in (select id from organizations)'

/** The holds are those of the ledger: one that was lifted since keeps nothing any more. */
const MERGES: Readonly<Record<DatabaseName, readonly (readonly [string, string])[]>> = {
  main: [
    [
      'erasures',
      `insert into erasures (id, organization_id, name, kind, sealed, state, created_at, created_by,
         confirmed_at, confirmed_by, erased_at)
       select id, organization_id, name, kind, sealed, state, created_at, created_by, confirmed_at,
         confirmed_by, erased_at
       from former_erasures where confirmed_at is not null and ${IS_OF_THERE}
       on conflict (id) do update set state = excluded.state, erased_at = excluded.erased_at,
         confirmed_at = excluded.confirmed_at, confirmed_by = excluded.confirmed_by`,
    ],
    [
      'erasure_items',
      `insert into erasure_items (erasure_id, kind, item, ended_at, is_held)
       select erasure_id, kind, item, ended_at, is_held from former_erasure_items
       where erasure_id in (select id from erasures)
       on conflict (erasure_id, kind, item) do update set ended_at = excluded.ended_at,
         is_held = excluded.is_held`,
    ],
    [
      'legal_holds',
      `delete from legal_holds;
       insert into legal_holds (id, organization_id, name, kind, value, patterns, created_at,
         created_by)
       select id, organization_id, name, kind, value, patterns, created_at, created_by
       from former_legal_holds where ${IS_OF_THERE}`,
    ],
  ],
  collector: [
    [
      'erasures',
      `insert into erasures (issuer, token_id, organization, trace_id, asked_at)
       select issuer, token_id, organization, trace_id, asked_at from former_erasures f
       where not exists (
         select from erasures e where e.organization = f.organization
           and e.trace_id = f.trace_id and e.asked_at = f.asked_at)`,
    ],
    [
      'held_traces',
      `delete from held_traces;
       insert into held_traces (hold_id, organization, trace_id)
       select hold_id, organization, trace_id from former_held_traces`,
    ],
  ],
}
