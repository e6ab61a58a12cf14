import { AppError, toError } from '../../shared/errors.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { sqlState } from '../../shared/postgres/failures.ts'

/** A database that something is to be restored into, as it is now. */
export interface Target {
  readonly state: 'missing' | 'empty' | 'used'
  readonly tables: number
  /** Programs that are connected to it, by their names. */
  readonly programs: readonly string[]
}

const MISSING = '3D000'
const NOT_ALLOWED = '42501'

/** Looks at a database. Raises what the connection raises, unless the database is missing. */
export async function inspectTarget(address: DatabaseAddress): Promise<Target> {
  try {
    return await useDatabase(address, async (sql) => {
      const [row] = await sql<{ tables: number }[]>`
        select count(*)::int as tables from pg_class c join pg_namespace n on n.oid = relnamespace
        where relkind in ('r', 'p') and nspname not in ('pg_catalog', 'information_schema')
          and nspname not like 'pg\\_%' and not exists (
            select from pg_depend
            where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')`
      const sessions = await sql<{ name: string }[]>`
        select distinct coalesce(nullif(application_name, ''), 'a program') as name
        from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
          and coalesce(backend_type, 'client backend') = 'client backend'
        order by 1`
      const tables = row?.tables ?? 0
      const programs = sessions.map(({ name }) => name)
      return { state: tables === 0 ? 'empty' : 'used', tables, programs }
    })
  } catch (thrown) {
    if (sqlState(thrown) !== MISSING) throw thrown
    return { state: 'missing', tables: 0, programs: [] }
  }
}

/** Creates a database. Raises `forbidden` with what to do when the user may not. */
export async function createTarget(address: DatabaseAddress, database: string): Promise<void> {
  try {
    await administer(
      address,
      `create database ${quoted(database)} encoding 'UTF8' template template0`,
    )
  } catch (thrown) {
    if (sqlState(thrown) !== NOT_ALLOWED) throw thrown
    throw new AppError(
      'forbidden',
      `The user ${address.user} may not create databases at ${address.host}:${address.port}: ` +
        `${toError(thrown).message}. Run "alter role ${address.user} createdb" there; or check ` +
        'backups by reading them (BACKUP_VERIFY=read), and restore into empty databases.',
    )
  }
}

/** Drops a database that nobody is to use. */
export const dropTarget = (address: DatabaseAddress, database: string): Promise<void> =>
  administer(address, `drop database if exists ${quoted(database)} with (force)`)

/**
 * Puts a restored database in the place of another one, which keeps its rows under another name.
 * Raises `conflict` when programs are connected to it.
 */
export async function takePlace(
  address: DatabaseAddress,
  { restored, former }: { readonly restored: string; readonly former: string },
): Promise<void> {
  const { database } = address
  try {
    await administer(address, `alter database ${quoted(database)} rename to ${quoted(former)}`)
  } catch (thrown) {
    throw new AppError(
      'conflict',
      `${database} cannot be set aside: ${toError(thrown).message}. Nothing was changed. Stop ` +
        'what is connected to it, and try again.',
    )
  }
  await administer(address, `alter database ${quoted(restored)} rename to ${quoted(database)}`)
}

/** Makes a database empty again that was filled in part. */
export async function emptyTarget(address: DatabaseAddress): Promise<void> {
  await useDatabase(address, async (sql) => {
    await sql.unsafe('drop schema public cascade; create schema public').simple()
  })
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const administer = (address: DatabaseAddress, statement: string): Promise<void> =>
  useDatabase(
    { ...address, database: 'postgres' },
    async (sql) => void (await sql.unsafe(statement)),
  )

async function useDatabase<Result>(
  address: DatabaseAddress,
  use: (sql: Database) => Promise<Result>,
): Promise<Result> {
  const sql = connectDatabase(address, { name: 'backup', max: 1, statementTimeoutMs: 600_000 })
  try {
    return await use(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}
