import * as v from 'valibot'
import { databaseEnv, postgresUrl } from '../shared/postgres/address.ts'
import { proofEnv } from '../shared/postgres/upgrade-proof.ts'
import { flag, integer, logLevel, optional, quantity, readEnv, text } from '../shared/env.ts'
import type { EnvOf, EnvSource } from '../shared/env.ts'
import { oneOf } from '../shared/schemas.ts'
import { AppError } from '../shared/errors.ts'
import { archiveEnv, openArchiveStore } from './store/archive/archive-store.ts'
import { ddlEnv } from './store/ddl-address.ts'
import { LARGEST_CAPACITY } from './server/admission.ts'
import { REDACTABLE } from './otlp/redaction/redaction.ts'
import { daysByOrganization, requireFewer } from './store/spans/days-by-organization.ts'

/** The words that say what to redact. */
const redactable = v.pipe(
  v.string(),
  v.transform((list) => list.split(',').map((one) => one.trim())),
  v.array(v.picklist(REDACTABLE, `must be a list of ${REDACTABLE.join(', ')}`)),
)

/** The variables of the collector. */
export const collectorEnv = v.object({
  ...databaseEnv,
  PORT: v.optional(integer(0, 65_535), '8080'),
  METRICS_PORT: v.optional(integer(0, 65_535), '9090'),
  HOST: v.optional(text(), '0.0.0.0'),
  /** The port of OTLP/gRPC, which is off when not set. */
  GRPC_PORT: optional(integer(0, 65_535)),
  /** A directory with `tls.crt` and `tls.key`; without it, gRPC is spoken in plain text. */
  GRPC_TLS_DIRECTORY: optional(text()),
  LOG_LEVEL: logLevel,
  STORAGE_TYPE: v.optional(oneOf(['postgres'] as const), 'postgres'),
  SINK_TYPE: v.optional(oneOf(['memory_batch'] as const), 'memory_batch'),
  RETENTION_WEEKS: v.optional(integer(1, 5200), '13'),
  /** Days that spans stay in the database before `archive` moves them; for ever when not set. */
  COLLECTOR_HOT_DAYS: optional(integer(1, 36_400)),
  /** Days that spans are kept at all where they are archived, instead of `RETENTION_WEEKS`. */
  COLLECTOR_COLD_DAYS: optional(integer(2, 36_400)),
  /** JSON: the days, by organization, after which its spans are archived before those of all. */
  COLLECTOR_ORGANIZATION_HOT_DAYS: optional(daysByOrganization),
  ...archiveEnv,
  /** JSON: the days, by organization, after which its spans are deleted before those of all. */
  COLLECTOR_ORGANIZATION_RETENTION_DAYS: optional(daysByOrganization),
  COLLECTOR_JWT_SECRET: text(32),
  /** Still accepted while emitters move to a new secret. */
  COLLECTOR_JWT_SECRET_PREVIOUS: optional(text(32)),
  /** `true` once every token in use says what it allows: others are then refused. */
  COLLECTOR_REQUIRE_SCOPES: v.optional(flag(), 'false'),
  /**
   * `true` where the chart manages PostgreSQL: the migration creates the database when it is
   * missing.
   */
  COLLECTOR_CREATE_DATABASE: v.optional(flag(), 'false'),
  ...ddlEnv,
  ...proofEnv,
  /** A streaming replica of the database, which the read API asks instead of it. */
  COLLECTOR_READ_DATABASE_URL: optional(postgresUrl),
  /** Connections that write at the same time. */
  COLLECTOR_WRITERS: v.optional(integer(1, 32), '2'),
  /** Largest request body, before and after inflation. */
  COLLECTOR_MAX_BODY_BYTES: v.optional(integer(1024, 1 << 30), String(64 << 20)),
  /**
   * Bytes of all days together. Above it the oldest day is dropped before its time; when only
   * today's is left, no spans are taken. No limit when not set.
   */
  COLLECTOR_MAX_STORAGE_BYTES: optional(integer(1 << 20, 2 ** 50)),
  /**
   * The volume of the database, such as `20Gi`: without a limit of bytes, traces may take half of
   * it.
   */
  COLLECTOR_VOLUME_SIZE: optional(quantity()),
  /** A list of what is replaced by marks before it is stored, such as `cards,keys,emails`. */
  COLLECTOR_REDACT: optional(redactable),
  /** A file of expressions of the operator, for `custom` in `COLLECTOR_REDACT`. */
  COLLECTOR_REDACT_FILE: optional(text()),
  /** With this key marks of equal values are equal, and those of others differ. */
  COLLECTOR_REDACT_HASH_KEY: optional(text(32)),
  /** Bytes of requests held at a time; 25 % of the memory limit when not set. */
  COLLECTOR_MEMORY_BYTES: optional(integer(1 << 20, LARGEST_CAPACITY)),
  /** `off` keeps no texts of prompts and answers for the search. */
  COLLECTOR_SEARCH: v.optional(oneOf(['on', 'off'] as const), 'on'),
  /** A JSON file of prices of models, which come before the shipped ones. */
  COLLECTOR_PRICES_FILE: optional(text()),
})

