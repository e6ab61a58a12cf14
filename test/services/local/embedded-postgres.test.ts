import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { SERVER_SETTINGS } from '../../support/server-settings.ts'
import { isLong } from '../../support/long.ts'

let parent: string
let directory: string
/** Data that each test copies, because to make them takes longer. */
let template: string

async function makeParent(): Promise<void> {
  parent = await mkdtemp(join(tmpdir(), 'embedded-'))
  // As root the server runs as another user, who has to pass through here.
  await chmod(parent, 0o755)
  directory = join(parent, 'data')
}

beforeAll(async () => {
  await makeParent()
  const server = await start()
  await server.stop()
  template = directory
})

afterAll(() => rm(dirname(template), { recursive: true, force: true }))

beforeEach(async () => {
  await makeParent()
  // Node's own copy would give the files of the server's user to this one.
  await promisify(execFile)('cp', ['-a', template, directory])
})

afterEach(() => rm(parent, { recursive: true, force: true }))

async function start(port?: number, password = POSTGRES_PASSWORD) {
  return startEmbeddedPostgres({
    directory,
    port: port ?? (await freePort()),
    password,
    settings: SERVER_SETTINGS,
  })
}

async function query(url: string, statement: string): Promise<unknown[]> {
  const sql = connectDatabase(parseAddress(url), { name: 'test', max: 1 })
  const rows = await sql.unsafe(statement)
  await sql.end()
  return [...rows]
}

describe('the embedded PostgreSQL', () => {
  it('keeps its data from one start to the next', async () => {
    const first = await start()
    await query(first.url, 'create table kept as select 7 as n')
    await first.stop()
    const second = await start()
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }])
    await second.stop()
  })

  it('lets nobody in without its password', async () => {
    const server = await start()
    const without = server.url.replace(`:${POSTGRES_PASSWORD}@`, '@')
    await expect(query(without, 'select 1')).rejects.toThrow()
    const wrong = server.url.replace(POSTGRES_PASSWORD, 'another-password-than-that')
    await expect(query(wrong, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    expect((await stat(join(directory, 'pg_hba.conf'))).mode & 0o777).toBe(0o600)
    await server.stop()
  })

  it.runIf(isLong)(
    'sets the password on data that had none, and later a new password',
    async () => {
      const first = await start()
      await query(first.url, 'create table kept as select 7 as n')
      await query(first.url, 'alter role postgres password null')
      await first.stop()
      const trusting = 'local all all trust\nhost all all 127.0.0.1/32 trust\n'
      await writeFile(join(directory, 'pg_hba.conf'), trusting)
      const second = await start()
      expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }])
      const without = second.url.replace(`:${POSTGRES_PASSWORD}@`, '@')
      await expect(query(without, 'select 1')).rejects.toThrow()
      await second.stop()
      const third = await start(undefined, 'another-password-than-that')
      expect(await query(third.url, 'select n from kept')).toEqual([{ n: 7 }])
      await third.stop()
    },
  )

  it('says why a statement failed, however long the statement is', async () => {
    const server = await start()
    const lines = Array.from({ length: 1000 }, (_, index) => `-- a remark in line ${index}`)
    await expect(query(server.url, ['select 1/0', ...lines].join('\n'))).rejects.toThrow('by zero')
    await server.stop()
    expect(server.output()).toContain('division by zero')
    expect(server.output()).not.toContain('a remark in line')
  })

  it('says that the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    await expect(start(port)).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining(`port ${port} is in use by another program`),
    })
    other.close()
  })

  it.runIf(isLong)(
    'says that another server runs on the same data, and leaves that one alone',
    async () => {
      const first = await start()
      await expect(start()).rejects.toThrow(`another server runs on ${directory}`)
      expect(await query(first.url, 'select 1 as one')).toEqual([{ one: 1 }])
      await first.stop()
    },
  )

  it('says that the data cannot be used', async () => {
    await (await start()).stop()
    await truncate(join(directory, 'global/pg_control'), 100)
    await expect(start()).rejects.toThrow(`the data in ${directory} cannot be used`)
  })

  it('takes over from a program that was killed and left its server behind', async () => {
    const script = `
      import { startEmbeddedPostgres } from './services/local/embedded-postgres.ts'
      const server = await startEmbeddedPostgres({
        directory: process.argv[1],
        port: Number(process.argv[2]),
        password: '${POSTGRES_PASSWORD}',
      })
      console.log(server.pid)
      setInterval(() => {}, 1000)`
    const port = String(await freePort())
    const program = spawn(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', script, directory, port],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(program.stdout, 'data')
    program.kill('SIGKILL')
    await once(program, 'exit')
    const server = await start()
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await server.stop()
  })
})
