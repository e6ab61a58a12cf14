import { deadline } from '../../shared/deadline.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { listRevokedIds } from './revoked-tokens.ts'

/** The list of revoked tokens, as this process knows it. */
export interface Revocations {
  isRevoked(id: string): boolean
  /** Reads the list anew. Raises an error, and keeps the list, when it cannot be read. */
  refresh(sql: Database): Promise<void>
  /** True when the list is so old that a token may have been revoked a minute ago. */
  isStale(): boolean
}

/** A revoked token is refused after this time, unless the health says otherwise. */
const REVOKED_WITHIN_MS = 60_000
const READ_MS = 5000

/** A list that is empty until it is read; `now` is in milliseconds and never goes back. */
export function createRevocations(now = (): number => performance.now()): Revocations {
  let ids: ReadonlySet<string> = new Set()
  let readAt: number | undefined
  return {
    isRevoked: (id) => ids.has(id),
    async refresh(sql) {
      // The list is as old as the question, not as the answer.
      const askedAt = now()
      const list = { name: 'The list of revoked tokens', timeoutMs: READ_MS }
      ids = new Set(await deadline(list, () => listRevokedIds(sql)))
      readAt = askedAt
    },
    isStale: () => readAt !== undefined && now() - readAt > REVOKED_WITHIN_MS,
  }
}
