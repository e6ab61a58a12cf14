import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { AppError } from '../../shared/errors.ts'
import { sqlState } from '../../shared/postgres/failures.ts'
import type { Log } from '../../shared/log.ts'
import { openReaders } from './reader.ts'
import type { ColdReader, Reader } from './reader.ts'
import type { ColdDays } from '../store/archive/cold-days.ts'
import { findArchived, findArchivedDay } from '../store/archive/find-archived.ts'
import type { Replica } from '../store/replica.ts'

/** The questions of one answer, which all go to the same server while that can answer. */
export interface AnswerReader extends Reader {
  /**
   * Milliseconds: whatever was acknowledged longer before the first question is in the answer. 0
   * when the primary answered, undefined when there is no replica.
   */
  readonly lagMs: () => number | undefined
}

/** The connections of the read API. */
export interface AnswerReaders {
  /** One that sees the rows of this organization, or, for undefined, of all. */
  readonly for: (organization: string | undefined) => AnswerReader
  readonly close: () => Promise<void>
}

/**
 * Opens connections to the trace database, and to its replica if there is one. Answers come from
 * the replica; while it is down or far behind, and when it cancels a question, from the primary:
 * the read API has few connections and short statements, which the primary can bear. While the
 * primary is unavailable they come from a replica that is far behind, too.
 */
export function openAnswerReaders(
  address: DatabaseAddress,
  { replica, cold, log }: AnswerReadersOptions,
): AnswerReaders {
  const primaries = openReaders(address, { log })
  if (!replica) {
    return {
      for: (organization) => {
        const reader = { ...primaries.for(organization), lagMs: () => undefined }
        return { ...reader, cold: cold && coldReader(cold, reader, { isFromCopy: () => false }) }
      },
      close: () => primaries.close(),
    }
  }
  const copies = openReaders(replica.address, { log })
  return {
    for: (organization) =>
      openAnswer({
        primary: primaries.for(organization),
        copy: copies.for(organization),
        replica,
        cold,
      }),
    close: async () => {
      await Promise.all([primaries.close(), copies.close()])
    },
  }
}

interface AnswerReadersOptions {
  readonly replica: Replica | undefined
  /** Undefined where there is no store of archived days. */
  readonly cold?: ColdDays | undefined
  readonly log: Log
}

interface Sources {
  readonly primary: Reader
  readonly copy: Reader
  readonly replica: Replica
  readonly cold: ColdDays | undefined
}

function openAnswer({ primary, copy, replica, cold }: Sources): AnswerReader {
  let isFromCopy = replica.state() === 'up'
  let lagMs = isFromCopy ? replica.lagMs() : 0
  let isFirst = true
  /**
   * The primary has all that the replica has. The other way round only the first question may move:
   * later ones could miss what an earlier one has found.
   */
  const canMove = (wasFromCopy: boolean, wasFirst: boolean): boolean =>
    wasFromCopy || (wasFirst && replica.state() === 'behind')
  async function askOne<Result>(
    question: (reader: Reader) => Promise<Result>,
    mayRepeat = (): boolean => true,
  ): Promise<Result> {
    const wasFirst = isFirst
    isFirst = false
    const wasFromCopy = isFromCopy
    try {
      return await question(wasFromCopy ? copy : primary)
    } catch (thrown) {
      const moves = isForOthers(thrown) && canMove(wasFromCopy, wasFirst) && mayRepeat()
      if (!moves) throw thrown
      isFromCopy = !wasFromCopy
      if (wasFirst) lagMs = isFromCopy ? replica.lagMs() : 0
      return question(isFromCopy ? copy : primary)
    }
  }
  const toPrimary = (): void => void (isFromCopy = false)
  const ofPrimary = { isFromCopy: () => isFromCopy, toPrimary }
  return {
    organization: primary.organization,
    cold: cold && coldReader(cold, primary, ofPrimary),
    lagMs: () => lagMs,
    ask: (question) => askOne((reader) => reader.ask(question)),
    askOnce: (statement) => askOne((reader) => reader.askOnce(statement)),
    async copyOut(statement, onRow) {
      let rows = 0
      const count = (row: Buffer): void => {
        rows++
        onRow(row)
      }
      await askOne(
        (reader) => reader.copyOut(statement, count),
        () => rows === 0,
      )
    },
  }
}

interface Place {
  readonly isFromCopy: () => boolean
  readonly toPrimary?: () => void
}

/** Spans are brought back to the primary: what is asked of a replica is then asked there. */
const coldReader = (cold: ColdDays, primary: Reader, place: Place): ColdReader => ({
  async warm(sql, traces, { until, mayMiss } = { until: Infinity, mayMiss: false }) {
    const missing = await findArchived(sql, traces)
    if (missing.length === 0) return true
    const restored = cold.restore(missing).then(() => true)
    const isThere = await inTime(restored, until).catch((thrown: unknown) => {
      if (mayMiss) return false
      throw thrown
    })
    if (isThere && place.isFromCopy())
      throw new AppError('unavailable', 'The spans are on the primary.')
    return isThere === true
  },
  holdersOf: (attribute, file, until) => inTime(cold.holdersOf(attribute, file), until),
  async warmDay(day) {
    const { organization } = primary
    await cold.restore(await primary.ask((sql) => findArchivedDay(sql, day, organization)))
    place.toPrimary?.()
  },
})

/** Undefined when the time is up before. */
async function inTime<Result>(work: Promise<Result>, until: number): Promise<Result | undefined> {
  if (until === Infinity) return work
  const late = new AbortController()
  const isLate = delay(Math.max(0, until - performance.now()), undefined, { signal: late.signal })
  isLate.catch(() => {})
  try {
    return await Promise.race([work, isLate])
  } finally {
    late.abort()
  }
}

/** A replica cancels a question that needs rows which the primary has removed since. */
const CONFLICT_WITH_RECOVERY = '40001'

const isForOthers = (thrown: unknown): boolean =>
  (thrown instanceof AppError && thrown.code === 'unavailable') ||
  sqlState(thrown) === CONFLICT_WITH_RECOVERY
