import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as v from 'valibot'
import { addressUrl } from '../../../support/address-url.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import {
  databaseAddress,
  databaseEnv,
  parseAddress,
} from '../../../../services/shared/postgres/address.ts'
import { isDatabaseUnavailable, sqlState } from '../../../../services/shared/postgres/failures.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { waitForDatabase } from '../../../../services/shared/postgres/wait-for-database.ts'
import { freePort } from '../../../support/free-port.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const schema = v.object(databaseEnv)
const addressOf = (source: Record<string, string>) => databaseAddress(readEnv(schema, source))
const log = createLog({ name: 'test', level: 'silent' })

describe('databaseAddress', () => {
  it('reads a URL, or its parts, and takes an empty password as valid (SPEC appendix 5)', () => {
    const expected = {
      host: 'h',
      port: 5433,
      database: 'd',
      user: 'u',
      password: '',
      sslMode: 'disable',
    }
    expect(addressOf({ DATABASE_URL: 'postgres://u:@h:5433/d' })).toEqual(expected)
    expect(
      addressOf({ DB_HOST: 'h', DB_PORT: '5433', DB_NAME: 'd', DB_USER: 'u', DB_PASSWORD: '' }),
    ).toEqual(expected)
  })

  it('names what is missing', () => {
    expect(() => addressOf({ DB_HOST: 'h' })).toThrow('set DATABASE_URL, or DB_NAME, DB_USER')
  })

  it.each([
    {
      host: 'db.example',
      port: 5432,
      database: 'a b',
      user: 'x@y',
      password: 'p:/?#%',
      sslMode: 'require' as const,
    },
    { host: '::1', port: 1, database: 'd', user: 'u', password: '', sslMode: 'disable' as const },
  ])('survives the way through a URL: $host', (address) => {
    expect(parseAddress(addressUrl(address))).toEqual(address)
  })
})

