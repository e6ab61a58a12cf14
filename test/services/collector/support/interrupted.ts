import type { TurnSession } from '../../../../services/collector/store/roll-ups/write-noted.ts'

/** A session on which something happens before each statement, which has a number from 0 on. */
export function interrupted(
  session: TurnSession,
  before: (statement: number) => Promise<void>,
): TurnSession {
  let statements = 0
  return {
    ...session,
    async query(statement) {
      await before(statements++)
      return session.query(statement)
    },
    async rows(statement) {
      await before(statements++)
      return session.rows(statement)
    },
    async copy(statement, ...streams) {
      await before(statements++)
      return session.copy(statement, ...streams)
    },
    async copyOut(given, onRow) {
      await before(statements++)
      return session.copyOut(given, onRow)
    },
  }
}
