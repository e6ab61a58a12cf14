import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCopyConnection } from '../../../../../services/shared/postgres/copy/copy-connection.ts'
import type {
  CopyConnection,
  CopyStream,
} from '../../../../../services/shared/postgres/copy/copy-connection.ts'
import { connectDatabase } from '../../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../../services/shared/postgres/database.ts'
import type { AppError } from '../../../../../services/shared/errors.ts'
import { createDatabase } from '../../../../support/postgres.ts'
import type { TestDatabase } from '../../../../support/postgres.ts'
import { createDatabaseProxy } from '../../../collector/support/database-proxy.ts'

/** COPY BINARY of one int4 column. */
function numbers(...values: number[]): CopyStream {
  const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
  const rows = values.map((value) => {
    const row = Buffer.alloc(10)
    row.writeInt16BE(1, 0)
    row.writeInt32BE(4, 2)
    row.writeInt32BE(value, 6)
    return row
  })
  return streamOf(header, ...rows, Buffer.from([0xff, 0xff]))
}

function streamOf(...chunks: Buffer[]): CopyStream {
  return { size: Buffer.concat(chunks).length, chunks: () => chunks }
}

const name = 'copy-test'
const COPY = 'copy numbers from stdin (format binary)'

describe('the connection for COPY', () => {
  let database: TestDatabase
  let sql: Database
  beforeAll(async () => {
    database = await createDatabase('empty')
    sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    await sql`create table numbers (n int primary key check (n < 1000))`
  })
  afterAll(async () => {
    await sql.end()
    await database.drop()
  })
  const open = (options = {}): Promise<CopyConnection> =>
    openCopyConnection(parseAddress(database.url), { name, ...options })
  const stored = async (): Promise<number> => (await sql`select from numbers`).length

  it('hands over any number of rows as the server sends them, and goes on', async () => {
    const connection = await open()
    let rows = 0
    let text = ''
    const query = "select n, E'tab\\t' from generate_series(1, 30000) n"
    await connection.copyOut(`set local work_mem = '8MB'; copy (${query}) to stdout`, (row) => {
      rows++
      if (rows === 30_000) text = row.toString()
    })
    expect({ rows, text }).toEqual({ rows: 30_000, text: '30000\ttab\\t\n' })
    const failing = connection.copyOut('copy (select 1 / 0) to stdout', () => {})
    await expect(failing).rejects.toMatchObject({ details: { sqlstate: '22012' } })
    expect(await connection.query('select 1')).toBe('SELECT 1')
    connection.close()
  })

  it('returns the rows that the server has committed', async () => {
    const connection = await open()
    expect(await connection.copy(COPY, numbers(1, 2, 3))).toBe(3)
    expect(await stored()).toBe(3)
    connection.close()
    expect(connection.isOpen()).toBe(false)
  })

  it.each([
    ['a duplicate key, which shows at the end', COPY, numbers(4, 1), '23505'],
    ['a row that a constraint refuses', COPY, numbers(4, 1000), '23514'],
    ['a damaged stream', COPY, streamOf(Buffer.from('nonsense')), '22P04'],
    ['a missing table', 'copy nothing from stdin', numbers(4), '42P01'],
  ])('rejects %s, and goes on', async (...[, statement, data, sqlstate]) => {
    const connection = await open()
    const before = await stored()
    await expect(connection.copy(statement, data)).rejects.toMatchObject({ details: { sqlstate } })
    expect(await connection.query('select 1')).toBe('SELECT 1')
    expect(await stored()).toBe(before)
    expect(await connection.copy(COPY, numbers())).toBe(0)
    connection.close()
  })

  it.each([
    ['both are right', [numbers(21), numbers(22, 23)], 2],
    ['the first is refused', [numbers(24, 1000), numbers(25)], '23514'],
    ['the second is refused', [numbers(26), numbers(27, 27)], '23505'],
  ])('stores two streams, or neither, where %s', async (...[, streams, expected]) => {
    const connection = await open()
    const before = await stored()
    const outcome = await connection
      .copy(`${COPY}; ${COPY}`, ...streams)
      .catch((error: unknown) => (error as AppError).details['sqlstate'])
    expect(outcome).toBe(expected)
    expect(await stored()).toBe(before + (outcome === 2 ? 3 : 0))
    expect(await connection.copy(COPY, numbers())).toBe(0)
    connection.close()
  })

  it('tells a commit from a rollback', async () => {
    const connection = await open()
    await connection.query('begin')
    await expect(connection.copy(COPY, numbers(1))).rejects.toThrow('duplicate key')
    expect(await connection.query('commit')).toBe('ROLLBACK')
    connection.close()
  })

  it('rejects when the server ends the session in mid-statement', async () => {
    const connection = await open()
    const statement = connection.query('select pg_sleep(10)')
    const kill = async () =>
      (
        await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = ${name} and query like '%pg_sleep%'
            and pid <> pg_backend_pid() and datname = current_database()`
      ).length
    const outcome = expect(statement).rejects.toMatchObject({ details: { sqlstate: '57P01' } })
    await expect.poll(kill).toBe(1)
    await outcome
    expect(connection.isOpen()).toBe(false)
    await expect(connection.query('select 1')).rejects.toThrow('lost')
  })

  it('lets the server end a long statement, and gives up when the server is silent', async () => {
    const connection = await open({ statementTimeoutMs: 100 })
    await expect(connection.query('select pg_sleep(10)')).rejects.toMatchObject({
      details: { sqlstate: '57014' },
    })
    connection.close()
    const proxy = await createDatabaseProxy(database.url)
    const frozen = await openCopyConnection(parseAddress(proxy.url), {
      name,
      statementTimeoutMs: 100,
    })
    proxy.freeze()
    await expect(frozen.copy(COPY, numbers(5))).rejects.toMatchObject({ code: 'timeout' })
    expect(frozen.isOpen()).toBe(false)
    await proxy.close()
  })

  it('gives up on a server that does not answer, and leaves no socket behind', async () => {
    const server = createServer((socket) => socket.resume())
    const connected = once(server, 'connection')
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const address = { ...parseAddress(database.url), host: '127.0.0.1', port }
    await expect(
      openCopyConnection(address, { name, connectTimeoutMs: 100 }),
    ).rejects.toMatchObject({
      code: 'timeout',
    })
    const [socket] = (await connected) as [Socket]
    if (!socket.closed) await once(socket, 'close')
    server.close()
    await once(server, 'close')
    await expect(openCopyConnection(address, { name })).rejects.toThrow('cannot be reached')
  })

  it('logs in with SCRAM-SHA-256, and refuses a server without the password', async () => {
    for (const [serverPassword, isHonest] of [
      ['pass word', true],
      ['another', false],
    ] as const) {
      const server = createServer((socket) => void scramServer(socket, serverPassword))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const login = { host: '127.0.0.1', port, password: 'pass word' }
      const opening = openCopyConnection({ ...parseAddress(database.url), ...login }, { name })
      if (isHonest) (await opening).close()
      else await expect(opening).rejects.toThrow('did not prove')
      server.close()
    }
  })
})

/** The server's side of the exchange; it accepts any proof, and gives its own. */
async function scramServer(socket: Socket, password: string): Promise<void> {
  const send = (type: string, body: Buffer): void => {
    const head = Buffer.alloc(5)
    head.write(type)
    head.writeInt32BE(body.length + 4, 1)
    socket.write(Buffer.concat([head, body]))
  }
  const request = (code: number, text: string): void => {
    const head = Buffer.alloc(4)
    head.writeInt32BE(code)
    send('R', Buffer.concat([head, Buffer.from(text)]))
  }
  const receive = async (): Promise<string> => String(((await once(socket, 'data')) as [Buffer])[0])
  socket.on('error', () => {})
  await receive()
  request(10, 'SCRAM-SHA-256\0\0')
  const bare = /n=.*$/s.exec(await receive())?.[0] ?? ''
  const first = `${/r=.*/.exec(bare)?.[0]}server,s=${Buffer.from('salt').toString('base64')},i=4096`
  request(11, first)
  const final = /c=.*$/s.exec(await receive())?.[0] ?? ''
  const exchange = `${bare},${first},${final.split(',p=')[0]}`
  const salted = pbkdf2Sync(password, 'salt', 4096, 32, 'sha256')
  const sign = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const clientKey = sign(salted, 'Client Key')
  const signature = sign(createHash('sha256').update(clientKey).digest(), exchange)
  const proof = Buffer.from(final.split(',p=')[1] ?? '', 'base64')
  const proven = Buffer.from(proof.map((byte, i) => byte ^ (signature[i] ?? 0)))
  if (password === 'pass word') expect(proven).toEqual(clientKey)
  // All at once: whoever checks the proof too late is ready before.
  socket.cork()
  request(12, `v=${sign(sign(salted, 'Server Key'), exchange).toString('base64')}`)
  request(0, '')
  send('Z', Buffer.from('I'))
  socket.uncork()
}
