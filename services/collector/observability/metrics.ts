import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'

/**
 * What the collector counts. It balances: spans received = committed + duplicate + rejected + rows
 * in the queue. A span that replaces an earlier one with an earlier end counts as committed.
 */
export interface CollectorMetrics {
  readonly requests: Counter<'code' | 'encoding'>
  /** Calls of gRPC. */
  readonly calls: Counter<'code'>
  readonly refused: Counter<'reason'>
  readonly authFailures: Counter<'reason'>
  readonly received: Counter
  readonly committed: Counter
  readonly duplicates: Counter
  readonly rejected: Counter<'reason'>
  readonly truncatedStrings: Counter
  readonly droppedItems: Counter<'kind'>
  readonly duplicateKeys: Counter
  readonly redacted: Counter<'kind'>
  readonly ackSeconds: Histogram
  readonly flushSeconds: Histogram
  readonly flushRows: Histogram
  readonly flushRetries: Counter<'sqlstate_class'>
  readonly lastCommit: Gauge
  readonly migrationVersion: Gauge
  readonly partitions: Gauge
  readonly partitionBytes: Gauge<'partition'>
  readonly storageBytes: Gauge
  readonly storageLimit: Gauge
  readonly retentionSuccess: Gauge
  readonly droppedPartitions: Counter<'reason'>
  readonly heldBackDays: Gauge
  readonly expiredSpans: Counter
  readonly organizationRetentionSuccess: Gauge
  readonly organizationHeldBackDays: Gauge
  readonly rollUpLag: Gauge
  readonly rollUpSeconds: Histogram
  readonly rolledUpTraces: Counter
  readonly rollUpBytes: Gauge
  readonly extractedTexts: Counter
  readonly searchLag: Gauge
}

const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const ROWS = [1, 8, 32, 128, 512, 1024, 2048, 4096, 8192, 16_384]

/** Makes metrics that are registered here. */
function createMakers(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ): Counter<Label> => new Counter({ name: `collector_${name}`, help, labelNames, registers })
  const gauge = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ): Gauge<Label> => new Gauge({ name: `collector_${name}`, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[]): Histogram =>
    new Histogram({ name: `collector_${name}`, help, buckets, registers })
  return { counter, gauge, histogram }
}

/** Registers the metrics that ingest and storage count. */
export function createCollectorMetrics(registry: Registry): CollectorMetrics {
  const { counter, gauge, histogram } = createMakers(registry)
  return {
    requests: counter('http_requests_total', 'Trace submissions answered.', ['code', 'encoding']),
    calls: counter('grpc_requests_total', 'Trace submissions answered over gRPC.', ['code']),
    refused: counter('requests_refused_total', 'Submissions refused as a whole.', ['reason']),
    authFailures: counter('auth_failures_total', 'Submissions without a valid token.', ['reason']),
    received: counter('spans_received_total', 'Spans in submissions that could be read.'),
    committed: counter('spans_committed_total', 'Spans written, or replaced by a later end.'),
    duplicates: counter('spans_duplicate_total', 'Spans that were there already.'),
    rejected: counter('spans_rejected_total', 'Spans refused one by one.', ['reason']),
    truncatedStrings: counter('strings_truncated_total', 'Strings cut to the length limit.'),
    droppedItems: counter('items_dropped_total', 'What spans had too much of.', ['kind']),
    duplicateKeys: counter('duplicate_attribute_keys_total', 'Attribute keys a span gave twice.'),
    redacted: counter('redacted_total', 'Marks written in place of secrets.', ['kind']),
    ackSeconds: histogram('ack_seconds', 'From the head of a submission to its 200.', SECONDS),
    flushSeconds: histogram('flush_seconds', 'Writing one batch, with all retries.', SECONDS),
    flushRows: histogram('flush_rows', 'Rows in a batch.', ROWS),
    flushRetries: counter('flush_retries_total', 'Writes tried again.', ['sqlstate_class']),
    lastCommit: gauge('last_commit_timestamp_seconds', 'When a batch was committed last.'),
    migrationVersion: gauge('migration_version', 'The schema version of the database.'),
    partitions: gauge('partitions', 'Daily partitions.'),
    partitionBytes: gauge('partition_bytes', 'Size of a partition.', ['partition']),
    storageBytes: gauge('storage_bytes', 'Size of all partitions together.'),
    storageLimit: gauge('storage_limit_bytes', 'What they may have together; 0 for no limit.'),
    retentionSuccess: gauge(
      'retention_last_success_timestamp_seconds',
      'When expired days were looked for last.',
    ),
    droppedPartitions: counter('retention_dropped_partitions_total', 'Days dropped.', ['reason']),
    heldBackDays: gauge('retention_held_back_days', 'Expired days that are kept for safety.'),
    expiredSpans: counter(
      'organization_retention_spans_total',
      'Spans deleted of organizations with a shorter retention.',
    ),
    organizationRetentionSuccess: gauge(
      'organization_retention_last_success_timestamp_seconds',
      'When expired spans of an organization were looked for last.',
    ),
    organizationHeldBackDays: gauge(
      'organization_retention_held_back_days',
      'Expired days of organizations that are kept for safety.',
    ),
    rollUpLag: gauge('roll_up_lag_seconds', 'Age of the oldest commit that is not rolled up.'),
    rollUpSeconds: histogram('roll_up_seconds', 'One turn of the leader with work.', SECONDS),
    rolledUpTraces: counter('rolled_up_traces_total', 'Traces brought up to date.'),
    searchLag: gauge('search_lag_seconds', 'Age of the oldest texts that cannot be found yet.'),
    extractedTexts: counter('extracted_texts_total', 'Spans whose texts can be searched.'),
    rollUpBytes: gauge('roll_up_bytes', 'Size of the roll-ups and their notes.'),
  }
}

