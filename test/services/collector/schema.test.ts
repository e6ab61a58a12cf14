import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressUrl } from '../../support/address-url.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { listMigrations } from '../../../services/shared/postgres/migration-files.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { runProgram } from '../../support/program.ts'

/** `main.js migrate`, as the init container runs it. */
const runMigrate = (env: Readonly<Record<string, string>>) =>
  runProgram('collector', ['migrate'], env)

describe('the migration (SPEC 9, appendix)', () => {
  let server: TestDatabase
  let admin: Database
  const names: string[] = []
  const newUrl = (): string => {
    const database = `collector ${process.pid}-"${names.length}`
    names.push(database)
    return addressUrl({ ...parseAddress(server.url), database })
  }
  beforeAll(async () => {
    server = await createDatabase('empty')
    admin = connectDatabase(parseAddress(server.url), { name: 'admin', max: 1 })
  })
  afterAll(async () => {
    for (const name of names) {
      await admin.unsafe(`drop database if exists "${name.replaceAll('"', '""')}" with (force)`)
    }
    await admin.end()
    await server.drop()
  })

  it('creates the database where it may, in many replicas at once, and migrates it', async () => {
    const url = newUrl()
    const env = { DATABASE_URL: url, COLLECTOR_CREATE_DATABASE: 'true' }
    const ended = await Promise.all([runMigrate(env), runMigrate(env), runMigrate(env)])
    expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      Array(3).fill({ code: 0, stderr: '' }),
    )
    const lines = ended.flatMap(({ stdout }) => stdout.trim().split('\n'))
    const applied = lines.filter((line) => line.includes('migration applied'))
    const names = applied.map((line) => /"name":"([^"]+)"/.exec(line)?.[1])
    const folder = new URL('../../../services/collector/migrations/', import.meta.url)
    const files = await listMigrations(folder)
    expect(new Set(names)).toEqual(new Set(files))
    expect(names.length).toBe(files.length)
    const sql = connectDatabase(parseAddress(url), { name: 'test', max: 1 })
    const versions = await sql`select version from schema_migrations order by version`
    expect(versions).toEqual(files.map((name) => ({ version: Number.parseInt(name, 10) })))
    await sql.end()
  })

  it('says so, and exits 1, when the database is missing', async () => {
    const { code, stderr } = await runMigrate({ DATABASE_URL: newUrl() })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The database ".*" does not exist at .*\. Create it/)
  })

  it('says so where the spans are to be distributed and there is no Citus', async () => {
    const env = {
      DATABASE_URL: newUrl(),
      COLLECTOR_CREATE_DATABASE: 'true',
      COLLECTOR_DISTRIBUTE: 'true',
    }
    const { code, stderr } = await runMigrate(env)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^COLLECTOR_DISTRIBUTE is true, and the trace database has no Citus/)
  })

  it('refuses the main database of the platform in words, and changes nothing there', async () => {
    const main = await createDatabase('platform')
    const sql = connectDatabase(parseAddress(main.url), { name: 'test', max: 1 })
    const tables = () => sql`select relname from pg_class where relkind in ('r', 'p') order by 1`
    const before = await tables()
    const { code, stderr } = await runMigrate({ DATABASE_URL: main.url })
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^"test_\w+" at \S+:\d+ is the main database of the platform, .*postgres\.collectorDatabase/,
    )
    expect(await tables()).toEqual(before)
    await sql.end()
    await main.drop()
  })

  it('lists every bad variable', async () => {
    const { code, stderr } = await runMigrate({ DATABASE_URL: 'x', LOG_LEVEL: 'loud' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/DATABASE_URL must be[^]*LOG_LEVEL must be/)
  })
})
