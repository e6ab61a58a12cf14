import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../../services/shared/log.ts'
import { createDirectoryStore } from '../../../../services/shared/object-store/directory-store.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { migrate } from '../../../../services/shared/postgres/migrate.ts'
import {
  fileOf,
  nameBackup,
  writeDump,
  writeManifest,
} from '../../../../services/tasks/backup/archive.ts'
import { dumpDatabase } from '../../../../services/tasks/backup/dump-database.ts'
import { createPassphrase } from '../../../../services/tasks/backup/sealed-file.ts'
import { explainFailure } from '../../../../services/tasks/prove/explain-failure.ts'
import { proveUpgrade } from '../../../../services/tasks/prove/prove-upgrade.ts'
import {
  isSignedVerdict,
  renderVerdict,
  signVerdict,
} from '../../../../services/tasks/prove/verdict.ts'
import { isLong } from '../../../support/long.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const PASSPHRASE = 'the passphrase of these backups'
const FIRST = `
create table key_fingerprints (purpose text primary key, salt bytea, fingerprint bytea);
create table hot (id int primary key, name text not null, old text, amount int not null);
create table cold (id int primary key, note text);
create table days (day int not null, text text) partition by range (day);
create table days_1 partition of days for values from (0) to (10);
`
const log = createLog({ name: 'test', level: 'silent' })
const passphrase = createPassphrase(PASSPHRASE)
let database: TestDatabase
let sql: Database
let directory: string
let backups: string
let folder: URL
let planted: string[] = []

beforeAll(async () => {
  database = await createDatabase()
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  directory = await mkdtemp(join(tmpdir(), 'prove-migrations-'))
  backups = await mkdtemp(join(tmpdir(), 'prove-backups-'))
  folder = pathToFileURL(`${directory}/`)
  await write('0001_first.sql', FIRST)
  await migrate(sql, folder, log)
  await sql`insert into key_fingerprints values ('SECRET_KEY_BASE', 'salt', 'print')`
  await sql`
    insert into hot
    select n, 'name ' || n % 99, E'tab\\tand\\nline', n from generate_series(1, 100) n`
  await sql`insert into cold values (1, 'a@example.com'), (2, 'a@example.com'), (3, null)`
  await sql`insert into days values (1, 'one'), (2, 'two')`
  await backUp()
})

afterEach(async () => {
  for (const name of planted) await rm(join(directory, name))
  planted = []
  expect(await copies()).toEqual([])
})

afterAll(async () => {
  await sql.end()
  await database.drop()
  for (const each of [directory, backups]) await rm(each, { recursive: true })
})

const write = (name: string, statements: string) => writeFile(join(directory, name), statements)

async function plant(...files: string[]): Promise<void> {
  planted = files.map((_, index) => `000${index + 2}_planted.sql`)
  for (const [index, name] of planted.entries()) await write(name, files[index] ?? '')
}

const address = () => parseAddress(database.url)
const archive = () => ({ store: createDirectoryStore(backups), passphrase })

async function backUp(schemaVersion = 1, salt = 'salt'): Promise<string> {
  const name = nameBackup(new Date())
  let size = { tables: 0, rows: 0 }
  const dump = dumpDatabase(address(), (whole) => (size = whole))
  const bytes = await writeDump(archive(), fileOf(name, 'main'), dump)
  await writeManifest(archive(), name, {
    format: 1,
    createdAt: new Date(Date.now() - 7_200_000).toISOString(),
    verified: 'read',
    databases: [{ name: 'main', database: address().database, bytes, schemaVersion, ...size }],
    keys: [{ name: 'SECRET_KEY_BASE', salt: Buffer.from(salt).toString('hex'), fingerprint: '' }],
    references: { images: [], repositories: [] },
  })
  return name
}

const copies = async (): Promise<string[]> =>
  (
    await sql<{ datname: string }[]>`
      select datname from pg_database where starts_with(datname, ${`${address().database}_prove_`})`
  ).map(({ datname }) => datname)

interface Trial {
  readonly lockMs?: number
  readonly minutes?: number
  readonly observeSeconds?: number
  readonly backup?: string
  readonly freeBytes?: number
  readonly user?: string
  readonly own?: string
}

function prove({ backup = 'latest', freeBytes, user, own, ...limits }: Trial = {}) {
  const reader = user === undefined ? address() : { ...address(), user, password: user }
  return proveUpgrade({
    archive: archive(),
    backup,
    databases: [{ name: 'main', address: reader, migrations: folder }],
    only: undefined,
    limits: { lockMs: 10_000, minutes: 5, observeSeconds: 0, ...limits },
    freeBytes,
    programs: { own, former: undefined, caFile: undefined },
    log,
  })
}

