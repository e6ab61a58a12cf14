import type { Bells } from '../../../shared/bell.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import type { Log } from '../../../shared/log.ts'
import type { Price } from '../../../shared/prices/price-table.ts'
import { createCallPrices } from '../roll-ups/call-price.ts'
import type { Clock } from '../clock.ts'
import type { Health } from '../health.ts'
import type { Memory } from '../../otlp/memory.ts'
import type { CollectorMetrics } from '../../observability/metrics.ts'
import { POSTGRES_EPOCH_US } from '../../otlp/limits.ts'
import { createTranscoder } from '../../otlp/transcode.ts'
import type { RequestFacts } from '../../otlp/transcode.ts'
import type { Redaction } from '../../otlp/redaction/redaction.ts'
import { createGroupCommit } from './group-commit.ts'
import type { GroupCommit, SubmissionFacts } from './group-commit.ts'
import { createIdentityStore } from './identity-store.ts'
import { organizationCutoff } from './days-by-organization.ts'
import type { DaysByOrganization } from './days-by-organization.ts'
import type { ArchivedEnds } from '../archive/archived-ends.ts'
import type { Partitions } from './partitions.ts'
import { retentionCutoff } from './retention.ts'
import { createTraceRows } from './trace-row.ts'
import { createWriter } from './writer.ts'
import type { Writer, Written } from './writer.ts'
import { createWritingTime } from './writing-share.ts'
import type { WritingTime } from './writing-share.ts'

interface StorageOptions {
  readonly address: DatabaseAddress
  readonly partitions: Partitions
  readonly memory: Memory
  /** They ring after each commit. */
  readonly bells: Bells
  readonly health: Health
  readonly metrics: CollectorMetrics
  readonly log: Log
  /** The pod's own, for ages. */
  readonly now: () => number
  readonly clock: Clock
  readonly writers: number
  readonly retentionWeeks: number
  /** Undefined where no days are archived: spans of such days are not taken. */
  readonly hotDays?: number | undefined
  readonly organizationRetention: DaysByOrganization
  readonly organizationHotDays: DaysByOrganization
  readonly archivedEnds: ArchivedEnds
  readonly prices: readonly Price[]
  /** Undefined when texts are stored as they come. */
  readonly redaction?: Redaction | undefined
}

/** Commits rows until it is stopped. */
export interface Storage {
  readonly commit: GroupCommit
  readonly writingTime: Pick<WritingTime, 'watch'>
  /** Writes what is left, for `timeoutMs` at the most, and closes the connections. */
  stop(timeoutMs: number): Promise<void>
}

const FUTURE_MS = 86_400_000

/** The way from request bodies to committed rows. */
export function createStorage(options: StorageOptions): Storage {
  const { now, clock, metrics, memory } = options
  const stopping = new AbortController()
  const writers = createWriters(options, stopping.signal)
  const writingTime = createWritingTime(options.writers)
  const commit = createGroupCommit({
    transcode: createTranscoder(memory, options.redaction),
    memory,
    writers,
    now,
    window: () => windowAt(clock.now(), options),
    onWritten(written, facts) {
      countWritten(metrics, written, facts)
      writingTime.note(facts.seconds)
      options.bells.ring()
      metrics.lastCommit.set(clock.now() / 1000)
    },
  })
  return {
    commit,
    writingTime,
    async stop(timeoutMs) {
      const timer = setTimeout(() => stopping.abort(), timeoutMs)
      try {
        await commit.drain()
      } catch {
        const { rows } = commit.state()
        options.log.warn({ rows }, 'stopped with rows that were never acknowledged')
      } finally {
        clearTimeout(timer)
        for (const writer of writers) writer.close()
      }
    },
  }
}

/**
 * Spans may start between the end of their retention and a day from now, and in no day that is
 * archived, whatever the days of now say.
 */
function windowAt(
  nowMs: number,
  options: StorageOptions,
): Omit<RequestFacts, keyof SubmissionFacts> {
  const { retentionWeeks, hotDays = Infinity, archivedEnds } = options
  const { organizationRetention, organizationHotDays } = options
  const cutoff = retentionCutoff(nowMs, Math.min(retentionWeeks, hotDays / 7))
  const oldest = Math.max(cutoff, archivedEnds.ofAll())
  const hasOwn =
    organizationRetention.size + organizationHotDays.size > 0 || archivedEnds.hasParts()
  return {
    oldest: toMicros(oldest),
    newest: toMicros(nowMs + FUTURE_MS),
    oldestOf: hasOwn
      ? (organization) =>
          toMicros(
            Math.max(
              oldest,
              organizationCutoff(organizationRetention, organization, nowMs) ?? -Infinity,
              organizationCutoff(organizationHotDays, organization, nowMs) ?? -Infinity,
              archivedEnds.of(organization),
            ),
          )
      : undefined,
  }
}

/** Milliseconds since 1970 as microseconds since 2000. */
const toMicros = (ms: number): number => ms * 1000 - POSTGRES_EPOCH_US

function createWriters(options: StorageOptions, signal: AbortSignal): Writer[] {
  const { address, partitions, health, metrics, log, clock, prices } = options
  const shared = {
    address,
    partitions,
    storeIdentities: createIdentityStore(clock.now),
    rowsOf: createTraceRows(createCallPrices(prices)),
    signal,
    onCommit: () => health.noteWrite(true),
    onFailure: (error: Error, sqlstate: string | undefined) => {
      metrics.flushRetries.inc({ sqlstate_class: sqlstate?.slice(0, 2) ?? 'none' })
      log.debug({ sqlstate, reason: error.message }, 'write failed; it will be tried again')
      if (sqlstate?.startsWith('40') !== true) {
        health.noteWrite(false, { sqlstate, reason: error.message })
      }
    },
  }
  return Array.from({ length: options.writers }, () => createWriter(shared))
}

function countWritten(
  metrics: CollectorMetrics,
  { committed, duplicates, rejected }: Written,
  { rows, seconds }: { rows: number; seconds: number },
): void {
  metrics.committed.inc(committed)
  metrics.duplicates.inc(duplicates)
  metrics.rejected.inc({ reason: 'refused_by_database' }, rejected.length)
  metrics.flushRows.observe(rows)
  metrics.flushSeconds.observe(seconds)
}
