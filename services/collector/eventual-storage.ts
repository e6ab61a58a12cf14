import { finishErasures } from './store/erasures/erase-trace.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { createBells } from '../shared/bell.ts'
import type { DatabaseAddress } from '../shared/postgres/address.ts'
import { connectDatabase } from '../shared/postgres/database.ts'
import { toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Clock } from './store/clock.ts'
import { createArchivedEnds } from './store/archive/archived-ends.ts'
import { retentionWeeks, storageLimit } from './env.ts'
import type { CollectorConfig } from './env.ts'
import type { ColdDays } from './store/archive/cold-days.ts'
import { ddlAddress } from './store/ddl-address.ts'
import type { Health } from './store/health.ts'
import {
  guardSpace,
  maintain,
  maintainHourly,
  watchClock,
  watchDatabase,
} from './store/maintenance.ts'
import type { Memory } from './otlp/memory.ts'
import type { CollectorMetrics } from './observability/metrics.ts'
import { pause } from '../shared/pause.ts'
import type { Price } from '../shared/prices/price-table.ts'
import { followReplica } from './store/replica.ts'
import type { Replica } from './store/replica.ts'
import { keepRolledUp, watchRollUps } from './store/roll-ups/keep-rolled-up.ts'
import type { Redaction } from './otlp/redaction/redaction.ts'
import { keepDaysSummed } from './store/roll-ups/keep-days-summed.ts'
import { keepExtracted, watchExtraction } from './store/search/keep-extracted.ts'
import { prepareSearch } from './store/search/prepare-search.ts'
import type { SearchState } from './store/search/prepare-search.ts'
import { prepareSchema } from './schema.ts'
import { createDropGuard } from './store/spans/drop-guard.ts'
import { keepExpired } from './store/spans/expire-organizations.ts'
import { createPartitions } from './store/spans/partitions.ts'
import { createStorage } from './store/spans/storage.ts'
import type { Storage } from './store/spans/storage.ts'
import type { Revocations } from './tokens/revocations.ts'
import { watchRevocations } from './tokens/watch-revocations.ts'

/** The parts that the storage and its background work use. */
export interface EventualStorageOptions {
  readonly config: CollectorConfig
  readonly address: DatabaseAddress
  readonly log: Log
  /** The pod's clock; milliseconds since 1970. */
  readonly now: () => number
  readonly clock: Clock
  readonly metrics: CollectorMetrics
  readonly health: Health
  readonly memory: Memory
  readonly prices: readonly Price[]
  /** Undefined where there is no store of archived days. */
  readonly cold: ColdDays | undefined
  /** Undefined when reads come from the database itself. */
  readonly replica: Replica | undefined
  /** Undefined when texts are stored as they come. */
  readonly redaction: Redaction | undefined
  /** The interval at which the limit of the storage is checked. */
  readonly spaceCheckMs: number
  readonly revocations: Revocations
  /** The interval at which the list of revoked tokens is read. */
  readonly revocationsMs: number
}

/** The storage of a collector that starts before its database is ready. */
export interface EventualStorage {
  /** Undefined until the database is ready. */
  current(): Storage | undefined
  /** Whether texts can be searched; off until the database is ready. */
  search(): SearchState
  /**
   * Resolves when the database is ready, however long that takes, or when the storage is closed.
   */
  prepare(): Promise<void>
  /** Writes what is queued, ends the work in the background, and closes the connections. */
  close(): Promise<void>
}

const RETRY_MS = 1000
const FLUSH_MS = 5000
const CLOSE_MS = 2000

