import * as v from 'valibot'
import { httpUrl, integer, logLevel, optional, text } from '../../shared/env.ts'
import type { EnvOf } from '../../shared/env.ts'
import { oneOf } from '../../shared/schemas.ts'
import { proxyEnv } from '../../shared/outgoing/forward-proxy.ts'
import { databaseAddress, databaseEnv } from '../../shared/postgres/address.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { AppError } from '../../shared/errors.ts'

/** The variables of the tasks of backups. */
export const backupEnv = v.object({
  LOG_LEVEL: logLevel,
  /** The main database. */
  ...databaseEnv,
  /** The database of the traces, by the same variables; without them it is left out. */
  COLLECTOR_DATABASE_URL: databaseEnv.DATABASE_URL,
  COLLECTOR_DB_HOST: databaseEnv.DB_HOST,
  COLLECTOR_DB_PORT: databaseEnv.DB_PORT,
  COLLECTOR_DB_NAME: databaseEnv.DB_NAME,
  COLLECTOR_DB_USER: databaseEnv.DB_USER,
  COLLECTOR_DB_PASSWORD: databaseEnv.DB_PASSWORD,
  COLLECTOR_DB_SSLMODE: databaseEnv.DB_SSLMODE,
  /** What seals the files; without it nobody opens them again. */
  BACKUP_PASSPHRASE: text(20),
  /** Where backups are: a directory, or a bucket of an S3-compatible store. */
  BACKUP_DIRECTORY: optional(text()),
  BACKUP_S3_ENDPOINT: optional(httpUrl()),
  BACKUP_S3_BUCKET: optional(text()),
  /** Before the names of all files, such as `platform/`. */
  BACKUP_S3_PREFIX: v.optional(v.string(), ''),
  BACKUP_S3_REGION: v.optional(v.string(), 'us-east-1'),
  BACKUP_S3_ACCESS_KEY_ID: optional(text()),
  BACKUP_S3_SECRET_ACCESS_KEY: optional(text()),
  ...proxyEnv,
  /** Backups that are kept. */
  BACKUP_KEEP: v.optional(integer(1, 1000), '7'),
  /** Restore each backup into a database beside it, or only read it again. */
  BACKUP_VERIFY: v.optional(oneOf(['restore', 'read']), 'restore'),
  /** The wait for an unavailable database. */
  DATABASE_WAIT_SECONDS: v.optional(integer(0, 3600), '300'),
})

/** The variables as a manifest sets them. */
export type BackupEnv = EnvOf<typeof backupEnv>
/** The variables as the tasks read them. */
export type BackupConfig = v.InferOutput<typeof backupEnv>

/** The address of the database of the traces; undefined where there is none. */
export function collectorAddress(config: BackupConfig): DatabaseAddress | undefined {
  const { COLLECTOR_DATABASE_URL: url, COLLECTOR_DB_HOST: host } = config
  if (url === undefined && host === undefined) return undefined
  return databaseAddress({
    DATABASE_URL: url,
    DB_HOST: host,
    DB_PORT: config.COLLECTOR_DB_PORT,
    DB_NAME: config.COLLECTOR_DB_NAME,
    DB_USER: config.COLLECTOR_DB_USER,
    DB_PASSWORD: config.COLLECTOR_DB_PASSWORD,
    DB_SSLMODE: config.COLLECTOR_DB_SSLMODE,
  })
}

const S3 = [
  'BACKUP_S3_ENDPOINT',
  'BACKUP_S3_BUCKET',
  'BACKUP_S3_ACCESS_KEY_ID',
  'BACKUP_S3_SECRET_ACCESS_KEY',
] as const

/** Raises `invalid_configuration` unless there is exactly one place, and all that it needs. */
export function checkPlace(config: BackupConfig): void {
  const isBucket = config.BACKUP_S3_ENDPOINT !== undefined || config.BACKUP_S3_BUCKET !== undefined
  const isDirectory = config.BACKUP_DIRECTORY !== undefined
  const missing = isBucket ? S3.filter((name) => config[name] === undefined) : []
  if (isBucket !== isDirectory && missing.length === 0) return
  const what = isBucket
    ? isDirectory
      ? 'Backups have two places: set BACKUP_DIRECTORY or BACKUP_S3_…, not both.'
      : `The store of backups is not configured: set ${missing.join(', ')}.`
    : 'Backups have no place: set BACKUP_DIRECTORY, or BACKUP_S3_ENDPOINT and BACKUP_S3_BUCKET.'
  throw new AppError('invalid_configuration', what)
}
