import { INVITATION_NOTE_MAX } from '../../../platform/people/invitations.ts'
import { ORGANIZATION_ROLES, readOrganizationRole } from '../../../platform/people/memberships.ts'
import { isMailAddress } from '../../mail/mailer.ts'
import type { OrganizationRole } from '../../../platform/people/memberships.ts'

/** An invitation as it was typed. */
export interface TypedInvitation {
  readonly note: string
  readonly role: OrganizationRole | undefined
  /** Who gets the link by mail; may be empty. */
  readonly email: string
}

/** Reads an invitation from its form. */
export const readInvitation = (form: URLSearchParams): TypedInvitation => ({
  note: (form.get('note') ?? '').trim(),
  role: readOrganizationRole(form.get('role')),
  email: (form.get('email') ?? '').trim(),
})

/** Returns what is wrong with an invitation; undefined when nothing is. */
export function invitationProblem({ note, role, email }: TypedInvitation): string | undefined {
  if (role === undefined) return `Choose one of the roles ${ORGANIZATION_ROLES.join(', ')}.`
  if (note.length > INVITATION_NOTE_MAX) {
    return `The note must have at most ${INVITATION_NOTE_MAX} characters; it has ${note.length}.`
  }
  if (email !== '' && !isMailAddress(email)) {
    return 'The address for the mail must be one such as ada@example.com, or empty.'
  }
  return /\p{Cc}/u.test(note) ? 'The note must have no control characters.' : undefined
}
