import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { prepareSchema } from '../../../../services/collector/schema.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { requireProof } from '../../../../services/shared/postgres/upgrade-proof.ts'
import { createPassphrase } from '../../../../services/tasks/backup/sealed-file.ts'
import { MIGRATIONS } from '../../../../services/tasks/migrations.ts'
import { PROVE_TASK } from '../../../../services/tasks/prove/task.ts'
import type { MigrationFigures, Verdict } from '../../../../services/tasks/prove/figures.ts'
import { signVerdict, verdictKey } from '../../../../services/tasks/prove/verdict.ts'
import { runTask } from '../../../../services/tasks/start.ts'
import { createDatabase } from '../../../support/postgres.ts'

const SOURCE = {
  LOG_LEVEL: 'silent',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  BACKUP_PASSPHRASE: 'the passphrase of these backups',
  BACKUP_DIRECTORY: '/nowhere',
}

const log = createLog({ name: 'test', level: 'silent' })
const prove = (...args: string[]): Promise<number> => PROVE_TASK.run(SOURCE, args)

/** A verdict of a main database in which one migration was pending. */
function verdictAbout({ version, sha256 }: { version: number; sha256: string }): Verdict {
  const migration: MigrationFigures = {
    version,
    name: 'last.sql',
    sha256,
    isContract: false,
    changesRowsOf: [],
    ms: 1,
    walBytes: 1,
    growthBytes: 0,
    peakBytes: 0,
    locks: [],
    changes: [],
    losses: [],
    failure: null,
  }
  const rehearsal = {
    restoredMs: 1,
    bytes: 1,
    fingerprint: '',
    room: { neededBytes: 1, freeBytes: null },
    use: [],
    migrations: [migration],
    tables: [],
  }
  const at = new Date().toISOString()
  return {
    format: 'crew-platform-upgrade-verdict/1',
    verdict: 'proven',
    at,
    platform: '1.13.0',
    backup: { name: 'one', createdAt: at, ageHours: 0 },
    limits: { lockMs: 1, minutes: 1, observeSeconds: 0 },
    databases: [{ name: 'main', from: version - 1, to: version, rehearsal }],
    programs: null,
    formerPrograms: null,
    reasons: [],
  }
}

describe('the task upgrade:prove', () => {
  it('explains itself, without a database', async () => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    try {
      expect(await prove('--help')).toBe(0)
      expect(write).toHaveBeenCalledWith(expect.stringContaining('Exit code: 0 when it is proven'))
      expect(await prove('--check', 'package.json')).toBe(2)
      expect(write).toHaveBeenCalledWith(
        'package.json is not a verdict signed with this passphrase\n',
      )
    } finally {
      write.mockRestore()
    }
  })

  it.each([
    [['--only', 'web'], '--only is "web"; it may be main or collector.'],
    [['--minutes', '1.5'], '--minutes is "1.5"; it may be 0 to 10080, in whole numbers.'],
    [['--free-gib', '-1'], "Option '--free-gib' argument is ambiguous"],
    [['--out', '/nowhere/verdict.json'], '--out cannot be written: ENOENT'],
    [['--check', '/nowhere'], '/nowhere cannot be read: ENOENT'],
    [['latest'], "Unexpected argument 'latest'"],
  ])('refuses %j, before it looks at anything', async (args, message) => {
    await expect(prove(...args)).rejects.toThrow(message)
  })

  it('prints its public key, and records a verdict where programs ask that migrate', async () => {
    const database = await createDatabase('platform')
    const directory = await mkdtemp(join(tmpdir(), 'verdicts-'))
    const sql = connectDatabase(parseAddress(database.url), { name: 'test' })
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    const source = { ...SOURCE, DATABASE_URL: database.url }
    const passphrase = createPassphrase(SOURCE.BACKUP_PASSPHRASE)
    const key = await verdictKey(passphrase)
    const migrate = () => runTask(['migrate'], { ...source, UPGRADE_PROOF_KEY: key })
    try {
      expect(await prove('--print-key')).toBe(0)
      expect(write).toHaveBeenCalledWith(`${key}\n`)
      expect(await migrate()).toBe(0)
      // As before the last migration, which then goes in again.
      const [last] = await sql<{ version: number; checksum: string }[]>`
        delete from schema_migrations
        where version = (select max(version) from schema_migrations) returning *`
      const [version, sha256] = [last?.version ?? 0, last?.checksum ?? '']
      await expect(migrate()).rejects.toThrow(`schema ${version - 1}, and this program (1.13.0)`)
      const file = join(directory, 'verdict.json')
      const signed = await signVerdict(verdictAbout({ version, sha256 }), passphrase)
      await writeFile(file, JSON.stringify({ ...signed, signature: signed.signature.slice(2) }))
      const check = (...more: string[]) => PROVE_TASK.run(source, ['--check', file, ...more])
      expect(await check('--record')).toBe(2)
      await writeFile(file, JSON.stringify(signed))
      expect(await check()).toBe(0)
      await expect(migrate()).rejects.toThrow('the database has none')
      expect(await check('--record')).toBe(0)
      const demand = { config: { UPGRADE_PROOF_KEY: key, UPGRADE_PROOF_DAYS: 7 }, log }
      await requireProof(sql, MIGRATIONS.main, { ...demand, database: 'main', platform: '1.13.0' })
      await sql`drop table upgrade_verdicts`
      await expect(check('--record')).rejects.toThrow('has no table upgrade_verdicts')
    } finally {
      write.mockRestore()
      await sql.end()
      await database.drop()
      await rm(directory, { recursive: true })
    }
  })

  it('is asked for by the collector, too', async () => {
    const database = await createDatabase('collector')
    const address = parseAddress(database.url)
    const sql = connectDatabase(address, { name: 'test' })
    const proof = {
      UPGRADE_PROOF_KEY: await verdictKey(createPassphrase(SOURCE.BACKUP_PASSPHRASE)),
      UPGRADE_PROOF_DAYS: 7,
    }
    const options = { createDatabase: false, distribute: false, timeoutMs: 0, proof, log }
    try {
      expect(await prepareSchema({ ...options, address })).toBeGreaterThan(1)
      await sql`
        delete from schema_migrations where version = (select max(version) from schema_migrations)`
      await expect(prepareSchema({ ...options, address })).rejects.toThrow(
        /^The collector database has schema \d+, and this program would bring it to \d+\./,
      )
    } finally {
      await sql.end()
      await database.drop()
    }
  })
})
