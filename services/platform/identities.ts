import { createHash } from 'node:crypto'
import type { Database, Queryable } from '../shared/postgres/database.ts'
import { claimMemberships } from './claimed-memberships.ts'
import type { ClaimedMembership, MembershipChange } from './claimed-memberships.ts'
import { setMembership } from './memberships.ts'
import type { OrganizationRole } from './memberships.ts'
import { ensureDefaultOrganization } from './organizations.ts'
import { deleteSessionsOf } from './sessions.ts'
import type { Role } from './users.ts'

/** A person as an identity provider describes them. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly name: string
  /** The roles that its claims give, now. */
  readonly roles: readonly Role[]
  /** The memberships that its claims give, now. @default none */
  readonly memberships?: readonly ClaimedMembership[]
  /** The role in the default organization at the first sign-in. @default none: joins nothing */
  readonly joinsAs?: OrganizationRole | undefined
}

/** The user of an identity, after a sign-in. */
export interface KnownIdentity {
  readonly userId: number
  /** The changes that the claims brought since the previous sign-in. */
  readonly granted: readonly Role[]
  readonly withdrawn: readonly Role[]
  readonly memberships: readonly MembershipChange[]
}

/**
 * The user of an identity, made at its first sign-in. Its roles and memberships from claims become
 * those of today, and when a role in the platform changes all of its sessions end. A local account
 * is never touched, whatever its address. Returns undefined for a user who is disabled, and changes
 * nothing then.
 */
export async function recognizeIdentity(
  sql: Database,
  identity: Identity,
): Promise<KnownIdentity | undefined> {
  const { roles, memberships: claimed = [] } = identity
  return sql.begin(async (transaction) => {
    const known = await refresh(transaction, identity)
    if (known?.isDisabled) return undefined
    const userId = known?.id ?? (await insert(transaction, identity))
    const granted = await grantClaimed(transaction, userId, roles)
    const withdrawn = await withdrawUnclaimed(transaction, userId, roles)
    if (granted.length + withdrawn.length > 0) await deleteSessionsOf(transaction, userId)
    const memberships = await claimMemberships(transaction, userId, claimed)
    return { userId, granted, withdrawn, memberships }
  })
}

async function refresh(
  sql: Queryable,
  { issuer, subject, email, name }: Identity,
): Promise<{ id: number; isDisabled: boolean } | undefined> {
  const [found] = await sql<{ id: number; isDisabled: boolean }[]>`
    update users set email = ${email}, name = ${name}
    where issuer = ${issuer} and subject = ${subject}
    returning id, disabled_at is not null as is_disabled`
  return found
}

async function insert(
  sql: Queryable,
  { issuer, subject, email, name, joinsAs: role }: Identity,
): Promise<number> {
  const { id: organizationId } = await ensureDefaultOrganization(sql)
  const user = { issuer, subject, email, name }
  // Two first sign-ins at once make one user.
  const [{ id }] = await sql<[{ id: number }]>`
    insert into users ${sql({ ...user, organizationId, passwordHash: null })}
    on conflict (issuer, subject) do update set email = excluded.email, name = excluded.name
    returning id`
  if (role) await setMembership(sql, { userId: id, organizationId, role })
  return id
}

async function grantClaimed(
  sql: Queryable,
  userId: number,
  roles: readonly Role[],
): Promise<Role[]> {
  if (roles.length === 0) return []
  const rows = roles.map((role) => ({ userId, role, source: 'claim' }))
  const granted = await sql<{ role: Role }[]>`
    insert into user_roles ${sql(rows)} on conflict do nothing returning role`
  return granted.map(({ role }) => role)
}

async function withdrawUnclaimed(
  sql: Queryable,
  userId: number,
  roles: readonly Role[],
): Promise<Role[]> {
  const withdrawn = await sql<{ role: Role }[]>`
    delete from user_roles
    where user_id = ${userId} and source = 'claim' and not role = any(${[...roles]})
    returning role`
  return withdrawn.map(({ role }) => role)
}

/**
 * Marks an answer of an identity provider as used, for as long as its state lives. Returns false
 * when it was used before.
 */
export async function useSignIn(
  sql: Queryable,
  { state, lifetimeSeconds }: { state: string; lifetimeSeconds: number },
): Promise<boolean> {
  await sql`delete from used_sign_ins where expires_at <= now()`
  const hash = createHash('sha256').update(state).digest()
  const used = await sql`
    insert into used_sign_ins (state_hash, expires_at)
    values (${hash}, now() + make_interval(secs => ${lifetimeSeconds}))
    on conflict do nothing returning state_hash`
  return used.length > 0
}
