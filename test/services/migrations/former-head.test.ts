import { execFile, execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { prepareSchema } from '../../../services/collector/schema.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { migrate } from '../../../services/shared/postgres/migrate.ts'
import { readMigrations } from '../../../services/shared/postgres/migration-files.ts'
import { runTask } from '../../../services/tasks/start.ts'
import { recordFormerFiles } from '../../support/former-ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { createHarness, silent } from '../collector/support/harness.ts'
import { requestOf, spanOf, toProtobuf } from '../collector/support/otlp.ts'
import { readContents, readSchemaLines } from './schema-lines.ts'

/** The last commit with the files that the baselines stand for. */
const FORMER = '9d8c0cd542a0'
const KEY = 'a-key-'.repeat(11)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SERVICES = ['platform', 'collector'] as const
const folderOf = (service: string) =>
  new URL(`../../../services/${service}/migrations/`, import.meta.url)

const hasFormer = (() => {
  try {
    execFileSync('git', ['cat-file', '-e', `${FORMER}^{commit}`], { cwd: ROOT, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()
if (!hasFormer)
  console.log(`No commit ${FORMER} here: its schema is not compared with the baseline.`)

let directory: string
const databases: TestDatabase[] = []
const sessions: Database[] = []

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'former-'))
})

afterAll(async () => {
  for (const sql of sessions) await sql.end()
  for (const database of databases) await database.drop()
})

function connect(url: string): Database {
  const sql = connectDatabase(parseAddress(url), { name: 'test', max: 2 })
  sessions.push(sql)
  return sql
}

async function create(template: 'empty' | 'platform') {
  const database = await createDatabase(template)
  databases.push(database)
  return { url: database.url, sql: connect(database.url) }
}

/** The baseline alone, whatever was added since. */
async function baselineOf(service: string): Promise<URL> {
  const [baseline] = await readMigrations(folderOf(service))
  const name = baseline?.name ?? ''
  const folder = join(directory, `${service}-baseline`)
  await cp(fileURLToPath(new URL(name, folderOf(service))), join(folder, name), { recursive: true })
  return pathToFileURL(`${folder}/`)
}

/** Takes a database over, which keeps all that it has; then brings it to the schema of now. */
async function expectTakenOver(service: (typeof SERVICES)[number], url: string): Promise<void> {
  const sql = connect(url)
  const before = await readContents(sql)
  await migrate(sql, await baselineOf(service), silent)
  expect(await readContents(sql)).toEqual(before)
  const last = (await readMigrations(folderOf(service))).at(-1)?.version
  if (service === 'platform') {
    await runTask(['migrate'], { LOG_LEVEL: 'silent', DATABASE_URL: url, SECRET_KEY_BASE: KEY })
  } else {
    const options = { createDatabase: false, distribute: false, timeoutMs: 60_000, log: silent }
    expect(await prepareSchema({ ...options, address: parseAddress(url) })).toBe(last)
  }
  const [row] = await sql`select max(version) as version from schema_migrations`
  expect(row).toEqual({ version: last })
}

describe('a database of the former files', () => {
  it('is taken over with an installation in it', async () => {
    const { url, sql } = await create('platform')
    const env = { LOG_LEVEL: 'silent', DATABASE_URL: url, SECRET_KEY_BASE: KEY }
    vi.spyOn(process.stdout, 'write').mockImplementation(() => true)
    await runTask(['setup'], env)
    await runTask(['designer:runner:install', 'http://127.0.0.1:9'], env)
    await runTask(['seed'], env)
    vi.restoreAllMocks()
    await recordFormerFiles(sql, folderOf('platform'))
    await expectTakenOver('platform', url)
    expect((await sql`select from project_versions`).length).toBeGreaterThan(0)
  })

  it('is taken over with spans in it, by a collector that reads them', async () => {
    const traces = await createHarness()
    const span = spanOf()
    expect((await traces.post(toProtobuf(requestOf(span)))).status).toBe(200)
    await traces.rolledUp()
    await traces.collector.stop()
    await recordFormerFiles(traces.sql, folderOf('collector'))
    await expectTakenOver('collector', traces.databaseUrl)
    const again = await traces.another()
    expect(await traces.sql`select name from spans`).toMatchObject([{ name: span.name }])
    await again.stop()
    await traces.stop()
  })
})

const run = promisify(execFile)

/** The files as the commit had them. */
async function formerOf(service: string): Promise<URL> {
  const folder = join(directory, `${service}-former`)
  await mkdir(folder)
  const path = `services/${service}/migrations`
  const archive = join(directory, `${service}.tar`)
  await run('git', ['archive', '--output', archive, FORMER, path], { cwd: ROOT })
  await run('tar', ['-xf', archive, '-C', folder])
  return pathToFileURL(`${folder}/${path}/`)
}

/** What only one of them has, and nothing reads. */
const DIFFERENCES = {
  platform: { gone: [], added: [] },
  collector: {
    gone: ['function  CREATE OR REPLACE FUNCTION public.spans_above_calls'],
    added: ['column live_traces terms text[]'],
  },
}

describe.runIf(hasFormer)('the schema of the former files', () => {
  it.each(SERVICES)('of %s is that of the baseline', async (service) => {
    const former = await create('empty')
    await migrate(former.sql, await formerOf(service), silent)
    const now = await create('empty')
    await migrate(now.sql, await baselineOf(service), silent)
    const [before, after] = [await readSchemaLines(former.sql), await readSchemaLines(now.sql)]
    expect(after.length).toBeGreaterThan(150)
    const only = (one: string[], other: string[]) => one.filter((line) => !other.includes(line))
    const { gone, added } = DIFFERENCES[service]
    expect(only(before, after)).toEqual(gone.map((line) => expect.stringContaining(line)))
    expect(only(after, before)).toEqual(added.map((line) => expect.stringContaining(line)))
    await expectTakenOver(service, former.url)
  })
})
