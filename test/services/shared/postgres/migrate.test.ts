import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { listPending, migrate } from '../../../../services/shared/postgres/migrate.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const log = createLog({ name: 'test', level: 'silent' })
let database: TestDatabase
let sql: Database
let directory: string
let folder: URL

beforeEach(async () => {
  database = await createDatabase()
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  directory = await mkdtemp(join(tmpdir(), 'migrations-'))
  folder = pathToFileURL(`${directory}/`)
  await write('0001_first.sql', 'create table first (id int); insert into first values (1);')
})

afterEach(async () => {
  await sql.end()
  await database.drop()
  await rm(directory, { recursive: true })
})

const write = (name: string, statements: string) => writeFile(join(directory, name), statements)

describe('migrate', () => {
  it('applies each file once, however many replicas start at the same time', async () => {
    await write('0002_second.sql', 'insert into first values (2);')
    const versions = await Promise.all(Array.from({ length: 6 }, () => migrate(sql, folder, log)))
    expect(versions).toEqual([2, 2, 2, 2, 2, 2])
    expect(await sql`select id from first order by id`).toMatchObject([{ id: 1 }, { id: 2 }])
  })

  it('lists what a database does not have yet, and changes nothing there', async () => {
    await expect(listPending(sql, folder)).rejects.toThrow('no tables of this platform')
    await migrate(sql, folder, log)
    await write('0002_second.sql', '-- changes rows of first, other: why\ndelete from first;')
    const { version, pending } = await listPending(sql, folder)
    expect(version).toBe(1)
    expect(pending).toMatchObject([{ version: 2, changesRowsOf: ['first', 'other'] }])
    expect(await sql`select id from first`).toMatchObject([{ id: 1 }])
  })

  it('leaves nothing of a file that fails, and goes on when it is fixed', async () => {
    await write('0002_second.sql', 'insert into first values (2); select 1/0;')
    await expect(migrate(sql, folder, log)).rejects.toThrow('division by zero')
    expect(await sql`select id from first`).toMatchObject([{ id: 1 }])
    await write('0002_second.sql', 'insert into first values (2);')
    expect(await migrate(sql, folder, log)).toBe(2)
  })

  it('tries a file again that lost a circle of waits to a program', async () => {
    await migrate(sql, folder, log)
    await sql`create table second (id int)`
    await write('0002_second.sql', 'lock table first; lock table second;')
    const applied = await sql.begin(async (tx) => {
      // The migration is the one that looks for a circle first.
      await tx`set local deadlock_timeout = '1min'`
      await tx`lock table second`
      const again = migrate(sql, folder, log)
      const waiting = () => sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(async () => (await waiting()).length, { interval: 10 }).toBe(1)
      await tx`lock table first`
      return { again }
    })
    expect(await applied.again).toBe(2)
  })

  it('refuses a file that was changed after it was applied', async () => {
    await migrate(sql, folder, log)
    await write('0001_first.sql', 'create table other (id int);')
    await expect(migrate(sql, folder, log)).rejects.toMatchObject({
      code: 'schema_mismatch',
      message: expect.stringContaining('0001_first.sql differs'),
    })
  })

  it('works on a database that is newer, and applies nothing there', async () => {
    await write('0002_second.sql', 'alter table first add column name text;')
    await migrate(sql, folder, log)
    await rm(join(directory, '0002_second.sql'))
    expect(await migrate(sql, folder, log)).toBe(1)
    expect(await sql`select version from schema_migrations`).toHaveLength(2)
  })

  it('refuses a newer one that is not safe for it, and says for which it is', async () => {
    await write('0002_second.sql', 'select 1;')
    await write('0003_third.sql', '-- contract: safe from 0002\nalter table first drop column id;')
    await migrate(sql, folder, log)
    await rm(join(directory, '0003_third.sql'))
    expect(await migrate(sql, folder, log)).toBe(2)
    await rm(join(directory, '0002_second.sql'))
    await expect(migrate(sql, folder, log)).rejects.toMatchObject({
      code: 'schema_mismatch',
      message: expect.stringContaining(
        'schema version 3 (0003_third.sql), on which programs work that know version 2 or later; ' +
          'this one knows up to 1',
      ),
    })
  })

  it('refuses a file that is safe from a version after it', async () => {
    await write('0002_second.sql', '-- contract: safe from 0003\nselect 1;')
    await expect(migrate(sql, folder, log)).rejects.toThrow(
      'safe from version 3, which comes after',
    )
  })

  it('refuses numbers with a gap', async () => {
    await write('0003_third.sql', 'select 1;')
    await expect(migrate(sql, folder, log)).rejects.toThrow(
      '0003_third.sql should have the number 2',
    )
  })
})
