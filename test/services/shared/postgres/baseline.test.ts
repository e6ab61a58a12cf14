import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { migrate, migrateAsFormer } from '../../../../services/shared/postgres/migrate.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const log = createLog({ name: 'test', level: 'silent' })
const FORMER = {
  '0001_first.sql': 'create table first (id int); insert into first values (1);',
  '0002_second.sql': 'alter table first add column name text;',
  '0003_third.sql': 'create table third (id int);',
}
let database: TestDatabase
let sql: Database
let directory: string
let former: URL
let folder: URL

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const write = (at: URL, name: string, text: string) => writeFile(new URL(name, at), text)

/** The former program, and this one, in which a baseline stands for its files. */
beforeEach(async () => {
  database = await createDatabase()
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  directory = await mkdtemp(join(tmpdir(), 'migrations-'))
  former = pathToFileURL(`${directory}/former/`)
  folder = pathToFileURL(`${directory}/this/`)
  const baseline = new URL('0003_baseline/', folder)
  await mkdir(former)
  await mkdir(baseline, { recursive: true })
  const sums = Object.entries(FORMER).map(([name, text]) => `${sha256(text)}  ${name}\n`)
  await write(baseline, 'replaces.sha256', `# release: 1.2.3\n${sums.join('')}`)
  await write(baseline, '02_third.sql', 'create table third (id int, first_id int);')
  await write(baseline, '01_first.sql', 'create table first (id int, name text);')
  await write(folder, '0004_fourth.sql', 'insert into third values (4);')
  for (const [name, text] of Object.entries(FORMER)) await write(former, name, text)
})

afterEach(async () => {
  await sql.end()
  await database.drop()
  await rm(directory, { recursive: true })
})

const ledger = async (): Promise<string[]> => {
  const rows = await sql<{ name: string }[]>`select name from schema_migrations order by version`
  return rows.map(({ name }) => name)
}

/** What a database has: nothing where it has no ledger. */
const contents = () => sql`
  select c.relname, (xpath('/row/rows/text()', query_to_xml(
    format('select string_agg(t::text, chr(10) order by t::text) as rows from %I t', c.relname),
    false, true, '')))[1]::text as rows
  from pg_class c where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`

describe('a baseline', () => {
  it('is applied as one, in the order of its files, before the files after it', async () => {
    const versions = await Promise.all(Array.from({ length: 4 }, () => migrate(sql, folder, log)))
    expect(versions).toEqual([4, 4, 4, 4])
    expect(await ledger()).toEqual(['0003_baseline', '0004_fourth.sql'])
    expect(await sql`select id from third`).toMatchObject([{ id: 4 }])
  })

  it('is there in a database that has all of its files, which stays as it is', async () => {
    await migrate(sql, former, log)
    await sql`insert into first values (2, 'two')`
    const before = await contents()
    await rm(new URL('0004_fourth.sql', folder))
    expect(await migrate(sql, folder, log)).toBe(3)
    expect(await contents()).toEqual(before)
  })

  it('is followed there by new files, on which the former program works', async () => {
    await migrate(sql, former, log)
    expect(await migrate(sql, folder, log)).toBe(4)
    expect(await ledger()).toEqual([...Object.keys(FORMER), '0004_fourth.sql'])
    expect(await migrate(sql, former, log)).toBe(3)
    expect(await migrate(sql, folder, log)).toBe(4)
  })

  it('is refused to a database that has some of its files, which stays as it is', async () => {
    await rm(new URL('0003_third.sql', former))
    await migrate(sql, former, log)
    // As programs left it that did not keep yet for whom a file is safe.
    await sql`alter table schema_migrations drop column safe_from`
    const before = await contents()
    await expect(migrate(sql, folder, log)).rejects.toMatchObject({
      code: 'schema_mismatch',
      message:
        'The database has schema version 2 (0002_second.sql). This program takes it over from ' +
        'version 3 on: install 1.2.3 first, whose migrations lead there, and this one then.',
    })
    expect(await contents()).toEqual(before)
  })

  it('is refused where a file was another one', async () => {
    await write(former, '0002_second.sql', 'alter table first add column title text;')
    await migrate(sql, former, log)
    await expect(migrate(sql, folder, log)).rejects.toThrow('0002_second.sql differs')
  })

  it('is refused to a program that knows its files alone', async () => {
    await migrate(sql, folder, log)
    await expect(migrate(sql, former, log)).rejects.toThrow('differs from the one that was applied')
  })

  it('is the schema of a database that is restored, at the baseline or after it', async () => {
    const row = (version: number, [name, text]: [string, string]) => ({
      version,
      name,
      checksum: sha256(text),
    })
    const applied = Object.entries(FORMER).map((entry, index) => row(index + 1, entry))
    await migrateAsFormer(sql, { folder, applied }, log)
    expect(await ledger()).toEqual(['0003_baseline'])
    const next = row(4, ['0004_fourth.sql', 'insert into third values (4);'])
    await migrateAsFormer(sql, { folder, applied: [...applied, next] }, log)
    expect(await ledger()).toEqual(['0003_baseline', '0004_fourth.sql'])
    await expect(
      migrateAsFormer(sql, { folder, applied: applied.slice(0, 2) }, log),
    ).rejects.toThrow('install 1.2.3 first')
  })

  it('leaves no gap in the numbers after it', async () => {
    await cp(new URL('0004_fourth.sql', folder), new URL('0006_sixth.sql', folder))
    await expect(migrate(sql, folder, log)).rejects.toThrow(
      '0006_sixth.sql should have the number 5',
    )
  })

  it('is replaced in turn by a later one', async () => {
    await migrate(sql, folder, log)
    const next = pathToFileURL(`${directory}/next/`)
    const baseline = new URL('0004_baseline/', next)
    await mkdir(baseline, { recursive: true })
    const rows = await sql<{ name: string; checksum: string }[]>`
      select name, checksum from schema_migrations order by version`
    const sums = rows.map(({ name, checksum }) => `${checksum}  ${name}\n`).join('')
    await write(baseline, 'replaces.sha256', `# release: 2.0.0\n${sums}`)
    await write(baseline, '01_all.sql', 'create table first (); create table third ();')
    expect(await migrate(sql, next, log)).toBe(4)
    expect(await ledger()).toEqual(['0003_baseline', '0004_fourth.sql'])
  })
})
