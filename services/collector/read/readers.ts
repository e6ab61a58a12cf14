import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { AppError } from '../../shared/errors.ts'
import { sqlState } from '../../shared/postgres/failures.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { openReader } from './reader.ts'
import type { Reader } from './reader.ts'
import type { Replica } from './replica.ts'

/** The questions of one answer, which all go to the same server while that can answer. */
export interface AnswerReader extends Pick<Reader, 'ask'> {
  /**
   * Milliseconds: whatever was acknowledged longer before the first question is in the answer. 0
   * when the primary answered, undefined when there is no replica.
   */
  readonly lagMs: () => number | undefined
}

/** The connections of the read API. */
export interface Readers {
  readonly open: () => AnswerReader
  readonly close: () => Promise<void>
}

/**
 * Opens connections to the trace database, and to its replica if there is one. Answers come from
 * the replica; while it is down or far behind, and when it cancels a question, from the primary:
 * the read API has few connections and short statements, which the primary can bear. While the
 * primary is unavailable they come from a replica that is far behind, too.
 */
export function openReaders(address: DatabaseAddress, replica: Replica | undefined): Readers {
  const primary = openReader(address)
  if (!replica) {
    return {
      open: () => ({ ask: (question) => primary.ask(question), lagMs: () => undefined }),
      close: () => primary.close(),
    }
  }
  const copy = openReader(replica.address)
  return {
    open: () => openAnswer({ primary, copy, replica }),
    close: async () => {
      await Promise.all([primary.close(), copy.close()])
    },
  }
}

interface Sources {
  readonly primary: Reader
  readonly copy: Reader
  readonly replica: Replica
}

function openAnswer({ primary, copy, replica }: Sources): AnswerReader {
  let isFromCopy = replica.state() === 'up'
  let lagMs = isFromCopy ? replica.lagMs() : 0
  let isFirst = true
  /**
   * The primary has all that the replica has. The other way round only the first question may move:
   * later ones could miss what an earlier one has found.
   */
  const canMove = (wasFromCopy: boolean, wasFirst: boolean): boolean =>
    wasFromCopy || (wasFirst && replica.state() === 'behind')
  return {
    lagMs: () => lagMs,
    async ask<Rows>(question: (sql: Database) => Promise<Rows>): Promise<Rows> {
      const wasFirst = isFirst
      isFirst = false
      const wasFromCopy = isFromCopy
      try {
        return await (wasFromCopy ? copy : primary).ask(question)
      } catch (thrown) {
        if (!isForOthers(thrown) || !canMove(wasFromCopy, wasFirst)) throw thrown
        isFromCopy = !wasFromCopy
        if (wasFirst) lagMs = isFromCopy ? replica.lagMs() : 0
        return await (isFromCopy ? copy : primary).ask(question)
      }
    },
  }
}

/** A replica cancels a question that needs rows which the primary has removed since. */
const CONFLICT_WITH_RECOVERY = '40001'

const isForOthers = (thrown: unknown): boolean =>
  (thrown instanceof AppError && thrown.code === 'unavailable') ||
  sqlState(thrown) === CONFLICT_WITH_RECOVERY
