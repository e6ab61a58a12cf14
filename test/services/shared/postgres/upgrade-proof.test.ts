import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../services/shared/log.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { migrate } from '../../../../services/shared/postgres/migrate.ts'
import { readMigrations } from '../../../../services/shared/postgres/migration-files.ts'
import {
  recordVerdict,
  requireProof,
  schemaDigest,
} from '../../../../services/shared/postgres/upgrade-proof.ts'
import { signDocument } from '../../../../services/shared/signed-documents.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const log = createLog({ name: 'test', level: 'silent' })
const createKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = publicKey.export({ format: 'der', type: 'spki' }).toString('hex')
  return { key, privateKey }
}
const own = createKey()
const stranger = createKey()
const TABLE = 'create table upgrade_verdicts (id int generated always as identity, document json);'
let database: TestDatabase
let sql: Database
let directory: string
let folder: URL

beforeEach(async () => {
  database = await createDatabase()
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  directory = await mkdtemp(join(tmpdir(), 'proofs-'))
  folder = pathToFileURL(`${directory}/`)
  await write('0001_first.sql', TABLE)
})

afterEach(async () => {
  await sql.end()
  await database.drop()
  await rm(directory, { recursive: true })
})

const write = (name: string, statements: string) => writeFile(join(directory, name), statements)

/** A program of before, with one migration, whose database a newer one is to migrate. */
async function toSecond(): Promise<void> {
  await migrate(sql, folder, log)
  await write('0002_second.sql', 'create table second (id int);')
}

const config = { UPGRADE_PROOF_KEY: own.key, UPGRADE_PROOF_DAYS: 7 }
const ask = (given: object = {}): Promise<void> =>
  requireProof(sql, folder, { config, database: 'main', platform: '2.0.0', log, ...given })

const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()

async function verdictOf(given: object = {}) {
  const [, second] = await readMigrations(folder)
  return {
    format: 'crew-platform-upgrade-verdict/1',
    verdict: 'proven',
    at: daysAgo(1),
    platform: '2.0.0',
    backup: { ageHours: 0.25 },
    databases: [
      {
        name: 'main',
        from: 1,
        to: 2,
        rehearsal: { migrations: [{ sha256: second?.checksum ?? '' }] },
      },
    ],
    formerPrograms: null,
    ...given,
  }
}

