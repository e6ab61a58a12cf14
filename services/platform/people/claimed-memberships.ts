import type { Queryable } from '../../shared/postgres/database.ts'
import { includesRole } from './memberships.ts'
import type { OrganizationRole } from './memberships.ts'

/** A membership that the claims of a person give. */
export interface ClaimedMembership {
  /** The name of the organization. */
  readonly organization: string
  readonly role: OrganizationRole
}

/** A membership that the claims of today gave, changed or, with null, took back. */
export interface MembershipChange {
  readonly organizationId: number
  readonly role: OrganizationRole | null
  /** What the claims of before gave. */
  readonly before: OrganizationRole | null
}

/**
 * Makes the memberships that claims gave a person those of today; what people here gave stays. An
 * organization that does not exist is passed over. Returns the changes.
 */
export async function claimMemberships(
  sql: Queryable,
  userId: number,
  claimed: readonly ClaimedMembership[],
): Promise<MembershipChange[]> {
  const roles = highestRoles(claimed)
  const found = await sql<{ id: number; name: string }[]>`
    select id, name from organizations where name = any(${[...roles.keys()]})`
  const wanted = found.map(({ id, name }) => ({
    userId,
    organizationId: id,
    role: roles.get(name) ?? 'viewer',
    source: 'claim',
  }))
  const ids = found.map(({ id }) => id)
  const ended = await sql<MembershipChange[]>`
    delete from memberships
    where user_id = ${userId} and source = 'claim' and not organization_id = any(${ids})
    returning organization_id, null as role, role as before`
  const given =
    wanted.length === 0
      ? []
      : await sql<MembershipChange[]>`
    insert into memberships ${sql(wanted)}
    on conflict (user_id, organization_id, source) do update set role = excluded.role
      where memberships.role <> excluded.role
    returning organization_id, role, (
      -- as the statement found it
      select role from memberships earlier where earlier.user_id = memberships.user_id
        and earlier.organization_id = memberships.organization_id and earlier.source = 'claim')
      as before`
  return [...given, ...ended]
}

/** Several groups may lead to one organization: the highest role counts. */
function highestRoles(claimed: readonly ClaimedMembership[]): Map<string, OrganizationRole> {
  const roles = new Map<string, OrganizationRole>()
  for (const { organization, role } of claimed) {
    const known = roles.get(organization)
    if (!known || includesRole(role, known)) roles.set(organization, role)
  }
  return roles
}
