import { copyFile, mkdir, mkdtemp, readFile, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import crypto, { randomBytes, scryptSync } from 'node:crypto'
import type { BinaryLike, ScryptOptions } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createLlmKeys } from '../../../../services/platform/connections/llm-keys.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { start as startCollector } from '../../../../services/collector/start.ts'
import { start as startWeb } from '../../../../services/web/start.ts'
import { MIGRATIONS } from '../../../../services/tasks/migrations.ts'
import { runTask } from '../../../../services/tasks/start.ts'
import { addressUrl } from '../../../support/address-url.ts'
import { recordFormerFiles } from '../../../support/former-ledger.ts'
import { formerPostgres, startFormerPostgres } from '../../../support/former-postgres.ts'
import { useDatabase } from '../../../support/use-database.ts'
import { bearer, createHarness, environment, silent } from '../../collector/support/harness.ts'
import type { Harness } from '../../collector/support/harness.ts'
import { requestOf, spanOf, toProtobuf } from '../../collector/support/otlp.ts'
import { few, isLong } from '../../../support/long.ts'

/** A restore makes both schemas, whatever else the machine does. */
const PATIENCE_MS = 300_000
const KEY = 'the-key-of-this-installation-of-64-characters-or-so'
const PASSPHRASE = 'the passphrase of these backups'

const WEB = {
  PORT: '0',
  HOST: '127.0.0.1',
  LOG_LEVEL: 'silent',
  PLATFORM_VERSION: '1.0.0',
  PLATFORM_BASE_URL: 'http://127.0.0.1',
  SECRET_KEY_BASE: KEY,
}

const main = useDatabase()
let traces: Harness
let directory: string
let connection: { id: number; organizationId: number }
const made: string[] = []
let restored: ReturnType<typeof elsewhere>
/** The one that the first test makes. */
let first: string

type WithOptions = [
  password: BinaryLike,
  salt: BinaryLike,
  length: number,
  options: ScryptOptions,
  done: (error: Error | null, key: Buffer) => void,
]

/**
 * Lets scrypt derive each key once, and all but the first one of them cheaply. Each task derives
 * those that it needs, as a process of its own does, which is a third of a second of a core, and
 * most of what these tests would take.
 */
function deriveOnce(): void {
  const keys = new Map<string, Buffer>()
  const derive = (...[password, salt, length, options, done]: WithOptions): void => {
    const name = JSON.stringify([password, salt, length, options])
    const cost = keys.size === 0 ? options : { ...options, N: 1024 }
    const key = keys.get(name) ?? scryptSync(password, salt, length, cost)
    keys.set(name, key)
    done(null, key)
  }
  vi.spyOn(crypto, 'scrypt').mockImplementation(derive)
  syncBuiltinESMExports()
}

beforeAll(async () => {
  deriveOnce()
  restored = elsewhere()
  traces = await createHarness()
  directory = await mkdtemp(join(tmpdir(), 'backups-'))
  await task(['migrate'])
  await task(['setup'])
  await task(['designer:runner:install', 'http://127.0.0.1:9'])
  await task(['seed'])
  const { sql } = main
  const [row] = await sql<[typeof connection]>`
    insert into llm_connections (organization_id, name, provider, model)
    select id, 'main', 'openai', 'm' from organizations order by id limit 1
    returning id, organization_id`
  connection = row
  const sealed = createLlmKeys(KEY).seal('sk-of-the-model', connection)
  await sql`update llm_connections set sealed_key = ${sealed} where id = ${connection.id}`
})

afterAll(async () => {
  vi.mocked(crypto.scrypt).mockRestore()
  syncBuiltinESMExports()
  await traces.stop()
  for (const name of made) await main.sql.unsafe(`drop database if exists ${name} with (force)`)
})

const source = (more: Record<string, string | undefined> = {}) => ({
  LOG_LEVEL: 'silent',
  DATABASE_URL: main.url,
  COLLECTOR_DATABASE_URL: traces.databaseUrl,
  SECRET_KEY_BASE: KEY,
  BACKUP_PASSPHRASE: PASSPHRASE,
  BACKUP_DIRECTORY: directory,
  ...more,
})

/** What a task prints. */
async function task(
  args: string[],
  more: Record<string, string | undefined> = {},
): Promise<string> {
  let printed = ''
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text)
    return true
  })
  try {
    await runTask(args, source(more))
    return printed.trim()
  } finally {
    write.mockRestore()
  }
}

/** The addresses of databases that are not there yet. */
function elsewhere() {
  const id = randomBytes(4).toString('hex')
  const [one, other] = [`restored_main_${id}`, `restored_traces_${id}`]
  made.push(one, other)
  const urlOf = (database: string) => addressUrl({ ...parseAddress(main.url), database })
  return { DATABASE_URL: urlOf(one), COLLECTOR_DATABASE_URL: urlOf(other) }
}

async function use<Result>(url: string, ask: (sql: Database) => Promise<Result>): Promise<Result> {
  const sql = connectDatabase(parseAddress(url), { name: 'test', max: 1 })
  try {
    return await ask(sql)
  } finally {
    await sql.end()
  }
}