const contentOf = async (): Promise<string> =>
  JSON.stringify([
    await sql`select * from hot order by id`,
    await sql`select version from schema_migrations`,
    await sql`select relname, relfilenode from pg_class where relkind in ('r', 'i') order by oid`,
  ])

describe('a rehearsal of an upgrade', () => {
  it('has nothing to do where the schema is that of the program', async () => {
    const verdict = await prove()
    expect(verdict).toMatchObject({ verdict: 'current', databases: [{ rehearsal: null }] })
    expect(renderVerdict(await signVerdict(verdict, passphrase))).toContain('nothing is pending')
  })

  it('proves migrations that add, with figures; the original stays as it is', async () => {
    const before = await contentOf()
    await plant(
      'create table fresh (id int); insert into fresh select generate_series(1, 1000);',
      'alter table hot add column extra text; update hot set extra = name;',
      'create index days_text on days (text);',
      `insert into cold values (4, 'more');`,
      '-- contract: safe from 0005\nalter table hot drop column old;',
      "-- changes rows of hot: names have no spaces\nupdate hot set name = replace(name, ' ', '');",
      '-- changes rows of days: a word is loud\nupdate days set text = upper(text);',
      `-- changes rows of cold: it is made anew
      alter table cold rename to former;
      create table cold (id int primary key, note text);
      insert into cold select id, 'x' from former;
      drop table former;`,
    )
    const verdict = await prove()
    expect(verdict.reasons).toEqual([])
    const { verdict: kind, databases, backup } = verdict
    expect({ kind, age: backup.ageHours }).toEqual({ kind: 'proven', age: 2 })
    const [main] = databases
    const rehearsal = main?.rehearsal
    expect(main).toMatchObject({ from: 1, to: 9 })
    const [fresh, extra, index, , contract] = rehearsal?.migrations ?? []
    expect(rehearsal?.room.freeBytes).toBeGreaterThan(2 ** 20)
    expect(fresh?.walBytes).toBeGreaterThan(1000 * 28)
    expect(fresh?.growthBytes).toBeGreaterThan(0)
    expect(fresh?.locks).toEqual([])
    expect(extra).toMatchObject({
      locks: [{ table: 'hot', mode: 'ACCESS EXCLUSIVE', heldMs: expect.any(Number), waiting: [] }],
      changes: [{ table: 'hot', inserted: 0, updated: 100, deleted: 0, isRewritten: false }],
    })
    expect(index?.locks).toMatchObject([{ table: 'days', mode: 'SHARE' }])
    expect(contract?.losses).toEqual([{ table: 'hot', kind: 'lost_column', column: 'old' }])
    const tables = new Map(rehearsal?.tables.map((table) => [table.table, table]))
    expect(tables.get('days_1')).toMatchObject({ rowsBefore: 2, rowsAfter: 2 })
    expect(tables.get('cold')).toMatchObject({ rowsBefore: 3, rowsAfter: 4 })

    expect(renderVerdict(await signVerdict(verdict, passphrase))).toMatch(
      /^Proven.*\n.*\(2\.0 hours old\)\n\nmain: schema 1 to 9\n {2}restored 106 rows of 4 tables/,
    )
    expect(await contentOf()).toBe(before)
  })

  it('signs its verdict: who changes it, or has another passphrase, is found out', async () => {
    const signed = await signVerdict(await prove(), passphrase)
    const kept: unknown = JSON.parse(JSON.stringify(signed))
    expect(await isSignedVerdict(kept, passphrase)).toBe(true)
    expect(await isSignedVerdict(kept, createPassphrase(`${PASSPHRASE}!`))).toBe(false)
    const changed = { ...signed, verdict: { ...signed.verdict, verdict: 'proven' } }
    expect(await isSignedVerdict(changed, passphrase)).toBe(false)
    expect(await isSignedVerdict({ ...signed, more: 1 }, passphrase)).toBe(false)
  })

  it('refuses what is lost, changed or rewritten without a word, and says where', async () => {
    await plant(
      'alter table hot drop column old;',
      'alter table hot alter column amount type bigint;',
      'drop table cold;',
      'update hot set name = upper(name) where id <= 7; delete from hot where id > 98;',
      `alter table days alter column text type text using text || '!';`,
    )
    const { verdict, reasons } = await prove()
    expect(verdict).toBe('refused')
    expect(reasons.map(({ kind, table, migration }) => [kind, table, migration])).toEqual([
      ['lost_column', 'hot', '0002_planted.sql'],
      ['changed_type', 'hot', '0003_planted.sql'],
      ['lost_table', 'cold', '0004_planted.sql'],
      ['rows', 'days_1', null],
      ['rows', 'hot', null],
    ])
    const [column, type, , rewritten, rows] = reasons.map(({ text }) => text)
    expect(column).toContain('The column old of hot is no longer there')
    expect(type).toContain('from integer to bigint')
    expect(rewritten).toContain('it was written anew or emptied, by 0006_planted.sql')
    expect(rows).toContain('it had 100 and has 98; 7 were updated, 2 deleted and 0 inserted')
  })

  it('compares only columns that both schemas have, to the last row', async () => {
    await plant(
      `-- contract: safe from 0002
      alter table hot drop column old;
      alter table hot disable trigger user;
      update hot set amount = 0 where id = 5;
      alter table cold alter column id type bigint, alter column note type varchar(99);`,
    )
    const { reasons } = await prove()
    expect(reasons).toMatchObject([{ kind: 'rows', table: 'hot' }])
    expect(reasons[0]?.text).toContain('1 were updated')
  })

  it('refuses a lock on a table in use that is held for too long, and no other', async () => {
    await plant(
      'alter table cold add column a int; alter table hot add column b int; select pg_sleep(0.2);',
      'create index hot_name on hot (name); select pg_sleep(0.2);',
    )
    const { reasons, databases } = await sql.begin(async (tx) => {
      await tx`select from hot limit 1`
      return prove({ lockMs: 100, observeSeconds: 0 })
    })
    expect(databases[0]?.rehearsal?.use).toContainEqual(
      expect.objectContaining({ table: 'hot', readers: 1, writers: 0 }),
    )
    expect(reasons).toMatchObject([{ kind: 'lock', table: 'hot', migration: '0002_planted.sql' }])
    expect(reasons[0]?.text).toMatch(
      /^ACCESS EXCLUSIVE on hot is held for 0\.\d\d s, in which SELECT wait for it; 0\.10 s are/,
    )
    const writing = await sql.begin(async (tx) => {
      await tx`update hot set amount = amount where id = 1`
      return prove({ lockMs: 100 })
    })
    expect(writing.reasons.map(({ text }) => text.split(',')[0])).toEqual([
      expect.stringMatching(/^ACCESS EXCLUSIVE on hot/),
      expect.stringMatching(/^SHARE on hot is held/),
    ])
  })

  it('refuses what fails on the data, and names no row', async () => {
    await plant('create unique index cold_note on cold (note);', 'select 1;')
    const { reasons } = await prove()
    expect(reasons).toEqual([
      {
        kind: 'failed',
        database: 'main',
        migration: '0002_planted.sql',
        table: null,
        text:
          'It fails on these data: could not create unique index "cold_note" (SQLSTATE 23505). ' +
          '1 more after it were not tried.',
      },
    ])
  })

  it.each([
    [
      'alter table cold alter column note set not null',
      'column "note" of relation "cold" contains',
    ],
    ['alter table cold add check (id < 3)', 'check constraint "cold_id_check" of relation "cold"'],
    ['alter table cold alter column note type int using note::int', 'type integer: "…" (SQLSTATE'],
    ["do $$ begin raise 'no % here', (select min(note) from cold); end $$", 'no … here (SQLSTATE'],
    ["do $$ begin raise 'no % here', (select 'Ann of 5'); end $$", 'no Ann of 5 here'],
  ])('says why a statement failed, without the values of rows: %s', async (statements, message) => {
    const thrown: unknown = await sql.unsafe(statements).then(String, (error: unknown) => error)
    const text = explainFailure(thrown, { statements, isOver: false })
    expect(text).toContain(message)
    expect(text).not.toContain('example')
  })

  it('refuses what its own programs cannot read, and says that it is they', async () => {
    const programs = join(directory, 'programs')
    await mkdir(join(programs, 'platform/migrations'), { recursive: true })
    await mkdir(join(programs, 'tasks'))
    await writeFile(join(programs, 'tasks/main.js'), 'process.exit(1)')
    await plant('create table fresh (id int);')
    const verdict = await prove({ own: programs })
    expect(verdict).toMatchObject({
      verdict: 'refused',
      programs: { tried: ['main: migrate'] },
      formerPrograms: null,
      reasons: [{ kind: 'programs', database: 'main' }],
    })
    expect(renderVerdict(await signVerdict(verdict, passphrase))).toContain(
      'Programs of this release: 1 tries of main\nFormer programs: not tried',
    )
    await rm(programs, { recursive: true })
  })

  it('ends what takes too long', async () => {
    await plant('select pg_sleep(60);')
    const { reasons } = await prove({ minutes: 0 })
    expect(reasons.map(({ kind }) => kind)).toEqual(['failed', 'time'])
    expect(reasons[0]?.text).toContain('the time was up')
  })

  it('is not tried with a backup of another installation, or of another schema', async () => {
    await plant('select 1;')
    const others = [await backUp(1, 'pepper'), await backUp(7)]
    await expect(prove({ backup: others[0] })).rejects.toThrow('is of another installation')
    await expect(prove({ backup: others[1] })).rejects.toThrow(
      /has schema 7 of main, and the database has 1: .* Make a new backup/,
    )
    const damaged = await backUp()
    await writeFile(join(backups, fileOf(damaged, 'main')), 'x')
    await expect(prove({ backup: damaged })).rejects.toThrow('was cut off')
    const bitten = await backUp()
    const path = join(backups, fileOf(bitten, 'main'))
    const bytes = await readFile(path)
    bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200)
    await writeFile(path, bytes)
    await expect(prove({ backup: bitten })).rejects.toThrow('is damaged')
    for (const name of [...others, damaged, bitten])
      await rm(join(backups, name), { recursive: true })
  })

  it('is not tried without room, nor beside another one', async () => {
    await plant('select 1;')
    await expect(prove({ freeBytes: 2 ** 20 })).rejects.toThrow(
      /has 0\.00 GiB free, and a rehearsal of test_\w+ needs \d\.\d\d GiB: twice its/,
    )
    const first = prove({ observeSeconds: 1 })
    await expect.poll(copies, { interval: 20 }).toHaveLength(1)
    await expect(prove()).rejects.toThrow(/^Another rehearsal of test_\w+ is running/)
    expect((await first).verdict).toBe('proven')
  })

  it('needs a role that may create databases, and says so', async () => {
    await plant('select 1;')
    const user = `prove_${randomBytes(4).toString('hex')}`
    await sql.unsafe(
      `create role ${user} login password '${user}'; grant pg_read_all_data to ${user}`,
    )
    try {
      await expect(prove({ user })).rejects.toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining(`Run "alter role ${user} createdb" there`),
      })
    } finally {
      await sql.unsafe(`drop role ${user}`)
    }
  })

  it('that is killed at any moment leaves a copy, which the next one drops', async () => {
    // The long form also kills while it restores, migrates, compares and drops the copy.
    const moments = isLong ? Array.from({ length: 24 }, (_, nr) => nr * 70) : [0]
    await plant('create index hot_name on hot (name); create table fresh (id int);')
    const before = await contentOf()
    const here = (path: string) => pathToFileURL(join(process.cwd(), 'services', path)).href
    const program = `
      import { proveUpgrade } from '${here('tasks/prove/prove-upgrade.ts')}'
      import { createPassphrase } from '${here('tasks/backup/sealed-file.ts')}'
      import { createDirectoryStore } from '${here('shared/object-store/directory-store.ts')}'
      import { createLog } from '${here('shared/log.ts')}'
      await proveUpgrade({
        archive: { store: createDirectoryStore('${backups}'),
          passphrase: createPassphrase('${PASSPHRASE}') },
        backup: 'latest', only: undefined, freeBytes: 2 ** 50, programs: {},
        databases: [{ name: 'main', address: ${JSON.stringify(address())},
          migrations: new URL('${folder.href}') }],
        limits: { lockMs: 1, minutes: 1, observeSeconds: ${isLong ? 0 : 60} },
        log: createLog({ name: 'test', level: 'silent' }),
      })`
    const line = ['--import', 'tsx', '--input-type=module', '-e', program]
    const left = new Set<string>()
    for (const moment of moments) {
      const known = await copies()
      const child = spawn(process.execPath, line, { stdio: 'inherit' })
      const ended = once(child, 'exit')
      await expect
        .poll(async () => (await copies()).some((name) => !known.includes(name)), { interval: 5 })
        .toBe(true)
      await delay(moment)
      child.kill('SIGKILL')
      await ended
      for (const name of await copies()) left.add(name)
      expect(await contentOf()).toBe(before)
    }
    expect(left.size).toBeGreaterThan(moments.length / 4)
    await expect
      .poll(() => prove().catch(String), { interval: 50 })
      .toMatchObject({ verdict: 'proven' })
    expect(await copies()).toEqual([])
    expect(await contentOf()).toBe(before)
  })
})
