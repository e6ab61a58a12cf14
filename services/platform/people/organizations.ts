import { didYouMean } from '../../shared/closest.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { contains, idOfCursor, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** An organization: the owner of projects, automations, connections and people. */
export interface Organization {
  readonly id: number
  readonly name: string
  /**
   * The platform's own organization, which holds the Assistant and the Runner; there is one at the
   * most.
   */
  readonly internal: boolean
}

/** The names that organizations may have, and the rule in words that follow a name. */
export const ORGANIZATION_NAME = /^(?!\s)[^\p{Cc}]{1,200}(?<!\s)$/u
export const ORGANIZATION_NAME_RULE =
  'must have 1 to 200 characters, no control characters, and no space at its ends'

/** The name of the organization of an installation that needs only one. */
const DEFAULT_ORGANIZATION = 'Default'
const NAMES_SHOWN = 20

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

/** Returns the organization with that id, if it exists. */
export async function findOrganization(
  sql: Queryable,
  id: number,
): Promise<Organization | undefined> {
  const [found] = await sql<Organization[]>`
    select id, name, internal from organizations where id = ${id}`
  return found
}

/** Returns the organization of that name, if it exists. */
async function findOrganizationByName(
  sql: Queryable,
  name: string,
): Promise<Organization | undefined> {
  const [found] = await sql<Organization[]>`
    select id, name, internal from organizations where name = ${name}`
  return found
}

/** Returns the organization of that name. Raises `not_found` that names the existing ones. */
export async function getOrganizationByName(sql: Queryable, name: string): Promise<Organization> {
  const found = await findOrganizationByName(sql, name)
  if (found) return found
  const rows = await sql<{ name: string }[]>`
    select name from organizations order by name limit ${NAMES_SHOWN + 1}`
  const names = rows.map((row) => row.name)
  const shown = names.slice(0, NAMES_SHOWN).map((each) => JSON.stringify(each))
  const more = names.length > NAMES_SHOWN ? ', …' : ''
  const list = names.length === 0 ? 'There is none yet.' : `There are: ${shown.join(', ')}${more}.`
  throw new AppError(
    'not_found',
    `There is no organization "${name}".${didYouMean(name, names)} ${list} ` +
      `\`organizations:create NAME\` makes one.`,
  )
}

/**
 * Creates an organization. Raises `conflict` when there is one of that name, and `invalid_request`
 * for an unusable name.
 */
export async function createOrganization(sql: Queryable, name: string): Promise<Organization> {
  if (!ORGANIZATION_NAME.test(name)) {
    throw new AppError('invalid_request', `The name of an organization ${ORGANIZATION_NAME_RULE}.`)
  }
  const [created] = await sql<Organization[]>`
    insert into organizations ${sql({ name })} on conflict do nothing returning id, name, internal`
  if (created) return created
  throw new AppError('conflict', `There is an organization "${name}" already.`)
}

/**
 * Returns the organization of people who are assigned to none: the first that is not the platform's
 * own. Creates it when there is none.
 */
export async function ensureDefaultOrganization(sql: Queryable): Promise<Organization> {
  const [first] = await sql<Organization[]>`
    select id, name, internal from organizations where not internal order by id limit 1`
  return first ?? ensureOrganization(sql, { name: DEFAULT_ORGANIZATION })
}

/** An organization as administrators of the platform see one. */
export interface OrganizationFigures extends Organization {
  readonly members: number
  readonly admins: number
  readonly automations: number
  readonly createdAt: Date
}

const figures = (sql: Queryable) => sql`
  o.id, o.name, o.internal, o.created_at,
  (select count(distinct m.user_id)::int from memberships m
    where m.organization_id = o.id) as members,
  (select count(distinct m.user_id)::int
    from memberships m join users u on u.id = m.user_id and u.disabled_at is null
    where m.organization_id = o.id and m.role = 'admin') as admins,
  (select count(*)::int from deployments d
    where d.organization_id = o.id and d.tests_project_id is null) as automations`

/** Returns an organization with its figures, if it exists. */
export async function findFigures(
  sql: Queryable,
  id: number,
): Promise<OrganizationFigures | undefined> {
  const [found] = await sql<OrganizationFigures[]>`
    select ${figures(sql)} from organizations o where o.id = ${id}`
  return found
}

/** Returns the organizations by name. */
export async function listOrganizations(
  sql: Queryable,
  page: PageRequest,
): Promise<Page<OrganizationFigures>> {
  const byName = {
    columns: [sql`lower(o.name)`, sql`o.id`],
    at: (cursor: string) =>
      sql`(select lower(name), id from organizations where id = ${idOfCursor(cursor)})`,
  }
  const isListed = sql`(${contains(sql, [sql`o.name`], page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<OrganizationFigures[]>`
      select ${figures(sql)} from organizations o where ${isListed} ${keyset(sql, byName, page)}`,
    sql<[{ total: number }]>`select count(*)::int as total from organizations o where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ id }) => String(id) })
}