/** Opens nothing until `prepare` is called. */
export function createEventualStorage(options: EventualStorageOptions): EventualStorage {
  const stopping = new AbortController()
  let opened: OpenStorage | undefined
  const open = async (): Promise<boolean> => {
    try {
      opened = await openStorage(options, stopping.signal)
      return true
    } catch (thrown) {
      const reason = toError(thrown).message
      options.log.error({ reason }, 'the database is not ready; trying again')
      return false
    }
  }
  const openInTime = async (): Promise<void> => {
    while (!(await open()) && (await pause(stopping.signal, RETRY_MS)));
  }
  let prepared: Promise<void> | undefined
  return {
    current: () => opened?.storage,
    search: () => opened?.search ?? 'off',
    prepare: () => (prepared ??= openInTime()),
    async close() {
      stopping.abort()
      await prepared
      await opened?.storage.stop(FLUSH_MS)
      await opened?.endBackground()
    },
  }
}

interface OpenStorage {
  readonly storage: Storage
  readonly search: SearchState
  endBackground(): Promise<void>
}

/** Migrates the database, opens the storage, and starts the work in the background. */
async function openStorage(
  options: EventualStorageOptions,
  signal: AbortSignal,
): Promise<OpenStorage> {
  const { config, log, now, clock, metrics, health, memory, redaction } = options
  const ddl = ddlAddress(config)
  const { COLLECTOR_CREATE_DATABASE: createDatabase, COLLECTOR_DISTRIBUTE: distribute } = config
  const wanted = { address: ddl, createDatabase, distribute, proof: config, timeoutMs: 0, log }
  const version = await prepareSchema(wanted)
  metrics.migrationVersion.set(version)
  const sql = connectDatabase(ddl, { name: 'collector', max: 2 })
  const background = {
    ...options,
    sql,
    signal,
    ddl,
    bells: createBells(),
    partitions: createPartitions({
      log,
      now: clock.now,
      coordinator: config.COLLECTOR_DDL_DATABASE_URL === undefined ? undefined : ddl,
    }),
    guard: createDropGuard({ clock, log }),
    retentionWeeks: retentionWeeks(config),
    hotDays: config.COLLECTOR_HOT_DAYS,
    organizationRetention: config.COLLECTOR_ORGANIZATION_RETENTION_DAYS ?? new Map(),
    organizationHotDays: config.COLLECTOR_ORGANIZATION_HOT_DAYS ?? new Map(),
    archivedEnds: createArchivedEnds(),
    maxStorageBytes: storageLimit(config),
    writers: config.COLLECTOR_WRITERS,
  }
  let search: SearchState = 'off'
  try {
    await options.revocations.refresh(sql)
    search = await prepareSearch(sql, config.COLLECTOR_SEARCH === 'on')
    await finishErasures(sql, background)
    await maintain(background)
  } catch (error) {
    await sql.end({ timeout: 1 })
    throw error
  }
  const storage = createStorage({ ...background, now, memory, redaction })
  health.notePing(true)
  if (health.phase() === 'starting') health.enter('running')
  log.info({ version }, 'ready')
  const { writingTime } = storage
  const running = runBeside({ ...background, version, writingTime }, search)
  return {
    storage,
    search,
    async endBackground() {
      // A statement on a dead connection must not hold up the stop.
      await Promise.race([running, delay(CLOSE_MS, undefined, { ref: false })])
      await sql.end({ timeout: 1 })
    },
  }
}

type Beside = Parameters<typeof maintainHourly>[0] &
  Parameters<typeof keepRolledUp>[0] &
  Parameters<typeof keepExtracted>[0] &
  Parameters<typeof keepExpired>[0] &
  Parameters<typeof followReplica>[0] &
  Parameters<typeof watchRevocations>[0]

/** Does what is done beside the writing, until the signal. */
async function runBeside(background: Beside, search: SearchState): Promise<void> {
  const jobs = [maintainHourly, watchDatabase, watchClock, guardSpace]
  const atCoordinator = { ...background, address: background.ddl }
  const extraction = search === 'on' ? [keepExtracted, watchExtraction] : []
  const leaders = [keepRolledUp, watchRollUps, keepDaysSummed, keepExpired, ...extraction]
  await Promise.all([
    ...jobs.map((run) => run(background)),
    ...[followReplica, watchRevocations, ...leaders].map((run) => run(atCoordinator)),
  ])
}
