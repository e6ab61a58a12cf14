import type { Queryable } from '../shared/database.ts'

export const ROLES = ['platform-admin', 'member'] as const
export type Role = (typeof ROLES)[number]

export interface User {
  readonly id: number
  readonly organizationId: number
  readonly email: string
  readonly name: string
  readonly roles: readonly Role[]
}

export interface NewUser {
  readonly organizationId: number
  readonly email: string
  readonly name: string
  /** From `hashPassword`; null for a user who signs in through the identity provider. */
  readonly passwordHash: string | null
}

/** Creates a user, or returns the id of the one with that address, unchanged. */
export async function ensureUser(sql: Queryable, user: NewUser): Promise<number> {
  const email = user.email.toLowerCase()
  await sql`insert into users ${sql({ ...user, email })} on conflict (email) do nothing`
  const [found] = await sql<[{ id: number }]>`select id from users where email = ${email}`
  return found.id
}

export async function grantRole(sql: Queryable, userId: number, role: Role): Promise<void> {
  await sql`insert into user_roles ${sql({ userId, role })} on conflict do nothing`
}

/** What a local sign-in needs to know of an address, if there is such a user. */
export async function findCredentials(
  sql: Queryable,
  email: string,
): Promise<{ id: number; passwordHash: string | null } | undefined> {
  const [found] = await sql<{ id: number; passwordHash: string | null }[]>`
    select id, password_hash from users where email = ${email.toLowerCase()}`
  return found
}
