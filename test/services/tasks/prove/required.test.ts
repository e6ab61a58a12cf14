import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { createLog } from '../../../../services/shared/log.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { migrate } from '../../../../services/shared/postgres/migrate.ts'
import { readMigrations } from '../../../../services/shared/postgres/migration-files.ts'
import { requireProof } from '../../../../services/shared/postgres/upgrade-proof.ts'
import { MIGRATIONS } from '../../../../services/tasks/migrations.ts'
import { createPassphrase } from '../../../../services/tasks/backup/sealed-file.ts'
import { verdictKey } from '../../../../services/tasks/prove/verdict.ts'
import { runTask } from '../../../../services/tasks/start.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const log = createLog({ name: 'test', level: 'silent' })
const last = (await readMigrations(MIGRATIONS.main)).at(-1)
const hasFormer = last !== undefined && !last.replaces && last.safeFrom < last.version
if (!hasFormer) console.log('No release before works on this schema: none was upgraded.')

const BACKUP_PASSPHRASE = 'the passphrase of these backups'
let database: TestDatabase
let sql: Database
let directory: string

beforeEach(async () => {
  database = await createDatabase('empty')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  directory = await mkdtemp(join(tmpdir(), 'required-'))
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
})

afterEach(async () => {
  vi.restoreAllMocks()
  await sql.end()
  await database.drop()
  await rm(directory, { recursive: true })
})

describe.runIf(hasFormer)('an upgrade that requires a proof', () => {
  it('is refused, rehearsed on a backup, done, and taken back', async () => {
    // The release before, whose programs know all migrations but the last.
    const programs = join(directory, 'programs')
    const former = join(programs, 'platform/migrations')
    await cp(fileURLToPath(MIGRATIONS.main), former, { recursive: true })
    await rm(join(former, last?.name ?? ''))
    for (const program of ['tasks', 'web']) {
      await cp(join(inject('programsDirectory'), program), join(programs, program), {
        recursive: true,
      })
    }
    await migrate(sql, pathToFileURL(`${former}/`), log)
    await mkdir(join(directory, 'backups'))
    const source = {
      LOG_LEVEL: 'silent',
      DATABASE_URL: database.url,
      BACKUP_PASSPHRASE,
      BACKUP_DIRECTORY: join(directory, 'backups'),
      BACKUP_VERIFY: 'read',
    }
    const key = await verdictKey(createPassphrase(BACKUP_PASSPHRASE))
    const upgrade = () => runTask(['migrate'], { ...source, UPGRADE_PROOF_KEY: key })
    await runTask(['backup:create'], source)
    await expect(upgrade()).rejects.toThrow('asks for a verdict of upgrade:prove before')
    const own = join(inject('programsDirectory'), 'tasks/main.js')
    const tried = ['--record', '--former-programs', programs, '--observe', '0']
    const env = { ...source, PATH: process.env['PATH'] }
    const proved = promisify(execFile)(process.execPath, [own, 'upgrade:prove', ...tried], { env })
    expect((await proved).stdout).toMatch(/^Proven[^]*Programs of this release: \d+ tries of main/)
    expect(await upgrade()).toBe(0)
    const config = { UPGRADE_PROOF_KEY: key, UPGRADE_PROOF_DAYS: 7 }
    const demand = { config, database: 'main', platform: '1.12.0', log } as const
    await requireProof(sql, pathToFileURL(`${former}/`), demand)
    await sql`delete from upgrade_verdicts`
    await expect(requireProof(sql, pathToFileURL(`${former}/`), demand)).rejects.toThrow(
      'would run on it',
    )
  })
})
