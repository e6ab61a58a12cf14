import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { httpUrl, optional, text } from '../../../shared/env.ts'
import { AppError } from '../../../shared/errors.ts'
import { createDirectoryStore } from '../../../shared/object-store/directory-store.ts'
import type { ObjectStore } from '../../../shared/object-store/object-store.ts'
import { createS3Store } from '../../../shared/object-store/s3-store.ts'
import { createForwardProxy, proxyEnv } from '../../../shared/outgoing/forward-proxy.ts'

/** The variables that say where archived days are: a directory, or a bucket. */
export const archiveEnv = {
  COLLECTOR_ARCHIVE_DIRECTORY: optional(text()),
  COLLECTOR_ARCHIVE_S3_ENDPOINT: optional(httpUrl()),
  COLLECTOR_ARCHIVE_S3_BUCKET: optional(text()),
  /** Before the names of all files, such as `platform/archive/`. */
  COLLECTOR_ARCHIVE_S3_PREFIX: v.optional(v.string(), 'archive/'),
  COLLECTOR_ARCHIVE_S3_REGION: v.optional(v.string(), 'us-east-1'),
  COLLECTOR_ARCHIVE_S3_ACCESS_KEY_ID: optional(text()),
  COLLECTOR_ARCHIVE_S3_SECRET_ACCESS_KEY: optional(text()),
  ...proxyEnv,
}

const env = v.object(archiveEnv)
type ArchiveConfig = v.InferOutput<typeof env>

/**
 * Opens the store of archived days; undefined where none is configured. Raises
 * `invalid_configuration` for two places, and for a bucket without all that it needs.
 */
export function openArchiveStore(config: ArchiveConfig): ObjectStore | undefined {
  const {
    COLLECTOR_ARCHIVE_DIRECTORY: directory,
    COLLECTOR_ARCHIVE_S3_ENDPOINT: endpoint,
    COLLECTOR_ARCHIVE_S3_BUCKET: bucket,
    COLLECTOR_ARCHIVE_S3_PREFIX: prefix,
    COLLECTOR_ARCHIVE_S3_REGION: region,
    COLLECTOR_ARCHIVE_S3_ACCESS_KEY_ID: accessKeyId,
    COLLECTOR_ARCHIVE_S3_SECRET_ACCESS_KEY: secretAccessKey,
  } = config
  const isBucket = endpoint !== undefined || bucket !== undefined
  if (directory !== undefined && isBucket) throw twoPlaces()
  if (directory !== undefined) return createDirectoryStore(directory)
  if (!isBucket) return undefined
  if (!endpoint || !bucket || !accessKeyId || !secretAccessKey) throw incomplete()
  const proxy = createForwardProxy(config)
  return createS3Store({ endpoint, bucket, prefix, region, accessKeyId, secretAccessKey, proxy })
}

const twoPlaces = (): AppError =>
  new AppError(
    'invalid_configuration',
    'Archived days have two places: set COLLECTOR_ARCHIVE_DIRECTORY or COLLECTOR_ARCHIVE_S3_…, ' +
      'not both.',
  )

const incomplete = (): AppError =>
  new AppError(
    'invalid_configuration',
    'The store of archived days is not configured: set COLLECTOR_ARCHIVE_S3_ENDPOINT, _BUCKET, ' +
      '_ACCESS_KEY_ID and _SECRET_ACCESS_KEY.',
  )

/** A file of an archived day, as the database knows it. */
export interface ArchivedFile {
  readonly path: string
  readonly bytes: number
  /** Hexadecimal. */
  readonly sha256: string
}

/** The digest of a file. */
export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Reads a whole file. Raises `unavailable` for one that is missing, and one that was changed. */
export async function readArchivedFile(store: ObjectStore, file: ArchivedFile): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of store.read(file.path)) {
      size += piece.length
      if (size > file.bytes) break
      pieces.push(piece)
    }
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== 'not_found') throw thrown
    throw new AppError('unavailable', `The archived file ${file.path} is missing.`)
  }
  const bytes = Buffer.concat(pieces)
  if (size === file.bytes && sha256Of(bytes) === file.sha256) return bytes
  throw new AppError(
    'unavailable',
    `The archived file ${file.path} is not the one that was written: it was cut or changed.`,
  )
}
