import type { Queryable } from '../shared/database.ts'

export interface Organization {
  readonly id: number
  readonly name: string
  /** The platform's own organization, which holds the Assistant and the Runner; there is one at the most. */
  readonly internal: boolean
}

/** The name of the organization of an installation that needs only one. */
export const DEFAULT_ORGANIZATION = 'Default'

/** Creates an organization, or returns the one of that name. */
export async function ensureOrganization(
  sql: Queryable,
  { name, internal = false }: { name: string; internal?: boolean },
): Promise<Organization> {
  // A conflict uses an id up: only what is missing is tried.
  await sql`
    insert into organizations (name, internal)
    select ${name}::text, ${internal}::boolean where not exists (
      select from organizations where name = ${name} or (internal and ${internal}))
    on conflict do nothing`
  const [found] = internal
    ? await sql<[Organization]>`select id, name, internal from organizations where internal`
    : await sql<[Organization]>`select id, name, internal from organizations where name = ${name}`
  return found
}

export async function findOrganization(
  sql: Queryable,
  id: number,
): Promise<Organization | undefined> {
  const [found] = await sql<Organization[]>`
    select id, name, internal from organizations where id = ${id}`
  return found
}

export async function findOrganizationByName(
  sql: Queryable,
  name: string,
): Promise<Organization | undefined> {
  const [found] = await sql<Organization[]>`
    select id, name, internal from organizations where name = ${name}`
  return found
}

/** The names of the first organizations, oldest first. */
export async function listOrganizationNames(sql: Queryable, limit: number): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select name from organizations order by id limit ${limit}`
  return rows.map(({ name }) => name)
}

/** Where people land whom nobody put anywhere: the first organization that is not the platform's own. Made when there is none. */
export async function ensureDefaultOrganization(sql: Queryable): Promise<Organization> {
  const [first] = await sql<Organization[]>`
    select id, name, internal from organizations where not internal order by id limit 1`
  return first ?? ensureOrganization(sql, { name: DEFAULT_ORGANIZATION })
}
