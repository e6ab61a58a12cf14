import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { AppError } from '../errors.ts'
import { readIndexes } from './build-indexes.ts'
import type { IndexDefinition } from './build-indexes.ts'

/** A migration as a database has recorded it. */
export interface AppliedMigration {
  readonly version: number
  readonly name: string
  readonly checksum: string
}

/** A numbered `.sql` file, or the baseline, of several files that are applied as one. */
export interface Migration extends AppliedMigration {
  readonly statements: string
  /** The oldest schema version whose programs work on what it leaves. */
  readonly safeFrom: number
  /** The tables of which it says that it changes or deletes rows that are there. */
  readonly changesRowsOf: readonly string[]
  /** All that it creates, if that is nothing but indexes. */
  readonly indexes: readonly IndexDefinition[]
  /** Of a baseline. */
  readonly replaces?: Replaced
}

/** What a baseline stands for. */
export interface Replaced {
  /** The release that brings a database to the last of the files. */
  readonly release: string
  readonly files: readonly AppliedMigration[]
}

const NAME = /^\d{4}_(.+\.sql|baseline)$/

/** Lists the names of a folder of migrations, in their order. */
export async function listMigrations(folder: URL): Promise<string[]> {
  return (await readdir(folder)).filter((name) => NAME.test(name)).sort()
}

/**
 * Reads a folder of migrations: numbered files without gaps, from 1 or from a baseline. Raises
 * `schema_mismatch` for other numbers.
 */
export async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = await listMigrations(folder)
  const migrations = await Promise.all(names.map((name) => readMigration(folder, name)))
  const [first] = migrations
  const begin = first?.replaces ? first.version : 1
  migrations.forEach(({ version, name }, index) => {
    if (version !== begin + index) {
      throw new AppError(
        'schema_mismatch',
        `Migration ${name} should have the number ${begin + index}: ` +
          `files are numbered from 1, or from a baseline, without gaps.`,
      )
    }
  })
  return migrations
}

const CONTRACT = /^-- contract: safe from (\d{4})$/m
const CHANGES_ROWS = /^-- changes rows of (\w+(?:, \w+)*): \S/gm

async function readMigration(folder: URL, name: string): Promise<Migration> {
  if (!name.endsWith('.sql')) return readBaseline(folder, name)
  const statements = await readFile(new URL(name, folder), 'utf8')
  const version = Number.parseInt(name, 10)
  const safeFrom = Number(CONTRACT.exec(statements)?.[1] ?? 1)
  if (safeFrom > version) {
    throw new AppError(
      'schema_mismatch',
      `Migration ${name} is said to be safe from version ${safeFrom}, which comes after it. ` +
        `Name the first version whose programs work on what it leaves, ${version} at the latest.`,
    )
  }
  const checksum = checksumOf(statements)
  const changesRowsOf = [...statements.matchAll(CHANGES_ROWS)].flatMap(([, tables = '']) =>
    tables.split(', '),
  )
  const indexes = readIndexes(statements)
  return { version, name, checksum, statements, safeFrom, changesRowsOf, indexes }
}

const checksumOf = (statements: string): string =>
  createHash('sha256').update(statements).digest('hex')

async function readBaseline(folder: URL, name: string): Promise<Migration> {
  const rooms = new URL(`${name}/`, folder)
  const files = (await readdir(rooms)).filter((file) => file.endsWith('.sql')).sort()
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, rooms), 'utf8')))
  const statements = texts.join('\n')
  const version = Number.parseInt(name, 10)
  const replaces = readReplaced(await readFile(new URL('replaces.sha256', rooms), 'utf8'))
  const checksum = checksumOf(statements)
  const own = { safeFrom: version, changesRowsOf: [], indexes: [], replaces }
  return { version, name, checksum, statements, ...own }
}

/** Parses the output of `sha256sum`, with the release in a comment. */
function readReplaced(text: string): Replaced {
  const files = [...text.matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm)].map(([, checksum, name]) => ({
    version: Number.parseInt(name ?? '', 10),
    name: name ?? '',
    checksum: checksum ?? '',
  }))
  return { release: /^# release: (.+)$/m.exec(text)?.[1] ?? '', files }
}
