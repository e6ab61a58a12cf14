import type { Queryable } from '../../shared/postgres/database.ts'
import { setMembership } from './memberships.ts'
import type { OrganizationRole } from './memberships.ts'

/** All roles that people have in the whole platform, whatever their organizations. */
export const ROLES = ['platform-admin'] as const
/** The role of a person in the whole platform. */
export type Role = (typeof ROLES)[number]

/** A person. */
export interface User {
  readonly id: number
  /** The organization that the person is in just now; 0, which none has, when there is none. */
  readonly organizationId: number
  /** null: the identity provider gives none. */
  readonly email: string | null
  readonly name: string
  readonly roles: readonly Role[]
}

interface NewUser {
  readonly organizationId: number
  /** Without one, the user is a member of no organization. */
  readonly role?: OrganizationRole
  readonly email: string
  readonly name: string
  /** From `hashPassword`; null for one who cannot sign in with a password. */
  readonly passwordHash: string | null
}

/** Creates a local user. Returns undefined when there is one with that address. */
export async function createLocalUser(sql: Queryable, user: NewUser): Promise<number | undefined> {
  const { role, ...person } = user
  const email = user.email.toLowerCase()
  const [created] = await sql<{ id: number }[]>`
    insert into users ${sql({ ...person, email })}
    on conflict (email) where issuer is null do nothing returning id`
  const { organizationId } = user
  if (created && role) await setMembership(sql, { userId: created.id, organizationId, role })
  return created?.id
}

/** Creates a local user, or returns the id of the one with that address, unchanged. */
export async function ensureUser(sql: Queryable, user: NewUser): Promise<number> {
  const created = await createLocalUser(sql, user)
  if (created !== undefined) return created
  const email = user.email.toLowerCase()
  const [found] = await sql<[{ id: number }]>`
    select id from users where email = ${email} and issuer is null`
  return found.id
}

/**
 * Grants a role by hand; a claim of the identity provider neither gives it again nor takes it back.
 * Returns true when it is new.
 */
export async function grantRole(sql: Queryable, userId: number, role: Role): Promise<boolean> {
  const granted = await sql`
    insert into user_roles ${sql({ userId, role })} on conflict do nothing returning role`
  return granted.length > 0
}

/** Withdraws a role that `grantRole` granted. Returns false when there was none. */
export async function revokeRole(sql: Queryable, userId: number, role: Role): Promise<boolean> {
  const revoked = await sql`
    delete from user_roles where user_id = ${userId} and role = ${role} and source = 'local'
    returning role`
  return revoked.length > 0
}

/** The password hash of a local user, and whether the user may sign in. */
interface Credentials {
  readonly id: number
  readonly passwordHash: string | null
  readonly isDisabled: boolean
}

/** Returns the credentials of the local user with that address, if there is one. */
export async function findCredentials(
  sql: Queryable,
  email: string,
): Promise<Credentials | undefined> {
  const [found] = await sql<Credentials[]>`
    select id, password_hash, disabled_at is not null as is_disabled from users
    where email = ${email.toLowerCase()} and issuer is null`
  return found
}

interface Account {
  readonly id: number
  /** Both null for a local account. */
  readonly issuer: string | null
  readonly subject: string | null
}

/**
 * Returns the users with that address: at most one local account, and any number from identity
 * providers.
 */
export async function listAccounts(sql: Queryable, email: string): Promise<Account[]> {
  return sql<Account[]>`
    select id, issuer, subject from users
    where email = ${email.toLowerCase()} order by id limit 100`
}

/** Checks that a user exists. */
export async function hasUser(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`select from users where id = ${id}`).length > 0
}
