import type { Database } from '../../shared/postgres/database.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openDatabasePing } from '../../shared/postgres/ping.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { removeFiles } from './archive/archive-files.ts'
import { readArchiveState, releaseRestored } from './archive/archived-days.ts'
import type { ArchivedEnds } from './archive/archived-ends.ts'
import type { ColdDays } from './archive/cold-days.ts'
import type { Clock } from './clock.ts'
import { relaxErasures } from './erasures/erase-trace.ts'
import type { Health } from './health.ts'
import type { CollectorMetrics } from '../observability/metrics.ts'
import { pause } from '../../shared/pause.ts'
import { openCopyConnection } from '../../shared/postgres/copy/copy-connection.ts'
import type { DaysByOrganization } from './spans/days-by-organization.ts'
import type { DropGuard } from './spans/drop-guard.ts'
import { dayOf } from './spans/partitions.ts'
import type { Partitions } from './spans/partitions.ts'
import { recordRetention } from './spans/record-retention.ts'
import {
  dropExpired,
  dropOldest,
  findFullDay,
  partitionSizes,
  rollUpSize,
  storedBytes,
  sumOf,
} from './spans/retention.ts'

interface MaintenanceOptions {
  readonly sql: Database
  readonly address: DatabaseAddress
  /** Where days are dropped: the same one, or the coordinator of Citus. */
  readonly ddl: DatabaseAddress
  readonly partitions: Partitions
  readonly health: Health
  readonly metrics: CollectorMetrics
  readonly log: Log
  readonly clock: Clock
  readonly guard: DropGuard
  readonly retentionWeeks: number
  /** Undefined where no days are archived. */
  readonly hotDays: number | undefined
  readonly organizationHotDays: DaysByOrganization
  readonly archivedEnds: ArchivedEnds
  /** Undefined where there is no store of archived days. */
  readonly cold: ColdDays | undefined
  /** Of all days together; undefined for no limit. */
  readonly maxStorageBytes: number | undefined
  readonly spaceCheckMs: number
  readonly signal: AbortSignal
}

const HOUR_MS = 3_600_000
const AFTER_FAILURE_MS = 60_000
const PING_MS = 1000
const CLOCK_MS = 10_000

/** Creates the partitions of the coming days and drops the expired ones, once. */
export async function maintain(options: MaintenanceOptions): Promise<void> {
  const { sql, clock } = options
  await clock.ask(sql)
  await recordRetention(sql, options)
  await createDays(options)
  await retain(options)
  await measure(options)
  await relaxErasures(options.sql)
  await maintainArchive(options)
}

/** A store that is unavailable keeps nothing else from being done. */
async function maintainArchive(options: MaintenanceOptions): Promise<void> {
  const { sql, cold, health, log, archivedEnds } = options
  await archivedEnds.refresh(sql)
  await releaseRestored(sql)
  const archive = await readArchiveState(sql)
  health.noteArchive({ ...archive, isOpen: cold !== undefined })
  try {
    if (cold) await removeFiles({ sql, store: cold.store })
  } catch (thrown) {
    log.error({ reason: toError(thrown).message }, 'files of archived days are not removed yet')
  }
}

async function retain(options: MaintenanceOptions): Promise<void> {
  const { clock, health, metrics, retentionWeeks: weeks } = options
  const retained = await dropExpired({ ...options, address: options.ddl, weeks })
  if (!retained) return
  metrics.droppedPartitions.inc({ reason: 'expired' }, retained.dropped.length)
  metrics.heldBackDays.set(retained.heldBack)
  health.noteDays({ heldBack: retained.heldBack })
  if (!clock.isSkewed()) metrics.retentionSuccess.set(clock.now() / 1000)
}

/** The bytes of all days together, with their roll-ups. */
async function measure(options: MaintenanceOptions): Promise<number> {
  const { sql, metrics, health, clock, maxStorageBytes: maxBytes, hotDays } = options
  const sizes = await partitionSizes(sql)
  const rollUpBytes = await rollUpSize(sql)
  const total = storedBytes(sumOf(sizes.map(({ bytes }) => bytes)), rollUpBytes)
  metrics.rollUpBytes.set(rollUpBytes)
  metrics.partitions.set(sizes.length)
  metrics.storageBytes.set(total)
  metrics.partitionBytes.reset()
  for (const { name, bytes } of sizes) metrics.partitionBytes.set({ partition: name }, bytes)
  const keptDays = Math.floor(Math.min(options.retentionWeeks * 7, hotDays ?? Infinity))
  const today = dayOf(clock.now())
  const fill = { total, keptDays, today }
  const fullOn = maxBytes === undefined ? null : findFullDay(sizes, { ...fill, maxBytes })
  health.noteDays({ fullOn })
  return total
}

/** Keeps all days together within their limit, if there is one, until the signal. */
export async function guardSpace(options: MaintenanceOptions): Promise<void> {
  const { maxStorageBytes, metrics, log } = options
  if (maxStorageBytes === undefined) return
  metrics.storageLimit.set(maxStorageBytes)
  // An increase shows only in a series that has begun.
  metrics.droppedPartitions.inc({ reason: 'storage_limit' }, 0)
  do {
    try {
      await makeSpace(options, maxStorageBytes)
    } catch (thrown) {
      log.error({ reason: toError(thrown).message }, 'the size of the storage is not known')
    }
  } while (await pause(options.signal, options.spaceCheckMs))
}

async function makeSpace(options: MaintenanceOptions, maxBytes: number): Promise<void> {
  const { health, metrics } = options
  let kept = await measure(options)
  if (kept > maxBytes) {
    const dropped = await dropOldest({ ...options, address: options.ddl, maxBytes })
    // Another replica is making space: what comes of it shows next time.
    if (!dropped) return
    metrics.droppedPartitions.inc({ reason: 'storage_limit' }, dropped.length)
    health.noteDays({ droppedEarly: dropped.length })
    kept = await measure(options)
  }
  health.noteSpace(kept <= maxBytes)
}

async function createDays({ address, partitions }: MaintenanceOptions): Promise<void> {
  const session = await openCopyConnection(address, { name: 'collector-writer' })
  try {
    await partitions.ensureAhead(session)
  } finally {
    session.close()
  }
}

/** Runs `maintain` each hour, and sooner after a failure, until the signal. */
export async function maintainHourly(options: MaintenanceOptions): Promise<void> {
  while (await pause(options.signal, await pauseAfterRun(options)));
}

async function pauseAfterRun(options: MaintenanceOptions): Promise<number> {
  try {
    await maintain(options)
    return HOUR_MS
  } catch (thrown) {
    options.log.error({ reason: toError(thrown).message }, 'maintenance failed')
    return AFTER_FAILURE_MS
  }
}

/**
 * Keeps the health check's view of the database fresh while nothing is written, until the signal.
 */
export async function watchDatabase(options: MaintenanceOptions): Promise<void> {
  const database = openDatabasePing(options.address, { name: 'collector-ping' })
  do {
    try {
      await database.ping()
      options.health.notePing(true)
    } catch (thrown) {
      options.health.notePing(false, { reason: toError(thrown).message })
    }
  } while (await pause(options.signal, PING_MS))
  await database.close()
}

/** Follows PostgreSQL's clock until the signal. */
export async function watchClock({ sql, clock, log, signal }: MaintenanceOptions): Promise<void> {
  while (await pause(signal, CLOCK_MS)) {
    try {
      await clock.ask(sql)
    } catch (thrown) {
      log.debug({ reason: toError(thrown).message }, 'PostgreSQL did not tell its time')
    }
  }
}
