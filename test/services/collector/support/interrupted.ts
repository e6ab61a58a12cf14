import type { Session } from '../../../../services/shared/postgres/copy/copy-connection.ts'

/** A session on which something happens before each statement, which has a number from 0 on. */
export function interrupted(
  session: Session,
  before: (statement: number) => Promise<void>,
): Session {
  let statements = 0
  return {
    isOpen: () => session.isOpen(),
    async query(statement) {
      await before(statements++)
      return session.query(statement)
    },
    async rows(statement) {
      await before(statements++)
      return session.rows(statement)
    },
  }
}
