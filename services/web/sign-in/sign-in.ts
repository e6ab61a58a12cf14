import {
  clearFailures,
  countFailure,
  throttledForSeconds,
} from '../../platform/people/sign-in-failures.ts'
import { accountSubject } from '../../platform/people/accounts.ts'
import type { Throttle } from '../../platform/people/sign-in-failures.ts'
import {
  createSession,
  deleteExpiredSessions,
  deleteSession,
} from '../../platform/people/sessions.ts'
import { findCredentials } from '../../platform/people/users.ts'
import type { Database } from '../../shared/postgres/database.ts'

/** An attempt to sign in with a password. */
interface SignInAttempt {
  readonly email: string
  readonly password: string
  /** The address of the client; see `clientAddress`. */
  readonly address: string
  /** What the browser says of itself. */
  readonly userAgent: string
  /** The token of a session that the browser still has; it ends. */
  readonly earlierToken: string | undefined
}

/** The outcome of an attempt to sign in. */
export type SignInResult =
  | { readonly outcome: 'ok'; readonly userId: number; readonly token: string }
  | { readonly outcome: 'throttled'; readonly retryAfterSeconds: number }
  | { readonly outcome: 'refused'; readonly userId: number | undefined }

const WINDOW_SECONDS = 15 * 60
const ACCOUNT_ATTEMPTS_MAX = 10
/** Many people may share an address. */
const ADDRESS_FAILURES_MAX = 100

/**
 * Signs a user in with a password, and always into a new session (SPEC 5.1). An address that nobody
 * has and a wrong password cost the same work and give the same answer. Raises `unavailable` when
 * too many sign in at once.
 */
export function createSignIn(
  sql: Database,
  verify: (password: string, hash: string | null) => Promise<boolean>,
): (attempt: SignInAttempt) => Promise<SignInResult> {
  return async function signIn({ email, password, address, userAgent, earlierToken }) {
    const account = accountThrottle(email)
    const origin = addressThrottle(address)
    const retryAfterSeconds = await throttledFor(sql, account, origin)
    if (retryAfterSeconds > 0) return { outcome: 'throttled', retryAfterSeconds }

    const credentials = await findCredentials(sql, email)
    const good = await verify(password, credentials?.passwordHash ?? null)
    if (!good || !credentials || credentials.isDisabled) {
      await countFailure(sql, origin)
      return { outcome: 'refused', userId: credentials?.id }
    }
    await clearFailures(sql, account.subject)
    if (earlierToken) await deleteSession(sql, earlierToken)
    await deleteExpiredSessions(sql)
    const token = await createSession(sql, credentials.id, { clientAddress: address, userAgent })
    return { outcome: 'ok', userId: credentials.id, token }
  }
}

/** Throttles attempts at the password of one account. */
export const accountThrottle = (email: string): Throttle =>
  throttle(accountSubject(email), ACCOUNT_ATTEMPTS_MAX)

/** Throttles failures from one address, with a password or through the identity provider. */
export const addressThrottle = (address: string): Throttle =>
  throttle(`address:${address}`, ADDRESS_FAILURES_MAX)

const throttle = (subject: string, limit: number): Throttle => ({
  subject,
  limit,
  windowSeconds: WINDOW_SECONDS,
})

/** Returns the text for people. */
export function tooManyAttempts(seconds: number): string {
  const minutes = Math.ceil(seconds / 60)
  return `Too many attempts. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`
}

/** Counts an attempt. Returns 0, or the seconds to wait if there were too many. */
export async function throttledFor(
  sql: Database,
  account: Throttle,
  origin: Throttle,
): Promise<number> {
  const addressSeconds = await throttledForSeconds(sql, origin)
  if (addressSeconds > 0) return addressSeconds
  // Counted before the password is looked at: attempts sent all at once do not pass the limit
  // together.
  const attempts = await countFailure(sql, account)
  return attempts > account.limit ? throttledForSeconds(sql, account) : 0
}
