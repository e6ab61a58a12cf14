import type { Session } from '../../shared/postgres/copy/copy-connection.ts'

const SCHEMA = `(select relnamespace from pg_class where oid = 'schema_migrations'::regclass)`

/** The statements that bring back what was taken from tables. */
type TableRules = readonly string[]

/**
 * Takes the foreign keys, the triggers and the rows of all tables, so that rows may come in any
 * order and nothing happens on their account. Returns what brings the keys back. An owner of the
 * tables may do all of this; no right of an administrator is needed.
 */
export async function bareTables(session: Session): Promise<TableRules> {
  const keys = await session.rows(`
    select conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid)
    from pg_constraint
    where contype = 'f' and conparentid = 0 and connamespace = ${SCHEMA}
    order by oid`)
  for (const [table, name] of keys) {
    await session.query(`alter table ${table} drop constraint ${name}`)
  }
  const tables = await listRoots(session)
  for (const table of tables) await session.query(`alter table ${table} disable trigger user`)
  if (tables.length > 0) await session.query(`truncate ${tables.join(', ')}`)
  return keys.map(
    ([table, name, definition]) => `alter table ${table} add constraint ${name} ${definition}`,
  )
}

/** Brings the foreign keys back, which checks all rows, and the triggers. */
export async function completeTables(session: Session, rules: TableRules): Promise<void> {
  for (const statement of rules) await session.query(statement)
  for (const table of await listRoots(session)) {
    await session.query(`alter table ${table} enable trigger user`)
  }
}

async function listRoots(session: Session): Promise<string[]> {
  const rows = await session.rows(`
    select oid::regclass::text from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = ${SCHEMA}
      and relname <> 'schema_migrations'
    order by relname`)
  return rows.map(([name]) => name ?? '')
}
