import { randomBytes } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import type { Transform } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import { openFile, sealFile } from './sealed-file.ts'
import type { Passphrase } from './sealed-file.ts'
import type { ObjectStore } from '../../shared/object-store/object-store.ts'

/** A store, and what opens its files. */
export interface Archive {
  readonly store: ObjectStore
  readonly passphrase: Passphrase
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0))

const manifest = v.object({
  format: v.literal(1),
  createdAt: v.string(),
  /** How it was checked: restored, or read to its end. */
  verified: v.picklist(['restore', 'read']),
  databases: v.array(
    v.object({
      name: v.picklist(['main', 'collector']),
      database: v.string(),
      bytes: count,
      tables: count,
      rows: count,
      schemaVersion: count,
    }),
  ),
  /** Of the keys that what is sealed opens with; in hex. */
  keys: v.array(
    v.object({
      name: v.picklist(['SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY']),
      salt: v.string(),
      fingerprint: v.string(),
    }),
  ),
  /** What the databases refer to and no backup has. */
  references: v.object({ images: v.array(v.string()), repositories: v.array(v.string()) }),
})

/** What a backup says of itself. */
export type Manifest = v.InferOutput<typeof manifest>
/** The part of a backup that is of one database. */
export type DatabaseEntry = Manifest['databases'][number]
/** The databases of an installation. */
export type DatabaseName = DatabaseEntry['name']

/** Written last: without it a backup is not whole. */
const MANIFEST = 'manifest.sealed'
/** Of a backup: when it began, which orders them, and letters that tell two of one moment apart. */
const NAME = /^\d{8}T\d{9}Z-[0-9a-f]{4}$/

/** The file of a database within a backup. */
export const fileOf = (backup: string, database: DatabaseName): string =>
  `${backup}/${database}.sealed`

/** A name for a backup that begins now. */
export const nameBackup = (now: Date): string =>
  `${now.toISOString().replace(/[-:.]/g, '')}-${randomBytes(2).toString('hex')}`

/** A backup in a store. */
interface StoredBackup {
  readonly name: string
  /** It has its manifest. */
  readonly isWhole: boolean
  readonly paths: readonly string[]
  readonly bytes: number
}

/** Lists the backups, the oldest first. Other files of the place are left alone. */
export async function listBackups({ store }: Archive): Promise<StoredBackup[]> {
  const byName = new Map<string, { path: string; bytes: number }[]>()
  for (const file of await store.list()) {
    const [name = ''] = file.path.split('/')
    if (NAME.test(name)) byName.set(name, [...(byName.get(name) ?? []), file])
  }
  return [...byName]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, files]) => ({
      name,
      isWhole: files.some(({ path }) => path === `${name}/${MANIFEST}`),
      paths: files.map(({ path }) => path),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    }))
}

/** Finds a backup by its name, or the newest whole one. Raises `not_found`. */
export async function findBackup(archive: Archive, name: string): Promise<StoredBackup> {
  const all = await listBackups(archive)
  const found =
    name === 'latest'
      ? all.findLast(({ isWhole }) => isWhole)
      : all.find((backup) => backup.name === name)
  if (found?.isWhole) return found
  const names = all.filter(({ isWhole }) => isWhole).map((backup) => backup.name)
  const known = names.length === 0 ? 'There is none.' : `There are: ${names.join(', ')}.`
  const what = found ? `The backup ${name} is not whole: its manifest is missing` : noBackup(name)
  throw new AppError('not_found', `${what} in ${archive.store.place}. ${known}`)
}

const noBackup = (name: string): string =>
  name === 'latest' ? 'There is no whole backup' : `There is no backup "${name}"`

/** Compresses, seals and stores the dump of a database. Returns its size there. */
export async function writeDump(
  { store, passphrase }: Archive,
  path: string,
  dump: AsyncIterable<Buffer>,
): Promise<number> {
  let bytes = 0
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const piece of sealFile(through(dump, createGzip({ level: 3 })), passphrase)) {
      bytes += piece.length
      yield piece
    }
  }
  await store.write(path, counted())
  return bytes
}

/** The dump of a database as it was before it was stored. */
export const readDump = ({ store, passphrase }: Archive, path: string): AsyncIterable<Buffer> =>
  through(openFile(store.read(path), passphrase, path), createGunzip())

/** An error of the source becomes one of the result; whoever stops to read closes the source. */
function through(source: AsyncIterable<Buffer>, transform: Transform): AsyncIterable<Buffer> {
  pipeline(Readable.from(source, { objectMode: false }), transform, () => {})
  return transform
}

/** Makes a backup whole. */
export async function writeManifest(
  { store, passphrase }: Archive,
  name: string,
  given: Manifest,
): Promise<void> {
  async function* content(): AsyncGenerator<Buffer> {
    yield Buffer.from(JSON.stringify(given))
  }
  await store.write(`${name}/${MANIFEST}`, sealFile(content(), passphrase))
}

/**
 * Reads what a backup says of itself. Raises `invalid_request` when it does not open, and when a
 * file is missing or has another size than it had.
 */
export async function readManifest(
  { store, passphrase }: Archive,
  backup: StoredBackup,
): Promise<Manifest> {
  const path = `${backup.name}/${MANIFEST}`
  const parts: Buffer[] = []
  for await (const part of openFile(store.read(path), passphrase, path)) parts.push(part)
  const parsed = v.safeParse(manifest, JSON.parse(Buffer.concat(parts).toString('utf8')))
  if (!parsed.success) {
    throw new AppError(
      'invalid_request',
      `${path} has a form that this program does not know. Use the version of the platform that ` +
        'made the backup.',
    )
  }
  return parsed.output
}

/** Raises `invalid_request` when a file is missing or has another size than it had. */
export async function checkSizes(
  { store }: Archive,
  { name }: StoredBackup,
  { databases }: Manifest,
): Promise<void> {
  const files = new Map((await store.list()).map(({ path, bytes }) => [path, bytes]))
  for (const { name: database, bytes } of databases) {
    const path = fileOf(name, database)
    const there = files.get(path)
    if (there === bytes) continue
    const what =
      there === undefined ? 'is missing' : `was cut off: it has ${there} of ${bytes} bytes`
    throw new AppError('invalid_request', `${path} ${what}. Use another backup.`)
  }
}
