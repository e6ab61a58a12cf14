import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'

/** What people may do in an organization, from the least to the most. */
export const ORGANIZATION_ROLES = ['viewer', 'editor', 'admin'] as const
/** The role of a person in an organization. */
export type OrganizationRole = (typeof ORGANIZATION_ROLES)[number]

/** Reads the name of a role; undefined for any other word. */
export const readOrganizationRole = (word: string | null): OrganizationRole | undefined =>
  ORGANIZATION_ROLES.find((each) => each === word)

/** Returns true when a role allows what another one is needed for. */
export const includesRole = (role: OrganizationRole, needed: OrganizationRole): boolean =>
  ORGANIZATION_ROLES.indexOf(role) >= ORGANIZATION_ROLES.indexOf(needed)

/** A person and an organization. */
export interface MemberKey {
  readonly userId: number
  readonly organizationId: number
}

/** Returns the role of a person in an organization; undefined for somebody who is no member. */
export async function findMemberRole(
  sql: Queryable,
  { userId, organizationId }: MemberKey,
): Promise<OrganizationRole | undefined> {
  const [found] = await sql<{ role: OrganizationRole | null }[]>`
    select max(role) as role from memberships
    where user_id = ${userId} and organization_id = ${organizationId}`
  return found?.role ?? undefined
}

/** Gives a person a role in an organization, whether or not they are a member already. */
export async function setMembership(
  sql: Queryable,
  membership: MemberKey & { readonly role: OrganizationRole },
): Promise<void> {
  await sql`
    insert into memberships ${sql({ ...membership })}
    on conflict (user_id, organization_id, source) do update set role = excluded.role`
}

/** A change of a role that was made from a page, which may be out of date. */
interface RoleChange extends MemberKey {
  /** The role that the page showed. */
  readonly from: OrganizationRole
  readonly to: OrganizationRole
}

/**
 * Changes the role that somebody gave a member here. Raises `conflict` when the role is another one
 * by now, or when the organization would be left without an admin.
 */
export async function changeMemberRole(sql: Queryable, change: RoleChange): Promise<void> {
  const { userId, organizationId, from, to } = change
  await keepAnAdmin(sql, organizationId, async (tx) => {
    const changed = await tx`
      update memberships set role = ${to}
      where user_id = ${userId} and organization_id = ${organizationId} and source = 'local'
        and role = ${from} returning user_id`
    if (changed.length > 0) return
    throw new AppError(
      'conflict',
      `The role was not changed: it is no longer ${from}. Reload the page and decide anew.`,
    )
  })
}

/**
 * Ends a membership that was given here. Returns false when there was none. Raises `conflict` when
 * the organization would be left without an admin.
 */
export async function removeMember(sql: Queryable, key: MemberKey): Promise<boolean> {
  const { userId, organizationId } = key
  return keepAnAdmin(sql, organizationId, async (tx) => {
    const removed = await tx`
      delete from memberships
      where user_id = ${userId} and organization_id = ${organizationId} and source = 'local'
      returning user_id`
    return removed.length > 0
  })
}

/** Two admins who remove each other at once do so one after the other. */
function keepAnAdmin<Result>(
  sql: Queryable,
  organizationId: number,
  change: (tx: Queryable) => Promise<Result>,
): Promise<Result> {
  return inTransaction(sql, async (tx) => {
    await tx`select from organizations where id = ${organizationId} for update`
    const before = await countAdmins(tx, organizationId)
    const result = await change(tx)
    if (before > 0 && (await countAdmins(tx, organizationId)) === 0) throw lastAdmin()
    return result
  })
}

async function countAdmins(sql: Queryable, organizationId: number): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(distinct m.user_id)::int from memberships m
      join users u on u.id = m.user_id and u.disabled_at is null
    where m.organization_id = ${organizationId} and m.role = 'admin'`
  return count
}

const lastAdmin = (): AppError =>
  new AppError(
    'conflict',
    'This is the last admin of the organization, who can neither leave nor get a lower role. ' +
      'Make another member an admin first.',
  )
