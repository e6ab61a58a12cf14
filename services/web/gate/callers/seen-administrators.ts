import { createHash } from 'node:crypto'
import type { Session } from '../../../platform/people/sessions.ts'

const KEPT_MS = 10 * 60 * 1000
const SESSIONS_MAX = 100

/**
 * The sessions of administrators that this pod read from the database in the last ten minutes. They
 * open the diagnostic report, and nothing else, while the database is unavailable: just then it
 * cannot say who an administrator is.
 */
export interface SeenAdministrators {
  /** Keeps a session that the database has just confirmed, if it is an administrator's. */
  note(token: string, session: Session): void
  /** Drops a session that has ended, or whose user is no administrator any more. */
  forget(token: string): void
  find(token: string): Session | undefined
}

interface Sighting {
  readonly session: Session
  readonly until: number
}

/** `now` is a monotonic clock, in milliseconds. */
export function createSeenAdministrators(now = () => performance.now()): SeenAdministrators {
  // By hash, as in the database: what is kept here opens no session. The oldest sighting comes
  // first.
  const seen = new Map<string, Sighting>()
  const keyOf = (token: string): string => createHash('sha256').update(token).digest('base64')
  return {
    note(token, session) {
      const key = keyOf(token)
      seen.delete(key)
      if (!session.user.roles.includes('platform-admin')) return
      seen.set(key, { session, until: now() + KEPT_MS })
      const [oldest] = seen.keys()
      if (seen.size > SESSIONS_MAX && oldest !== undefined) seen.delete(oldest)
    },
    forget: (token) => void seen.delete(keyOf(token)),
    find(token) {
      const sighting = seen.get(keyOf(token))
      return sighting && sighting.until > now() ? sighting.session : undefined
    },
  }
}
