import type { Database } from '../../../services/shared/postgres/database.ts'

/**
 * Describes all that migrations make, a line each, in an order of its own: tables with their
 * columns in order, views with theirs in any, what belongs to them, functions, types and rights. Of
 * partitions only that they are there.
 */
export async function readSchemaLines(sql: Database): Promise<string[]> {
  const rows = await sql<{ line: string }[]>`
    with relations as (
      select oid, relname, relkind, relacl, reloptions, relpersistence, relrowsecurity
      from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
        and not relispartition and relname <> 'schema_migrations'
    )
    select format('relation %s %s %s %s %s %s', relname, relkind, relpersistence, relrowsecurity,
      reloptions, relacl) as line
    from relations
    union all
    select format('column %s %s', relname, concat_ws(' ',
      case when relkind <> 'v' then row_number() over (partition by r.oid order by attnum) end,
      concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attstorage,
        attcompression, nullif(attstattarget, -1), pg_get_expr(d.adbin, d.adrelid))))
    from relations r join pg_attribute a on a.attrelid = r.oid
    left join pg_attrdef d on d.adrelid = r.oid and d.adnum = attnum
    where attnum > 0 and not attisdropped
    union all
    select format('view %s %s', relname, substring(pg_get_viewdef(oid) from '\\n +FROM .*'))
    from relations where relkind = 'v'
    union all
    select format('constraint %s %s %s', relname, conname, pg_get_constraintdef(c.oid))
    from relations r join pg_constraint c on c.conrelid = r.oid where contype <> 'n'
    union all
    select pg_get_indexdef(indexrelid) from relations r join pg_index on indrelid = r.oid
    union all
    select format('trigger %s %s', tgenabled, pg_get_triggerdef(t.oid))
    from relations r join pg_trigger t on t.tgrelid = r.oid where not tgisinternal
    union all
    select format('policy %s %s %s %s', relname, polname, polroles::regrole[],
      pg_get_expr(polqual, polrelid))
    from relations r join pg_policy p on p.polrelid = r.oid
    union all
    select format('partition %s of %s %s', c.relname, r.relname,
      pg_get_expr(c.relpartbound, c.oid))
    from relations r join pg_inherits on inhparent = r.oid join pg_class c on c.oid = inhrelid
    union all
    select format('function %s %s', proacl, pg_get_functiondef(oid)) from pg_proc
    where pronamespace = 'public'::regnamespace
    union all
    select format('enum %s %s', enumtypid::regtype, enumlabel) from pg_enum
    order by 1`
  return rows.map(({ line }) => line)
}

/** All rows of tables that are logged, those of the ledger included. */
export async function readContents(sql: Database): Promise<Record<string, unknown>> {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
  const contents: Record<string, unknown> = {}
  for (const { name } of tables) {
    contents[name] = await sql`select t::text from ${sql(name)} t order by 1`
  }
  return contents
}
