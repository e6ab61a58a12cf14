import { findPasswordHash, setPassword } from '../../platform/people/accounts.ts'
import type { Session } from '../../platform/people/sessions.ts'
import { countFailure } from '../../platform/people/sign-in-failures.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { createAudited } from '../gate/callers/audited.ts'
import type { Acting } from '../gate/callers/audited.ts'
import type { PasswordChecks } from './password-checks.ts'
import { accountThrottle, addressThrottle, throttledFor } from './sign-in.ts'

/** A request to change a password. */
export interface PasswordChange {
  readonly acting: Acting
  readonly session: Session
  /** The token of that session, which goes on. */
  readonly token: string
  /** The address of the client; see `clientAddress`. */
  readonly address: string
  readonly current: string
  readonly next: string
  readonly again: string
}

/** The outcome of a request to change a password. */
type PasswordResult =
  | { readonly outcome: 'ok'; readonly sessionsEnded: number }
  | { readonly outcome: 'throttled'; readonly retryAfterSeconds: number }
  | { readonly outcome: 'refused'; readonly problem: string }

/**
 * Changes the password of whoever is signed in and knows the current one; the other sessions end.
 * Attempts count as those at a sign-in do, so that a session that was taken over gives no more
 * guesses. Raises `unavailable` when too many passwords are looked at.
 */
export async function changePassword(
  sql: Database,
  passwords: PasswordChecks,
  change: PasswordChange,
): Promise<PasswordResult> {
  const { session, token, current, next, again } = change
  const { id: userId, email } = session.user
  if (next !== again) return refused('The two new passwords differ.')
  if (next === current) return refused('The new password is the same as the current one.')
  const origin = addressThrottle(change.address)
  const retryAfterSeconds = await throttledFor(sql, accountThrottle(email ?? ''), origin)
  if (retryAfterSeconds > 0) return { outcome: 'throttled', retryAfterSeconds }
  if (!(await passwords.verify(current, await findPasswordHash(sql, userId)))) {
    await countFailure(sql, origin)
    return refused('The current password is incorrect.')
  }
  const passwordHash = await hashOrProblem(passwords, next)
  if (typeof passwordHash !== 'string') return refused(passwordHash.message)
  const target = { kind: 'user', id: userId, name: email }
  const sessionsEnded = await createAudited(sql)(
    change.acting,
    async (tx) => (await setPassword(tx, { userId, passwordHash, keptToken: token })) ?? 0,
    (ended) => ({ action: 'password_changed', target, after: { sessions_ended: ended } }),
  )
  return { outcome: 'ok', sessionsEnded }
}

const refused = (problem: string): PasswordResult => ({ outcome: 'refused', problem })

/** Returns the error of a password that is too short or too long, for the person to correct. */
async function hashOrProblem({ hash }: PasswordChecks, password: string) {
  try {
    return await hash(password)
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'unprocessable') return thrown
    throw thrown
  }
}
