import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, truncate } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { connectDatabase, parseAddress } from '../../../services/shared/database.ts'
import { freePort } from '../../support/free-port.ts'

let parent: string
let directory: string

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'embedded-'))
  // As root the server runs as another user, who has to pass through here.
  await chmod(parent, 0o755)
  directory = join(parent, 'data')
})

afterEach(() => rm(parent, { recursive: true, force: true }))

async function start(port?: number) {
  return startEmbeddedPostgres({ directory, port: port ?? (await freePort()) })
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

  it('says that another server runs on the same data, and leaves that one alone', async () => {
    const first = await start()
    await expect(start()).rejects.toThrow(`another server runs on ${directory}`)
    expect(await query(first.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await first.stop()
  })

  it('says that the data can not be used', async () => {
    await (await start()).stop()
    await truncate(join(directory, 'global/pg_control'), 100)
    await expect(start()).rejects.toThrow(`the data in ${directory} can not be used`)
  })

  it('takes over from a program that was killed and left its server behind', async () => {
    const script = `
      import { startEmbeddedPostgres } from './services/local/embedded-postgres.ts'
      const server = await startEmbeddedPostgres({ directory: process.argv[1], port: Number(process.argv[2]) })
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
