import type { Database } from '../../../shared/postgres/database.ts'

const OBJECTS_MAX = 5

/** A privilege that the user lacks, and the statement that grants it. */
interface MissingGrant {
  readonly what: string
  readonly statement: string
}

/**
 * Lists the privileges that migrations and services need and the user of this connection lacks: on
 * the schema, on tables and sequences that exist already, and their ownership (SPEC appendix 5).
 */
export async function listMissingGrants(sql: Database): Promise<readonly MissingGrant[]> {
  const [schema] = await sql<[SchemaRights]>`
    select quote_ident(current_user) as "user",
      has_schema_privilege('public', 'USAGE') as usage,
      has_schema_privilege('public', 'CREATE') as creation`
  const { user, usage, creation } = schema
  const onSchema = [...(usage ? [] : ['USAGE']), ...(creation ? [] : ['CREATE'])]
  const tables = await listForeign(sql, 'r,p')
  const sequences = await listForeign(sql, 'S')
  const owners = [...new Set([...tables, ...sequences].map(({ owner }) => owner))]
  return [
    ...onSchema.map((right) => ({
      what: `no ${right} on the schema public`,
      statement: `GRANT ${right} ON SCHEMA public TO ${user}`,
    })),
    ...(tables.some(({ isUsable }) => !isUsable)
      ? [
          {
            what: `no right to read and write ${namesOf(tables)}`,
            statement: `GRANT ALL PRIVILEGES ON ALL TABLES IN SCHEMA public TO ${user}`,
          },
        ]
      : []),
    ...(sequences.some(({ isUsable }) => !isUsable)
      ? [
          {
            what: `no right to use the sequences ${namesOf(sequences)}`,
            statement: `GRANT ALL PRIVILEGES ON ALL SEQUENCES IN SCHEMA public TO ${user}`,
          },
        ]
      : []),
    ...owners.map((owner) => ({
      what: `tables of ${owner}, which migrations cannot change`,
      statement: `GRANT ${owner} TO ${user}`,
    })),
  ]
}

const namesOf = (objects: readonly ForeignObject[]): string =>
  objects
    .filter(({ isUsable }) => !isUsable)
    .slice(0, OBJECTS_MAX)
    .map(({ name }) => name)
    .join(', ')

interface SchemaRights {
  readonly user: string
  readonly usage: boolean
  readonly creation: boolean
}

interface ForeignObject {
  readonly name: string
  readonly owner: string
  readonly isUsable: boolean
}

/** Tables or sequences whose owner the user is not, with whether it may use them. */
function listForeign(sql: Database, kinds: 'r,p' | 'S'): Promise<ForeignObject[]> {
  return sql<ForeignObject[]>`
    select c.relname as name, quote_ident(pg_get_userbyid(c.relowner)) as owner,
      case when c.relkind = 'S' then has_sequence_privilege(c.oid, 'USAGE')
        else has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'INSERT')
          and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE')
      end as is_usable
    from pg_class c
    where c.relnamespace = 'public'::regnamespace
      and c.relkind::text = any(string_to_array(${kinds}, ','))
      and not pg_has_role(c.relowner, 'USAGE')
      and not exists (select from pg_depend where objid = c.oid and deptype = 'e')
    order by c.relname limit 1000`
}