const send = (...spans: ReturnType<typeof spanOf>[]): Promise<Response> =>
  traces.post(toProtobuf(requestOf(...spans)))

describe('a backup', () => {
  it(
    'of both databases, made while spans arrive, is restored to servers that have neither',
    async () => {
      const span = spanOf()
      await send(span)
      // PostgreSQL puts the short ones between the long ones, at a restore in another order.
      await main.sql`create table of_all_sizes as
        select number, repeat('x', number * 7919 % 1900)
        from generate_series(1, ${isLong ? 2000 : 300}) number`
      await traces.rolledUp()
      const during = (async () => {
        for (let sent = 0; sent < 20; sent++) expect((await send(spanOf())).status).toBe(200)
      })()
      first = await task(['backup:create'])
      await during
      expect(await task(['backup:list'])).toMatch(
        new RegExp(
          `^${first} +\\d+\\.\\d MB  main \\d+ rows, collector \\d+ rows; restored and compared$`,
        ),
      )

      const empty = restored
      const trial = await task(['backup:restore', first, '--dry-run'], empty)
      expect(trial).toContain('main: create restored_main_')
      expect(trial).toMatch(/This was a trial: nothing was changed\.$/)
      await task(['backup:restore', first], empty)

      const key = await use(empty.DATABASE_URL, async (sql) => {
        const [row] = await sql<[{ sealedKey: Buffer }]>`
        select sealed_key from llm_connections where id = ${connection.id}`
        return createLlmKeys(KEY).open(row.sealedKey, connection)
      })
      expect(key).toBe('sk-of-the-model')
      await task(['migrate'], empty)
      const web = await startWeb({ ...empty, ...WEB })
      expect((await fetch(`${web.url}/health`)).status).toBe(200)
      await web.stop()
      const collector = await startCollector(
        { ...environment(empty.COLLECTOR_DATABASE_URL) },
        { log: silent, drainMs: 0 },
      )
      await collector.ready
      const read = await fetch(`${collector.url}/api/traces/${span.traceId ?? ''}`, {
        headers: { authorization: await bearer() },
      })
      expect(await read.text()).toContain(span.name)
      await collector.stop()
    },
    PATIENCE_MS,
  )

  it(
    'is the newest of those that are kept; a failed one takes none away',
    async () => {
      const kept = { BACKUP_KEEP: '2', BACKUP_VERIFY: 'read', BACKUP_DIRECTORY: await copies() }
      const only = { ...kept, COLLECTOR_DATABASE_URL: undefined }
      const former = await task(['backup:create'], only)
      await expect(
        task(['backup:create'], { ...kept, COLLECTOR_DATABASE_URL: elsewhere().DATABASE_URL }),
      ).rejects.toThrow('does not exist')
      expect(await task(['backup:list'], kept)).toContain(former)
      const second = await task(['backup:create'], { ...only, BACKUP_KEEP: '1' })
      const listed = (await task(['backup:list'], kept)).split('\n')
      expect(listed.map((line) => line.split(' ')[0])).toEqual([second])
      await task(['backup:verify'], kept)
    },
    PATIENCE_MS,
  )

  it('is not restored into databases with tables, unless they are put aside unused', async () => {
    const there = restored
    // That of traces has the fewest tables: each takes its part of a second of a core.
    const again = ['backup:restore', 'latest', '--only', 'collector']
    await expect(task(again, there)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(
        /^The database restored_traces_\w+ has \d+ tables\. .*--replace/,
      ),
    })
    const { COLLECTOR_DATABASE_URL: url } = there
    const user = connectDatabase(parseAddress(url), { name: 'platform-collector', max: 1 })
    await user`create table later ()`
    await expect(task([...again, '--replace'], there)).rejects.toThrow(
      'in use by: platform-collector',
    )
    await user.end()
    const printed = await task([...again, '--replace'], there)
    const [, former = ''] = /the former database is (\w+);/.exec(printed) ?? []
    made.push(former)
    const tablesOf = (database: string) =>
      use(database, (sql) => sql`select name from unnest(array[to_regclass('later')]) name`)
    expect(await tablesOf(url)).toEqual([{ name: null }])
    const put = addressUrl({ ...parseAddress(url), database: former })
    expect(await tablesOf(put)).toEqual([{ name: 'later' }])
  })

  it('is refused with a key that does not open what it has', async () => {
    const wrong = { ...elsewhere(), SECRET_KEY_BASE: 'x'.repeat(64) }
    await expect(task(['backup:restore', 'latest'], wrong)).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringMatching(/^SECRET_KEY_BASE is not the key .*keys:accept/),
    })
    await expect(use(wrong.DATABASE_URL, (sql) => sql`select 1`)).rejects.toThrow('does not exist')
  })

  it.runIf(isLong)(
    'of databases that were taken over is restored and compared like others',
    async () => {
      await recordFormerFiles(main.sql, MIGRATIONS.main)
      await recordFormerFiles(traces.sql, MIGRATIONS.collector)
      const place = { BACKUP_DIRECTORY: await copies() }
      await task(['backup:create'], place)
      expect(await task(['backup:list'], place)).toMatch(/; restored and compared$/)
    },
    PATIENCE_MS,
  )

  it('is what the rehearsal of an upgrade asks for, which signs what it found', async () => {
    const file = join(directory, 'verdict.json')
    const printed = await task(['upgrade:prove', '--json', '--out', file])
    expect(await readFile(file, 'utf8')).toBe(`${printed}\n`)
    expect(JSON.parse(printed)).toMatchObject({ verdict: { verdict: 'current', reasons: [] } })
    expect(await task(['upgrade:prove', '--check', file])).toBe(
      `${file} is a verdict signed with this passphrase`,
    )
    expect(await task(['upgrade:prove', '--only', 'collector'])).toMatch(
      /, nothing is pending\n\nPrograms of this release: not tried, because nothing is pending\n/,
    )
  })

  it('has neither a key nor a passphrase nor a row in clear', async () => {
    for (const file of ['main.sealed', 'collector.sealed', 'manifest.sealed']) {
      const bytes = await readFile(join(directory, first, file), 'latin1')
      for (const text of [KEY, PASSPHRASE, 'organizations']) expect(bytes).not.toContain(text)
    }
  })
})

