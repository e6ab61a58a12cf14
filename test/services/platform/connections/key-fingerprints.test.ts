import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  checkSealingKey,
  forgetSealingKey,
  listKeysInUse,
} from '../../../../services/platform/connections/key-fingerprints.ts'
import { createLlmKeys } from '../../../../services/platform/connections/llm-keys.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { runTask } from '../../../../services/tasks/start.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const FIRST = 'the-first-key-of-more-than-32-characters'
const SECOND = 'the-second-key-of-more-than-32-characters'

let database: TestDatabase
let sql: Database

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
})

beforeEach(() => sql`truncate key_fingerprints, organizations cascade`)

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const check = (current: string, previous?: string) =>
  checkSealingKey(sql, { name: 'SECRET_KEY_BASE', current, previous })

/** Something that only the first key opens. */
async function sealSomething(): Promise<void> {
  const [organization] = await sql<[{ id: number }]>`
    insert into organizations (name) values ('Acme') returning id`
  const [connection] = await sql<[{ id: number }]>`
    insert into llm_connections (organization_id, name, provider, model)
    values (${organization.id}, 'main', 'openai', 'm') returning id`
  const sealed = createLlmKeys(FIRST).seal('sk-1', {
    organizationId: organization.id,
    id: connection.id,
  })
  await sql`update llm_connections set sealed_key = ${sealed} where id = ${connection.id}`
}

const refusal = {
  code: 'invalid_configuration',
  message: expect.stringContaining('SECRET_KEY_BASE is not the key that this database was sealed'),
}

describe('the fingerprint of a sealing key', () => {
  it('is recorded by the first program, and tells nothing of the key', async () => {
    await check(FIRST)
    await check(FIRST)
    const rows = await sql`select purpose, salt, fingerprint from key_fingerprints`
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(FIRST)
  })

  it('is another one in another database, so that equal keys cannot be seen', async () => {
    const fingerprint = async () => {
      const [row] = await sql`select fingerprint from key_fingerprints`
      return String(row?.['fingerprint'])
    }
    await check(FIRST)
    const before = await fingerprint()
    await sql`truncate key_fingerprints`
    await check(FIRST)
    expect(await fingerprint()).not.toBe(before)
  })

  it('refuses another key once something is sealed, and says what to do', async () => {
    await check(FIRST)
    await sealSomething()
    await expect(check(SECOND)).rejects.toMatchObject(refusal)
    for (const advice of ['printenv SECRET_KEY_BASE', 'SECRET_KEY_BASE_PREVIOUS', 'keys:accept']) {
      await expect(check(SECOND)).rejects.toThrow(advice)
    }
    await expect(check(SECOND)).rejects.not.toThrow(FIRST)
    await check(FIRST)
  })

  it('follows a rotation that gives the key before, by many programs at once', async () => {
    await check(FIRST)
    await sealSomething()
    await Promise.all(Array.from({ length: 5 }, () => check(SECOND, FIRST)))
    await check(SECOND)
    await expect(check(FIRST)).rejects.toMatchObject(refusal)
  })

  it('refuses a rotation whose key before is another one too', async () => {
    await check(FIRST)
    await sealSomething()
    await expect(check(SECOND, 'x'.repeat(32))).rejects.toThrow(
      'neither SECRET_KEY_BASE nor SECRET_KEY_BASE_PREVIOUS is the key',
    )
  })

  it('simply changes while nothing is sealed', async () => {
    await check(FIRST)
    await check(SECOND)
    await sealSomething()
    await expect(check(FIRST)).rejects.toMatchObject(refusal)
  })

  it('is taken from the next program when the loss is accepted', async () => {
    await check(FIRST)
    await sealSomething()
    await forgetSealingKey(sql, 'SECRET_KEY_BASE')
    await check(SECOND)
    await expect(check(FIRST)).rejects.toMatchObject(refusal)
  })
})

describe('what is sealed', () => {
  it('is looked for in every column that keeps a secret', async () => {
    const columns = await sql<{ table: string; column: string }[]>`
      select c.relname as table, a.attname as column
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
        and a.atttypid = 'bytea'::regtype
        and (a.attname like 'sealed%' or c.relname = 'oauth_connections')
        -- It goes with the one that is used now.
        and a.attname <> 'sealed_previous_key'
        -- Another one is made where it cannot be opened.
        and c.relname not in ('identity_keys', 'card_keys')`
    expect(columns.length).toBeGreaterThan(8)
    for (const { table, column } of columns) {
      const name = table === 'oauth_connections' ? 'OAUTH_ENCRYPTION_KEY' : 'SECRET_KEY_BASE'
      await sql.begin(async (tx) => {
        // Stands before the table of that name, for this transaction.
        await tx`create temp table ${tx(table)} (${tx(column)} bytea) on commit drop`
        // Those of this connection may be about the table behind it.
        await tx`discard plans`
        await checkSealingKey(tx, { name, current: FIRST })
        expect(await listKeysInUse(tx)).toEqual([])
        await tx`insert into ${tx(table)} values ('sealed')`
        expect(await listKeysInUse(tx), `${table}.${column}`).toEqual([name])
        await tx`truncate key_fingerprints`
      })
    }
  })

  it('is nothing in an empty database', async () => {
    const empty = await createDatabase()
    const elsewhere = connectDatabase(parseAddress(empty.url), { name: 'test', max: 1 })
    expect(await listKeysInUse(elsewhere)).toEqual([])
    await elsewhere.end()
    await empty.drop()
  })
})

describe('the tasks', () => {
  const source = (keys: Record<string, string>) => ({
    DATABASE_URL: database.url,
    LOG_LEVEL: 'silent',
    ...keys,
  })

  it('refuse a wrong key before any program starts, until somebody accepts the loss', async () => {
    await runTask(['migrate'], source({ SECRET_KEY_BASE: FIRST }))
    await sealSomething()
    const wrong = source({ SECRET_KEY_BASE: SECOND })
    await expect(runTask(['migrate'], wrong)).rejects.toMatchObject(refusal)
    await expect(
      runTask(['designer:runner:install', 'http://127.0.0.1:9'], wrong),
    ).rejects.toMatchObject(refusal)
    await runTask(['migrate'], source({}))
    await expect(runTask(['keys:accept', 'DB_PASSWORD'], wrong)).rejects.toThrow(
      '"DB_PASSWORD" is no key that seals anything',
    )
    await runTask(['keys:accept', 'SECRET_KEY_BASE'], wrong)
    await runTask(['migrate'], wrong)
  })

  it('look at the key of OAuth tokens apart', async () => {
    await runTask(['migrate'], source({ SECRET_KEY_BASE: FIRST, OAUTH_ENCRYPTION_KEY: SECOND }))
    const rows = await sql`select purpose from key_fingerprints order by purpose`
    expect(rows.map(({ purpose }) => purpose)).toEqual(['OAUTH_ENCRYPTION_KEY', 'SECRET_KEY_BASE'])
  })
})
