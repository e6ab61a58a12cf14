import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { readMigrations } from '../../../../services/shared/postgres/migration-files.ts'
import { schemaDigest } from '../../../../services/shared/postgres/upgrade-proof.ts'
import { MIGRATIONS } from '../../../../services/tasks/migrations.ts'
import { tryPrograms } from '../../../../services/tasks/prove/programs.ts'
import type { Verdict } from '../../../../services/tasks/prove/figures.ts'
import { runTask } from '../../../../services/tasks/start.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

let main: TestDatabase
let traces: TestDatabase
let sql: Database
let directory: string

beforeAll(async () => {
  ;[main, traces] = [await createDatabase('platform'), await createDatabase('collector')]
  sql = connectDatabase(parseAddress(main.url), { name: 'test' })
  const organization = 'Some & "organization"'
  await seedAutomation(sql, { organization, slug: 'read' })
  directory = await mkdtemp(join(tmpdir(), 'former-'))
})

afterAll(async () => {
  await sql.end()
  await Promise.all([main.drop(), traces.drop(), rm(directory, { recursive: true })])
})

const tryOn = (database: 'main' | 'collector', programs: string) =>
  tryPrograms({
    directory: programs,
    database,
    copy: parseAddress(database === 'main' ? main.url : traces.url),
    sql,
    caFile: undefined,
  })

/** Programs of before whose web answers as told. */
async function writePrograms(name: string, web: string): Promise<string> {
  const programs = join(directory, name)
  await cp(MIGRATIONS.main, join(programs, 'platform/migrations'), { recursive: true })
  for (const [program, text] of [
    ['tasks', `if (process.argv[2] !== 'migrate') console.log('a-token')`],
    ['web', web],
  ] as const) {
    await mkdir(join(programs, program))
    await writeFile(join(programs, program, 'main.js'), text)
  }
  return programs
}

const serve = (status: string) => `
  require('node:http').createServer((request, response) => {
    const { url } = request
    response.statusCode = ${status}
    const list = { get: {} }
    response.end(JSON.stringify({ paths: { '/a': list, '/b': list, '/c/{id}': list } }))
  }).listen(process.env.PORT, process.env.HOST)`

describe('programs of a release on the new schema', () => {
  it('are those of a directory, which start and read', async () => {
    const programs = inject('programsDirectory')
    const found = await tryOn('main', programs)
    expect(found.problems).toEqual([])
    expect(found.schema).toBe(schemaDigest(await readMigrations(MIGRATIONS.main)))
    expect(found.tried.slice(0, 2)).toEqual(['main: migrate', 'main: GET /health'])
    expect(found.tried.length).toBeGreaterThan(15)
    expect(found.tried).toContain('main: GET /designer/v2/automations/{id}')
    await sql`alter table deployments rename column name to lost`
    const lost = await tryOn('main', programs)
    await sql`alter table deployments rename column lost to name`
    expect(lost.problems).toContain('GET /designer/v2/automations answered 500')
    const collector = await tryOn('collector', programs)
    expect(collector).toMatchObject({
      tried: ['collector: migrate', 'collector: GET /health', 'collector: GET /api/traces'],
      problems: [],
    })
  })

  it('are found out when they refuse the schema, do not start, or cannot read', async () => {
    const refusing = await writePrograms('refusing', '')
    await writeFile(join(refusing, 'tasks/main.js'), `console.error('needs 99'); process.exit(1)`)
    expect((await tryOn('main', refusing)).problems).toEqual(['migrate ended with 1: needs 99'])
    const dying = await tryOn('main', await writePrograms('dying', 'process.exit(3)'))
    expect(dying.problems).toEqual(['GET /health : it ended with 3'])
    const failing = await writePrograms('failing', serve(`url === '/b' ? 500 : 200`))
    const { tried, problems } = await tryOn('main', failing)
    expect(tried.slice(2)).toEqual(['main: GET /a', 'main: GET /b'])
    expect(problems).toEqual(['GET /b answered 500'])
  })

  it('are part of a verdict, also where nothing is pending', async () => {
    const backups = join(directory, 'backups')
    const file = join(directory, 'verdict.json')
    const source = {
      LOG_LEVEL: 'silent',
      DATABASE_URL: main.url,
      BACKUP_PASSPHRASE: 'the passphrase of these backups',
      BACKUP_DIRECTORY: backups,
      BACKUP_VERIFY: 'read',
    }
    await mkdir(backups)
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    const failing = await writePrograms('later', serve(`url === '/a' ? 500 : 200`))
    const prove = (programs: string) =>
      runTask(
        ['upgrade:prove', '--former-programs', programs, '--observe', '0', '--out', file],
        source,
      )
    try {
      await runTask(['backup:create'], source)
      await expect(prove(directory)).rejects.toThrow(/former-\w+", without tasks\/main\.js/)
      expect(await prove(failing)).toBe(2)
      expect(write).toHaveBeenCalledWith(
        expect.stringContaining(
          '- main: The former programs do not work on the new schema: GET /a',
        ),
      )
    } finally {
      write.mockRestore()
    }
    const { verdict }: { verdict: Verdict } = JSON.parse(await readFile(file, 'utf8'))
    expect(verdict).toMatchObject({
      verdict: 'refused',
      formerPrograms: { schemas: { main: schemaDigest(await readMigrations(MIGRATIONS.main)) } },
      reasons: [{ kind: 'former_programs', database: 'main' }],
    })
  })
})