/** A directory of its own for backups. */
const copies = (): Promise<string> => mkdtemp(join(tmpdir(), 'backups-'))

if (isLong && formerPostgres === undefined) {
  console.log('No PostgreSQL 15 to 17 below /usr/lib/postgresql: no upgrade between versions.')
}

describe.runIf(isLong && formerPostgres !== undefined)('a former version of PostgreSQL', () => {
  it(
    'hands its databases over to the present one by a backup',
    async () => {
      const server = await startFormerPostgres(formerPostgres?.bin ?? '')
      const urlOf = (database: string) => addressUrl({ ...parseAddress(server.url), database })
      const former = { DATABASE_URL: urlOf('platform'), COLLECTOR_DATABASE_URL: urlOf('traces') }
      const place = { BACKUP_DIRECTORY: await copies(), BACKUP_VERIFY: 'read' }
      // Fills the former server, by the way back.
      await task(['backup:restore', 'latest'], former)
      const name = await task(['backup:create'], { ...former, ...place })
      const present = elsewhere()
      await task(['backup:restore', name], { ...present, ...place })
      const contentOf = (url: string, table: string) =>
        use(url, (sql) => sql`select * from ${sql(table)} order by 1`)
      for (const table of ['projects', 'project_versions', 'tools']) {
        const rows = await contentOf(present.DATABASE_URL, table)
        expect(rows.length, table).toBeGreaterThan(0)
        expect(rows).toEqual(await contentOf(main.url, table))
      }
      const spans = await contentOf(present.COLLECTOR_DATABASE_URL, 'spans')
      expect(spans.length).toBeGreaterThan(0)
      await server.stop()
    },
    PATIENCE_MS,
  )
})

describe('a damaged backup', () => {
  const damages: Readonly<Record<string, (file: string) => Promise<void>>> = {
    'main.sealed was cut off: it has 900 of': (file) => truncate(file, 900),
    'main.sealed is damaged': async (file) => {
      const bytes = await readFile(file)
      bytes[1000] = (bytes[1000] ?? 0) ^ 1
      await writeFile(file, bytes)
    },
  }

  it.each(few(Object.entries(damages), 1))(
    'is told by "%s", and changes nothing',
    async (words, damage) => {
      const copy = await copies()
      await mkdir(join(copy, first))
      for (const file of ['main.sealed', 'collector.sealed', 'manifest.sealed']) {
        await copyFile(join(directory, first, file), join(copy, first, file))
      }
      await damage(join(copy, first, 'main.sealed'))
      const there = { ...elsewhere(), BACKUP_DIRECTORY: copy }
      await expect(task(['backup:restore', first, '--only', 'main'], there)).rejects.toThrow(words)
      const reading = { BACKUP_DIRECTORY: copy, BACKUP_VERIFY: 'read' }
      await expect(task(['backup:verify', first], reading)).rejects.toThrow(words)
      await expect(use(there.DATABASE_URL, (sql) => sql`select 1`)).rejects.toThrow(
        'does not exist',
      )
    },
  )

  it('and a wrong passphrase say what they are in the list, too', async () => {
    const wrong = { BACKUP_PASSPHRASE: 'another passphrase of backups' }
    expect(await task(['backup:list'], wrong)).toContain('does not open with this passphrase')
    await expect(task(['backup:restore', 'latest'], wrong)).rejects.toThrow('BACKUP_PASSPHRASE')
    await expect(task(['backup:restore', '20200101T000000Z-0000'])).rejects.toThrow(
      /^There is no backup "20200101T000000Z-0000" in .*\. There are: \d{8}T/,
    )
  })
})
