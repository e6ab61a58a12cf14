import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { findMemberRole, setMembership } from './memberships.ts'
import type { OrganizationRole } from './memberships.ts'
import { hashLinkToken, isLinkToken, newLinkToken } from './secret-links.ts'

/** The time for which an invitation can be accepted. */
export const INVITATION_DAYS = 7
/** The longest note, in characters. */
export const INVITATION_NOTE_MAX = 200
/** How many an organization may have that can be accepted. */
export const INVITATIONS_MAX = 200

/** An invitation that can be accepted. */
export interface Invitation {
  readonly id: number
  readonly organizationId: number
  readonly organization: string
  readonly role: OrganizationRole
  /** Whom it is for, in the words of whoever invited; may be empty. */
  readonly note: string
  /** The name of the person who invited; null for a program, and when that account is deleted. */
  readonly invitedBy: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

type InvitationKey = Pick<Invitation, 'id' | 'organizationId'>

interface NewInvitation {
  readonly organizationId: number
  readonly role: OrganizationRole
  readonly note: string
  /** null: a program. */
  readonly createdBy: number | null
}

/**
 * Creates an invitation that one person can accept within a week. Returns its id and the token of
 * its link, which is stored as a hash only. Raises `conflict` when too many are open.
 */
export async function createInvitation(
  sql: Queryable,
  invitation: NewInvitation,
): Promise<{ id: number; token: string }> {
  const { organizationId, role, note, createdBy } = invitation
  const token = newLinkToken()
  const [created] = await sql<{ id: number }[]>`
    insert into invitations (organization_id, role, note, created_by, token_hash, expires_at)
    select ${organizationId}, ${role}, ${note}, ${createdBy}, ${hashLinkToken(token)},
      now() + make_interval(days => ${INVITATION_DAYS})
    where (select count(*) from invitations i
      where i.organization_id = ${organizationId} and ${isOpen(sql)}) < ${INVITATIONS_MAX}
    returning id`
  if (created) return { id: created.id, token }
  throw new AppError(
    'conflict',
    `${INVITATIONS_MAX} invitations are not accepted yet. Revoke some of them first.`,
  )
}

const isOpen = (sql: Queryable) =>
  sql`i.accepted_at is null and i.revoked_at is null and i.expires_at > now()`

const openInvitations = (sql: Queryable) => sql`
  select i.id, i.organization_id, o.name as organization, i.role, i.note, u.name as invited_by,
    i.created_at, i.expires_at
  from invitations i join organizations o on o.id = i.organization_id
    left join users u on u.id = i.created_by
  where ${isOpen(sql)}`

/** Returns the invitations of an organization that can be accepted, the oldest first. */
export const listInvitations = (sql: Queryable, organizationId: number): Promise<Invitation[]> =>
  sql<Invitation[]>`
    ${openInvitations(sql)} and i.organization_id = ${organizationId}
    order by i.created_at, i.id limit ${INVITATIONS_MAX}`

/** Returns an invitation of an organization, while it can be accepted. */
export async function findOwnInvitation(
  sql: Queryable,
  { id, organizationId }: InvitationKey,
): Promise<Invitation | undefined> {
  const [found] = await sql<Invitation[]>`
    ${openInvitations(sql)} and i.organization_id = ${organizationId} and i.id = ${id}`
  return found
}

/** Returns the invitation of a link, while it can be accepted. */
export async function findInvitation(
  sql: Queryable,
  token: string,
): Promise<Invitation | undefined> {
  if (!isLinkToken(token)) return undefined
  const [found] = await sql<Invitation[]>`
    ${openInvitations(sql)} and i.token_hash = ${hashLinkToken(token)}`
  return found
}

/** Ends an invitation of the organization. Raises `not_found` when it can no longer be accepted. */
export async function revokeInvitation(
  sql: Queryable,
  { id, organizationId }: InvitationKey,
): Promise<void> {
  const revoked = await sql`
    update invitations i set revoked_at = now()
    where i.id = ${id} and i.organization_id = ${organizationId} and ${isOpen(sql)} returning i.id`
  if (revoked.length === 0) throw invitationOver()
}

/** An invitation that was just accepted. */
export type Accepted = Pick<Invitation, 'id' | 'organizationId' | 'role'>

/**
 * Makes a person a member by an invitation, which is used up with that. Raises `not_found` when it
 * can no longer be accepted, and `conflict` for somebody who is a member.
 */
export async function acceptInvitation(
  sql: Transaction,
  { token, userId }: { token: string; userId: number },
): Promise<Accepted> {
  const [accepted] = await sql<Accepted[]>`
    update invitations i set accepted_at = now(), accepted_by = ${userId}
    where i.token_hash = ${hashLinkToken(token)} and ${isOpen(sql)}
    returning i.id, i.organization_id, i.role`
  if (!accepted) throw invitationOver()
  const { organizationId, role } = accepted
  const held = await findMemberRole(sql, { userId, organizationId })
  if (held) {
    throw new AppError(
      'conflict',
      `You are a member of this organization already, as ${held}. The invitation is still open; ` +
        'for another role, ask an admin.',
    )
  }
  await setMembership(sql, { userId, organizationId, role })
  return accepted
}

/** Creates the error of an invitation that nobody can accept. */
export const invitationOver = (): AppError =>
  new AppError(
    'not_found',
    'This invitation is not valid, or no longer: each can be accepted once, within ' +
      `${INVITATION_DAYS} days, unless it is revoked. Ask for a new one.`,
  )
