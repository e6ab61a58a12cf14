import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openProbe } from '../../shared/postgres/ping.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { AppError, toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Clock } from './clock.ts'
import { pause } from '../../shared/pause.ts'

/** `behind`: by more than a minute; `down`: it does not answer, or lacks the schema. */
export type ReplicaState = 'up' | 'behind' | 'down'

/** A replica of the trace database, and what is known of it. */
export interface Replica {
  readonly address: DatabaseAddress
  readonly state: () => ReplicaState
  /**
   * Milliseconds: what was acknowledged longer ago is sure to be there. Undefined until the replica
   * has answered once.
   */
  readonly lagMs: () => number | undefined
  /** Notes the time of the last beat that has reached the replica, by PostgreSQL's clock. */
  readonly noteBeat: (beatMs: number) => void
  readonly noteFailure: (reason: string) => void
}

/** Above it readers are better served by the primary. */
const MAX_LAG_MS = 60_000

/** Knows nothing of the replica until `followReplica` runs. */
export function createReplica(
  address: DatabaseAddress,
  { clock, log }: { clock: Pick<Clock, 'now'>; log: Log },
): Replica {
  let beatMs: number | undefined
  let answers = false
  let told: ReplicaState | undefined
  const lagMs = (): number | undefined =>
    beatMs === undefined ? undefined : Math.max(0, Math.ceil(clock.now() - beatMs))
  const state = (): ReplicaState => {
    if (!answers) return 'down'
    return (lagMs() ?? Infinity) > MAX_LAG_MS ? 'behind' : 'up'
  }
  const tell = (reason?: string): void => {
    if (state() === told) return
    told = state()
    if (told === 'up') log.info('traces are read from the replica')
    else log.warn({ replica: told, lag_ms: lagMs(), reason }, 'traces are read from the primary')
  }
  return {
    address,
    state,
    lagMs,
    noteBeat(ms) {
      // A replica behind several addresses may answer with an older one.
      beatMs = ms
      answers = true
      tell()
    },
    noteFailure(reason) {
      answers = false
      tell(reason)
    },
  }
}

/** The primary, its replica if there is one, and the schema that it needs. */
interface FollowOptions {
  /** The primary. */
  readonly address: DatabaseAddress
  readonly replica: Replica | undefined
  /** The schema's version, which the replica must have. */
  readonly version: number
  readonly log: Log
  readonly signal: AbortSignal
}

const BEAT_MS = 1000

/**
 * Measures how far the replica is behind, until the signal: writes the time into the primary each
 * second, and looks which time has reached the replica. Commits arrive there in their order, so all
 * that was committed before that time is there; unlike positions in the log this holds for every
 * kind of replication.
 */
export async function followReplica(options: FollowOptions): Promise<void> {
  const { address, replica, version, log, signal } = options
  if (!replica) return
  const primary = openProbe(address, { name: 'collector-beat', ask: beat })
  const look = (sql: Database): Promise<number> => readBeat(sql, version)
  const copy = openProbe(replica.address, { name: 'collector-replica', ask: look })
  do {
    const [beaten, seen] = await Promise.allSettled([primary.ask(), copy.ask()])
    if (beaten.status === 'rejected') {
      log.debug({ reason: toError(beaten.reason).message }, 'the beat was not written')
    }
    if (seen.status === 'fulfilled') replica.noteBeat(seen.value)
    else replica.noteFailure(toError(seen.reason).message)
  } while (await pause(signal, BEAT_MS))
  await Promise.all([primary.close(), copy.close()])
}

/** Many replicas of the collector share one beat. */
const beat = (sql: Database) => sql`
  insert into heartbeat (beat_at) values (statement_timestamp())
  on conflict (only_row) do update set beat_at = excluded.beat_at
  where heartbeat.beat_at < excluded.beat_at - interval '500 ms'`

/** Raises `unavailable` while the replica has an older schema, or no beat. */
async function readBeat(sql: Database, needed: number): Promise<number> {
  const [row] = await sql<{ ms: number | null; version: number | null }[]>`
    select (select (extract(epoch from beat_at) * 1000)::float8 from heartbeat) as ms,
      (select max(version) from schema_migrations) as version`
  if (!row || row.ms === null || (row.version ?? 0) < needed) {
    throw new AppError(
      'unavailable',
      `The replica has schema version ${row?.version ?? 'none'}; ${needed} is needed.`,
    )
  }
  return row.ms
}
