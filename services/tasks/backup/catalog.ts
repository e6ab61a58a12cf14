import { AppError } from '../../shared/errors.ts'
import type { Session } from '../../shared/postgres/copy/copy-connection.ts'
import type { AppliedMigration } from '../../shared/postgres/migration-files.ts'
import type { SequenceNote, TableNote } from './notes.ts'

/** The schema that the program's own tables are in. */
const SCHEMA = `(select relnamespace from pg_class where oid = 'schema_migrations'::regclass)`
const UNDEFINED_TABLE = '42P01'

/** Recognizes the failure of a statement about a table that was dropped meanwhile. */
export const isGone = (thrown: unknown): boolean =>
  thrown instanceof AppError && thrown.details?.['sqlstate'] === UNDEFINED_TABLE

/**
 * Lists the tables that have rows of their own: plain ones, and the partitions of others. What is
 * not logged can be fetched again.
 */
export async function listTables(session: Session): Promise<TableNote[]> {
  const rows = await session.rows(`
    select quote_ident(c.relname), p.oid::regclass::text, pg_get_expr(c.relpartbound, c.oid),
      (select coalesce(json_agg(json_build_object(
          'name', attname, 'type', format_type(atttypid, atttypmod), 'isRequired', attnotnull)
          order by attnum), '[]')
        from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '')
    from pg_class c
    left join pg_inherits i on i.inhrelid = c.oid and c.relispartition
    left join pg_class p on p.oid = i.inhparent
    where c.relkind = 'r' and c.relnamespace = ${SCHEMA} and c.relname <> 'schema_migrations'
      and c.relpersistence <> 'u'
    order by c.relname`)
  return rows.map(([name, parent, bound, columns]) => ({
    note: 'table',
    name: name ?? '',
    parent: parent ?? null,
    bound: bound ?? null,
    columns: JSON.parse(columns ?? '[]') as TableNote['columns'],
  }))
}

/** The migrations that a database had, in their order. Raises `schema_mismatch` without any. */
export async function readApplied(session: Session): Promise<AppliedMigration[]> {
  const rows = await session
    .rows('select version, name, checksum from schema_migrations order by version')
    .catch((thrown: unknown) => {
      if (isGone(thrown)) return []
      throw thrown
    })
  if (rows.length === 0) {
    throw new AppError(
      'schema_mismatch',
      'The database has no tables of this platform. Is it the right one?',
    )
  }
  return rows.map(([version, name, checksum]) => ({
    version: Number(version),
    name: name ?? '',
    checksum: checksum ?? '',
  }))
}

/** The state of each sequence. */
export async function readSequences(session: Session): Promise<SequenceNote[]> {
  const names = await session.rows(`
    select quote_ident(relname) from pg_class
    where relkind = 'S' and relnamespace = ${SCHEMA} order by relname`)
  const notes: SequenceNote[] = []
  for (const [name = ''] of names) {
    const [row] = await session.rows(`select last_value, is_called from ${name}`)
    const [value = '1', isCalled] = row ?? []
    notes.push({
      note: 'sequence',
      name: name ?? '',
      value: value ?? '1',
      isCalled: isCalled === 't',
    })
  }
  return notes
}

/**
 * What belongs to the tables beside their rows, a line each: for comparison. Partitions, which come
 * and go, are left out, and so are names that the server chose.
 */
export async function readStructure(session: Session): Promise<readonly string[]> {
  const rows = await session.rows(`
    with tables as (
      select oid, relname from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = ${SCHEMA}
    )
    select format('column %s.%s %s', relname, attname, format_type(atttypid, atttypmod))
    from tables join pg_attribute on attrelid = oid where attnum > 0 and not attisdropped
    union all
    select format('constraint %s %s', relname, pg_get_constraintdef(c.oid))
    from tables t join pg_constraint c on c.conrelid = t.oid where c.contype <> 'n'
    union all
    select format('index %s', pg_get_indexdef(indexrelid))
    from tables join pg_index on indrelid = oid
    union all
    select format('trigger %s', pg_get_triggerdef(t.oid))
    from tables c join pg_trigger t on t.tgrelid = c.oid where not tgisinternal
    union all
    select format('policy %s %s', relname, polname)
    from tables t join pg_policy p on p.polrelid = t.oid
    union all
    select format('view %s', relname) from pg_class
    where relkind in ('v', 'm') and relnamespace = ${SCHEMA} and not exists (
      select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid
        and deptype = 'e')
    order by 1`)
  return rows.map(([line]) => line ?? '')
}