/** The variables of the job that archives days. */
export const archiveJobEnv = v.object({ ...databaseEnv, ...archiveEnv, LOG_LEVEL: logLevel })
/** Them as a manifest gives them. */
export type ArchiveEnv = EnvOf<typeof archiveJobEnv>

/** The bytes that traces may take; undefined for no limit. */
export function storageLimit(config: CollectorConfig): number | undefined {
  const { COLLECTOR_MAX_STORAGE_BYTES: given, COLLECTOR_VOLUME_SIZE: volume } = config
  return given ?? (volume === undefined ? undefined : Math.floor(volume / 2))
}

/** The variables as a manifest gives them. */
export type CollectorEnv = EnvOf<typeof collectorEnv>
/** The variables as the collector reads them. */
export type CollectorConfig = v.InferOutput<typeof collectorEnv>

/** Reads the variables, as `readEnv` does, and holds them against each other. */
export function readConfig(source: EnvSource): CollectorConfig {
  const config = readEnv(collectorEnv, source)
  const { COLLECTOR_ORGANIZATION_RETENTION_DAYS: shorter } = config
  if (shorter)
    requireFewer(shorter, {
      name: 'COLLECTOR_ORGANIZATION_RETENTION_DAYS',
      most: retentionWeeks(config) * 7,
      ofAll: 'RETENTION_WEEKS',
    })
  requireArchive(config)
  return config
}

/** How long spans are kept, in the database or in files. */
export const retentionWeeks = ({
  COLLECTOR_HOT_DAYS: hot,
  COLLECTOR_COLD_DAYS: cold,
  RETENTION_WEEKS: weeks,
}: Pick<CollectorConfig, 'COLLECTOR_HOT_DAYS' | 'COLLECTOR_COLD_DAYS' | 'RETENTION_WEEKS'>) =>
  hot === undefined || cold === undefined ? weeks : cold / 7

function requireArchive(config: CollectorConfig): void {
  const { COLLECTOR_HOT_DAYS: hot, COLLECTOR_ORGANIZATION_HOT_DAYS: sooner } = config
  const hasStore = openArchiveStore(config) !== undefined
  if (sooner)
    requireFewer(sooner, {
      name: 'COLLECTOR_ORGANIZATION_HOT_DAYS',
      most: hot ?? 0,
      ofAll: 'COLLECTOR_HOT_DAYS',
    })
  if (hot === undefined) return
  const days = retentionWeeks(config) * 7
  const problem = !hasStore
    ? 'needs a place for archived days: COLLECTOR_ARCHIVE_DIRECTORY or COLLECTOR_ARCHIVE_S3_…'
    : hot >= days
      ? `(${hot}) must be below the ${days} days that spans are kept`
      : config.COLLECTOR_DISTRIBUTE && 'is not for spans on the nodes of Citus'
  if (problem) throw new AppError('invalid_configuration', `COLLECTOR_HOT_DAYS ${problem}.`)
}

/** The secrets of tokens, the current one first. */
export function secretsOf(config: CollectorConfig): string[] {
  const { COLLECTOR_JWT_SECRET: secret, COLLECTOR_JWT_SECRET_PREVIOUS: previous } = config
  return previous ? [secret, previous] : [secret]
}
