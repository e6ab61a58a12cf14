import { readEnv } from '../../shared/env.ts'
import type { EnvSource } from '../../shared/env.ts'
import { createLog } from '../../shared/log.ts'
import type { Log } from '../../shared/log.ts'
import { createDirectoryStore } from '../../shared/object-store/directory-store.ts'
import { createS3Store } from '../../shared/object-store/s3-store.ts'
import { createForwardProxy } from '../../shared/outgoing/forward-proxy.ts'
import { databaseAddress } from '../../shared/postgres/address.ts'
import { MIGRATIONS } from '../migrations.ts'
import type { Archive } from './archive.ts'
import type { BackupDatabase } from './create-backup.ts'
import { backupEnv, checkPlace, collectorAddress } from './env.ts'
import type { BackupConfig } from './env.ts'
import { createPassphrase } from './sealed-file.ts'

/** What the tasks of backups work with. */
interface Parts {
  readonly config: BackupConfig
  readonly archive: Archive
  readonly databases: readonly BackupDatabase[]
  readonly log: Log
}

/** Reads the variables of backups. Raises `invalid_configuration`. */
export function readParts(source: EnvSource): Parts {
  const config = readEnv(backupEnv, source)
  checkPlace(config)
  const store =
    config.BACKUP_DIRECTORY === undefined
      ? createS3Store(bucketOf(config))
      : createDirectoryStore(config.BACKUP_DIRECTORY)
  const traces = collectorAddress(config)
  const main = {
    name: 'main',
    address: databaseAddress(config),
    migrations: MIGRATIONS.main,
  } as const
  const collector = traces && {
    name: 'collector' as const,
    address: traces,
    migrations: MIGRATIONS.collector,
  }
  return {
    config,
    archive: { store, passphrase: createPassphrase(config.BACKUP_PASSPHRASE.trim()) },
    databases: collector ? [main, collector] : [main],
    log: createLog({ name: 'backup', level: config.LOG_LEVEL }),
  }
}

const bucketOf = (config: BackupConfig) => ({
  endpoint: config.BACKUP_S3_ENDPOINT ?? '',
  bucket: config.BACKUP_S3_BUCKET ?? '',
  prefix: config.BACKUP_S3_PREFIX,
  proxy: createForwardProxy(config),
  region: config.BACKUP_S3_REGION,
  accessKeyId: config.BACKUP_S3_ACCESS_KEY_ID ?? '',
  secretAccessKey: config.BACKUP_S3_SECRET_ACCESS_KEY ?? '',
})