async function record(given: object = {}, by = own, key = by.key): Promise<void> {
  const verdict = await verdictOf(given)
  await recordVerdict(sql, { verdict, key, signature: signDocument(verdict, by.privateKey) })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('an upgrade that has to be proven', () => {
  it('needs no verdict on a new database, with nothing pending, or without a key', async () => {
    await ask()
    await toSecond()
    await ask({ config: { ...config, UPGRADE_PROOF_KEY: undefined } })
    await migrate(sql, folder, log)
    await ask()
    expect(await sql`select from upgrade_verdicts`).toHaveLength(0)
  })

  it('is refused without a verdict, and says what to do', async () => {
    await toSecond()
    await expect(ask()).rejects.toThrow(
      'The main database has schema 1, and this program (2.0.0) would bring it to 2. ' +
        'upgrade.requireProof asks for a verdict of upgrade:prove before, and the database has ' +
        'none. Nothing was changed. Run "upgrade:prove --record" of this image, or set ' +
        'upgrade.requireProof to false.',
    )
    await sql`drop table upgrade_verdicts`
    await expect(ask()).rejects.toMatchObject({ code: 'precondition_failed' })
  })

  it('is allowed by one about its versions', async () => {
    await toSecond()
    await record()
    await ask()
    await record({ platform: '3.0.0' })
    await ask()
  })

  it.each([
    ['another program', { platform: '2.0.1' }, 'is about 2.0.1, schema 1 to 2.'],
    [
      'other versions',
      { databases: [{ name: 'main', from: 0, to: 2, rehearsal: null }] },
      '0 to 2',
    ],
    ['another database', { databases: [] }, 'is about another database'],
    [
      'other migrations',
      {
        databases: [
          { name: 'main', from: 1, to: 2, rehearsal: { migrations: [{ sha256: '00' }] } },
        ],
      },
      'is about 2.0.0, schema 1 to 2',
    ],
    ['a failure', { verdict: 'refused' }, 'says that it is refused'],
    ['long ago', { at: daysAgo(8) }, 'is 8.0 days old, of at most 7 (upgrade.proofDays)'],
  ])('is refused by a verdict about %s', async (_, given, message) => {
    await toSecond()
    await record(given)
    await expect(ask()).rejects.toThrow(message)
  })

  it('counts the newest verdict about it, in whatever order they were recorded', async () => {
    await toSecond()
    await record({ at: daysAgo(1), verdict: 'refused' })
    await record({ at: daysAgo(2) })
    await expect(ask()).rejects.toThrow('says that it is refused')
    await record({ at: daysAgo(0) })
    await ask()
  })

  it('trusts no signature but that of its key', async () => {
    await toSecond()
    await record({}, stranger)
    await record({}, stranger, own.key)
    await sql`insert into upgrade_verdicts (document) values ('[1]'), ('{"verdict":{}}')`
    const verdict = await verdictOf()
    const signature = signDocument({ ...verdict, verdict: 'refused' }, own.privateKey)
    await recordVerdict(sql, { verdict, key: own.key, signature })
    await expect(ask()).rejects.toThrow('none of 5 is signed with upgrade.proofKey and unchanged')
  })

  it('finds any flipped byte of a verdict out', async () => {
    await toSecond()
    await record()
    const [{ text }] = await sql<[{ text: string }]>`
      delete from upgrade_verdicts returning document::text as text`
    for (let at = 0; at < text.length; at += 7) {
      const flipped = String.fromCharCode(text.charCodeAt(at) ^ 1)
      const changed = `${text.slice(0, at)}${flipped}${text.slice(at + 1)}`
      if (!isJson(changed)) continue
      await sql`insert into upgrade_verdicts (document) values (${changed}::text::json)`
      await expect(ask(), changed).rejects.toThrow('none of 1 is signed')
      await sql`delete from upgrade_verdicts`
    }
  })

  it('keeps the last twenty verdicts', async () => {
    await toSecond()
    for (let count = 0; count < 25; count++) await record()
    expect(await sql`select from upgrade_verdicts`).toHaveLength(20)
  })
})

describe('the way back from an upgrade', () => {
  async function toFirstAgain(): Promise<string> {
    const digest = schemaDigest(await readMigrations(folder))
    await write('0002_second.sql', 'create table second (id int);')
    await migrate(sql, folder, log)
    // Of the newer program: safe for older ones.
    await sql`update schema_migrations set safe_from = 1`
    await rm(join(directory, '0002_second.sql'))
    return digest
  }

  it('is refused unless the former programs were tried on the schema', async () => {
    const digest = await toFirstAgain()
    await expect(ask()).rejects.toThrow(
      /schema 2, and this program \(2\.0\.0\) knows up to 1 and would run on it.*--former-programs/,
    )
    await record({ platform: '3.0.0' })
    await expect(ask()).rejects.toThrow('schema 1 to 2, with no former programs')
    await record({ formerPrograms: { schemas: { main: 'ff' } } })
    await expect(ask()).rejects.toThrow('with other former programs')
    await record({ platform: '3.0.0', formerPrograms: { schemas: { main: digest } } })
    await ask()
  })

  it('is refused by one that failed, or is old', async () => {
    const formerPrograms = { schemas: { main: await toFirstAgain() } }
    await record({ formerPrograms, verdict: 'refused' })
    await expect(ask()).rejects.toThrow('says that it is refused')
    await record({ formerPrograms, at: daysAgo(0.5) })
    await ask()
    await expect(ask({ config: { ...config, UPGRADE_PROOF_DAYS: 0.25 } })).rejects.toThrow('is 0.5')
  })
})