const REPLICA_STATES = ['up', 'behind', 'down'] as const

/** Values that are read at each scrape. */
interface Observed {
  readonly queueRows: () => number
  readonly queueBytes: () => number
  readonly capacityBytes: () => number
  readonly oldestSeconds: () => number
  readonly databaseUp: () => boolean
  readonly clockSkewSeconds: () => number
  readonly replica:
    | {
        readonly state: () => (typeof REPLICA_STATES)[number]
        readonly lagMs: () => number | undefined
      }
    | undefined
  readonly tokensExpiring: (withinSeconds: number) => number
}

const EXPIRY_SECONDS = { '1h': 3600, '1d': 86_400, '7d': 7 * 86_400, '30d': 30 * 86_400 }

/** Registers the gauges that are read at each scrape. */
export function observe(registry: Registry, observed: Observed): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    const collect = function (this: Gauge): void {
      this.set(read())
    }
    void new Gauge({ name: `collector_${name}`, help, collect, registers: [registry] })
  }
  gauge('queue_rows', 'Rows that are not committed yet.', observed.queueRows)
  gauge('queue_bytes', 'Bytes held by requests and rows.', observed.queueBytes)
  gauge('queue_capacity_bytes', 'Bytes that may be held.', observed.capacityBytes)
  gauge('oldest_unflushed_seconds', 'Age of the oldest uncommitted row.', observed.oldestSeconds)
  gauge('db_up', '1 while the database answers.', () => Number(observed.databaseUp()))
  const skew = "How far the pod's clock is ahead of PostgreSQL's."
  gauge('clock_skew_seconds', skew, observed.clockSkewSeconds)
  gauge(
    'replica_lag_seconds',
    'How far the replica that is read from may be behind.',
    () => (observed.replica?.lagMs() ?? 0) / 1000,
  )
  observeReplica(registry, observed)
  observeTokens(registry, observed)
}

function observeReplica(registry: Registry, { replica }: Observed): void {
  const collect = function (this: Gauge<'state'>): void {
    if (!replica) return
    for (const state of REPLICA_STATES) this.set({ state }, Number(replica.state() === state))
  }
  void new Gauge({
    name: 'collector_replica',
    help: '1 for the state of the replica that is read from; nothing where there is none.',
    labelNames: ['state'],
    collect,
    registers: [registry],
  })
}

function observeTokens(registry: Registry, { tokensExpiring }: Observed): void {
  const collect = function (this: Gauge<'within'>): void {
    for (const [within, seconds] of Object.entries(EXPIRY_SECONDS)) {
      this.set({ within }, tokensExpiring(seconds))
    }
  }
  void new Gauge({
    name: 'collector_tokens_expiring',
    help: 'Long-lived tokens, used in the last hour, that expire soon.',
    labelNames: ['within'],
    collect,
    registers: [registry],
  })
}
