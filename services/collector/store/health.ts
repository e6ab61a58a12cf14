import type { Log } from '../../shared/log.ts'
import type { Clock } from './clock.ts'
import type { ArchiveState } from './archive/archived-days.ts'
import type { SearchState } from './search/prepare-search.ts'
import type { Replica, ReplicaState } from './replica.ts'
import type { Revocations } from '../tokens/revocations.ts'

/** The state of a collector between its start and its end. */
type Phase = 'starting' | 'running' | 'draining'

/** The body of `/health`. */
export interface HealthReport {
  readonly status: 'ok' | 'degraded' | 'starting' | 'draining'
  readonly database: 'up' | 'down'
  /** `full`: the days have more bytes together than they may, and no spans are taken. */
  readonly storage: 'ok' | 'full'
  /** The date on which the days reach their limit of bytes at today's growth; null for none. */
  readonly storage_full_on: string | null
  /** Expired days that are kept until it is sure that they have expired. */
  readonly days_held_back: number
  /** Days that this pod has dropped before their time, to stay within the limit of bytes. */
  readonly days_dropped_early: number
  /**
   * `skewed`: the pod's clock and PostgreSQL's differ by more than an hour, and no days are
   * dropped.
   */
  readonly clock: 'ok' | 'skewed'
  readonly clock_skew_ms: number
  /** `stale`: the list of revoked tokens was not read for a minute; the last one still holds. */
  readonly revocations: 'ok' | 'stale'
  /** In prompts and answers. */
  readonly search: SearchState
  /** `late`: lists and totals do not show yet what was committed a minute ago. */
  readonly roll_ups: 'ok' | 'late'
  readonly roll_up_lag_ms: number
  /** Days whose spans are in files. */
  readonly archived_days: number
  /** Why the latest day was not archived, or archived days cannot be read; null for nothing. */
  readonly archive_failure: string | null
  readonly queue_bytes: number
  readonly oldest_unflushed_ms: number
  /** Absent where no replica is read from. While it is not `up` reads come from the primary. */
  readonly replica?: ReplicaState
  /** What was acknowledged longer ago is on the replica; null until that is known. */
  readonly replica_lag_ms?: number | null
}

/** Facts for the report from elsewhere. */
interface Observations {
  readonly bytes: number
  readonly oldest: number | undefined
  readonly search: SearchState
  readonly clock: Pick<Clock, 'isSkewed' | 'skewMs'>
  readonly replica?: Pick<Replica, 'state' | 'lagMs'> | undefined
  readonly revocations: Pick<Revocations, 'isStale'>
}

interface DayFacts {
  heldBack: number
  droppedEarly: number
  fullOn: string | null
}

type Why = Readonly<Record<string, string | undefined>>

/** Knows whether spans can be taken, and says why not. */
export interface Health {
  phase(): Phase
  enter(phase: Phase): void
  databaseUp(): boolean
  /** The outcome of a ping. */
  notePing(ok: boolean, why?: Why): void
  /**
   * The outcome of a write: the database may answer and yet take nothing, as when its disk is full.
   */
  noteWrite(ok: boolean, why?: Why): void
  /** Notes if the days are within their limit of bytes. */
  noteSpace(ok: boolean): void
  isFull(): boolean
  /** The outcome of a run of the retention, of making space, or of measuring the days. */
  noteDays(days: Partial<DayFacts>): void
  /** Notes the state of archived days. */
  noteArchive(state: ArchiveState & { readonly isOpen: boolean }): void
  /** Notes how late the roll-ups are. */
  noteRollUpLag(ms: number): void
  report(observed: Observations): HealthReport
}

/** Rows that wait this long for their commit mean trouble, even if the database answers. */
const STALLED_MS = 5000
const LATE_MS = 60_000
const NO_STORE = 'there is no store of archived days, and the spans of these days are not shown'

/**
 * What `GET /health` says (SPEC 4.6, 8). One endpoint serves the startup, liveness and readiness
 * probes, so it fails only while starting and draining: to restart the collector because the
 * database is unavailable would cure nothing and lose the spans it holds.
 */
export function createHealth({ log, now }: { log: Log; now: () => number }): Health {
  let phase: Phase = 'starting'
  let isFull = false
  let rollUpLagMs = 0
  const days: DayFacts = { heldBack: 0, droppedEarly: 0, fullOn: null }
  let archive: ArchiveFacts = { archived_days: 0, archive_failure: null }
  const works = { ping: false, write: true }
  const isUp = (): boolean => works.ping && works.write
  const note = (what: keyof typeof works, ok: boolean, why: Why = {}): void => {
    const before = isUp()
    works[what] = ok
    if (before && !isUp()) log.warn(why, 'the database is unavailable; spans stay in memory')
    if (!before && isUp()) log.info('the database takes spans')
  }
  return {
    phase: () => phase,
    enter: (next) => void (phase = next),
    databaseUp: isUp,
    notePing: (ok, why) => note('ping', ok, why),
    noteWrite: (ok, why) => note('write', ok, why),
    noteSpace(ok) {
      if (isFull && ok) log.info('there is space again; spans are taken')
      if (!isFull && !ok) log.error('the storage is full; no spans are taken')
      isFull = !ok
    },
    isFull: () => isFull,
    noteDays({ heldBack = days.heldBack, droppedEarly = 0, fullOn = days.fullOn }) {
      Object.assign(days, { heldBack, fullOn })
      days.droppedEarly += droppedEarly
    },
    noteArchive: (state) => void (archive = factsOf(state)),
    noteRollUpLag(ms) {
      rollUpLagMs = Math.round(ms)
    },
    report({ bytes, oldest, clock, replica, revocations, search }) {
      const age = oldest === undefined ? 0 : Math.max(0, now() - oldest)
      const isStale = revocations.isStale()
      const isLate = rollUpLagMs > LATE_MS
      const isTimely = age < STALLED_MS && !isStale && !isLate
      const isWell = isUp() && !isFull && !clock.isSkewed() && isTimely
      return {
        status: statusOf(phase, isWell),
        database: isUp() ? 'up' : 'down',
        storage: isFull ? 'full' : 'ok',
        storage_full_on: days.fullOn,
        days_held_back: days.heldBack,
        days_dropped_early: days.droppedEarly,
        ...stateOfClock(clock),
        revocations: isStale ? 'stale' : 'ok',
        search,
        roll_ups: isLate ? 'late' : 'ok',
        roll_up_lag_ms: rollUpLagMs,
        ...archive,
        queue_bytes: bytes,
        oldest_unflushed_ms: age,
        ...stateOf(replica),
      }
    },
  }
}

type ArchiveFacts = Pick<HealthReport, 'archived_days' | 'archive_failure'>

const factsOf = ({ days, failure, isOpen }: ArchiveState & { isOpen: boolean }): ArchiveFacts => ({
  archived_days: days,
  archive_failure: (days > 0 && !isOpen ? NO_STORE : failure) ?? null,
})

const stateOfClock = (
  clock: Observations['clock'],
): Pick<HealthReport, 'clock' | 'clock_skew_ms'> => ({
  clock: clock.isSkewed() ? 'skewed' : 'ok',
  clock_skew_ms: clock.skewMs(),
})

const stateOf = (
  replica: Observations['replica'],
): Pick<HealthReport, 'replica' | 'replica_lag_ms'> =>
  replica ? { replica: replica.state(), replica_lag_ms: replica.lagMs() ?? null } : {}

function statusOf(phase: Phase, isWell: boolean): HealthReport['status'] {
  if (phase !== 'running') return phase
  return isWell ? 'ok' : 'degraded'
}
