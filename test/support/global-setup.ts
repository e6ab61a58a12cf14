import { rmSync } from 'node:fs'
import { chmod, mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import type { EmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import { serverOwner } from '../../services/local/postgres-binaries.ts'
import { connectDatabase } from '../../services/shared/postgres/database.ts'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import { createLog } from '../../services/shared/log.ts'
import { migrate } from '../../services/shared/postgres/migrate.ts'
import { buildProgram, buildPrograms } from './build.ts'
import { citusUrl, createCitusTemplate } from './citus.ts'
import { freePort } from './free-port.ts'
import { DATA_SOURCES, keep, keptPath, PROGRAM_SOURCES, take } from './kept.ts'
import { POSTGRES_PASSWORD } from './postgres-password.ts'
import { SERVER_SETTINGS } from './server-settings.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    /** On the Citus that is tested with; empty without one. */
    citusTemplateUrl: string
    /** Where `<service>/main.js` and `local.mjs` are. */
    programsDirectory: string
  }
}

/** Where Linux keeps files in memory, and how much of it has to be free. */
const MEMORY = '/dev/shm'
const ROOM_BYTES = 4 * 1024 ** 3

let stop: () => Promise<void> = async () => {}

/**
 * Once for the whole run: the bundles, and one real PostgreSQL with migrated template databases
 * that test files clone.
 */
export async function setup(project: TestProject): Promise<void> {
  // That of the run: `temporary-files.ts` comes first, and removes it last.
  const programsDirectory = join(tmpdir(), 'build')
  const [server] = await Promise.all([
    startServer(join(await makeDatabaseDirectory(), 'data')),
    makePrograms(programsDirectory),
  ])
  const citusTemplate = citusUrl === undefined ? undefined : await createCitusTemplate(citusUrl)
  stop = async () => {
    await citusTemplate?.drop()
    await server.stop()
  }
  project.provide('postgresUrl', server.url)
  project.provide('citusTemplateUrl', citusTemplate?.url ?? '')
  project.provide('programsDirectory', programsDirectory)
}

/** Takes the bundles that an earlier run has kept, or makes and keeps them. */
async function makePrograms(directory: string): Promise<void> {
  const kept = await keptPath('test-programs', PROGRAM_SOURCES)
  if (await take(kept, directory)) return
  await Promise.all([
    buildPrograms(directory),
    buildProgram('services/local.ts', join(directory, 'local.mjs')),
  ])
  await keep(directory, kept)
}

/** Starts the server on the data that an earlier run has kept, or makes and keeps them first. */
async function startServer(directory: string): Promise<EmbeddedPostgres> {
  const start = async (): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({
      directory,
      port: await freePort(),
      password: POSTGRES_PASSWORD,
      settings: SERVER_SETTINGS,
    })
  const kept = await keptPath('test-postgres', DATA_SOURCES)
  if (await take(kept, directory, serverOwner)) return start()
  const server = await start()
  await makeSignInCheap(server.url)
  await Promise.all(['platform', 'collector'].map((name) => createTemplate(server.url, name)))
  await server.stop()
  await keep(directory, kept)
  return start()
}

export async function teardown(): Promise<void> {
  await stop()
}

/**
 * A directory in memory where there is room: the database of each test file has some 770 files of
 * its own, which take a disk ten times as much of a core.
 */
async function makeDatabaseDirectory(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }))
  const parent = bavail * bsize < ROOM_BYTES ? tmpdir() : MEMORY
  const directory = await mkdtemp(join(parent, 'platform-test-'))
  // As root the database runs as another user, who has to pass through here.
  await chmod(directory, 0o755)
  // However the run ends: memory is scarcer than a disk.
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
  return directory
}

/** Clients work for each connection as often as the password was hashed, thousands of times. */
async function makeSignInCheap(url: string): Promise<void> {
  const admin = postgres(url, { max: 1, onnotice: () => {} })
  await admin`set scram_iterations = 1`
  await admin.unsafe(`alter role postgres password '${POSTGRES_PASSWORD}'`)
  await admin.end()
}

async function createTemplate(url: string, name: string): Promise<void> {
  const admin = postgres(url, { max: 1, onnotice: () => {} })
  await admin.unsafe(`create database template_${name}`)
  await admin.end()
  const address = { ...parseAddress(url), database: `template_${name}` }
  const sql = connectDatabase(address, { name: 'test-template' })
  const folder = new URL(`../../services/${name}/migrations/`, import.meta.url)
  await migrate(sql, folder, createLog({ name: 'test', level: 'silent' }))
  await sql.end()
}
