import { AppError } from '../../shared/errors.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { changedSince, nothing } from './fix.ts'
import type { Change, Plan } from './fix.ts'

/** One doctor at a time grants or revokes. */
const LOCK = 'platform-doctor'
const OBJECTS_MAX = 5000
/** By these tables the databases are told from those of others. */
const MARKS = { main: 'public.project_versions', traces: 'public.usage_hourly' } as const

type Kind = 'DATABASE' | 'SCHEMA' | 'TABLE' | 'SEQUENCE'

/** An object, and what the user of the platform lacks on it. */
interface Lack {
  readonly kind: Kind
  /** As it stands in a statement. */
  readonly name: string
  /** `SELECT, INSERT`; empty where nothing is missing. */
  readonly missing: string
  readonly owner: string
  /** True if this login has the rights of the owner. */
  readonly isOwner: boolean
  /** Who may do what with it. */
  readonly acl: string
  /** The user, as it stands in a statement. */
  readonly grantee: string
}

/** Gives the user of the platform what it lacks on objects of a database. */
export const grantMissing =
  (which: 'main' | 'traces', ...kinds: readonly Kind[]): Plan =>
  async ({ role, database }) => {
    const sql = database(which)
    const { [which]: mark } = MARKS
    const [own] = await sql<[{ is: boolean }]>`select to_regclass(${mark}) is not null as is`
    if (!own.is) throw nothing(`The database has no table ${mark}: it is not the right one.`)
    const all = await readLacks(sql, { role, kinds })
    if (all.length === 0) {
      throw nothing(`There is no database user "${role}": name that of the platform by --db-role.`)
    }
    const lacks = all.filter(({ missing }) => missing !== '')
    if (lacks.length === 0) throw nothing(`${role} lacks no right on ${kinds.join(', ')}.`)
    const foreign = lacks.find(({ isOwner }) => !isOwner)
    if (!foreign) return lacks.map((lack) => toChange(sql, role, lack))
    const { kind, name, owner } = foreign
    throw new AppError(
      'forbidden',
      `Your database login is not the owner of ${kind} ${name}: log in as ${owner} or a superuser.`,
    )
  }

function toChange(sql: Database, role: string, lack: Lack): Change {
  const { kind, name, missing, owner, grantee } = lack
  const what = `${kind} ${name}`
  /** Runs a statement if the object is as it was seen, and returns how it is then. */
  const run = async (statement: string, seen: Lack): Promise<Lack> => {
    let after: Lack | undefined
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(hashtext(${LOCK}))`
      const [now] = await readLacks(tx, { role, kinds: [kind], name })
      if (now?.acl !== seen.acl || now.missing !== seen.missing) throw changedSince(what)
      await tx.unsafe(statement)
      ;[after] = await readLacks(tx, { role, kinds: [kind], name })
    })
    if (!after) throw changedSince(what)
    return after
  }
  return {
    what,
    from: `${role} lacks ${missing}`,
    to: `${role} has ${missing}`,
    right: `GRANT on ${what}, as its owner ${owner}`,
    async apply() {
      const after = await run(`grant ${missing} on ${what} to ${grantee}`, lack)
      return async () => void (await run(`revoke ${missing} on ${what} from ${grantee}`, after))
    },
  }
}

/** Reads what a role lacks on the objects of some kinds, or on one of them. */
export const readLacks = (
  sql: Queryable,
  { role, kinds, name = '' }: { role: string; kinds: readonly Kind[]; name?: string },
) => sql<Lack[]>`
  with object as (
    select 'DATABASE' as kind, quote_ident(datname) as name, datdba as owner, datacl as acl, oid,
      array['CONNECT'] as wanted
    from pg_database where datname = current_database()
    union all
    select 'SCHEMA', nspname, nspowner, nspacl, oid, array['USAGE', 'CREATE']
    from pg_namespace where nspname = 'public'
    union all
    select case when c.relkind = 'S' then 'SEQUENCE' else 'TABLE' end,
      'public.' || quote_ident(c.relname), c.relowner, c.relacl, c.oid,
      case when c.relkind = 'S' then array['USAGE', 'SELECT', 'UPDATE']
        else array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] end
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'S')
      and not exists (select from pg_depend where objid = c.oid and deptype = 'e')
  ),
  lack as (
    select kind, name, coalesce(acl::text, '') as acl, quote_ident(rolname) as grantee,
      quote_ident(pg_get_userbyid(owner)) as owner, pg_has_role(owner, 'USAGE') as is_owner,
      coalesce((
        select string_agg(privilege, ', ') from unnest(wanted) as privilege
        where not case kind
          when 'DATABASE' then has_database_privilege(role.oid, object.oid, privilege)
          when 'SCHEMA' then has_schema_privilege(role.oid, object.oid, privilege)
          when 'SEQUENCE' then has_sequence_privilege(role.oid, object.oid, privilege)
          else has_table_privilege(role.oid, object.oid, privilege) end
      ), '') as missing
    from object, pg_roles role
    where rolname = ${role} and kind = any(string_to_array(${kinds.join(',')}, ','))
      and ${name} in ('', name)
  )
  select * from lack order by missing = '', kind, name limit ${OBJECTS_MAX}`
