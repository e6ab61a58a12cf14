import { createHash } from 'node:crypto'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { PLATFORM, writeAudit } from '../audit/audit.ts'
import type { Actor } from '../audit/audit.ts'
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

/** The request in which somebody signs in, for the audit. */
export type SignInRequest = Pick<Actor, 'address' | 'requestId'>

/**
 * The user of an identity, made at its first sign-in. Its roles and memberships from claims become
 * those of today, and when a role in the platform changes all of its sessions end; the audit has
 * each change. A local account is never touched, whatever its address. Returns undefined for a user
 * who is disabled, and changes nothing then.
 */
export async function recognizeIdentity(
  sql: Database,
  identity: Identity,
  request: SignInRequest = {},
): Promise<KnownIdentity | undefined> {
  const { roles, memberships: claimed = [] } = identity
  return sql.begin(async (transaction) => {
    const found = await refresh(transaction, identity)
    if (found?.isDisabled) return undefined
    const { id: userId, joined } = found ?? (await insert(transaction, identity))
    const granted = await grantClaimed(transaction, userId, roles)
    const withdrawn = await withdrawUnclaimed(transaction, userId, roles)
    if (granted.length + withdrawn.length > 0) await deleteSessionsOf(transaction, userId)
    const memberships = await claimMemberships(transaction, userId, claimed)
    const known = { userId, granted, withdrawn, memberships }
    await record(transaction, { ...identity, ...request, known, joined })
    return known
  })
}

/** What a first sign-in gave somebody by itself. */
interface Joined {
  readonly organizationId: number
  readonly role: OrganizationRole | null
}

interface Recognized extends Pick<Identity, 'issuer' | 'email' | 'name'>, SignInRequest {
  readonly known: KnownIdentity
  readonly joined: Joined | undefined
}

/** Records what a sign-in changed, as done by the identity provider that vouched for somebody. */
async function record(
  tx: Transaction,
  { issuer, email, name, address, requestId, known, joined }: Recognized,
): Promise<void> {
  const by: Actor = { ...PLATFORM, name: 'the identity provider', address, requestId }
  const target = { kind: 'user', id: known.userId, name: email ?? name }
  if (joined) await writeAudit(tx, by, { action: 'user_created', target, after: { issuer } })
  for (const role of known.granted) {
    await writeAudit(tx, by, { action: 'role_granted', target, after: { role } })
  }
  for (const role of known.withdrawn) {
    await writeAudit(tx, by, { action: 'role_withdrawn', target, before: { role } })
  }
  const first = joined ? [{ ...joined, before: null }] : []
  for (const { organizationId, role, before } of [...first, ...known.memberships]) {
    if (role === before) continue
    await writeAudit(tx, by, {
      action: role === null ? 'member_removed' : 'member_set',
      organizationId,
      target,
      before: before === null ? undefined : { role: before },
      after: role === null ? undefined : { role },
    })
  }
}

async function refresh(
  sql: Queryable,
  { issuer, subject, email, name }: Identity,
): Promise<{ id: number; isDisabled: boolean; joined: undefined } | undefined> {
  const [found] = await sql<{ id: number; isDisabled: boolean }[]>`
    update users set email = ${email}, name = ${name}
    where issuer = ${issuer} and subject = ${subject}
    returning id, disabled_at is not null as is_disabled`
  return found && { ...found, joined: undefined }
}

async function insert(
  sql: Queryable,
  { issuer, subject, email, name, joinsAs: role }: Identity,
): Promise<{ id: number; joined: Joined | undefined }> {
  const { id: organizationId } = await ensureDefaultOrganization(sql)
  const user = { issuer, subject, email, name }
  // Two first sign-ins at once make one user; the second one finds the row of the first.
  const [{ id, isNew }] = await sql<[{ id: number; isNew: boolean }]>`
    insert into users ${sql({ ...user, organizationId, passwordHash: null })}
    on conflict (issuer, subject) do update set email = excluded.email, name = excluded.name
    returning id, xmax = 0 as is_new`
  if (!isNew) return { id, joined: undefined }
  if (role) await setMembership(sql, { userId: id, organizationId, role })
  return { id, joined: { organizationId, role: role ?? null } }
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
