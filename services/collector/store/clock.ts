import type { Database } from '../../shared/postgres/database.ts'
import type { Log } from '../../shared/log.ts'

/** PostgreSQL's time, which all replicas share and which the days are dropped by. */
export interface Clock {
  /**
   * Milliseconds since 1970 by PostgreSQL; by the pod until PostgreSQL was first asked. Costs no
   * query.
   */
  readonly now: () => number
  /**
   * Milliseconds by which the pod's clock is ahead of PostgreSQL's; 0 until PostgreSQL was first
   * asked.
   */
  readonly skewMs: () => number
  /** True while the two clocks differ so much that one of them must be wrong. */
  readonly isSkewed: () => boolean
  /** Asks PostgreSQL for its time. */
  readonly ask: (sql: Database) => Promise<void>
}

/** Clocks that differ by more are not merely imprecise. */
const MAX_SKEW_MS = 3_600_000

/**
 * Follows PostgreSQL's clock. Between two answers the time that has passed is counted by a clock
 * that nobody sets, so that a correction of the pod's clock changes nothing.
 */
export function createClock({ podNow, log }: { podNow: () => number; log: Log }): Clock {
  let answer: { serverMs: number; at: number } | undefined
  let skewMs = 0
  const isSkewed = (): boolean => Math.abs(skewMs) > MAX_SKEW_MS
  return {
    now: () => (answer ? answer.serverMs + performance.now() - answer.at : podNow()),
    skewMs: () => skewMs,
    isSkewed,
    async ask(sql) {
      const asked = performance.now()
      const serverMs = await readServerTime(sql)
      answer = { serverMs, at: (asked + performance.now()) / 2 }
      const wasSkewed = isSkewed()
      skewMs = Math.round(podNow() - serverMs)
      if (isSkewed() !== wasSkewed) tellSkew(log, skewMs)
    },
  }
}

async function readServerTime(sql: Database): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
  return row?.ms ?? Date.now()
}

function tellSkew(log: Log, skewMs: number): void {
  const facts = { clock_skew_ms: skewMs }
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return log.info(facts, 'the clocks agree again')
  log.error(
    facts,
    'the clocks of this pod and of PostgreSQL differ by more than an hour; no days are dropped ' +
      'until they agree. Set the clock of the node that is wrong',
  )
}