describe('connectDatabase', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase()
  })
  afterAll(() => database.drop())

  it('gives columns in camelCase and leaves the keys of jsonb as they are', async () => {
    const sql = connectDatabase(parseAddress(database.url), { name: 'test' })
    const rows = await sql`select 1 as some_number, '{"snake_case": 1}'::jsonb as some_json`
    expect([...rows]).toEqual([{ someNumber: 1, someJson: { snake_case: 1 } }])
    await sql.end()
  })

  it('runs a statement where the last one ran, whose plans are kept there', async () => {
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 3 })
    const which = () => sql<[{ pid: number }]>`select pg_backend_pid() as pid, pg_sleep(0)`
    await Promise.all([which(), which(), which()])
    const pids: number[] = []
    for (let count = 0; count < 4; count += 1) pids.push((await which())[0].pid)
    expect(new Set(pids).size).toBe(1)
    await sql.end()
  })

  it('ends a statement that outlasts its time', async () => {
    const sql = connectDatabase(parseAddress(database.url), {
      name: 'test',
      statementTimeoutMs: 50,
    })
    const failure = await sql`select pg_sleep(10)`.catch(sqlState)
    expect(failure).toBe('57014')
    await sql.end()
  })

  it.each(['reset', 'closed'])(
    'fails a transaction whose connection is %s, and goes on with a new one',
    async (how) => {
      const { host, port, ...rest } = parseAddress(database.url)
      const sockets = new Set<Socket>()
      const proxy = createServer((client) => {
        const server = connect(port, host)
        for (const socket of [client, server]) sockets.add(socket.on('error', () => {}))
        client.pipe(server).pipe(client)
      }).listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      const { port: front } = proxy.address() as AddressInfo
      const sql = connectDatabase({ host, port: front, ...rest }, { name: 'test', max: 1 })
      const failed = sql.begin(async (tx) => {
        await tx`select 1`
        for (const socket of sockets) {
          if (how === 'reset') socket.resetAndDestroy()
          else socket.destroy()
        }
        await tx`select pg_sleep(10)`
      })
      expect(await failed.catch(isDatabaseUnavailable)).toBe(true)
      expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
      await sql.end({ timeout: 1 })
      proxy.close()
    },
  )

  it('takes and gives arrays of texts and of numbers', async () => {
    const sql = connectDatabase(parseAddress(database.url), { name: 'test' })
    const texts = ['', 'a,b', '{x}', '"quoted"', 'back\\slash', 'NULL', ' ', 'ünï']
    const [row] = await sql`
      select ${texts}::text[] as texts, ${[]}::text[] as none, ${[1, -2]}::int[] as integers,
        ${['9007199254740993']}::text[]::int8[] as bigints, 'b' = any(${['a', 'b']}) as has,
        array['a', null] as with_null`
    expect(row).toEqual({
      texts,
      none: [],
      integers: [1, -2],
      bigints: ['9007199254740993'],
      has: true,
      withNull: ['a', null],
    })
    await sql.end()
  })

  it.each([1, 2, 3, 4])(
    'fails its statement when the connection is lost at answer %i, and goes on',
    async (answers) => {
      const { host, port, ...rest } = parseAddress(database.url)
      let lost = false
      const proxy = createServer((client) => {
        const server = connect(port, host)
        for (const socket of [client, server]) socket.on('error', () => {})
        client.pipe(server)
        let seen = 0
        server.on('data', (data) => {
          seen += 1
          if (lost || seen < answers) return void client.write(data)
          lost = true
          client.destroy()
        })
        client.on('close', () => server.destroy())
      }).listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      const { port: front } = proxy.address() as AddressInfo
      const sql = connectDatabase({ host, port: front, ...rest }, { name: 'test', max: 1 })
      const outcome = await Promise.all(
        [1, 2, 3].map((n) =>
          sql`select ${n}::int as n`.then(([row]) => row?.['n'], isDatabaseUnavailable),
        ),
      )
      expect(outcome).toContain(true)
      expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
      await sql.end({ timeout: 1 })
      proxy.close()
    },
  )

  it('runs the next statement after the server ended the connection of one', async () => {
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    const cut = sql`
      select repeat('x', 10000), case when n = 50 then pg_terminate_backend(pg_backend_pid()) end
      from generate_series(1, 100) n`
    await expect(cut).rejects.toThrow()
    expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
    await sql.end()
  })

  it('ends a pool also when the server ended the connection of a statement', async () => {
    let isClosed = false
    const sql = connectDatabase(parseAddress(database.url), {
      name: 'test',
      max: 1,
      onSocket: (socket) => socket.once('close', () => (isClosed = true)),
    })
    await expect(sql`select pg_terminate_backend(pg_backend_pid())`).rejects.toThrow()
    await expect.poll(() => isClosed).toBe(true)
    await sql.end()
  })

  it('refuses while nobody listens, and works again as soon as somebody does', async () => {
    const { host, port, ...rest } = parseAddress(database.url)
    const front = await freePort()
    const sql = connectDatabase({ host, port: front, ...rest }, { name: 'test', max: 1 })
    await expect(sql`select 1`).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const forward = `
      const { connect, createServer } = require('node:net')
      const serve = (client) => {
        const server = connect(${port}, '${host}')
        client.pipe(server).pipe(client)
        for (const socket of [client, server]) socket.on('error', () => {})
      }
      createServer(serve).listen(${front}, '127.0.0.1', () => console.log('up'))`
    const proxy = spawn(process.execPath, ['-e', forward], { stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise((up) => proxy.stdout.once('data', up))
    expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
    await sql.end()
    proxy.kill()
  })
})

describe('waitForDatabase', () => {
  it('gives up at its time and says where PostgreSQL was sought', async () => {
    const port = await freePort()
    const address = {
      host: '127.0.0.1',
      port,
      database: 'd',
      user: 'u',
      password: '',
      sslMode: 'disable' as const,
    }
    await expect(waitForDatabase(address, { timeoutMs: 0, log })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(`127.0.0.1:${port}/d`),
    })
  })

  it('does not wait for a database that does not exist', async () => {
    const database = await createDatabase()
    const address = { ...parseAddress(database.url), database: 'not_there' }
    await expect(waitForDatabase(address, { timeoutMs: 60_000, log })).rejects.toThrow(
      '"not_there" does not exist',
    )
    await database.drop()
  })
})

describe('isDatabaseUnavailable', () => {
  it('tells a database that cannot be reached from a statement that is wrong', async () => {
    const address = parseAddress(`postgres://nobody@127.0.0.1:${await freePort()}/nothing`)
    const unavailable = connectDatabase(address, { name: 'test' })
    expect(
      isDatabaseUnavailable(await unavailable`select 1`.catch((thrown: unknown) => thrown)),
    ).toBe(true)
    await unavailable.end()
    const database = await createDatabase()
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    const failure = (query: Promise<unknown>) => query.catch((thrown: unknown) => thrown)
    expect(isDatabaseUnavailable(await failure(sql`select nothing`))).toBe(false)
    expect(
      isDatabaseUnavailable(await failure(sql`select pg_terminate_backend(pg_backend_pid())`)),
    ).toBe(true)
    // Without a bound, postgres.js waits for ever for a connection that the server ended.
    await sql.end({ timeout: 0 })
    await database.drop()
    expect(isDatabaseUnavailable(new Error('ECONNREFUSED'))).toBe(false)
  })
})
