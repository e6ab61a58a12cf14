import type { Session } from '../../shared/postgres/copy/copy-connection.ts'
import type { Rest } from './take-turns.ts'

/** How often one that does not lead asks whether it may: so soon one that died is replaced. */
const ASK_MS = 250

/** The outcome of a turn of a leader. */
export interface Led extends Rest {
  /** Nobody sends to this one: another one, to which somebody does, may lead. */
  readonly isUnsent: boolean
}

/**
 * Makes turns such that one collector takes them all, also while it rests, until nothing is left to
 * do, nobody sends to it, or one fails. Otherwise another one would work while it rests in favour
 * of senders. The lock, any number, is the connection's, and goes when that is lost.
 */
export function asLeader<Connection extends Session>(
  lock: number,
  take: (session: Connection) => Promise<Led>,
): (session: Connection) => Promise<Rest> {
  let leading: Connection | undefined
  return async (session) => {
    if (leading !== session) {
      const [row] = await session.rows(`select pg_try_advisory_lock(${lock})`)
      if (row?.[0] !== 't') return { restMs: ASK_MS, isIdle: false }
      leading = session
    }
    let goesOn = false
    try {
      const rest = await take(session)
      goesOn = !rest.isIdle && !rest.isUnsent
      return rest
    } finally {
      if (!goesOn) {
        leading = undefined
        if (session.isOpen()) await session.query(`select pg_advisory_unlock(${lock})`)
      }
    }
  }
}
