import type { Bells } from '../../../shared/bell.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import type { TurnSession } from './write-noted.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { ColdDays } from '../archive/cold-days.ts'
import { findArchived } from '../archive/find-archived.ts'
import type { Health } from '../health.ts'
import type { CollectorMetrics } from '../../observability/metrics.ts'
import { pause } from '../../../shared/pause.ts'
import type { Price } from '../../../shared/prices/price-table.ts'
import { BUSY } from '../spans/writing-share.ts'
import type { WritingShare, WritingTime } from '../spans/writing-share.ts'
import { asLeader } from '../as-leader.ts'
import type { Led } from '../as-leader.ts'
import { takeTurns } from '../take-turns.ts'
import { openTurns, takeTurn } from './roll-up-turn.ts'
import type { Turn } from './roll-up-turn.ts'

/** The parts that bring the roll-ups up to date. */
interface RollUpOptions {
  readonly sql: Database
  readonly address: DatabaseAddress
  readonly prices: readonly Price[]
  /** Undefined where there is no store of archived days. */
  readonly cold: ColdDays | undefined
  readonly metrics: CollectorMetrics
  readonly health: Health
  readonly bells: Bells
  readonly log: Log
  readonly signal: AbortSignal
  readonly writingTime: Pick<WritingTime, 'watch'>
}

/** Any number: who holds it takes all turns. */
const LEADING_LOCK = 7_310_452_134
const SHORTEST_MS = 250
const LONGEST_MS = 2000
/** It rests for this many times as long as it worked, */
const REST = 3
/** but begins again before what came meanwhile is this old. */
const IN_TIME_MS = 900
const AFTER_FAILURE_MS = 2000
/** A turn that takes longer is planned anew; to plan takes some 20 ms. */
const SLOW_MS = 1000
const LAG_MS = 5000
/** From this age of the oldest note on it rests less. */
const BEHIND_MS = 1000
const REST_BEHIND = 0.25
/**
 * What it rests for while the writers are busy, as a multiple of what it worked for, until the
 * oldest note has each of these ages.
 */
const RESTS_BUSY = [
  { untilMs: 5000, times: 8 },
  { untilMs: 10_000, times: 2 },
  { untilMs: 20_000, times: 1 },
] as const

/**
 * Takes turns as the leader until the signal. Senders come first: it rests after each for three
 * times as long as that took, but no longer than lists can wait, or a quarter of it while it is
 * behind. Below busy writers it rests for eight times as long until lists are five seconds late,
 * and less the later they are. So it takes less than one of the server's cores, whatever arrives.
 * Then the roll-ups come later, and `collector_roll_up_lag_seconds` tells by how much.
 */
export function keepRolledUp(options: RollUpOptions): Promise<void> {
  const { address, prices } = options
  const bringBack = createBringer(options)
  const writingShare = options.writingTime.watch()
  return takeTurns({
    ...options,
    open: () => openTurns(address, prices),
    take: asLeader(LEADING_LOCK, (session: TurnSession) =>
      takeMeasuredTurn(session, { ...options, bringBack, writingShare }),
    ),
    afterFailureMs: AFTER_FAILURE_MS,
    failure: 'the roll-ups are not up to date',
  })
}

type Bringer = (archived: Turn['archived']) => void

/** Brings spans back for traces that go on after they were archived, beside the turns. */
function createBringer({ sql, cold, log }: RollUpOptions): Bringer {
  let isBusy = false
  const bring = async (archived: Turn['archived']): Promise<void> => {
    try {
      await cold?.restore(await findArchived(sql, archived))
    } catch (thrown) {
      const reason = toError(thrown).message
      log.error({ reason, traces: archived.length }, 'archived traces wait for their roll-ups')
    }
  }
  return (archived) => {
    if (isBusy || archived.length === 0) return
    isBusy = true
    void bring(archived).finally(() => (isBusy = false))
  }
}

interface TurnOptions extends RollUpOptions {
  readonly bringBack: Bringer
  readonly writingShare: WritingShare
}

async function takeMeasuredTurn(
  session: TurnSession,
  { metrics, bells, bringBack, writingShare }: TurnOptions,
): Promise<Led> {
  const started = performance.now()
  const turn = await takeTurn(session)
  bringBack(turn.archived)
  const ms = performance.now() - started
  // Its plan may be from when a new day's table was empty, and go through all of it.
  if (ms > SLOW_MS) await session.query('discard plans')
  metrics.rolledUpTraces.inc(turn.traces)
  if (turn.traces > 0) metrics.rollUpSeconds.observe(ms / 1000)
  // The texts of these traces, and the sums of their days, can be taken now.
  if (turn.traces > 0) bells.ring()
  const share = writingShare.look()
  return { restMs: restAfter(turn, ms, share), isIdle: turn.isDone, isUnsent: share === 0 }
}

/** How long to rest after a turn that took so many milliseconds, with writers this busy. */
export function restAfter(
  { traces, lagMs, isDone, isLeader }: Omit<Turn, 'archived'>,
  ms: number,
  writingShare: number,
): number {
  const busy = writingShare > BUSY ? RESTS_BUSY.find(({ untilMs }) => lagMs < untilMs) : undefined
  if (busy) return Math.min(Math.max(ms * busy.times, SHORTEST_MS), LONGEST_MS)
  if (lagMs > BEHIND_MS) return ms * REST_BEHIND
  const hasOnlyNoted = isLeader && traces === 0 && !isDone
  if (hasOnlyNoted) return Math.min(ms, LONGEST_MS)
  const inTime = Math.min(ms * REST, IN_TIME_MS - ms)
  return Math.min(Math.max(inTime, ms, SHORTEST_MS), LONGEST_MS)
}

/** Measures until the signal how late the roll-ups are. */
export async function watchRollUps(options: RollUpOptions): Promise<void> {
  const { sql, metrics, health, log, signal } = options
  while (await pause(signal, LAG_MS)) {
    try {
      const seconds = await readLag(sql)
      metrics.rollUpLag.set(seconds)
      health.noteRollUpLag(seconds * 1000)
    } catch (thrown) {
      log.debug({ reason: toError(thrown).message }, 'the lag of the roll-ups is not known')
    }
  }
}

async function readLag(sql: Database): Promise<number> {
  const [row] = await sql<{ seconds: number | null }[]>`
    select extract(epoch from now() - min(noted_at))::float8 as seconds from touched_traces`
  return Math.max(row?.seconds ?? 0, 0)
}
