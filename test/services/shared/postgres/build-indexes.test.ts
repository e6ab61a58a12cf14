import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readIndexes } from '../../../../services/shared/postgres/build-indexes.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { migrate } from '../../../../services/shared/postgres/migrate.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const log = createLog({ name: 'test', level: 'silent' })
const TABLE = `
  create table days (day int, name text) partition by list (day);
  create table days_1 partition of days for values in (1);
  create table days_2 partition of days for values in (2);
  insert into days select 1 + n % 2, 'n' || n from generate_series(1, 2000) n;`
const INDEXES = `
  -- For look-ups; see the readers.
  create index days_name on days (name);
  create unique index days_short on days (day, name) where length(name) < 4;`

describe('a migration of nothing but indexes on a partitioned table', () => {
  let database: TestDatabase
  let sql: Database
  let directory: string
  let folder: URL
  const connections: Database[] = []
  const connect = (name: string): Database => {
    const opened = connectDatabase(parseAddress(database.url), { name, max: 1 })
    connections.push(opened)
    return opened
  }
  beforeEach(async () => {
    database = await createDatabase()
    sql = connect('test')
    directory = await mkdtemp(join(tmpdir(), 'migrations-'))
    folder = pathToFileURL(`${directory}/`)
    await writeFile(join(directory, '0001_table.sql'), TABLE)
    await migrate(sql, folder, log)
    await writeFile(join(directory, '0002_indexes.sql'), INDEXES)
  })
  afterEach(async () => {
    await Promise.all(connections.splice(0).map((one) => one.end({ timeout: 1 })))
    await database.drop()
    await rm(directory, { recursive: true })
  })

  /** A reader whose snapshot a concurrent build has to wait for. */
  const holdSnapshot = async (): Promise<() => Promise<unknown>> => {
    const reader = connect('reader')
    await reader.unsafe('begin isolation level repeatable read')
    await reader.unsafe('select from days limit 1')
    return () => reader.unsafe('commit')
  }
  const builders = async (): Promise<number[]> => {
    const rows = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and query like 'create index concurrently%'
        and state = 'active' and wait_event_type = 'Lock'`
    return rows.map(({ pid }) => pid)
  }
  const isBuilding = () => expect.poll(async () => (await builders()).length).toBe(1)
  const indexes = () => sql`
    select c.relname as name, i.indisvalid as is_valid, i.indrelid::regclass::text as on_table,
      (select p.inhparent::regclass::text from pg_inherits p where p.inhrelid = c.oid) as part_of
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid::regclass::text like 'days%' order by c.relname`
  const complete = ['days_1', 'days_2'].flatMap((day) =>
    ['days_name', 'days_short'].map((name) => ({
      name: `${day}_${name}`,
      isValid: true,
      onTable: day,
      partOf: name,
    })),
  )
  const parents = ['days_name', 'days_short'].map((name) => ({
    name,
    isValid: true,
    onTable: 'days',
    partOf: null,
  }))

  it('builds them on each partition while rows are written', async () => {
    const release = await holdSnapshot()
    const migrated = migrate(connect('migrate'), folder, log)
    await isBuilding()
    for (const day of [1, 2]) await sql`insert into days values (${day}, 'written meanwhile')`
    await sql.unsafe('create table days_3 (like days)')
    await sql.unsafe('alter table days attach partition days_3 for values in (3)')
    expect(await builders()).toHaveLength(1)
    await release()
    expect(await migrated).toBe(2)
    expect(await indexes()).toEqual(expect.arrayContaining([...complete, ...parents]))
    const [third] = await sql`select from pg_index where indrelid = 'days_3'::regclass`
    expect(third).toBeDefined()
  })

  it('is carried out once by several replicas that start at once', async () => {
    const release = await holdSnapshot()
    const replicas = [1, 2, 3, 4].map((nr) => migrate(connect(`replica ${nr}`), folder, log))
    await isBuilding()
    await release()
    expect(await Promise.all(replicas)).toEqual([2, 2, 2, 2])
    expect(await indexes()).toEqual([...complete, ...parents])
  })

  it('is completed after a run that was killed in the middle', async () => {
    const release = await holdSnapshot()
    const killed = migrate(connect('migrate'), folder, log)
    await isBuilding()
    const [pid = 0] = await builders()
    await sql`select pg_terminate_backend(${pid})`
    await expect(killed).rejects.toThrow()
    await release()
    expect(await indexes()).toMatchObject([{ name: 'days_1_days_name', isValid: false }])
    expect(await migrate(connect('next'), folder, log)).toBe(2)
    expect(await indexes()).toEqual([...complete, ...parents])
  })

  it('waits for no lock so long that writers queue up behind it', async () => {
    for (const day of ['days_1', 'days_2']) {
      await sql.unsafe(`create index ${day}_days_name on ${day} (name)`)
      const short = `on ${day} (day, name) where length(name) < 4`
      await sql.unsafe(`create unique index ${day}_days_short ${short}`)
    }
    const writer = connect('writer')
    await writer.unsafe('begin')
    await writer.unsafe(`insert into days values (2, 'in the middle')`)
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    const told = createLog({ name: 'test', level: 'info', destination })
    const migrated = migrate(connect('migrate'), folder, told)
    const again = 'a table is in use; trying again'
    await expect.poll(() => lines.join('')).toContain(again)
    await sql`insert into days values (2, 'written meanwhile')`
    await writer.unsafe('commit')
    expect(await migrated).toBe(2)
    expect(await indexes()).toEqual([...complete, ...parents])
  })
})

describe('which migrations create nothing but indexes', () => {
  it.each([
    ['create index a on t (x);', ['a']],
    ['-- why; because\ncreate index a on t (x) where y;\ncreate index b on t (y)', ['a', 'b']],
    ['create index a on t (x); alter table t add y int;', []],
    ['create unique index a on t (x);', ['a']],
    ['select 1', []],
    ['', []],
  ])('%j', (statements, names) => {
    expect(readIndexes(statements).map(({ name }) => name)).toEqual(names)
  })
})
