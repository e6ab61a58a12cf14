import { acceptInvitation } from '../../../platform/people/invitations.ts'
import type { Accepted, Invitation } from '../../../platform/people/invitations.ts'
import { createLocalUser } from '../../../platform/people/users.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'

const EMAIL_LENGTH_MAX = 254
const NAME_LENGTH_MAX = 200

/** A person as typed, who wants an account. */
interface TypedAccount {
  readonly name: string
  readonly email: string
}

/** Reads an account from its form. */
export const readAccount = (form: URLSearchParams): TypedAccount => ({
  name: (form.get('name') ?? '').trim(),
  email: (form.get('email') ?? '').trim().toLowerCase(),
})

/** Returns what is wrong with an account; undefined when nothing is. */
export function accountProblem({ name, email }: TypedAccount): string | undefined {
  if (name === '') return 'Enter your name.'
  if (name.length > NAME_LENGTH_MAX) {
    return `A name must have at most ${NAME_LENGTH_MAX} characters; this one has ${name.length}.`
  }
  if (/\p{Cc}/u.test(name)) return 'A name must have no control characters.'
  const isAddress = /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u.test(email)
  return isAddress && email.length <= EMAIL_LENGTH_MAX
    ? undefined
    : 'Enter an email address, such as grace@example.com.'
}

/**
 * Creates a local account and makes it a member by an invitation. Returns the id of the person, and
 * what was accepted. Raises `conflict` for an address that has an account, and `not_found` when
 * somebody else was faster.
 */
export async function joinWithNewAccount(
  sql: Transaction,
  { token, organizationId }: Pick<Invitation, 'organizationId'> & { token: string },
  account: TypedAccount & { readonly passwordHash: string },
): Promise<{ id: number; accepted: Accepted }> {
  const userId = await createLocalUser(sql, { organizationId, ...account })
  if (userId === undefined) {
    throw new AppError(
      'conflict',
      'There is an account with this address already. Sign in with it to join.',
    )
  }
  return { id: userId, accepted: await acceptInvitation(sql, { token, userId }) }
}
